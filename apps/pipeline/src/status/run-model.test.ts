import { describe, expect, it } from 'vitest';
import { createRunModel } from './run-model.ts';
import { virtualClock } from './virtual-clock.fixture.ts';
import type { RunEvent } from './run-event.ts';

const protectedAccount = { code: 'HEADGATE_UNAUTHORIZED', message: 'the account is protected (401 "Not authorized.")' };

function request(
  outcome: Extract<RunEvent, { type: 'request' }>['outcome'],
  more: Partial<Extract<RunEvent, { type: 'request' }>> = {},
): RunEvent {
  return { type: 'request', service: 'followers', credential: 'app', subject: '@alpha', outcome, ...more };
}

describe('a run as its events leave it', () => {
  it('follows a crawl from start to end', () => {
    const clock = virtualClock();
    const model = createRunModel({ clock });
    const startedAt = clock.now();
    model.apply({ type: 'crawl-started', user: '@alpha', crawl: 'c1', page: 412, resumed: true, expectedPages: 1020 });
    expect(model.snapshot().crawls).toMatchObject([{ user: '@alpha', state: 'running', page: 411, pages: 0, ids: 0, expectedPages: 1020 }]);
    clock.pass(30_000);
    model.apply({ type: 'page-written', user: '@alpha', crawl: 'c1', page: 412, ids: 5000, credential: 'app' });
    clock.pass(30_000);
    model.apply({ type: 'page-written', user: '@alpha', crawl: 'c1', page: 413, ids: 1380, credential: 'app' });
    expect(model.snapshot().crawls).toMatchObject([{ page: 413, pages: 2, ids: 6380, idsPerMinute: 6380 }]);
    model.apply({ type: 'crawl-completed', user: '@alpha', crawl: 'c1', pages: 413, ids: 2_061_380 });
    const run = model.snapshot();
    expect(run).toMatchObject({ startedAt, now: startedAt + 60_000, lastEventAt: startedAt + 60_000 });
    expect(run.crawls).toMatchObject([{ state: 'completed', endedAt: startedAt + 60_000 }]);
    expect(run.totals).toEqual({ crawlsStarted: 1, crawlsCompleted: 1, crawlsFailed: 0, pages: 2, ids: 6380 });
  });

  it('knows the lanes it holds, and whether anybody needs to know of them', () => {
    const model = createRunModel({ clock: virtualClock() });
    const lanes = (): unknown => model.snapshot().lanes.map(({ service, lane }) => `${service} ${lane}`);
    expect(model.snapshot()).toMatchObject({ lanes: [], lanesShared: false });
    model.apply({ type: 'lane-opened', service: 'books', lane: 0 });
    model.apply({ type: 'lane-opened', service: 'followers', lane: 10 });
    expect([lanes(), model.snapshot().lanesShared]).toEqual([['followers 10', 'books 0'], false]);
    model.apply({ type: 'lane-opened', service: 'followers', lane: 2 });
    expect([lanes(), model.snapshot().lanesShared]).toEqual([['followers 2', 'followers 10', 'books 0'], true]);
    model.apply({ type: 'lane-left', service: 'followers', lane: 2 });
    expect([lanes(), model.snapshot().lanesShared]).toEqual([['followers 10', 'books 0'], true]);
  });

  it('takes lanes as shared once one was left', () => {
    const model = createRunModel({ clock: virtualClock() });
    model.apply({ type: 'lane-opened', service: 'followers', lane: 0 });
    model.apply({ type: 'lane-left', service: 'followers', lane: 0 });
    expect(model.snapshot()).toMatchObject({ lanes: [], lanesShared: true });
  });

  it('forgets the running crawls of a lane that was left, and no others', () => {
    const model = createRunModel({ clock: virtualClock() });
    for (const crawl of ['followers.requests-1-7', 'followers.requests-1-8', 'followers.requests-11-7', 'books.requests-1-7']) {
      model.apply({ type: 'crawl-started', user: `@${crawl}`, crawl, page: 1, resumed: false });
    }
    model.apply({ type: 'crawl-completed', user: '@a', crawl: 'followers.requests-1-8', pages: 1, ids: 1 });
    model.apply({ type: 'crawl-failed', user: '@b', crawl: 'followers.requests-1-9', error: protectedAccount });
    model.apply({ type: 'lane-left', service: 'followers', lane: 1, reason: 'process 12 on host-b has taken it over' });
    const run = model.snapshot();
    expect(run.crawls.map(({ crawl, state }) => [crawl, state])).toEqual([
      ['followers.requests-1-8', 'completed'],
      ['followers.requests-11-7', 'running'],
      ['books.requests-1-7', 'running'],
      ['followers.requests-1-9', 'failed'],
    ]);
    expect(run.totals).toMatchObject({ crawlsStarted: 4, crawlsCompleted: 1, crawlsFailed: 1 });
    expect(run.failures).toHaveLength(1);
    model.apply({ type: 'lane-left', service: 'books', lane: 11 });
    expect(model.snapshot().crawls).toEqual(run.crawls);
  });

  it('counts a crawl whose lane comes back once, and not the time it was away', () => {
    const clock = virtualClock();
    const model = createRunModel({ clock });
    const about = { user: '@alpha', crawl: 'followers.requests-0-3' };
    const lane = { service: 'followers', lane: 0 } as const;
    model.apply({ type: 'crawl-started', ...about, page: 1, resumed: false });
    clock.pass(30_000);
    model.apply({ type: 'page-written', ...about, page: 1, ids: 5000, credential: 'app' });
    model.apply({ type: 'lane-left', ...lane });
    clock.pass(3_600_000);
    model.apply({ type: 'lane-opened', ...lane });
    model.apply({ type: 'crawl-started', ...about, page: 40, resumed: true });
    expect(model.snapshot().crawls).toMatchObject([{ page: 39, pages: 1, ids: 5000, awayMs: 3_600_000 }]);
    clock.pass(30_000);
    model.apply({ type: 'page-written', ...about, page: 40, ids: 1000, credential: 'app' });
    const run = model.snapshot();
    expect(run.crawls).toMatchObject([{ state: 'running', page: 40, pages: 2, ids: 6000, idsPerMinute: 6000 }]);
    expect(run.totals).toMatchObject({ crawlsStarted: 1, pages: 2, ids: 6000 });
  });

  it.each(['running', 'failed'] as const)('counts a crawl that starts again while it was %s once', (state) => {
    const model = createRunModel({ clock: virtualClock() });
    const about = { user: '@alpha', crawl: 'followers.requests-0-3' };
    model.apply({ type: 'crawl-started', ...about, page: 1, resumed: false });
    if (state === 'failed') model.apply({ type: 'crawl-failed', ...about, error: protectedAccount });
    model.apply({ type: 'crawl-started', ...about, page: 5, resumed: true });
    expect(model.snapshot()).toMatchObject({ totals: { crawlsStarted: 1 }, crawls: [{ state: 'running', page: 4 }] });
  });

  it('counts what is told of a crawl after its lane was left, and brings only its end back', () => {
    const model = createRunModel({ clock: virtualClock() });
    const about = { user: '@alpha', crawl: 'followers.requests-0-3' };
    model.apply({ type: 'crawl-started', ...about, page: 1, resumed: false });
    model.apply({ type: 'lane-left', service: 'followers', lane: 0 });
    model.apply({ type: 'page-written', ...about, page: 1, ids: 10, credential: 'app' });
    expect(model.snapshot()).toMatchObject({ crawls: [], totals: { pages: 1, ids: 10 } });
    model.apply({ type: 'crawl-completed', ...about, pages: 1, ids: 10 });
    expect(model.snapshot()).toMatchObject({ crawls: [{ state: 'completed', ids: 10 }], totals: { crawlsStarted: 1, crawlsCompleted: 1 } });
    model.apply({ type: 'crawl-started', ...about, page: 1, resumed: false });
    expect(model.snapshot().crawls).toMatchObject([{ state: 'running', pages: 0, ids: 0 }]);
  });

  it('knows since when and why the log is away, until it is back', () => {
    const clock = virtualClock();
    const model = createRunModel({ clock });
    const since = clock.now() - 5000;
    model.apply({ type: 'log-unavailable', driver: 'kafka', reason: 'connect ECONNREFUSED 127.0.0.1:9092', since });
    clock.pass(5000);
    model.apply({ type: 'log-unavailable', driver: 'kafka', reason: 'no leader' });
    expect(model.snapshot().logUnavailable).toEqual({ driver: 'kafka', since, reason: 'no leader' });
    model.apply({ type: 'log-available', driver: 'kafka' });
    expect(model.snapshot()).not.toHaveProperty('logUnavailable');
  });

  it('keeps which lanes are held back, until they can be read or are left', () => {
    const clock = virtualClock();
    const model = createRunModel({ clock });
    const lanes = [0, 1].map((lane) => ({ service: 'followers', lane, offset: 12, since: clock.now() }) as const);
    for (const lane of lanes) model.apply({ type: 'requests-held-back', ...lane });
    expect(model.snapshot().heldBack).toEqual(lanes);
    model.apply({ type: 'requests-readable', service: 'followers', lane: 0 });
    expect(model.snapshot().heldBack).toEqual(lanes.slice(1));
    model.apply({ type: 'lane-left', service: 'followers', lane: 1 });
    expect(model.snapshot().heldBack).toEqual([]);
  });

  it('keeps why crawls failed', () => {
    const model = createRunModel({ clock: virtualClock() });
    model.apply({ type: 'crawl-failed', user: '@carol', crawl: 'c2', error: protectedAccount });
    expect(model.snapshot()).toMatchObject({
      totals: { crawlsFailed: 1 },
      crawls: [{ user: '@carol', state: 'failed', error: protectedAccount }],
      failures: [{ user: '@carol', error: protectedAccount }],
    });
  });

  it('counts requests by service and outcome, and faults by kind', () => {
    const model = createRunModel({ clock: virtualClock() });
    model.apply(request('ok'));
    model.apply(request('transient', { status: 503, retryInMs: 2000 }));
    model.apply(request('transient', { reason: 'read ECONNRESET' }));
    model.apply(request('transient', { status: 503 }));
    model.apply(request('rate-limited'));
    model.apply(request('gone', { service: 'books', status: 404 }));
    const run = model.snapshot();
    expect(run.requests.followers).toMatchObject({ ok: 1, transient: 3, 'rate-limited': 1, gone: 0 });
    expect(run.requests.books).toMatchObject({ ok: 0, gone: 1 });
    expect(run.faults).toEqual([
      { kind: 503, count: 2 },
      { kind: 'reset', count: 1 },
      { kind: 429, count: 1 },
    ]);
  });

  it('adds books and authors up', () => {
    const model = createRunModel({ clock: virtualClock() });
    model.apply({ type: 'books-queued', isbns: 200, authors: 1 });
    model.apply({ type: 'books-queued', isbns: 50, authors: 1 });
    model.apply({ type: 'books-written', found: 97, missing: 3 });
    model.apply({ type: 'books-written', found: 100, missing: 0 });
    model.apply({ type: 'author-written', author: 'A', page: 1, last: false, books: 10 });
    model.apply({ type: 'author-written', author: 'A', page: 2, last: true, books: 2 });
    expect(model.snapshot().books).toEqual({ queuedIsbns: 250, queuedAuthors: 2, found: 197, missing: 3, authors: 1, authorBooks: 12 });
  });

  it('does not grow with the length of a run', () => {
    const model = createRunModel({ clock: virtualClock() });
    const message = 'x'.repeat(10_000);
    for (let index = 0; index < 5000; index += 1) {
      const about = { user: `@u${index}`, crawl: `c${index}` };
      model.apply({ type: 'crawl-started', ...about, page: 1, resumed: false });
      model.apply({ type: 'crawl-failed', ...about, error: { code: 'X', message } });
      model.apply({ type: 'dead-letter', topic: 'followers.dead-letters', key: about.user, error: { code: 'X', message } });
      model.apply(request('transient', { reason: `surprise number ${index}` }));
    }
    const run = model.snapshot();
    expect(run.totals.crawlsFailed).toBe(5000);
    expect(run.deadLetters).toMatchObject({ total: 5000, byTopic: { 'followers.dead-letters': 5000 } });
    expect(run.deadLetters.last).toHaveLength(100);
    expect(run.deadLetters.last.at(-1)).toMatchObject({ key: '@u4999' });
    expect(run.crawls).toHaveLength(1000);
    expect(run.faults).toEqual([{ kind: 'other', count: 5000 }]);
    expect(JSON.stringify(run).length).toBeLessThan(1_000_000);
  });

  it('remembers the last 10,000 crawls of lanes it left', () => {
    const model = createRunModel({ clock: virtualClock() });
    const start = (offset: number): void =>
      model.apply({ type: 'crawl-started', user: `@u${offset}`, crawl: `followers.requests-0-${offset}`, page: 1, resumed: false });
    for (let offset = 0; offset <= 10_000; offset += 1) start(offset);
    model.apply({ type: 'lane-left', service: 'followers', lane: 0 });
    start(1);
    expect(model.snapshot().totals.crawlsStarted).toBe(10_001);
    start(0);
    expect(model.snapshot().totals.crawlsStarted).toBe(10_002);
  });

  it('never forgets a crawl under way', () => {
    const model = createRunModel({ clock: virtualClock() });
    model.apply({ type: 'crawl-started', user: '@long', crawl: 'long', page: 1, resumed: false });
    for (let index = 0; index < 3000; index += 1) {
      model.apply({ type: 'crawl-completed', user: `@u${index}`, crawl: `c${index}`, pages: 1, ids: 1 });
    }
    expect(model.snapshot().crawls[0]).toMatchObject({ user: '@long', state: 'running' });
  });

  it('gives snapshots that stay as they were', () => {
    const model = createRunModel({ clock: virtualClock() });
    const before = model.snapshot();
    const copy = structuredClone(before);
    model.apply({ type: 'page-written', user: '@alpha', crawl: 'c1', page: 1, ids: 10, credential: 'app' });
    model.apply(request('transient', { status: 500 }));
    expect(before).toEqual(copy);
  });

  it('lets no control character of a name through', () => {
    const model = createRunModel({ clock: virtualClock() });
    model.apply({ type: 'crawl-failed', user: '@a\u001B[2J', crawl: 'c', error: { code: 'X', message: 'b\u0007ad\u009B1m' } });
    model.apply({ type: 'dead-letter', topic: 'books.dead-letters', key: '\u001B]0;t\u0007k', error: { code: 'X', message: '\n' } });
    model.apply({ type: 'log-unavailable', driver: 'kafka', reason: '\u001B[2Jgone\u009B1m' });
    // eslint-disable-next-line no-control-regex
    expect(JSON.stringify(model.snapshot())).not.toMatch(/\\u00[01]|[\u007F-\u009F]/);
  });
});
