import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WalkPosition, definePipeline, topic, walk } from '@headgate/pipeline';
import { sampleIsbn, startBooks, startFollowers } from '@headgate/sandbox';
import { type QueryOptions, pageNumbers } from '@headgate/sources';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { books } from '../pipelines/books.ts';
import { followers } from '../pipelines/followers.ts';
import { eventText } from './format-event.ts';
import { type Place, type ShownRun, START, place } from './shown-run.fixture.ts';
import { displayWidth } from './text/cells.ts';

type Users = NonNullable<Parameters<typeof startFollowers>[0]>['users'];

const FREELY = { window: { kind: 'rolling', limit: 100_000, windowMs: 1 } } as const;

interface CrawlOptions {
  readonly url: string;
  readonly users: readonly string[];
  readonly limit?: { readonly requests: number; readonly window: string };
  readonly maxOutstanding?: number;
  readonly emit?: ('pages' | 'ids' | 'changes')[];
}

/** A followers pipeline with ten IDs per page. Default limit: two requests in 15 minutes. */
function crawl({ url, users, limit = { requests: 2, window: '15m' }, ...more }: CrawlOptions) {
  return followers({
    baseUrl: url,
    credentials: [{ name: 'app', bearer: 'a-token' }],
    users: users.map((screenName) => ({ screenName })),
    limit,
    count: 10,
    every: 1,
    retryFor: '1h',
    ...more,
  });
}

async function service(users: Users, more: Parameters<typeof startFollowers>[0] = {}) {
  return await startFollowers({ ...FREELY, users: users ?? {}, ...more });
}

/** Crawls `users` completely, so that the next crawl knows their sizes. */
async function crawled(here: Place, url: string, users: readonly string[]): Promise<void> {
  await (await here.run([crawl({ url, users, limit: { requests: 1_000, window: '1s' } })])).finish();
  await here.clock.advance(3_600_000 - (here.clock.epochMs() - START));
}

const lines = (run: ShownRun): string => run.frame().join('\n');

describe('the row of a job', () => {
  it('shows how long it has awaited a response, and the run isn’t idle', async () => {
    const requested = Promise.withResolvers<void>();
    const silent = createServer(() => requested.resolve());
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    await using here = await place();
    const run = await here.run([crawl({ url: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`, users: ['alpha'] })]);
    // Wait for the request first, because a permit that isn't used in time is returned.
    await requested.promise;
    await run.shows(/@alpha +first page +response pending$/mu);
    await here.clock.advance(3_000);
    await run.shows(/@alpha +first page +response pending for 3 s$/mu);
    expect(lines(run)).not.toMatch(/nothing left|waits for/u);
    expect(run.plain.text).not.toMatch(/nothing left|waits/u);
    expect(run.view().work).toMatchObject([{ key: '@alpha', doing: { state: 'requesting', since: START } }]);
    run.stop();
    expect(lines(run)).toContain('stopping: waiting for 1 response, at most 10 s; the next run continues with the remaining jobs');
    silent.closeAllConnections();
    silent.close();
  });

  it('shows until when it waits for budget, and the budget shows who waits for it', async () => {
    await using api = await service({ alpha: { followers: 50 } });
    await using here = await place();
    const run = await here.run([crawl({ url: api.url, users: ['alpha'] })]);
    await run.shows(/@alpha +2 pages +20 ids +waits for budget until 10:15:00/u);
    await here.clock.advance(4_000);
    expect(run.frame()).toEqual([
      '  2 requests done, at least 1 left, done at 10:15:00 or later; at most 20 ids in 15 m',
      '',
      '  @alpha  2 pages  20 ids  waits for budget until 10:15:00',
      '',
      '  followers app  ██████████████████  2 / 2  next at 10:15:00  <- everything waits for this',
    ]);
    expect(run.plain.lines.at(-1)).toMatch(/^10:00:0[34] everything waits for followers app, 2\/2 used: next request at 10:15:00$/u);
    expect((await run.finish()).outcome).toBe('done');
    expect(run.lastAnswerAt() - START).toBeGreaterThanOrEqual(1_800_000);
    const waits = run.json.lines.flatMap((line) => (line.includes('"event":"waiting"') ? [JSON.parse(line) as object] : []));
    expect(waits[0]).toMatchObject({
      level: 'info',
      pipeline: 'followers',
      credential: 'app',
      used: 2,
      limit: 2,
      until: '2026-03-10T10:15:00.455Z',
    });
    expect(waits).toHaveLength(2);
  });

  it('shows when and why it retries, and whether the whole service fails', async () => {
    await using here = await place();
    const run = await here.run([crawl({ url: 'http://127.0.0.1:9', users: ['alpha'], limit: { requests: 100, window: '1s' } })]);
    await run.shows(/@alpha +first page +retries in \S+ m?s: .*refused/u);
    expect(lines(run)).not.toContain('no attempt');
    await here.clock.advance(10_000);

    // The number of attempts varies, and with it the length and the form of the line.
    await expect
      .poll(() => run.frame({ columns: 500 }).at(-1))
      .toMatch(/followers: down since 10:00:00(?:, next attempt [\d:]+)? \(\d+ attempts(?:, 1 job waiting)?\): cannot connect/u);
    const narrow = run.frame({ columns: 70 });
    expect(narrow.join(' ').replaceAll(/ +/gu, ' ')).toMatch(/followers: down since 10:00:00.* \(?\d+ attempts\b.*cannot connect to 127/u);
    expect(narrow.filter((line) => displayWidth(line) > 70)).toEqual([]);
  });

  it('shows that it writes while the log is writing', async () => {
    await using api = await service({ alpha: { followers: 30 } });
    await using here = await place();
    const run = await here.run([crawl({ url: api.url, users: ['alpha'] })], { follow: true });
    await run.shows(/waits for budget/u);
    const release = here.holdWrites();
    await here.clock.advance(900_456);
    await run.shows(/@alpha +2 pages +20 ids +writing$/mu);
    run.stop();
    expect(lines(run)).toContain('stopping: waiting for 1 write');
    release();
  });

  it('shows that it writes even if its next request waits for budget', async () => {
    await using api = await service({ alpha: { followers: 30 } });
    await using here = await place();
    let release: () => void = () => undefined;
    let answers = 0;
    const followed = crawl({ url: api.url, users: ['alpha'] });
    const onSecond = (): void => {
      answers += 1;
      if (answers === 2) release = here.holdWrites();
    };
    const run = await here.run([
      { ...followed, open: (io, lane) => followed.open({ ...io, onAttempt: (event) => (io.onAttempt(event), onSecond()) }, lane) },
    ]);
    await run.shows(/@alpha +1 page +10 ids +writing$/mu);
    await here.clock.advance(1_000);
    expect(lines(run)).toMatch(/@alpha +1 page +10 ids +writing$/mu);
    expect(lines(run)).not.toContain('waits');
    run.stop();
    expect(lines(run)).toContain('stopping: waiting for 1 write');
    release();
  });

  it('shows that it waits for downstream capacity, and what is full', async () => {
    await using api = await service({ alpha: { followers: 30 }, beta: { followers: 30 } });
    await using here = await place();
    const limit = { requests: 100, window: '15m' };
    let release: () => void = () => undefined;
    const slow = crawl({ url: api.url, users: ['alpha', 'beta'], limit, maxOutstanding: 10 });
    const run = await here.run([
      {
        ...slow,
        open: (io, lane) => slow.open({ ...io, onAttempt: (event) => (io.onAttempt(event), (release = here.holdWrites())) }, lane),
      },
    ]);
    await run.shows(/waits for downstream capacity/u);
    expect(lines(run)).toContain('followers: 10 ids not yet written (maxOutstanding): the next request waits');
    release();
  });

  it('shows the work after its crawl', async () => {
    await using here = await place();
    const gate = Promise.withResolvers<void>();
    const run = await here.run([shelf(gate.promise)({})]);
    await run.shows(/^ {2}a +█+ +1 page +1 record +the stocktaking$/mu);
    expect(lines(run)).not.toContain('nothing left');
    gate.resolve();
    await run.finish();
    expect(lines(run)).toMatch(/a +█+ +1 page +1 record +done$/mu);
  });

  it('is separate from that of another job with the same key, and a failure is reported once with its dead letter', async () => {
    await using api = await service({ alpha: { followers: 30 } });
    await using here = await place();
    const run = await here.run([crawl({ url: api.url, users: ['alpha', 'nobody'] })], { follow: true });
    await run.shows(/1 dead letter: headgate dead-letters followers$/mu);
    expect(lines(run)).toMatch(/@nobody +failed: .*no such user/iu);
    expect(run.plain.text.match(/nobody.*It is in followers\.dead-letters\.$/gmu)).toHaveLength(1);
    await here.log.append([{ topic: 'followers.requests', key: '@alpha', value: '{"screenName":"alpha"}' }]);
    // A lane that wasn't waiting yet notices the new job only when it looks again.
    const later = async (): Promise<string> => {
      await here.clock.advance(250);
      return lines(run);
    };
    await expect.poll(later).toMatch(/@alpha #\d/u);
    // By then, the list can have added the job again.
    expect(run.frame().filter((line) => line.startsWith('  @alpha #')).length).toBeGreaterThan(1);
  });

  it('shows that it is done, and a run that follows waits for new jobs', async () => {
    await using api = await service({ alpha: { followers: 3 } });
    await using here = await place();
    const run = await here.run([crawl({ url: api.url, users: ['alpha'] })], { follow: true });
    await run.shows(/@alpha +█+ +1 page +3 ids +done/u);
    await here.clock.advance(0);
    expect(lines(run)).not.toContain('nothing left');
    await here.clock.advance(2_001);
    expect(lines(run)).toContain('  all jobs are done: waiting for new jobs');
  });
});

interface Shelf {
  readonly name: string;
}

const shelfTopics = { records: topic({ value: z.string() }) };

/** A pipeline with crawls of one page. Their `after` waits for `gate`. */
function shelf(gate: Promise<void>) {
  return definePipeline({
    name: 'shelves',
    options: z.strictObject({}),
    request: z.strictObject({ name: z.string() }),
    topics: shelfTopics,
    keyOf: ({ name }) => name,
    listed: () => [{ name: 'a' }],
    open: () =>
      walk({
        source: {
          query: async (value: string, { credits }: QueryOptions) => await Promise.resolve({ value, credit: credits.reserve(1) }),
          gauges: () => ({ budgets: [], queries: [] }),
          slots: () => [],
          stop: () => undefined,
          close: async () => undefined,
        },
        paging: ({ name }: Shelf) => pageNumbers({ query: () => name, isLast: () => true }),
        records: (page: string, { topics }: WalkPosition<Shelf, typeof shelfTopics>) => [topics.records({ key: 'a', value: page })],
        // eslint-disable-next-line require-yield
        async *after(): AsyncGenerator<never> {
          await gate;
        },
        afterName: 'the stocktaking',
      }),
  });
}

it('the display fits any terminal, measured in cells, and keeps what holds the run up', async () => {
  const wide = '漢字👨‍👩‍👧名前';
  await using api = await startBooks();
  await using here = await place();
  const run = await here.run([
    books({ baseUrl: api.urls.default, key: 'a-key', isbns: [], authors: [wide.repeat(4), wide, 'Ursula K. Le Guin'] }),
  ]);
  await run.shows(/everything waits for this/u);
  for (const columns of [79, 40, 20, 9, 1]) {
    for (const rows of [30, 8, 3, 1]) {
      const frame = [run.header({ columns, rows }), ...run.frame({ columns, rows })];
      expect(frame.length).toBeLessThanOrEqual(rows);
      expect(frame.map(displayWidth).filter((width) => width > columns)).toEqual([]);
    }
  }
  const short = run.frame({ columns: 40, rows: 5 });
  expect(short.at(-1)).toMatch(/^ {2}books key {2}1 \/ 1 {2}next at \S+ {2}<.*…$/u);
  expect(short.join('\n')).toContain(`  ${wide}`);
  run.stop();
  expect(run.frame({ columns: 40 }).join(' ')).toMatch(/ {2}stopping: .*; +the +next +run +continues +with +the +remaining +jobs$/u);
  expect(run.frame({ columns: 40, rows: 5 }).at(-1)).toMatch(/^ {2}stopping: .*…$/u);
});

it('JSON reports a wait once, even if the clock is corrected by a few ms meanwhile', async () => {
  await using api = await service({ alpha: { followers: 50 } });
  await using here = await place();
  const run = await here.run([crawl({ url: api.url, users: ['alpha'] })]);
  await run.shows(/waits for budget until 10:15:00/u);
  for (const ms of [1, -2, 1, 3]) {
    here.clock.stepEpoch(ms);
    await here.clock.advance(2_000);
  }
  const waits = run.json.lines
    .map((line) => JSON.parse(line) as { event: string; until: string })
    .filter(({ event }) => event === 'waiting');
  expect(waits).toMatchObject([
    { pipeline: 'followers', credential: 'app', budget: 'rate', used: 2, limit: 2, until: expect.stringMatching(/T10:1[45]:/u) as string },
  ]);
});

it('an outage of a service is reported once, and its end once, however many requests it affects', async () => {
  await using here = await place();
  let isDown = true;
  const server = createServer((_, response) => {
    if (isDown) response.destroy();
    else response.writeHead(404, { 'content-type': 'application/json' }).end('{"errors":[{"code":34,"message":"Not found."}]}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const users = Array.from({ length: 20 }, (_, i) => `user_${i}`);
  const run = await here.run([crawl({ url: `http://127.0.0.1:${port}`, users, limit: { requests: 10_000, window: '1s' } })]);
  const failed = (): number => run.view().pipelines['followers']?.failing?.attempts ?? 0;
  // Polls instead of advancing the clock once, because virtual time stops while sockets are at work.
  const during = async (): Promise<number> => {
    await here.clock.advance(2_500);
    return failed();
  };
  await expect.poll(during).toBeGreaterThan(25);
  expect(run.frame({ columns: 500 }).join('\n')).toMatch(/down since 10:00:0\d.* \(\d+ attempts, (?:19|20) jobs waiting\): /u);
  expect(run.frame({ columns: 500 }).join('\n')).toMatch(/@user_0 +first page +(?:waits for the service|response pending)/u);
  isDown = false;
  const after = async (): Promise<string> => {
    await here.clock.advance(2_500);
    return run.plain.text;
  };
  await expect.poll(after).toMatch(/followers: attempts succeed again after/u);
  const { lines: plain } = run.plain;
  expect(plain.filter((line) => /every attempt fails|attempts succeed again/u.test(line))).toEqual([
    expect.stringMatching(
      /followers: every attempt fails \(.+[^.]\)\. One request retries, and the others wait\. If one gives up, it becomes a dead letter\.$/u,
    ),
    expect.stringMatching(/followers: attempts succeed again after \d/u),
  ]);
  const from = plain.findIndex((line) => line.includes('every attempt fails'));
  const until = plain.findIndex((line) => line.includes('succeed again'));
  expect(plain.slice(from + 1, until).filter((line) => /user_|down since/u.test(line))).toEqual([]);
  const events = run.json.lines.map((line) => JSON.parse(line) as { event: string });
  expect(events.filter(({ event }) => event.startsWith('service-'))).toMatchObject([
    { level: 'warn', event: 'service-unavailable', pipeline: 'followers' },
    { level: 'info', event: 'service-available', pipeline: 'followers' },
  ]);
  server.close();
});

describe('the progress', () => {
  it('fills bars and predicts the finish time on every display if the sizes are known', async () => {
    await using api = await service({ alpha: { followers: 40 }, beta: { followers: 20 } });
    await using here = await place();
    await crawled(here, api.url, ['alpha', 'beta']);
    const run = await here.run([crawl({ url: api.url, users: ['alpha', 'beta'] })]);
    await run.shows(/@alpha.*waits for budget until .*\n.*@beta.*waits for budget until/u);
    expect(run.frame()).toEqual([
      '  33.3 % of 6 requests, done at 11:30:00',
      '',
      '  @alpha  █████░░░░░░░░░░░░░  1 of ~4 pages  10 ids  waits for budget until 11:15:00',
      '  @beta   █████████░░░░░░░░░  1 of ~2 pages  10 ids  waits for budget until 11:15:00',
      '',
      '  followers app  ██████████████████  2 / 2  next at 11:15:00  <- everything waits for this',
    ]);
    await run.finish();
    expect(new Date(run.lastAnswerAt()).toISOString()).toMatch(/^2026-03-10T11:3/u);
    expect(run.json.text).toMatch(
      /"event":"progress","pipeline":"followers","requests_done":\d,"requests_left":\d,"is_exact":true,"done_at":"2026-03-10T11:30:0/u,
    );
  });

  it('of lookup keys includes those that still wait in the topic', async () => {
    await using here = await place();
    await using api = await startBooks({ unknown: [sampleIsbn(0)], now: () => here.clock.epochMs() });
    const isbns = Array.from({ length: 1_200 }, (_, i) => sampleIsbn(i));
    const run = await here.run([books({ baseUrl: api.urls.default, key: 'a-key', isbns })]);
    await run.shows(/books keys +█+░+ +100 of 1,200 +1 missing, 99 records +waits for budget/u);
    const frames: string[] = [];
    await run.finish(() => void frames.push(run.frame().join('\n')));
    expect(frames.join('\n')).toMatch(/^ {2}\d+\.\d % of 12 requests, done at 10:00:1[01]$/mu);
    expect(lines(run)).toMatch(/books keys +█+ +1,200 of 1,200 +1 missing, 1,199 records +done/u);
  });

  it('counts only records of lookups as records of keys, and names the rate of each pipeline', async () => {
    await using here = await place();
    await using crawls = await service({ alpha: { followers: 30 } });
    await using api = await startBooks({ now: () => here.clock.epochMs() });
    const isbns = [sampleIsbn(0), sampleIsbn(1)];
    const run = await here.run([
      crawl({ url: crawls.url, users: ['alpha'] }),
      books({ baseUrl: api.urls.default, key: 'a-key', isbns, authors: ['Ursula K. Le Guin'] }),
    ]);
    await run.shows(/at least \d left, done at \S+ or later; followers: at most 20 ids in 15 m(?:;\s+books: at most 1 request a .*)?$/mu);
    await run.finish();
    expect(lines(run)).toMatch(/books keys +█+ +2 of 2 +2 records +done$/mu);
    expect(run.view().pipelines['books']?.records).toEqual({ authors: 2, records: 2 });
  });

  it('stays cheap however many jobs wait', async () => {
    await using here = await place();
    // The only request of the day fails, so nothing else happens, however slow the machine is.
    const busy = createServer((_, response) => response.writeHead(503).end());
    await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve));
    const { port } = busy.address() as AddressInfo;
    const waiting = crawl({ url: `http://127.0.0.1:${port}`, users: [], limit: { requests: 1, window: '24h' } });
    const run = await here.run([waiting], { follow: true });
    const name = (i: number): string => `user_${i}`;
    for (let from = 0; from < 20_000; from += 10_000) {
      const some = Array.from({ length: 10_000 }, (_, i) => name(from + i));
      await here.log.append(
        some.map((screenName) => ({ topic: 'followers.requests', key: `@${screenName}`, value: JSON.stringify({ screenName }) })),
      );
    }
    await here.clock.advance(250);
    const view = async () => {
      await here.clock.advance(5_001);
      return run.view();
    };
    // Forecasts and counts are updated at different times, so the test advances the clock until both are complete.
    await expect.poll(view).toMatchObject({
      lanes: [{ inWork: 500, behind: 19_500, isCounted: true }],
      progress: { done: 0, left: 20_000, isExact: false },
    });
    expect(run.view().work).toHaveLength(500);
    expect(lines(run)).toMatch(/and 19,9\d\d more: \d+ working, 19,500 waiting for their turn/u);
    busy.close();
  });
});

it('responses that aren’t JSON count as errors, and hostile reasons are shown as text', async () => {
  const hostile = createServer((_, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<b>\u001B[31mno JSON</b>');
  });
  await new Promise<void>((resolve) => hostile.listen(0, '127.0.0.1', resolve));
  const { port } = hostile.address() as AddressInfo;
  await using here = await place();
  const run = await here.run([crawl({ url: `http://127.0.0.1:${port}`, users: ['alpha'], limit: { requests: 100, window: '1s' } })]);
  await run.shows(/retries in/u);
  expect(Object.keys(run.view().pipelines['followers']?.faults ?? {})).toEqual(['200']);
  expect(run.frame().join('') + run.plain.text + run.json.text).not.toContain('\u001B');
  hostile.close();
});

it('the reason of an outage keeps its sentences, and gets no second full stop', () => {
  const event = { type: 'service-unavailable', pipeline: 'shop', since: 0, reason: 'gave up. Retry later.' } as const;
  expect(eventText(event, {}).words).toMatch(/^shop: every attempt fails \(gave up\. Retry later\)\. One request retries/u);
});
