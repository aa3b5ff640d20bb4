import { admission, credentialPool, creditPool, rateBudget } from '@headgate/throttle';
import { virtualClock } from '@headgate/throttle/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FreeSlots, forecastMs, freeSlots, requestsUntilDone } from './forecast.ts';

const ALL = { atOnce: Infinity, first: Infinity };

describe('requestsUntilDone', () => {
  it('lets crawls take turns, in the order they began', () => {
    expect(requestsUntilDone([1, 3, 10], ALL)).toEqual([1, 6, 14]);
    expect(requestsUntilDone([10, 3, 1], ALL)).toEqual([14, 7, 3]);
    expect(requestsUntilDone([1, 1, 1], ALL)).toEqual([1, 2, 3]);
    expect(requestsUntilDone([], ALL)).toEqual([]);
  });

  it('begins a crawl when another is done, where too many wait', () => {
    expect(requestsUntilDone([2, 2, 2, 2], { atOnce: 1, first: 4 })).toEqual([2, 4, 6, 8]);
    expect(requestsUntilDone([1, 3, 1, 1], { atOnce: 2, first: 2 })).toEqual([1, 5]);
    expect(requestsUntilDone(Array<number>(10_000).fill(400), { atOnce: 500, first: 1 })).toEqual([399 * 500 + 1]);
  });

  it('says what the fair queue does', async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(sizes, fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 5 }), async (pages, atOnce, limit) => {
        expect(requestsUntilDone(pages, ALL)).toEqual(await asServed({ pages, atOnce: pages.length, limit }));
        // One that begins when the first of a round is done has its turn in that round still.
        const served = await asServed({ pages, atOnce, limit });
        const later = Math.max(0, pages.length - atOnce);
        for (const [i, requests] of requestsUntilDone(pages, { atOnce, first: pages.length }).entries()) {
          expect(Math.abs(requests - (served[i] ?? 0))).toBeLessThanOrEqual(later === 0 ? 0 : later + atOnce);
        }
      }),
    );
  });
});

describe('forecastMs', () => {
  const windowMs = 900_000;
  it.each([
    { requests: 0, ms: 0 },
    { requests: 15, ms: 0 },
    { requests: 16, ms: 900_000 },
    { requests: 46, ms: 2_700_000 },
    { requests: 46, count: 30, ms: 900_000 },
  ])('$requests requests, $count of them a window', ({ requests, count = 15, ms }) => {
    expect(forecastMs({ requests, slots: [{ inMs: 0, count }], windowMs })).toBe(ms);
  });

  it('takes each slot when it comes free, and again a window later', () => {
    const slots = [
      { inMs: 5, count: 1 },
      { inMs: 0, count: 2 },
      { inMs: 250, count: 1 },
    ];
    const at = Array.from({ length: 9 }, (_, i) => forecastMs({ requests: i + 1, slots, windowMs: 100 }));
    expect(at).toEqual([0, 0, 5, 100, 100, 105, 200, 200, 205]);
    fc.assert(
      fc.property(
        fc.array(fc.record({ inMs: fc.nat(300), count: fc.integer({ min: 1, max: 9 }) }), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 200 }),
        (some, requests) => {
          expect(forecastMs({ requests, slots: some, windowMs: 100 })).toBe(oneByOne(some, 100)[requests - 1]);
        },
      ),
    );
  });
});

describe('freeSlots', () => {
  it('says when a budget lets each of its requests go', () => {
    const budget = rateBudget({ limit: 1_000, windowMs: 60_000, clock: virtualClock() });
    expect(freeSlots(budget)).toEqual([{ inMs: 0, count: 1_000 }]);
    const busy = [
      [10, 5],
      [20.5, 990],
    ] as const;
    budget.restore({ windowMs: 60_000, busy });
    expect(freeSlots(budget)).toEqual([
      { inMs: 0, count: 5 },
      { inMs: 10, count: 5 },
      { inMs: 21, count: 990 },
    ]);
    budget.restore({ windowMs: 60_000, busy: [], heldMs: 15 });
    expect(freeSlots(budget)).toEqual([
      { inMs: 15, count: 10 },
      { inMs: 21, count: 990 },
    ]);
  });
});

/** Requests until each crawl is done, as the real queue lets them go. */
async function asServed({ pages, atOnce, limit }: { pages: readonly number[]; atOnce: number; limit: number }): Promise<number[]> {
  const clock = virtualClock();
  const pool = credentialPool({ members: [{ name: 'app', budgets: [rateBudget({ limit, windowMs: 1_000, clock })] }], clock });
  const credits = creditPool({ max: 1_000 });
  const queue = admission({ clock });
  const done: number[] = [];
  let requests = 0;
  let begun = 0;
  const crawl = async (): Promise<void> => {
    for (let i = begun++; i < pages.length; i = begun++) {
      const walk = {};
      for (let page = 0; page < (pages[i] ?? 0); page += 1) {
        const permit = await queue.acquire({ pool, credits, items: 1, walk });
        requests += 1;
        permit.sent();
        permit.answered();
        permit.credit.release();
      }
      done[i] = requests;
    }
  };
  const all = Promise.all(Array.from({ length: atOnce }, crawl));
  await clock.advance(pages.reduce((sum, own) => sum + own, 0) * 1_100);
  await all;
  return done;
}

/** The first 200 starts, slot by slot. */
function oneByOne(slots: readonly FreeSlots[], windowMs: number): number[] {
  const starts = slots.flatMap(({ inMs, count }) =>
    Array.from({ length: 200 }, (_, i) => Array<number>(count).fill(inMs + i * windowMs)).flat(),
  );
  return starts.sort((one, other) => one - other);
}
