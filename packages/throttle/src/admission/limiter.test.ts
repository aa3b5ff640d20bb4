import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { failed, limiter, QueueFullError, refused, RefusedError } from './limiter.ts';
import { type RateBudget, rateBudget } from '../budget/rate-budget.ts';
import { virtualClock } from '../testing/index.ts';

const perSecond = (limit: number, clock = virtualClock()) => ({
  clock,
  budgets: [rateBudget({ limit, windowMs: 1_000, guardMs: 0, maxDelayMs: 300, clock })],
});
function thrown(job: number): never {
  throw new Error(`job ${job}`);
}
/** Returns an object that shows the promise's result or error as soon as there is one. */
function watched<T>(promise: Promise<T>) {
  const seen: { value?: T; error?: unknown } = {};
  promise.then(
    (value) => (seen.value = value),
    (error: unknown) => (seen.error = error),
  );
  return seen;
}

describe('limiter', () => {
  it('starts no more than its budget in any window, and everything once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.constantFrom('gives', 'throws', 'slow'), { maxLength: 20, size: 'max' }),
        async (limit, jobs) => {
          const { clock, budgets } = perSecond(limit);
          const { run } = limiter({ budgets, clock });
          const starts: number[] = [];
          const ends = jobs.map((how, i) =>
            watched(
              run(async () => {
                starts.push(clock.monotonicMs());
                if (how === 'throws') await new Promise<void>((resolve) => void clock.schedule(1, resolve)).then(() => thrown(i));
                if (how === 'slow') await new Promise<void>((resolve) => void clock.schedule(250, resolve));
                return i;
              }),
            ),
          );
          await clock.advance(60_000);
          expect(starts).toHaveLength(jobs.length);
          for (const [i, at] of starts.entries()) expect((starts[i + limit] ?? Infinity) - at).toBeGreaterThanOrEqual(1_000);
          expect(ends.map(({ value, error }) => value ?? (error instanceof Error ? error.message : undefined))).toEqual(
            jobs.map((how, i) => (how === 'throws' ? `job ${i}` : i)),
          );
          expect(clock.pending).toBe(0);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('charges work that throws as late as the service may count it', async () => {
    const { clock, budgets } = perSecond(1);
    const api = limiter({ budgets, clock, concurrency: 1 });
    const sent = watched(api.run(() => new Promise<void>((resolve) => void clock.schedule(100, resolve)).then(() => thrown(1))));
    let startedAt: number | undefined;
    void api.run(() => (startedAt = clock.monotonicMs()));
    await clock.advance(5_000);
    expect([sent.error, startedAt, api.running]).toEqual([new Error('job 1'), 100 + 1_300, 0]);
  });

  it('charges an answer that work has no use for as any answer, and rejects with its error', async () => {
    const { clock, budgets } = perSecond(1);
    const api = limiter({ budgets, clock });
    const answered = watched(
      api.run(() => new Promise<void>((resolve) => void clock.schedule(100, resolve)).then(() => failed(new Error('status 500')))),
    );
    let startedAt: number | undefined;
    void api.run(() => (startedAt = clock.monotonicMs()));
    await clock.advance(5_000);
    expect([answered.error, startedAt]).toEqual([new Error('status 500'), 1_100]);
  });

  it('holds only the budgets that refused work has used', async () => {
    const clock = virtualClock();
    const budgets = [1, 2].map(() => rateBudget({ limit: 5, windowMs: 1_000, guardMs: 0, clock }));
    const { run } = limiter({ budgets, clock });
    const answers = [refused({ retryInMs: 7_000 }), 'taken'];
    void run(() => answers.shift(), { weight: [0, 1] });
    await clock.advance(1);
    let other: number | undefined;
    void run(() => (other = clock.monotonicMs()), { weight: [1, 0] });
    await clock.advance(8_000);
    expect([other, answers]).toEqual([1, []]);
  });

  it.each([
    ['12', undefined, 12_000],
    ['Thu, 01 Jan 2026 00:00:30 GMT', 'Thu, 01 Jan 2026 00:00:10 GMT', 20_000],
    ['Thu, 01 Jan 2026 00:00:30 GMT', undefined, 30_000],
    ['Thu, 01 Jan 2026 00:00:00 GMT', 'Thu, 01 Jan 2026 00:00:10 GMT', 0],
    ['soon', undefined, 1_000],
    [undefined, undefined, 1_000],
  ])('reads the wait of a refused answer: Retry-After %s, Date %s', async (retryAfter, date, waitMs) => {
    const { clock, budgets } = perSecond(100);
    const { run } = limiter({ budgets, clock });
    const headers = new Headers({ ...(retryAfter !== undefined && { 'retry-after': retryAfter }), ...(date !== undefined && { date }) });
    const starts: number[] = [];
    void run(() => (starts.push(clock.monotonicMs()) < 2 ? refused(new Response(null, { status: 429, headers })) : 'taken'));
    await clock.advance(60_000);
    expect(starts).toEqual([0, waitMs]);
  });

  it('runs refused work again when the service allows it, and gives up in the end', async () => {
    const { clock, budgets } = perSecond(100);
    const { run } = limiter({ budgets, clock });
    const starts: number[] = [];
    const result = watched(run(() => (starts.push(clock.monotonicMs()) < 3 ? refused({ retryInMs: 7_000 }) : 'taken')));
    await clock.advance(1);
    let other: number | undefined;
    void run(() => (other = clock.monotonicMs()));
    await clock.advance(20_000);
    expect([starts, result.value, other]).toEqual([[0, 7_000, 14_000], 'taken', 14_000]);

    let times = 0;
    const never = watched(run(() => ((times += 1), refused({ retryInMs: 1_000 }))));
    await clock.advance(60_000);
    expect(times).toBe(10);
    expect(never.error).toBeInstanceOf(RefusedError);
    expect(never.error).toMatchObject({ code: 'HEADGATE_REFUSED', retryable: true });
  });

  it('tries one call at a time after a refusal, until the service takes one; other credentials continue', async () => {
    const clock = virtualClock();
    const budgets = () => [rateBudget({ limit: 100, windowMs: 1_000, guardMs: 0, clock })];
    const { run } = limiter({ credentials: ['a', 'b'], budgets, clock });
    const starts: string[] = [];
    const call = (among: string) =>
      run(
        async (name) => {
          starts.push(`${name} ${clock.monotonicMs()}`);
          await new Promise<void>((resolve) => void clock.schedule(100, resolve));
          return name === 'a' && clock.monotonicMs() < 3_000 ? refused({ retryInMs: 1_000 }) : 'taken';
        },
        { among: [among] },
      );
    void call('a');
    await clock.advance(500);
    const all = Promise.all(Array.from({ length: 5 }, () => call('a')));
    await clock.advance(1_000);
    const other = call('b');
    await clock.advance(5_000);
    expect([...new Set(await all), await other]).toEqual(['taken', 'taken']);
    expect(starts).toEqual(['a 0', 'a 1100', 'b 1500', 'a 2200', 'a 3300', ...Array.from({ length: 5 }, () => 'a 3400')]);
  });

  it('gives the next work to the credential that may go, each with its own budgets', async () => {
    const clock = virtualClock();
    const { run } = limiter({
      credentials: [
        { name: 'a', token: 'A' },
        { name: 'b', token: 'B' },
      ],
      budgets: () => [rateBudget({ limit: 1, windowMs: 1_000, guardMs: 0, clock })],
      clock,
    });
    const starts: string[] = [];
    for (let i = 0; i < 4; i += 1) void run(({ token }) => starts.push(`${token} ${clock.monotonicMs()}`));
    await clock.advance(3_000);
    expect(starts).toEqual(['A 0', 'B 0', 'A 1000', 'B 1000']);
    expect(() => limiter({ credentials: ['a', 'b'], budgets: [rateBudget({ limit: 1, windowMs: 1 })] })).toThrow(
      'each of 2 credentials needs its own budgets',
    );
  });

  it('gives work to the credentials that may carry it, while other work passes', async () => {
    const clock = virtualClock();
    const budgets = () => [rateBudget({ limit: 1, windowMs: 1_000, guardMs: 0, clock })];
    const { run } = limiter({ credentials: ['a', 'b'], budgets, clock, maxQueue: 3 });
    const starts: string[] = [];
    const start = (among?: readonly string[]) => run((name) => starts.push(`${name} ${clock.monotonicMs()}`), { among });
    for (const among of [['a'], ['a'], ['b'], undefined]) void start(among);
    await clock.advance(3_000);
    expect(starts).toEqual(['a 0', 'b 0', 'a 1000', 'b 1000']);
    await expect(start(['c'])).rejects.toThrow(/only c may carry this request/);
  });

  it('refuses work that would wait for its own credential, and no other, where none may wait', async () => {
    const clock = virtualClock();
    const budgets = () => [rateBudget({ limit: 1, windowMs: 1_000, guardMs: 0, clock })];
    const { run } = limiter({ credentials: ['a', 'b'], budgets, clock, maxQueue: 0 });
    await run((name) => name, { among: ['a'] });
    await expect(run((name) => name, { among: ['a'] })).rejects.toThrow(QueueFullError);
    expect(await run((name) => name, { among: ['b'] })).toBe('b');
  });

  it('runs no more at a time than concurrency allows', async () => {
    const { clock, budgets } = perSecond(1_000);
    const api = limiter({ budgets, clock, concurrency: 3 });
    let most = 0;
    for (let i = 0; i < 20; i += 1)
      void api.run(() => {
        most = Math.max(most, api.running);
        return new Promise<void>((resolve) => void clock.schedule(10, resolve));
      });
    expect([api.running, api.waiting]).toEqual([3, 17]);
    await clock.advance(1_000);
    expect([most, api.running, api.waiting]).toEqual([3, 0, 0]);
  });

  it('refuses more waiting work than it holds, with an error that says so; work that may start at once never waits', async () => {
    const { clock, budgets } = perSecond(2);
    const api = limiter({ budgets, clock, maxQueue: 3 });
    const runs = Array.from({ length: 6 }, (_, i) => watched(api.run(() => i)));
    await clock.advance(0);
    expect(runs.map(({ value }) => value)).toEqual([0, 1, undefined, undefined, undefined, undefined]);
    expect(runs[5]?.error).toBeInstanceOf(QueueFullError);
    expect(runs[5]?.error).toMatchObject({
      code: 'HEADGATE_QUEUE_FULL',
      retryable: true,
      message: 'limiter: 3 calls are already waiting, the maximum (maxQueue). Start fewer at once, or raise maxQueue.',
    });
    await clock.advance(5_000);
    expect(runs.map(({ value }) => value)).toEqual([0, 1, 2, 3, 4, undefined]);

    const noQueue = limiter({ ...perSecond(2, clock), maxQueue: 0 });
    const all = [1, 2, 3].map((i) => watched(noQueue.run(() => i)));
    await clock.advance(0);
    expect([all.map(({ value }) => value), all[2]?.error instanceof QueueFullError]).toEqual([[1, 2, undefined], true]);
    await expect(noQueue.run(() => 0, { weight: 3 })).rejects.toThrow(RangeError);
  });

  it('lets nothing wait past its queue: neither for concurrency, nor light work behind heavy', async () => {
    const busy = limiter({ ...perSecond(9), concurrency: 1, maxQueue: 0 });
    void busy.run(() => new Promise(() => undefined));
    await expect(busy.run(() => 1)).rejects.toThrow(QueueFullError);

    const { clock, budgets } = perSecond(4);
    const api = limiter({ budgets, clock, maxQueue: 1 });
    const runs = [3, 4].map((weight) => watched(api.run(() => weight, { weight })));
    await expect(api.run(() => 1)).rejects.toThrow(QueueFullError);
    await clock.advance(5_000);
    expect(runs.map(({ value }) => value)).toEqual([3, 4]);
  });

  it('charges a weight to all budgets of whichever credential carries it, or to each its own', async () => {
    const clock = virtualClock();
    const made = new Map<string, RateBudget[]>();
    const budgets = (name: string): readonly RateBudget[] => {
      // Each credential gets one budget per letter of its name.
      const own = Array.from(name, () => rateBudget({ limit: 5, windowMs: 1_000, guardMs: 0, clock }));
      made.set(name, own);
      return own;
    };
    const { run } = limiter({ credentials: ['a', 'bb'], budgets, clock });
    const carriers = await Promise.all([run((name) => name, { weight: 2 }), run((name) => name, { weight: 2 })]);
    await run((name) => name, { weight: [1, 3] });
    await run((name) => name, { weight: [1, 3] });
    expect(carriers).toEqual(['a', 'bb']);
    expect([...made].map(([name, own]) => [name, ...own.map(({ used }) => used)])).toEqual([
      ['a', 3],
      ['bb', 3, 5],
    ]);
  });

  it('refuses invalid options', () => {
    const { budgets } = perSecond(1);
    for (const wrong of [{ concurrency: 0 }, { concurrency: 1.5 }, { concurrency: NaN }, { maxQueue: -1 }, { maxQueue: 0.5 }])
      expect(() => limiter({ budgets, ...wrong })).toThrow(RangeError);
    expect(() => limiter({ budgets, concurrency: Infinity, maxQueue: Infinity })).not.toThrow();
    expect(() => limiter({ credentials: [{ name: 'a' }, { name: 'a' }], budgets: () => budgets })).toThrow(/two credentials are named a/);
    for (const retryInMs of [-1, Infinity, NaN]) expect(() => refused({ retryInMs })).toThrow(RangeError);
    expect(() => refused({ retryInMs: 0 })).not.toThrow();
  });

  it('removes work whose signal aborts from the queue, and charges weights', async () => {
    const { clock, budgets } = perSecond(4);
    const api = limiter({ budgets, clock });
    const abort = new AbortController();
    const starts: string[] = [];
    const at = (name: string) => () => starts.push(`${name} ${clock.monotonicMs()}`);
    void api.run(at('three'), { weight: 3 });
    const left = watched(api.run(at('left'), { weight: 4, signal: abort.signal }));
    void api.run(at('one'));
    await clock.advance(10);
    abort.abort(new Error('no longer wanted'));
    await clock.advance(5_000);
    expect([starts, left.error, api.waiting]).toEqual([['three 0', 'one 10'], new Error('no longer wanted'), 0]);
    await expect(api.run(at('never'), { weight: 5 })).rejects.toThrow(RangeError);
  });

  it('sends nothing with an expired permit', async () => {
    const clock = virtualClock();
    const leases = [0, -1];
    const { run } = limiter({ budgets: [rateBudget({ limit: 1, windowMs: 1_000, clock, leaseMs: () => leases.shift() ?? 1_000 })], clock });
    let starts = 0;
    const result = watched(run(() => (starts += 1)));
    await clock.advance(10);
    expect([starts, result.value]).toEqual([1, 1]);
  });
});
