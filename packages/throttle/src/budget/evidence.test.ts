import { describe, expect, it } from 'vitest';
import { handClock } from './budget-simulation.fixture.ts';
import { type BudgetEvidence, rateBudget } from './rate-budget.ts';

const WINDOW_MS = 900_000;

/** A budget of 15 with so many requests answered, one after the other; the last of them by the evidence. */
function used(own: number, evidence?: BudgetEvidence) {
  const clock = handClock();
  const budget = rateBudget({ limit: 15, windowMs: WINDOW_MS, guardMs: 0, clock });
  const answer = (last?: BudgetEvidence): void => {
    const slot = budget.take();
    slot.sent();
    clock.now += 100;
    slot.answered(last);
  };
  for (let i = 1; i < own; i += 1) answer();
  answer(evidence);
  return { clock, budget, answer };
}

describe('evidence of an answer', () => {
  it('changes nothing where our own requests explain what is left', () => {
    expect(used(5, { remaining: 10, resetInMs: WINDOW_MS - 500 }).budget.snapshot()).toEqual(used(5).budget.snapshot());
  });

  it('lets our own log decide when the next may go, though nothing remains: whole seconds would cost up to three a window', () => {
    expect(used(15, { remaining: 0, resetInMs: WINDOW_MS - 1_000 }).budget.freeAt()).toBe(used(15).budget.freeAt());
  });

  it('takes what others have used as used until their window ends', () => {
    const { clock, budget } = used(5, { remaining: 4, resetInMs: 600_000 });
    expect(budget.used).toBe(11);
    for (let i = 0; i < 4; i += 1) budget.take();
    expect(budget.freeAt()).toBeGreaterThan(clock.now);
    clock.now += 601_001;
    expect(budget.used).toBe(5 + 4);
  });

  it('keeps the least of answers that come out of order', () => {
    const { budget, answer } = used(3, { remaining: 6, resetInMs: 500_000 });
    answer({ remaining: 8, resetInMs: 500_000 });
    expect(budget.used).toBe(4 + 6);
    answer({ remaining: 3, resetInMs: 500_000 });
    expect(budget.used).toBe(5 + 7);
  });

  it('does not take requests under way for those of others', () => {
    const { budget } = used(1);
    const slot = budget.take();
    for (let i = 0; i < 3; i += 1) budget.take().sent();
    slot.sent();
    slot.answered({ remaining: 10, resetInMs: 800_000 });
    expect(budget.used).toBe(5);
  });

  it('takes the request it answers for one of ours', () => {
    expect(used(1, { remaining: 14, resetInMs: 800_000 }).budget.used).toBe(1);
    expect(used(1, { remaining: 13, resetInMs: 800_000 }).budget.used).toBe(2);
  });

  it.each([
    { remaining: -1, resetInMs: 1_000 },
    { remaining: 0.5, resetInMs: 1_000 },
    { remaining: Number.NaN, resetInMs: 1_000 },
    { remaining: 0, resetInMs: -1 },
    { remaining: 0, resetInMs: Number.NaN },
    { remaining: 0, resetInMs: 10 * WINDOW_MS },
  ])('ignores headers that lie: %o', (evidence) => {
    expect(used(2, evidence).budget.used).toBe(2);
  });

  it('never loosens: more left than our own log has changes nothing', () => {
    expect(used(9, { remaining: 15, resetInMs: 5_000 }).budget.used).toBe(9);
  });
});
