import type { BudgetSlots } from '@headgate/sources';
import { admission, credentialPool, creditPool, rateBudget } from '@headgate/throttle';
import { virtualClock } from '@headgate/throttle/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type LaneWork, forecast } from './forecast.ts';
import { laneBacklog } from './request-sizes.ts';

const WINDOW_MS = 60_000;
const NOW = Date.UTC(2026, 2, 10);

function budget(credential: string, { limit = 1, windowMs = WINDOW_MS } = {}): BudgetSlots {
  return { credential, name: 'rate', limit, windowMs, free: [{ inMs: 0, count: limit }], againInMs: windowMs };
}

function work(over: Partial<LaneWork>): LaneWork {
  return {
    pipeline: 'orders',
    lane: 0,
    walks: [],
    keys: 0,
    keysPerRequest: 1,
    budgets: ['a', 'b', 'c'].map((name) => budget(name)),
    ...over,
  };
}

const walkOf = (pages: number, ...credentials: string[]): LaneWork['walks'][number] => ({ page: 1, pages, credentials });

test('the last request starts when it does, whatever each credential has to do', async () => {
  const shops = fc.array(
    fc.record({
      pages: fc.integer({ min: 1, max: 30 }),
      limit: fc.integer({ min: 1, max: 3 }),
      windowMs: fc.integer({ min: 10, max: 90 }),
    }),
    { minLength: 1, maxLength: 4 },
  );
  await fc.assert(
    fc.asyncProperty(shops, async (all) => {
      const clock = virtualClock({ epochMs: NOW });
      const named = all.map((one, i) => ({ ...one, name: `shop ${i}` }));
      const budgets = named.map(({ name, limit, windowMs }) => budget(name, { limit, windowMs }));
      const { inMs, requests } = forecast([work({ walks: named.map(({ pages, name }) => walkOf(pages, name)), budgets })], { now: NOW });
      const members = named.map(({ name, limit, windowMs }) => ({ name, budgets: [rateBudget({ limit, windowMs, guardMs: 0, clock })] }));
      const queue = admission({ pool: credentialPool({ members, clock }), clock });
      const credits = creditPool({ max: Infinity });
      let startedAt = 0;
      for (const { name, pages } of named)
        for (let i = 0; i < pages; i += 1)
          void queue.acquire({ credits, items: 1, among: [name] }).then((permit) => {
            startedAt = clock.monotonicMs();
            permit.answered();
          });
      await clock.advance(30 * 90);
      expect([inMs, requests]).toEqual([startedAt, named.reduce((sum, { pages }) => sum + pages, 0)]);
    }),
    { numRuns: 50 },
  );
});

test.each([
  { what: 'any credential carries what none is named for', lane: work({ walks: [{ page: 1, pages: 9 }] }), windows: 2 },
  { what: 'one has all the work', lane: work({ walks: [walkOf(9, 'a')] }), windows: 8 },
  { what: 'two share it', lane: work({ walks: [walkOf(8, 'a', 'b')] }), windows: 3 },
  { what: 'one of the two has its own besides', lane: work({ walks: [walkOf(3, 'a', 'b'), walkOf(5, 'a')] }), windows: 4 },
  { what: 'two share it with their own', lane: work({ walks: [walkOf(4, 'a', 'b'), walkOf(2, 'a'), walkOf(2, 'b')] }), windows: 3 },
  {
    what: 'it is not yet in work',
    lane: work({
      walks: [walkOf(1, 'b')],
      behind: { walks: 3, unknown: 1, pages: 5 },
      restricted: [{ credentials: ['a'], walks: 3, unknown: 1, pages: 5 }],
    }),
    windows: 5,
  },
  {
    what: 'some of it is in flight',
    lane: work({ walks: [walkOf(5, 'a'), walkOf(1, 'b')], inFlight: 2, inFlightOf: { a: 1, b: 1 } }),
    windows: 3,
  },
  {
    what: 'a limit over all is the slower one',
    lane: work({ walks: [walkOf(2, 'a'), walkOf(2, 'b'), walkOf(2, 'c')], budgets: [...work({}).budgets, all({ limit: 1 })] }),
    windows: 5,
  },
])('a lane is done with its slowest credential: $what', ({ lane, windows }) => {
  expect(forecast([lane], { now: NOW }).inMs).toBe(windows * WINDOW_MS);
});

/** A limit on all credentials together. */
function all({ limit }: { readonly limit: number }): BudgetSlots {
  const { credential: _, ...shared } = budget('', { limit });
  return { ...shared, name: 'address' };
}

test('walks that are not in work are counted by their credentials, and no longer when they begin', async () => {
  const sizes = [['a'], undefined, ['a'], ['b']].map((credentials, i) => ({
    kind: 'walk' as const,
    key: `${i}`,
    page: 1,
    whole: true,
    ...(credentials !== undefined && { credentials }),
    ...(i > 0 && { pages: 2 }),
  }));
  const backlog = laneBacklog({
    sizes: ({ offset }) => sizes[offset],
    monotonicMs: () => 0,
    read: async function* (from) {
      for (let offset = from; offset < sizes.length; offset += 1) yield await Promise.resolve({ offset, value: null });
    },
  });
  backlog.countAhead();
  await expect.poll(() => backlog.isCounted).toBe(true);
  expect([backlog.walks, backlog.unknown, backlog.pages]).toEqual([4, 1, 6]);
  expect(backlog.restricted).toEqual([
    { credentials: ['a'], walks: 2, unknown: 1, pages: 2 },
    { credentials: ['b'], walks: 1, unknown: 0, pages: 2 },
  ]);
  for (const offset of [0, 1, 3]) backlog.remove({ offset, value: null });
  expect(backlog.restricted).toEqual([{ credentials: ['a'], walks: 1, unknown: 0, pages: 2 }]);
});
