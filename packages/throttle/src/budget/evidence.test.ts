import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { agedSnapshots } from './aged-snapshots.ts';
import { handClock } from './budget-simulation.fixture.ts';
import { type BudgetEvidence, rateBudget } from './rate-budget.ts';

const WINDOW_MS = 900_000;
/** Maximum wait, in ms, for a response that confirms capacity for the next request: a tenth of a request's share of the window. */
const PATIENCE_MS = 6_000;

/** After this time, the service no longer counts requests of an earlier process. */
const AGE_MS = 2 * WINDOW_MS;

/** Creates a budget of 15 and answers `own` requests, one after another, the first `ageMs` later. The last response carries `evidence`. */
function used(own: number, evidence?: BudgetEvidence, ageMs = 0) {
  const clock = handClock();
  const budget = rateBudget({ limit: 15, windowMs: WINDOW_MS, guardMs: 0, clock });
  clock.now += ageMs;
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

describe('evidence in a response', () => {
  it('changes nothing if our own requests explain what is left', () => {
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
    const { clock, budget, answer } = used(3, { remaining: 9, resetInMs: 600_000 }, AGE_MS);
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

  it('counts a refused request as another client’s if the response says what remains', () => {
    expect(used(5, { remaining: 0, resetInMs: 600_000, refused: true }).budget.used).toBe(4 + 11);
    expect(used(5, { remaining: 0, resetInMs: Number.NaN, refused: true }).budget.used).toBe(5);
  });

  it('lets one request probe the next window, however much others use', () => {
    const { clock, budget } = used(1, { remaining: 0, resetInMs: 600_000, refused: true });
    expect(budget.freeAt()).toBe(clock.now + 601_000);
    clock.now += 601_000;
    // The service may have counted the refused request, whatever its response says.
    expect(budget.freeAt(15)).toBe(clock.now + WINDOW_MS - 601_000);
    budget.take(14).sent();
    // With requests in flight, the next one waits until the observed use of others expires: two windows after the response that showed it.
    expect(budget.freeAt()).toBe(100 + 2 * WINDOW_MS);
  });

  it('lets one request probe, and as many after it as its response leaves', () => {
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
    clock.now = WINDOW_MS - 1_001;
    expect(budget.used).toBe(1 + 1 + 6);
    clock.now += 1;
    expect(budget.used).toBe(1);
  });

  it('returns when several uses leave room', () => {
    const budget = rateBudget({ limit: 15, windowMs: WINDOW_MS, guardMs: 0, clock: handClock() });
    const others = [
      [1_000, 10],
      [2_000, 5],
    ] as const;
    budget.restore({ windowMs: WINDOW_MS, busy: [], others });
    expect([5, 6, 10, 11].map((weight) => budget.freeAt(weight))).toEqual([0, 1_000, 1_000, 2_000]);
  });

  it.each([
    { how: 'a refusal', own: 1, evidence: { remaining: 0, resetInMs: 600_000, refused: true } },
    { how: 'an answer', own: 5, evidence: { remaining: 0, resetInMs: 600_000 } },
  ])('of $how right after a start holds until the reset only: it may show our own earlier process', (given) => {
    const { clock, budget, answer } = used(given.own, given.evidence);
    expect(budget.used).toBe(15);
    expect(budget.freeAt()).toBe(clock.now + 601_000);
    clock.now += 601_000;
    const probe = budget.take();
    expect(budget.freeAt()).toBeGreaterThan(clock.now + WINDOW_MS - 601_000 - 1_000);
    probe.unsent();
    answer({ remaining: 14, resetInMs: WINDOW_MS });
    expect(budget.used).toBe(given.own + 1);
  });

  it('lets one request per reset go right after a start while the others are still there', () => {
    const { clock, budget, answer } = used(5, { remaining: 0, resetInMs: 600_000 });
    clock.now += 601_000;
    answer({ remaining: 0, resetInMs: 200_000 });
    expect(budget.freeAt()).toBe(clock.now + 201_000);
  });

  it.each([
    { when: 'after a window', start: () => used(5, { remaining: 0, resetInMs: 600_000 }, AGE_MS) },
    {
      when: 'with a journal',
      start: () => {
        const scene = used(1);
        scene.budget.restore({ windowMs: WINDOW_MS, busy: [], others: [], freedMs: null });
        for (let i = 0; i < 3; i += 1) scene.answer();
        scene.answer({ remaining: 0, resetInMs: 600_000 });
        return scene;
      },
    },
  ])('shows other clients $when, and leaves them their part', ({ start }) => {
    const { clock, budget } = start();
    expect(budget.freeAt()).toBeGreaterThan(clock.now + WINDOW_MS - 1_000);
  });

  it('expects no more of others than was seen, whatever a later answer would permit', () => {
    const { clock, budget } = used(1, { remaining: 3, resetInMs: 600_000, refused: true });
    expect(budget.used).toBe(12);
    clock.now += WINDOW_MS;
    const flying = [0, 1, 2].map(() => {
      clock.now += PATIENCE_MS;
      const slot = budget.take();
      slot.sent();
      return slot;
    });
    flying[0]?.answered({ remaining: 1, resetInMs: 600_000 });
    expect(budget.used).toBe(3 + 12);
  });

  it('takes what was answered since the window began for ours, however long the answer took that tells it', () => {
    const { clock, budget } = used(1);
    const slow = budget.take();
    slow.sent();
    clock.now += 10_000;
    // The service counted the request right after it was sent, and the reset in its response is relative to that moment.
    slow.answered({ remaining: 13, resetInMs: WINDOW_MS - 100 });
    expect(budget.used).toBe(2);
  });

  it('lets none follow an answer in place of one that was given up: the service may have counted it since', () => {
    const { clock, budget } = used(1, { remaining: 14, resetInMs: WINDOW_MS });
    clock.now += WINDOW_MS / 2;
    const probe = budget.take();
    probe.sent();
    clock.now += PATIENCE_MS;
    const lost = budget.take();
    lost.sent();
    probe.answered({ remaining: 10, resetInMs: WINDOW_MS / 2 });
    lost.aborted();
    expect(budget.freeAt(9)).toBe(clock.now);
    budget.take(9).sent();
    expect(budget.freeAt()).toBe(clock.now + PATIENCE_MS);
  });

  it('remembers use that falls off in few steps, never as less than it was, nor as more than at its height', () => {
    const clock = handClock();
    const budget = rateBudget({ limit: 100, windowMs: WINDOW_MS, guardMs: 0, clock });
    const fall = () =>
      Array.from({ length: 40 }, (_, i) => {
        const slot = budget.take();
        slot.sent();
        clock.now += 100;
        slot.answered({ remaining: 59, resetInMs: WINDOW_MS });
        return { until: clock.now + WINDOW_MS, weight: 40 - i };
      });
    const seen = fall();
    expect(budget.snapshot().others).toHaveLength(16);
    for (const { until, weight } of seen) {
      clock.now = until - 1;
      const others = budget.used - weight;
      expect(others).toBeGreaterThanOrEqual(weight);
      expect(others).toBeLessThanOrEqual(40);
    }
    clock.now += 1;
    expect(budget.used).toBe(0);
    // Expired steps don't make later ones coarser.
    for (const { until, weight } of fall().slice(0, 15)) {
      clock.now = until - 1;
      expect(budget.used - weight).toBe(weight);
    }
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

  it.each([0, WINDOW_MS + 1_000])('believes that the window ends in %d ms', (resetInMs) => {
    expect(used(2, { remaining: 12, resetInMs }).budget.used).toBe(2 + 1);
  });

  it('never loosens: more left than our own log has changes nothing', () => {
    expect(used(9, { remaining: 15, resetInMs: 5_000 }).budget.used).toBe(9);
  });
});

describe('a cost that the response reports', () => {
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

  it('leaves to others all that its evidence doesn’t explain, as if it had been taken so', () => {
    const cost = fc.integer({ min: 1, max: 15 });
    fc.assert(
      fc.property(cost, cost, fc.integer({ min: 0, max: 15 }), (weight, told, remaining) => {
        const { budget, slot } = taken(weight, { remaining, resetInMs: 800_000 });
        slot.corrected(15);
        slot.corrected(told);
        expect(budget.snapshot()).toEqual(taken(told, { remaining, resetInMs: 800_000 }).budget.snapshot());
      }),
    );
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
    waiting.answered();
    waiting.corrected(9);
    expect(budget.used).toBe(11);
    clock.now += WINDOW_MS;
    slot.corrected(9);
    expect(budget.used).toBe(0);
    expect(() => slot.corrected(-1)).toThrow(RangeError);
    expect(() => slot.corrected(Number.NaN)).toThrow(/a cost must be a whole number, got NaN/);
  });
});
