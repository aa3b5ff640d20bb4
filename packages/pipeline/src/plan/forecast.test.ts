import type { BudgetSlots } from '@headgate/sources';
import { admission, credentialPool, creditPool, rateBudget } from '@headgate/throttle';
import { virtualClock } from '@headgate/throttle/testing';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { type LaneWork, forecast, requestsUntilDone, savedByCredential, walksDone } from './forecast.ts';

const MINUTE_MS = 60_000;
const NOW = Date.UTC(2026, 2, 10, 23, 0);

function budget(over: Partial<BudgetSlots> = {}): BudgetSlots {
  const { limit = 15, windowMs = 15 * MINUTE_MS } = over;
  return { credential: 'app', name: 'rate', limit, windowMs, free: [{ inMs: 0, count: limit }], againInMs: windowMs, ...over };
}

function work(over: Partial<LaneWork> = {}): LaneWork {
  return { pipeline: 'followers', lane: 0, walks: [], keys: 0, keysAtOnce: 1, budgets: [budget()], ...over };
}

const pages = (...all: number[]): LaneWork['walks'] => all.map((one) => ({ page: 1, pages: one }));

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
    { what: 'one in flight', lane: work({ walks: pages(16), inFlight: 1 }), requests: 16, ms: 0 },
    { what: 'keys in batches', lane: work({ keys: 1_501, keysAtOnce: 100 }), requests: 16, ms: 15 * MINUTE_MS },
  ])('of $what', ({ lane, requests, ms }) => {
    expect(forecast([lane], { now: NOW })).toEqual({ requests, unknown: 0, inMs: ms });
  });

  it('says what is certain where a size is not known', () => {
    expect(forecast([work({ walks: [{ page: 3 }, ...pages(20)] })], { now: NOW })).toEqual({
      requests: 21,
      unknown: 1,
      inMs: 15 * MINUTE_MS,
    });
  });

  it('takes the answers of the longest walk into account: its pages come one after the other', () => {
    expect(forecast([work({ walks: pages(3, 10) })], { now: NOW, requestMs: 5_000 }).inMs).toBe(50_000);
  });

  it('waits for a quota, and goes no faster behind its reset than the rate', () => {
    const rate = budget({ limit: 1, windowMs: 1_000, againInMs: 1_000, free: [{ inMs: 0, count: 1 }] });
    const quota = budget({
      name: 'quota',
      unit: 'ISBNs',
      limit: 250,
      windowMs: 86_400_000,
      free: [{ inMs: 0, count: 250 }],
      quota: { requests: 250, per: 'day' },
    });
    const lane = work({ keys: 700, keysAtOnce: 100, budgets: [rate, quota] });
    // 3 batches today, the last of 50, 3 tomorrow, and 2 on the day after: an hour, a day and a second from now.
    expect(forecast([lane], { now: NOW })).toEqual({ requests: 8, unknown: 0, inMs: 25 * 60 * MINUTE_MS + 1_000 });
  });

  it('knows what another credential would save', () => {
    expect(savedByCredential([work({ walks: pages(31) })], { now: NOW })).toBe(15 * MINUTE_MS);
    expect(savedByCredential([work({ walks: [{ page: 1 }] })], { now: NOW })).toBeUndefined();
  });

  it('tells when each walk is done', () => {
    const lane = work({ walks: pages(1, 10, 20) });
    expect(walksDone(lane, { first: 3, atOnce: 500, now: NOW })).toEqual([0, 15 * MINUTE_MS, 30 * MINUTE_MS]);
  });
});

test('the last of many requests starts when the slots that came free before allow it', () => {
  const slots = fc.array(fc.record({ inMs: fc.nat(500), count: fc.integer({ min: 1, max: 4 }) }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(slots, fc.integer({ min: 1, max: 60 }), (free, requests) => {
      const lane = work({ walks: pages(requests), budgets: [budget({ free, againInMs: 200 })] });
      const starts = free.flatMap(({ inMs, count }) => Array.from({ length: 60 * count }, (_, i) => inMs + 200 * Math.floor(i / count)));
      expect(forecast([lane], { now: NOW }).inMs).toBe(starts.toSorted((one, other) => one - other)[requests - 1]);
    }),
  );
});

describe('requestsUntilDone', () => {
  const ALL = { atOnce: Infinity, first: Infinity };

  it('lets walks take turns, in the order they began', () => {
    expect(requestsUntilDone([1, 3, 10], ALL)).toEqual([1, 6, 14]);
    expect(requestsUntilDone([10, 3, 1], ALL)).toEqual([14, 7, 3]);
    expect(requestsUntilDone([], ALL)).toEqual([]);
    expect(requestsUntilDone([2, 2, 2, 2], { atOnce: 1, first: 4 })).toEqual([2, 4, 6, 8]);
    expect(requestsUntilDone(Array<number>(10_000).fill(400), { atOnce: 500, first: 1 })).toEqual([399 * 500 + 1]);
  });

  it('says what the fair queue does', async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(sizes, fc.integer({ min: 1, max: 5 }), async (all, limit) => {
        expect(requestsUntilDone(all, ALL)).toEqual(await asServed(all, limit));
      }),
    );
  });
});

/** Requests until each walk is done, as an admission grants them. */
async function asServed(all: readonly number[], limit: number): Promise<number[]> {
  const clock = virtualClock();
  const pool = credentialPool({ members: [{ name: 'app', budgets: [rateBudget({ limit, windowMs: 1_000, clock })] }], clock });
  const queue = admission({ clock });
  const credits = creditPool({ max: Infinity });
  let granted = 0;
  const walks = all.map(async (own) => {
    const walk = {};
    for (let page = 0; page < own; page += 1) {
      const permit = await queue.acquire({ pool, credits, items: 1, walk });
      granted += 1;
      if (page === own - 1) {
        permit.answered();
        return granted;
      }
      permit.answered();
    }
    return granted;
  });
  const done = Promise.all(walks);
  let isDone = false;
  void done.then(() => (isDone = true));
  for (let i = 0; i < 2_000 && !isDone; i += 1) await clock.advance(1_100);
  return await done;
}
