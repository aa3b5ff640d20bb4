import type { BudgetSlots } from '@headgate/sources';
import { type RateBudget, admission, credentialPool, creditPool, dailyBudget, monthlyBudget, rateBudget } from '@headgate/throttle';
import { type VirtualClock, virtualClock } from '@headgate/throttle/testing';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { type LaneWork, forecast } from './forecast.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const NOW = Date.UTC(2026, 2, 10, 23, 0);

function budget(over: Partial<BudgetSlots> = {}): BudgetSlots {
  const { limit = 15, windowMs = 15 * MINUTE_MS } = over;
  return { credential: 'app', name: 'rate', limit, windowMs, free: [{ inMs: 0, count: limit }], againInMs: windowMs, ...over };
}

function work(over: Partial<LaneWork> = {}): LaneWork {
  return { pipeline: 'followers', lane: 0, walks: [], keys: 0, keysPerRequest: 1, budgets: [budget()], ...over };
}

const DAY = { limit: 2, windowMs: DAY_MS, quota: { requests: 2, per: 'day' } } as const;

const pages = (...all: number[]): LaneWork['walks'] => all.map((one) => ({ page: 1, pages: one }));

test('a lane may have more walks than a call takes arguments', () => {
  const lane = work({ walks: Array.from({ length: 300_000 }, () => ({ page: 1 })) });
  expect(forecast([lane], { now: NOW })).toMatchObject({ requests: 300_000, unknown: 300_000, inMs: 19_999 * 15 * MINUTE_MS });
});

describe('forecast', () => {
  it.each([
    { what: 'nothing', lane: work(), requests: 0, ms: 0 },
    { what: 'a window full', lane: work({ walks: pages(10, 5) }), requests: 15, ms: 0 },
    { what: 'one more', lane: work({ walks: pages(10, 6) }), requests: 16, ms: 15 * MINUTE_MS },
    { what: 'a walk that goes on', lane: work({ walks: [{ page: 12, pages: 30 }] }), requests: 19, ms: 15 * MINUTE_MS },
    {
      what: 'two credentials',
      lane: work({ walks: pages(46), budgets: [budget(), budget({ credential: 'b' })] }),
      requests: 46,
      ms: 15 * MINUTE_MS,
    },
    {
      what: 'slots that are used',
      lane: work({ walks: pages(1), budgets: [budget({ free: [{ inMs: 7, count: 15 }] })] }),
      requests: 1,
      ms: 7,
    },
    { what: 'walks behind', lane: work({ behind: { walks: 9, unknown: 0, pages: 40 } }), requests: 40, ms: 30 * MINUTE_MS },
    {
      what: 'unlike credentials',
      lane: work({ walks: pages(46), budgets: [budget(), budget({ credential: 'b', limit: 1, againInMs: 20 * MINUTE_MS })] }),
      requests: 46,
      ms: 30 * MINUTE_MS,
    },
    { what: 'one in flight', lane: work({ walks: pages(16), inFlight: 1 }), requests: 16, ms: 0 },
    { what: 'keys in flight', lane: work({ keys: 1_501, keysPerRequest: 100, inFlight: 1 }), requests: 16, ms: 0 },
    {
      what: 'a quota that is used',
      lane: work({ walks: pages(3), budgets: [budget(DAY), budget({ ...DAY, credential: 'b', free: [{ inMs: 7 * DAY_MS, count: 2 }] })] }),
      requests: 3,
      ms: 60 * MINUTE_MS,
    },
    {
      what: 'a quota that is held back for long',
      lane: work({ walks: pages(3), budgets: [budget({ ...DAY, free: [{ inMs: 2 * DAY_MS, count: 2 }] })] }),
      requests: 3,
      ms: DAY_MS * 2 + 60 * MINUTE_MS,
    },
    { what: 'keys in batches', lane: work({ keys: 1_501, keysPerRequest: 100 }), requests: 16, ms: 15 * MINUTE_MS },
  ])('of $what', ({ lane, requests, ms }) => {
    expect(forecast([lane], { now: NOW })).toEqual({ requests, unknown: 0, inMs: ms });
  });

  it("reports what is certain if a size isn't known", () => {
    expect(forecast([work({ walks: [{ page: 3 }, ...pages(20)] })], { now: NOW })).toEqual({
      requests: 21,
      unknown: 1,
      inMs: 15 * MINUTE_MS,
    });
  });

  it('counts walks of unknown size after active ones', () => {
    const lane = work({ walks: pages(3), behind: { walks: 3, unknown: 2, pages: 10 } });
    expect(forecast([lane, work({ walks: [{ page: 1 }] })], { now: NOW })).toEqual({ requests: 16, unknown: 3, inMs: 0 });
  });

  it('includes the response times of the longest walk, whose pages are sequential', () => {
    expect(forecast([work({ walks: pages(3, 10) })], { now: NOW, requestMs: 5_000 }).inMs).toBe(50_000);
    expect(forecast([work({ walks: pages(16) })], { now: NOW, requestMs: 5_000 }).inMs).toBe(15 * MINUTE_MS + 5_000);
    expect(forecast([work()], { now: NOW, requestMs: 5_000 }).inMs).toBe(0);
  });

  it('includes the maximum number of requests in flight per credential', () => {
    const budgets = [budget({ limit: 100, concurrency: 2 }), budget({ limit: 100, credential: 'b', concurrency: 1 })];
    expect(forecast([work({ walks: pages(3, 3, 1), budgets })], { now: NOW, requestMs: 5_000 }).inMs).toBe(15_000);
    expect(forecast([work({ keys: 91, keysPerRequest: 10, budgets })], { now: NOW, requestMs: 5_000 }).inMs).toBe(20_000);
  });

  it('waits for a quota, and never exceeds the rate after its reset', () => {
    const rate = budget({ limit: 1, windowMs: 1_000, againInMs: 1_000, free: [{ inMs: 0, count: 1 }] });
    const quota = budget({
      name: 'quota',
      unit: 'ISBNs',
      limit: 250,
      windowMs: 86_400_000,
      free: [{ inMs: 0, count: 250 }],
      quota: { requests: 250, per: 'day' },
    });
    const lane = work({ keys: 700, keysPerRequest: 100, budgets: [rate, quota] });
    // Today: three batches, the last with 50 keys. Tomorrow: three. The day after: two, of which the last starts a second after the reset
    // in 25 hours.
    expect(forecast([lane], { now: NOW })).toEqual({ requests: 8, unknown: 0, inMs: 25 * 60 * MINUTE_MS + 1_000 });
  });

  it('counts a shared limit once, whatever the number of credentials', () => {
    const { credential: _, ...all } = budget({ name: 'address', limit: 20 });
    const both = [all, budget(), budget({ credential: 'b' })];
    expect(forecast([work({ walks: pages(21), budgets: both })], { now: NOW }).inMs).toBe(15 * MINUTE_MS);
  });
});

test('the last of many requests starts when earlier slots have become free', () => {
  const slots = fc.array(fc.record({ inMs: fc.nat(500), count: fc.integer({ min: 1, max: 4 }) }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(slots, fc.integer({ min: 1, max: 60 }), (free, requests) => {
      const lane = work({ walks: pages(requests), budgets: [budget({ free, againInMs: 200 })] });
      const starts = free.flatMap(({ inMs, count }) => Array.from({ length: 60 * count }, (_, i) => inMs + 200 * Math.floor(i / count)));
      expect(forecast([lane], { now: NOW }).inMs).toBe(starts.toSorted((one, other) => one - other)[requests - 1]);
    }),
  );
});

test('forecasts the start of the last request under a rate and a quota at any time of day', async () => {
  const scene = fc.record({
    toResetMs: fc.integer({ min: 1, max: DAY_MS }),
    rate: fc.record({ limit: fc.integer({ min: 1, max: 4 }), windowMs: fc.integer({ min: MINUTE_MS, max: DAY_MS / 4 }) }),
    perDay: fc.integer({ min: 1, max: 30 }),
    before: fc.nat(4),
    requests: fc.integer({ min: 1, max: 60 }),
  });
  await fc.assert(
    fc.asyncProperty(scene, async ({ toResetMs, rate, perDay, before, requests }) => {
      const clock = virtualClock({ epochMs: DAY_MS * 20_000 - toResetMs });
      const budgets = [rateBudget({ ...rate, guardMs: 0, clock }), dailyBudget({ limit: perDay, guardMs: 0, clock })] as const;
      const pool = credentialPool({ members: [{ name: 'app', budgets }], clock });
      for (let i = 0; i < before && pool.freeAt([]) === -Infinity; i += 1) for (const slot of pool.take([]).slots) slot?.answered();
      const quota = { requests: perDay, per: 'day' } as const;
      const slots = [
        budget({ ...rate, free: freeSlots(budgets[0], clock), againInMs: rate.windowMs }),
        budget({ name: 'quota', limit: perDay, windowMs: DAY_MS, free: freeSlots(budgets[1], clock), quota }),
      ];
      const { inMs } = forecast([work({ walks: pages(requests), budgets: slots })], { now: clock.epochMs() });
      let startedAt = 0;
      const [queue, credits] = [admission({ pool, clock }), creditPool({ max: Infinity })];
      for (let i = 0; i < requests; i += 1)
        void queue.acquire({ credits, items: 1 }).then((permit) => {
          startedAt = clock.monotonicMs();
          permit.answered();
        });
      await clock.advance(requests * DAY_MS);
      expect(inMs).toBe(startedAt);
    }),
  );
});

test('forecasts the number of lookups, each cut to the remaining quota', async () => {
  const scene = fc.record({
    perDay: fc.integer({ min: 1, max: 30 }),
    perMonth: fc.integer({ min: 20, max: 60 }),
    used: fc.nat(20),
    keys: fc.integer({ min: 1, max: 60 }),
    size: fc.integer({ min: 1, max: 9 }),
    limit: fc.integer({ min: 1, max: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(scene, async ({ perDay, perMonth, used, keys, size, limit }) => {
      const clock = virtualClock({ epochMs: NOW });
      const day = dailyBudget({ limit: perDay, guardMs: 0, clock });
      const month = monthlyBudget({ limit: perMonth, guardMs: 0, clock });
      const rate = rateBudget({ limit, windowMs: 1_000, guardMs: 0, clock });
      for (const quota of [day, month]) if (used > 0) quota.take(Math.min(used, quota.limit)).answered();
      const slots = [
        budget({ limit, windowMs: 1_000, free: freeSlots(rate, clock) }),
        budget({ name: 'day', unit: 'keys', limit: perDay, free: freeSlots(day, clock), quota: { requests: perDay, per: 'day' } }),
        budget({
          name: 'month',
          unit: 'keys',
          limit: perMonth,
          free: freeSlots(month, clock),
          quota: { requests: perMonth, per: 'month' },
        }),
      ];
      const told = forecast([work({ keys, keysPerRequest: size, budgets: slots })], { now: NOW });
      let requests = 0;
      for (let left = keys; left > 0; requests += 1) {
        const all = [day, month];
        const most = Math.min(left, size, perDay, perMonth);
        const isFree = (weight: number): boolean => all.every((quota) => quota.freeAt(weight) <= clock.monotonicMs());
        while (!isFree(1)) await clock.advance(Math.max(...all.map((quota) => quota.freeAt())) - clock.monotonicMs());
        let batch = most;
        while (!isFree(batch)) batch -= 1;
        await clock.advance(Math.max(0, rate.freeAt() - clock.monotonicMs()));
        rate.take().answered();
        for (const quota of all) quota.take(batch).answered();
        left -= batch;
      }
      expect(told).toEqual({ requests, unknown: 0, inMs: clock.monotonicMs() });
    }),
  );
});

/** Returns when the slots of a budget become free, in the form in which a source reports it. */
function freeSlots(of: RateBudget, clock: VirtualClock): BudgetSlots['free'] {
  const now = clock.monotonicMs();
  return Array.from({ length: of.limit }, (_, i) => ({ inMs: Math.max(0, of.freeAt(i + 1) - now), count: 1 }));
}
