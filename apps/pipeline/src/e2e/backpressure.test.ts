import { sampleIsbn, startBooks, startFollowers } from '@headgate/sandbox';
import { virtualClock } from '@headgate/throttle/testing';
import { expect, it } from 'vitest';
import type { RunEvent } from '@headgate/pipeline';
import { followersYaml } from './headgate-process.fixture.ts';
import { inProcess } from './in-process.fixture.ts';

it('a run looks up more keys than it has capacity for: written batches free capacity for the next ones', async () => {
  const isbns = Array.from({ length: 60 }, (_, i) => sampleIsbn(i));
  await using service = await startBooks({ window: { limit: 1_000, windowMs: 1_000 } });
  await using place = await inProcess();
  const run = place.start(`topics: { driver: sqlite, file: ./headgate.db }
books:
  plan: pro
  baseUrl: ${service.url}
  key: "\${KEY}"
  maxBatch: 20
  maxOutstanding: 20
  isbns: ${JSON.stringify(isbns)}
`);
  expect(await run.ended).toEqual([]);
  expect(service.requests.map((request) => request.isbns?.length)).toEqual([20, 20, 20]);
  // Batches can be answered in any order.
  expect((await place.values('books.records')).map(({ isbn }) => isbn).toSorted()).toEqual(isbns.toSorted());
});

it('a run takes a limited number of jobs at once and leaves the others in their topic', async () => {
  const clock = virtualClock();
  const users = Array.from({ length: 650 }, (_, i) => `user_${i}`);
  await using service = await startFollowers({
    users: Object.fromEntries(users.map((name) => [name, { followers: 1 }])),
    window: { kind: 'rolling', limit: 1_000, windowMs: 1_000 },
  });
  await using place = await inProcess({ clock });
  const limit = '{ requests: 50, window: 1h }';
  const run = place.start(followersYaml({ url: service.url, users, limit, emit: '[pages]' }));
  const count = (type: RunEvent['type']): number => run.events.filter((event) => event.type === type).length;

  await expect.poll(() => [count('request-completed'), count('request-started')]).toEqual([50, 550]);
  await clock.advance(1_000);
  expect(count('request-started')).toBe(550);
  await clock.advance(3_700_000);
  await expect.poll(() => [count('request-completed'), count('request-started')]).toEqual([100, 600]);
});
