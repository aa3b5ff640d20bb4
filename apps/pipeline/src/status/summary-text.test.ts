import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startBooks, startFollowers } from '@headgate/sandbox';
import { expect, it } from 'vitest';
import { books } from '../pipelines/books.ts';
import { followers } from '../pipelines/followers.ts';
import { busyView } from './page/busy-view.fixture.ts';
import { place } from './shown-run.fixture.ts';
import { summaryText } from './summary-text.ts';

const FREELY = { window: { kind: 'rolling', limit: 100_000, windowMs: 1 } } as const;

interface CrawlOptions {
  readonly url: string;
  readonly users: readonly string[];
  readonly requests?: number;
  readonly retryFor?: string;
}

function crawl({ url, users, requests = 1_000, retryFor = '10m' }: CrawlOptions) {
  const limit = { requests, window: requests === 1_000 ? '1s' : '15m' };
  const list = users.map((screenName) => ({ screenName }));
  return followers({ baseUrl: url, credentials: [{ name: 'app', bearer: 'a-token' }], users: list, limit, count: 10, retryFor });
}

it('the summary names at most ten failed crawls with their reasons, and the commands that read and replay them', async () => {
  await using api = await startFollowers({ ...FREELY, users: { alpha: { followers: 30 } } });
  await using here = await place();
  const gone = Array.from({ length: 120 }, (_, i) => `gone_${i}`);
  const run = await here.run([crawl({ url: api.url, users: ['alpha', ...gone] })]);
  expect((await run.finish()).outcome).toBe('done');
  const summary = run.summary().split('\n');
  expect(summary.slice(0, 3)).toEqual([
    expect.stringMatching(/^Done in .*: 1 job, 3 pages, 30 ids -> followers\.pages \(3\)$/u),
    '123 requests: 123 answered. None was rate-limited.',
    '120 jobs failed:  headgate dead-letters followers',
  ]);
  expect(summary.filter((line) => /^ {2}@gone_\d+ +there is no such user \(404/u.test(line))).toHaveLength(10);
  expect(summary.slice(-3)).toEqual([
    '  and 110 more',
    '  To retry:       headgate replay followers',
    'Read it:          headgate read followers.pages --max 10',
  ]);
  expect(summary).toHaveLength(16);
});

it('the summary of a stopped run lists what each pipeline did, what it left, and what went wrong', async () => {
  await using here = await place();
  await using api = await startFollowers({ ...FREELY, users: { alpha: { followers: 30 }, beta: { followers: 30 } } });
  await using shop = await startBooks({ now: () => here.clock.epochMs() });
  const run = await here.run(
    [
      crawl({ url: api.url, users: ['nobody', 'alpha', 'beta'], requests: 3 }),
      books({ baseUrl: shop.urls.default, key: 'a-key', isbns: [], authors: ['Ursula K. Le Guin'] }),
    ],
    { follow: true },
  );
  await here.log.append([{ topic: 'books.requests', key: 'odd', value: '{"isbn":"123"}' }]);
  await expect.poll(() => here.clock.advance(250).then(() => run.view().pipelines['books']?.walks.completed)).toBe(1);
  await run.shows(/@alpha +1 page .*waits for budget[^]*@beta +1 page .*waits for budget/u);
  await expect.poll(() => here.clock.advance(250).then(() => run.view().deadLetters.total)).toBe(2);
  run.stop();
  expect((await run.finish()).outcome).toBe('stopped');
  expect(run.summary().split('\n')).toEqual([
    expect.stringMatching(/^Stopped after .* m?s: 0 of 3 jobs, 2 pages, 20 ids +-> followers\.pages \(2\)$/u),
    expect.stringMatching(/^ +1 job, 2 pages, 32 books +-> books\.authors \(2\)$/u),
    '5 requests: 5 answered. None was rate-limited.',
    '1 job failed:     headgate dead-letters followers',
    expect.stringMatching(/^ {2}@nobody {2}there is no such user/u),
    '  To retry:       headgate replay followers',
    '1 dead letter:    headgate dead-letters books',
    expect.stringMatching(/^ {2}odd {2}"123" isn't an ISBN/u),
    '  To retry:       headgate replay books',
    'To continue:      run the same command again: it continues with @alpha at page 2, @beta at page 2.',
    'Read it:          headgate read followers.pages --max 10',
  ]);
});

it('the summary of a finished run names no service that it waited for, even if the last crawl failed', async () => {
  await using here = await place();
  const server = createServer((_, response) => void response.writeHead(500).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const run = await here.run([crawl({ url: `http://127.0.0.1:${port}`, users: ['alpha'], retryFor: '0s' })]);
  expect((await run.finish()).outcome).toBe('done');
  await here.clock.advance(3_000);
  expect(run.view().pipelines['followers']?.failing).toBeDefined();
  expect(run.summary()).toMatch(/^Failed after .*: nothing was written\./u);
  expect(run.summary()).not.toContain('Waited for');
  server.close();
});

it('the summary of a stopped run names the service that it waited for, for how long, and how many crawls remain', async () => {
  await using here = await place();
  const server = createServer((_, response) => void response.writeHead(503).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const users = Array.from({ length: 20 }, (_, i) => `user_${i}`);
  const run = await here.run([crawl({ url: `http://127.0.0.1:${port}`, users })]);
  const attempts = async (): Promise<number> => {
    await here.clock.advance(2_500);
    return run.view().pipelines['followers']?.failing?.attempts ?? 0;
  };
  await expect.poll(attempts).toBeGreaterThan(25);
  run.stop();
  expect((await run.finish()).outcome).toBe('stopped');
  expect(run.summary().split('\n')).toEqual([
    expect.stringMatching(/^Stopped after .*: nothing was written\.$/u),
    expect.stringMatching(/^\d+ requests: \d+ failed \(\d+ times 503\)\. None was rate-limited\.$/u),
    expect.stringMatching(
      /^Waited for: {7}followers: every attempt failed for the last .*\d+ m?s \(\d+ attempts\): the service failed \(503\)\. 20 jobs stay for the next run\.$/u,
    ),
    expect.stringMatching(/^To continue: {6}run the same command again: it continues with @user_0 at page 1, .* and 17 more\.$/u),
  ]);
  server.close();
});

it('the summary says which 404s were the limit and which may have been, and no known book or author is a dead letter', async () => {
  await using here = await place();
  // The plan permits more requests than this address, as if another program used the key, too.
  await using shop = await startBooks({ limitAnswer: '404', now: () => here.clock.epochMs() });
  const authors = ['Ada Brook', 'Edith Grey', 'Bruno Hollis'];
  const run = await here.run([books({ baseUrl: shop.urls.default, plan: 'pro', key: 'a-key', isbns: ['9780140449136'], authors })]);
  expect((await run.finish()).outcome).toBe('done');
  expect(run.view().pipelines['books']?.walks.completed).toBe(3);
  expect(run.view().deadLetters.total).toBe(0);
  expect(run.summary()).toMatch(
    /^\d+ requests: \d+ answered, \d+ failed \(\d+ times 404\), \d+ returned an error\. \d+ requests were rate-limited, \d+ more may have been\.$/mu,
  );
});

it('the summary says that a 404 which stayed unsettled may have been the limit', async () => {
  await using here = await place();
  await using shop = await startBooks({ ...FREELY, unknown: () => true, unknownBatch: 404 });
  const run = await here.run([books({ baseUrl: shop.urls.default, key: 'a-key', isbns: ['9780140449136'], authors: [], retryFor: '0s' })]);
  await run.finish();
  expect(run.view().deadLetters.last).toMatchObject([{ error: { code: 'HEADGATE_AMBIGUOUS' } }]);
  expect(run.summary()).toContain('1 request: 1 returned an error. 1 request may have been rate-limited.');
});

it('the summary of a run without anything to do says what would make it request the lists again', async () => {
  await using here = await place();
  await using api = await startFollowers({ ...FREELY, users: { alpha: { followers: 3 } } });
  const pipelines = () => [crawl({ url: api.url, users: ['alpha'] })];
  await (await here.run(pipelines())).finish();
  const again = await here.run(pipelines());
  await again.finish();
  expect(again.summary().split('\n')).toEqual([
    'Nothing to do: earlier runs have finished all jobs.',
    'To ask again:     headgate run --again followers',
    '                  To repeat, set every, such as every: 24h, in followers.',
  ]);
});

it('the summary names the topic with the most results, and not the one with the jobs of child streams', () => {
  const { pipelines } = busyView();
  const { followers } = pipelines;
  if (followers === undefined) throw new TypeError('the view has followers');
  const blog = { ...followers, records: { posts: 6, comments: 12, requests: 24 } };
  const summary = (records: typeof blog.records) =>
    summaryText({
      view: busyView({ changed: { pipelines: { blog: { ...blog, records } } } }),
      commandFor: (...words) => words.join(' '),
      outcome: 'done',
    });
  expect(summary(blog.records)).toMatch(/^Read it: +read blog\.comments --max 10$/mu);
  expect(summary({ posts: 0, comments: 0, requests: 24 })).not.toContain('Read it');
});
