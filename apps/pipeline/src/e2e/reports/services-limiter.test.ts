import { limiter, rateBudget } from '@headgate/throttle/limiter';
import { type VirtualClock, virtualClock } from '@headgate/throttle/testing';
import { describe, expect, it } from 'vitest';
import { itemsSection, loggingService, steppedClock, steppedRun } from './stepped-run.fixture.ts';

/** Maximum number of times that lie in any window of this length. */
function mostIn(times: readonly number[], windowMs: number): number {
  return Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + windowMs).length));
}

function waitFor(clock: VirtualClock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.schedule(ms, resolve));
}

// https://github.com/sindresorhus/p-queue/issues/251
it('a call starts as soon as its window has room, after an idle time too', async () => {
  for (let round = 0; round < 20; round += 1) {
    const clock = virtualClock();
    const { run } = limiter({ budgets: [rateBudget({ limit: 2, windowMs: 1_000, clock })], clock });
    const starts: number[] = [];
    const call = (): Promise<number> => run(() => starts.push(clock.monotonicMs()));
    await call();
    await clock.advance(600);
    await call();
    await clock.advance(500);
    await call();
    const last = call();
    await clock.advance(1_000);
    await last;
    const [a, b, c, d = 0] = starts;
    expect([a, b, c]).toEqual([0, 600, 1_100]);
    expect(d).toBeGreaterThanOrEqual(1_600);
    expect(d).toBeLessThan(1_750);
  }
});

// https://github.com/mjpieters/aiolimiter/issues/298
describe('no window has more starts than the limit, after a burst too', () => {
  it('with a limiter', async () => {
    const clock = virtualClock();
    const { run } = limiter({ budgets: [rateBudget({ limit: 2, windowMs: 2_000, clock })], clock });
    const starts: number[] = [];
    const calls: Promise<number>[] = [];
    for (let i = 0; i < 5; i += 1) {
      calls.push(run(() => starts.push(clock.monotonicMs())));
      await clock.advance(10);
    }
    await clock.advance(5_000);
    await Promise.all(calls);
    const [first = 0, second = 0, third = 0, fourth = 0, fifth = 0] = starts;
    expect(Math.max(first, second)).toBeLessThan(100);
    expect(Math.min(third, fourth)).toBeGreaterThanOrEqual(2_000);
    expect(Math.max(third, fourth)).toBeLessThan(2_300);
    expect(fifth).toBeGreaterThanOrEqual(4_000);
    expect(fifth).toBeLessThan(4_600);
    expect(Math.min(third - first, fourth - second, fifth - third)).toBeGreaterThanOrEqual(2_000);
  });

  it('with a pipeline', async () => {
    const clock = steppedClock();
    const answer = ({ query }: { readonly query: URLSearchParams }) => ({ body: { data: [{ id: query.get('page') }], last: 7 } });
    await using service = await loggingService({ clock, answer });
    const pages = { page: { query: 'page' }, last: '$.last' };
    const section = itemsSection(service.url, {
      limit: { requests: 2, window: '2s' },
      concurrency: 4,
      streams: { items: { get: '/items', records: '$.data[*]', key: '$.id', pages } },
    });
    const run = await steppedRun({ clock, services: [service], pipelines: [section] });
    expect(run.outcome).toBe('done');
    expect(service.arrivals.map(({ query }) => query.get('page'))).toEqual(['1', '2', '3', '4', '5', '6', '7']);
    expect(run.records('shop.items').map(({ key }) => key)).toEqual(['1', '2', '3', '4', '5', '6', '7']);
    const times = service.arrivals.map(({ at }) => at);
    for (const [i, at] of times.slice(2).entries()) expect(at - (times[i] ?? 0)).toBeGreaterThanOrEqual(1_950);
    expect(run.endedAt).toBeGreaterThanOrEqual(6_000);
    expect(run.endedAt).toBeLessThanOrEqual(8_000);
  });
});

// https://github.com/sindresorhus/p-throttle/issues/49
describe('the limit holds over the whole life of a program', () => {
  const [LIMIT, WINDOW_MS] = [90, 6_000];

  it('with a limiter, in continuous load, pauses and bursts', async () => {
    const clock = virtualClock();
    const limited = limiter({ budgets: [rateBudget({ limit: LIMIT, windowMs: WINDOW_MS, clock })], clock });
    const starts: number[] = [];
    let [given, done, state] = [0, 0, 7];
    const random = (): number => (state = (state * 48_271) % (2 ** 31 - 1)) / (2 ** 31 - 1);
    const call = (): void => {
      given += 1;
      const work = (): Promise<void> => {
        starts.push(clock.monotonicMs());
        return waitFor(clock, 5 + 395 * random());
      };
      void limited.run(work).then(() => (done += 1));
    };
    for (let at = 0; at < 90_000; at += 100) {
      if (at < 30_000 || at >= 64_000) while (limited.waiting < 200) call();
      else if (at >= 33_000 && at < 60_000 && (at - 33_000) % 4_000 === 0) for (let i = 0; i < 120; i += 1) call();
      await clock.advance(100);
    }
    expect(mostIn(starts, WINDOW_MS)).toBeLessThanOrEqual(LIMIT);
    for (const from of [6_000, 12_000, 18_000, 24_000, 70_000, 76_000]) {
      expect(starts.filter((at) => at >= from && at < from + WINDOW_MS).length).toBeGreaterThanOrEqual(80);
    }
    await clock.advance(300_000);
    expect(done).toBe(given);
  });

  it('with a pipeline, of which no time is wasted', async () => {
    const clock = steppedClock();
    const answer = ({ query }: { readonly query: URLSearchParams }) => ({ body: { data: [{ id: query.get('page') }], last: 200 } });
    await using service = await loggingService({ clock, answer });
    const section = itemsSection(service.url, {
      limit: { requests: LIMIT, window: '6s' },
      streams: { items: { get: '/items', records: '$.data[*]', key: '$.id', pages: { page: { query: 'page' }, last: '$.last' } } },
    });
    const run = await steppedRun({ clock, services: [service], pipelines: [section] });
    expect(run.outcome).toBe('done');
    expect(run.records('shop.items').map(({ key }) => Number(key))).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
    const times = service.arrivals.map(({ at }) => at);
    expect(times).toHaveLength(200);
    expect(mostIn(times, WINDOW_MS - 50)).toBeLessThanOrEqual(LIMIT);
    expect(run.endedAt).toBeGreaterThanOrEqual(12_000);
    expect(run.endedAt).toBeLessThanOrEqual(16_000);
  });
});

// https://github.com/ReactiveX/rxjs/issues/7334
it('a limiter runs thousands of calls that end at once, after one that takes its time', async () => {
  const { run } = limiter({ budgets: [], concurrency: 1, maxQueue: 5_000 });
  const first = Promise.withResolvers<void>();
  let done = 0;
  const calls = [run(() => first.promise), ...Array.from({ length: 5_000 }, () => run(() => void (done += 1)))];
  expect(done).toBe(0);
  first.resolve();
  await Promise.all(calls);
  expect(done).toBe(5_000);
});
