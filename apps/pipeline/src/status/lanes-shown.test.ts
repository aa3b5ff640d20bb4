import { startBooks, startFollowers } from '@headgate/sandbox';
import { LaneLostError, TopicLogError } from '@headgate/topics';
import { expect, it } from 'vitest';
import { books } from '../pipelines/books.ts';
import { followers } from '../pipelines/followers.ts';
import { place } from './shown-run.fixture.ts';

const FREELY = { window: { kind: 'rolling', limit: 100_000, windowMs: 1 }, users: { alpha: { followers: 30 } } } as const;

function crawl(url: string, lanes = 1, users: readonly string[] = ['alpha']) {
  const credentials = Array.from({ length: lanes }, (_, i) => ({ name: `app-${i}`, bearer: `token-${i}` }));
  const limit = { requests: 2, window: '15m' };
  return followers({ baseUrl: url, credentials, users: users.map((screenName) => ({ screenName })), limit, count: 10 });
}

it('a run shows which lanes it has once it has given one away, and stands by when other processes have all of them', async () => {
  await using here = await place();
  const run = await here.run([crawl('http://127.0.0.1:9', 2)], { follow: true, lanes: 2 });
  await expect.poll(() => run.view().lanes.length).toBe(2);
  here.assign(1);
  await expect
    .poll(() => run.plain.text)
    .toMatch(/followers lane 1: released; the next process that opens it continues its unfinished jobs$/mu);
  expect(run.header()).toMatch(/ lane 0 +\d\d:\d\d:\d\d$/u);
  here.assign(0);
  await expect.poll(() => run.plain.text).toMatch(/followers lane 0: released/u);
  await here.clock.advance(2_001);
  expect(run.frame().join('\n')).toContain('  standing by: other processes of the group hold all lanes');
  expect(run.header()).toMatch(/ no lane +\d\d:\d\d:\d\d$/u);
  expect(run.plain.text).not.toContain('standing by');
  await here.clock.advance(1_250);
  expect(run.plain.lines.at(-1)).toMatch(/standing by: other processes of the group hold all lanes$/u);
  run.stop();
  expect(run.frame().join('\n')).toContain('stopping: releasing its lanes; the next run continues with the remaining jobs');
  expect((await run.finish()).outcome).toBe('stopped');
});

it('a run shows that its work is done while it waits for lanes of other processes', async () => {
  await using here = await place();
  here.assign(1);
  const run = await here.run([crawl('http://127.0.0.1:9', 2, [])], { lanes: 2 });
  await expect.poll(() => run.view().isDoneHere).toBe(true);
  await here.clock.advance(3_251);
  const words = 'its work is done: it ends in a few seconds, unless another process releases a lane';
  expect(run.frame().join('\n')).toContain(`  ${words}`);
  expect(run.plain.text).toContain(words);
  expect(run.plain.text).not.toContain('opens 1 lane');
  expect((await run.finish()).outcome).toBe('done');
  expect(run.summary()).toBe(
    'Nothing to do here: earlier runs finished all jobs of lane 0 that this process had.\n' +
      'Elsewhere:        1 other lane is held by other processes of the group.',
  );
});

it('a run reports who has taken a lane over, and takes it back', async () => {
  await using api = await startFollowers(FREELY);
  await using here = await place();
  const run = await here.run([crawl(api.url)]);
  await run.shows(/waits for budget until/u);
  here.failWrite('followers', new LaneLostError({ lane: 'followers.0', by: 'process 12 on host-b' }));
  await here.clock.advance(900_456);
  const lost = 'followers lane 0: process 12 on host-b has taken it over; this process stopped working on it. No data is lost.';
  await expect.poll(() => run.plain.text).toContain(lost);
  expect(run.json.lines.map((line) => JSON.parse(line) as object)).toContainEqual(
    expect.objectContaining({ level: 'warn', event: 'lane-left', lane: 0, msg: lost }),
  );
  await expect.poll(() => run.view().work).toEqual([]);
  await here.clock.advance(2_001);
  expect((await run.finish()).outcome).toBe('done');
  expect(run.view().pipelines['followers']).toMatchObject({ pages: 3, items: 30, walks: { started: 1, completed: 1 } });
});

it('a run reports why a lane can’t continue while others do, and that the run failed', async () => {
  await using api = await startFollowers(FREELY);
  await using here = await place();
  await using shop = await startBooks({ now: () => here.clock.epochMs() });
  const run = await here.run([crawl(api.url), books({ baseUrl: shop.urls.default, key: 'a-key', isbns: [] })], { follow: true });
  await run.shows(/waits for budget until/u);
  here.failWrite('followers', new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_CLOSED', message: 'The disk is full.' }));
  await here.clock.advance(900_456);
  const words = "followers lane 0 can't continue: The disk is full. Its jobs wait for the next run.";
  await expect.poll(() => run.frame({ columns: 200 })).toContain(`  ${words}`);
  expect(run.plain.text.split(words)).toHaveLength(2);
  expect(run.json.lines.map((line) => JSON.parse(line) as object)).toContainEqual(
    expect.objectContaining({ level: 'error', event: 'lane-left', failed: true, msg: words }),
  );
  expect(run.frame()[0]).toBe('  2 requests done, at least 1 left');
  run.stop();
  expect((await run.finish()).outcome).toBe('failed');
  expect(run.summary()).toMatch(
    /^Stopped after 15 m \d+ s: 0 of 1 job, 2 pages, 20 ids +-> followers\.pages \(2\)[^]*^To continue: +run the same command again: it continues /mu,
  );
});
