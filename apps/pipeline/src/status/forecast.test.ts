import { sampleIsbn, startBooks, startFollowers } from '@headgate/sandbox';
import { expect, it } from 'vitest';
import { books } from '../pipelines/books.ts';
import { followers } from '../pipelines/followers.ts';
import { type Place, type ShownRun, place } from './shown-run.fixture.ts';

const SHARES = [0.1, 0.3, 0.6];
/** Leaves out the plain and JSON lines, which would read the run every second of jobs that take days. */
const UNTOLD = { lines: false };

/** Runs to the end, and returns the errors of the finish times that were forecast on the way, as shares of the whole time. */
async function errors(here: Place, run: ShownRun, total: number): Promise<readonly number[]> {
  const startedAt = here.clock.epochMs();
  const said: number[] = [];
  await run.finish(({ progress }) => {
    if (progress.done < total * (SHARES[said.length] ?? Infinity)) return;
    expect(progress).toMatchObject({ isExact: true, left: total - progress.done });
    said.push(progress.doneAt ?? 0);
  });
  const tookMs = run.lastAnswerAt() - startedAt;
  return said.map((doneAt) => Math.abs(doneAt - run.lastAnswerAt()) / tookMs);
}

interface Crawled {
  readonly url: string;
  readonly users: Readonly<Record<string, unknown>>;
}

/** Crawls all users repeatedly, in pages of 10, with this many requests in 15 minutes. */
const crawl = ({ url, users }: Crawled, requests: number) =>
  followers({
    baseUrl: url,
    credentials: [{ name: 'app', bearer: 'a-token' }],
    users: Object.keys(users).map((screenName) => ({ screenName })),
    limit: { requests, window: '15m' },
    count: 10,
    every: 1,
  });

it('the forecast for crawls that take turns is less than 5 % off at 10, 30 and 60 % of the work', async () => {
  await using here = await place();
  const users = { alpha: { followers: 700 }, beta: { followers: 350 }, gamma: { followers: 95 }, delta: { followers: 3 } };
  await using api = await startFollowers({ window: { kind: 'rolling', limit: 100_000, windowMs: 1 }, users });
  await (await here.run([crawl({ url: api.url, users }, 1_000)], UNTOLD)).finish();
  await here.clock.advance(3_600_000);
  // 70 + 35 + 10 + 1 pages, 7 of them in 15 minutes.
  const found = await errors(here, await here.run([crawl({ url: api.url, users }, 7)], UNTOLD), 116);
  expect(found).toHaveLength(SHARES.length);
  for (const error of found) expect(error).toBeLessThan(0.05);
});

it('the forecast for the keys of lookups is less than 5 % off', async () => {
  await using here = await place();
  await using api = await startBooks({ now: () => here.clock.epochMs() });
  const isbns = Array.from({ length: 1_500 }, (_, i) => sampleIsbn(i));
  const run = await here.run([books({ baseUrl: api.urls.default, key: 'a-key', isbns, maxBatch: 20 })], UNTOLD);
  const found = await errors(here, run, 75);
  expect(found).toHaveLength(SHARES.length);
  for (const error of found) expect(error).toBeLessThan(0.05);
});
