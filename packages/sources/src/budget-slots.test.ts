import { dailyBudget, rateBudget } from '@headgate/throttle';
import { virtualClock } from '@headgate/throttle/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { budgetSlots } from './budget-slots.ts';

const LIMIT = { requests: 5, windowMs: 1_000 };

test('the slots of a budget become free when requests may start', async () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 1_200 }), { maxLength: 12, size: 'max' });
  await fc.assert(
    fc.asyncProperty(gaps, async (between) => {
      const clock = virtualClock();
      const budget = rateBudget({ limit: LIMIT.requests, windowMs: LIMIT.windowMs, clock });
      for (const ms of between) {
        await clock.advance(ms);
        if (budget.freeAt() > clock.monotonicMs()) continue;
        const slot = budget.take();
        slot.sent();
        slot.answered();
      }
      const { free, againInMs } = budgetSlots({ credential: 'app', name: 'rate', budget, of: LIMIT }, clock);
      expect(againInMs).toBeGreaterThanOrEqual(LIMIT.windowMs);
      const at: number[] = [];
      for (const { inMs, count } of free) for (let i = 0; i < count; i += 1) at.push(inMs);
      expect(at).toHaveLength(LIMIT.requests);
      for (const [i, inMs] of at.entries()) {
        const now = clock.monotonicMs();
        expect(inMs).toBe(Math.max(0, Math.ceil(budget.freeAt(i + 1) - now)));
      }
    }),
  );
});

test('slots of requests without a response become free a window after now', () => {
  const clock = virtualClock();
  const budget = rateBudget({ limit: 2, windowMs: 1_000, clock });
  budget.take().sent();
  expect(budgetSlots({ credential: 'app', name: 'rate', budget, of: LIMIT }, clock)).toMatchObject({
    free: [
      { inMs: 0, count: 1 },
      { inMs: 1_006, count: 1 },
    ],
    againInMs: 1_006,
  });
});

test('a daily budget says when it resets', () => {
  const clock = virtualClock();
  const of = { requests: 10, per: 'day', unit: 'ISBNs' } as const;
  const budget = dailyBudget({ limit: of.requests, clock });
  const slot = budget.take(10);
  slot.sent();
  slot.answered();
  const { free, unit, quota } = budgetSlots({ credential: 'app', name: 'isbns', budget, of }, clock);
  expect({ unit, quota }).toEqual({ unit: 'ISBNs', quota: of });
  expect(free.map(({ count }) => count)).toEqual([10]);
  expect(free[0]?.inMs).toBeGreaterThan(3_600_000 / 2);
});
