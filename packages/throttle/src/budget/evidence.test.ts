import { describe, expect, it } from 'vitest';
import { agedSnapshots } from './aged-snapshots.ts';
import { handClock } from './budget-simulation.fixture.ts';
import { type BudgetEvidence, rateBudget } from './rate-budget.ts';

const WINDOW_MS = 900_000;
/** Longest wait for an answer that vouches for the next request. */
const PATIENCE_MS = 6_000;

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
    const { budget } = used(5, { remaining: 10, resetInMs: WINDOW_MS - 500 });
    expect(budget.snapshot()).toEqual({ ...used(5).budget.snapshot(), others: [] });
  });

  it('lets our own log decide when the next may go, though nothing remains: whole seconds would cost up to three a window', () => {
    expect(used(15, { remaining: 0, resetInMs: WINDOW_MS - 1_000 }).budget.freeAt()).toBe(used(15).budget.freeAt());
  });

  it('takes what others have used as used for a window, though theirs ends before', () => {
    const { clock, budget } = used(5, { remaining: 4, resetInMs: 600_000 });
    expect(budget.used).toBe(11);
    for (let i = 0; i < 4; i += 1) budget.take();
    expect(budget.freeAt()).toBeGreaterThan(clock.now);
    clock.now += WINDOW_MS - 1;
    expect(budget.used).toBe(1 + 4 + 6);
    clock.now += 1;
    expect(budget.used).toBe(4);
  });

  it('expects what has cost a refusal for longer, until an answer a window later leaves more', () => {
    const { clock, budget, answer } = used(3, { remaining: 9, resetInMs: 600_000 });
    const probe = budget.take();
    probe.sent();
    probe.answered({ remaining: 0, resetInMs: 600_000, refused: true });
    expect(budget.used).toBe(3 + 12);
    clock.now += WINDOW_MS - 200;
    answer({ remaining: 14, resetInMs: WINDOW_MS });
    expect(budget.used).toBe(2 + 12);
    clock.now += 100;
    answer({ remaining: 11, resetInMs: WINDOW_MS });
    expect(budget.used).toBe(2 + 3);
  });

  it('counts a refused request for none, where the answer says what remains', () => {
    expect(used(5, { remaining: 0, resetInMs: 600_000, refused: true }).budget.used).toBe(4 + 11);
    expect(used(5, { remaining: 0, resetInMs: Number.NaN, refused: true }).budget.used).toBe(5);
  });

  it('lets one request go and see with the next window, however much others use', () => {
    const { clock, budget } = used(1, { remaining: 0, resetInMs: 600_000, refused: true });
    expect(budget.freeAt()).toBe(clock.now + 601_000);
    clock.now += 601_000;
    budget.take(15).sent();
    expect(budget.freeAt()).toBe(Infinity);
  });

  it('lets one request go and see, and as many behind it as its answer leaves', () => {
    const { clock, budget } = used(1, { remaining: 14, resetInMs: WINDOW_MS });
    clock.now += WINDOW_MS / 2;
    const probe = budget.take();
    probe.sent();
    expect(budget.freeAt()).toBe(clock.now + PATIENCE_MS);
    clock.now += 100;
    probe.answered({ remaining: 2, resetInMs: WINDOW_MS / 2 });
    budget.take().sent();
    budget.take().sent();
    expect(budget.freeAt()).toBeGreaterThan(clock.now + PATIENCE_MS);
  });

  it('waits for a slow answer no longer than a tenth of a request’s share of the window, and for none where no answer tells anything', () => {
    const { clock, budget } = used(1, { remaining: 14, resetInMs: WINDOW_MS });
    clock.now += WINDOW_MS / 2;
    budget.take().sent();
    clock.now += PATIENCE_MS;
    budget.take().sent();
    expect(budget.freeAt()).toBe(clock.now + PATIENCE_MS);
    const silent = used(1).budget;
    for (let i = 0; i < 14; i += 1) silent.take().sent();
  });

  it('is continued by another process', () => {
    const first = used(5, { remaining: 4, resetInMs: 600_000 }).budget.snapshot();
    const clock = handClock();
    const budget = rateBudget({ limit: 15, windowMs: WINDOW_MS, guardMs: 0, clock });
    for (const aged of agedSnapshots([first], 1_000)) budget.restore(aged);
    expect(budget.used).toBe(11);
    budget.take().sent();
    expect(budget.freeAt()).toBe(PATIENCE_MS);
    clock.now = WINDOW_MS - 1_000;
    expect(budget.used).toBe(1);
  });

  it('keeps the least of answers that come out of order', () => {
    const { budget, answer } = used(3, { remaining: 6, resetInMs: 500_000 });
    answer({ remaining: 8, resetInMs: 500_000 });
    expect(budget.used).toBe(4 + 6);
    answer({ remaining: 3, resetInMs: 500_000 });
    expect(budget.used).toBe(5 + 7);
  });

  it('does not take requests in flight for those of others', () => {
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

describe('a cost that the answer tells', () => {
  const taken = (weight: number, evidence?: BudgetEvidence) => {
    const clock = handClock();
    const budget = rateBudget({ limit: 15, windowMs: WINDOW_MS, guardMs: 0, clock });
    const slot = budget.take(weight);
    slot.sent();
    clock.now += 100;
    slot.answered(evidence);
    return { clock, budget, slot };
  };

  it.each([0, 1, 5, 15, 20])('of %d counts as if it had been taken so', (cost) => {
    const { clock, budget, slot } = taken(3);
    slot.corrected(cost);
    slot.corrected(cost);
    expect(budget.used).toBe(cost);
    const next = rateBudget({ limit: 15, windowMs: WINDOW_MS, guardMs: 0, clock });
    next.restore(budget.snapshot());
    expect(next.used).toBe(cost);
    clock.now += WINDOW_MS;
    expect(budget.used).toBe(0);
  });

  it('is not taken for the use of others, which its own evidence did for want of it', () => {
    const { budget, slot } = taken(1, { remaining: 6, resetInMs: 800_000 });
    expect(budget.used).toBe(9);
    slot.corrected(7);
    expect(budget.used).toBe(9);
    slot.corrected(12);
    expect(budget.used).toBe(12);
  });

  it('is for the use of others that another answer has shown', () => {
    const { clock, budget, slot } = taken(1, { remaining: 12, resetInMs: 800_000 });
    const other = budget.take();
    other.sent();
    clock.now += 100;
    other.answered({ remaining: 8, resetInMs: 700_000 });
    expect(budget.used).toBe(7);
    slot.corrected(2);
    expect(budget.used).toBe(8);
  });

  it('changes nothing before the answer, nor after the window', () => {
    const { clock, budget, slot } = taken(2);
    const waiting = budget.take();
    waiting.corrected(9);
    expect(budget.used).toBe(3);
    clock.now += WINDOW_MS;
    slot.corrected(9);
    expect(budget.used).toBe(1);
    expect(() => slot.corrected(-1)).toThrow(RangeError);
    expect(() => slot.corrected(Number.NaN)).toThrow(/a cost must be a whole number, got NaN/);
  });
});
