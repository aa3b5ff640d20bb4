import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { agedSnapshots } from './aged-snapshots.ts';
import { handClock, overruns, simulate } from './budget-simulation.fixture.ts';
import type { BudgetSnapshot } from './journal.ts';
import { type RateBudget, rateBudget } from './rate-budget.ts';
import { virtualClock } from '../testing/index.ts';

describe('rateBudget', () => {
  it('grants up to its limit, then returns when the next is free: the first response plus a window and the guard', () => {
    const clock = handClock();
    const budget = rateBudget({ limit: 2, windowMs: 1_000, clock });
    const first = budget.take();
    first.sent();
    clock.now = 30;
    first.answered();
    const second = budget.take();
    second.sent();
    expect(budget.used).toBe(2);
    expect(budget.freeAt()).toBe(30 + 1_000 + 5.5);
    expect(() => budget.take()).toThrow(/check freeAt first/);
    clock.now = 1_035.5;
    expect(budget.freeAt()).toBe(1_035.5);
    expect(budget.used).toBe(1);
  });

  it('can not say when while that depends on requests in flight', () => {
    const budget = rateBudget({ limit: 1, windowMs: 1_000, clock: handClock() });
    budget.take().sent();
    expect(budget.freeAt()).toBe(Infinity);
  });

  it('returns an unsent slot at once, and late if it was aborted after sending', () => {
    const clock = handClock();
    const budget = rateBudget({ limit: 1, windowMs: 1_000, maxDelayMs: 5_000, clock });
    budget.take().aborted();
    expect(budget.freeAt()).toBe(0);
    const slot = budget.take();
    slot.sent();
    clock.now = 100;
    slot.aborted();
    expect(budget.freeAt()).toBe(100 + 5_000 + 1_000 + 5.5);
  });

  it('settles a slot once', () => {
    const clock = handClock();
    const budget = rateBudget({ limit: 3, windowMs: 1_000, clock });
    const slot = budget.take();
    slot.sent();
    slot.answered();
    slot.answered();
    slot.aborted();
    expect(budget.used).toBe(1);
  });

  it('waits as long as the service said, whatever its own log holds', () => {
    const clock = handClock();
    const budget = rateBudget({ limit: 5, windowMs: 1_000, clock });
    budget.holdUntil(500);
    budget.holdUntil(200);
    expect(budget.freeAt()).toBe(500);
  });

  it('takes weights and refuses those that could never fit', () => {
    const clock = handClock();
    const budget = rateBudget({ limit: 10, windowMs: 1_000, guardMs: 0, clock });
    budget.take(7).answered();
    clock.now = 100;
    budget.take(2).answered();
    expect(budget.freeAt(1)).toBe(100);
    expect(budget.freeAt(2)).toBe(1_000);
    expect(budget.freeAt(9)).toBe(1_100);
    for (const weight of [11, 0, -1, Number.NaN]) expect(() => budget.freeAt(weight)).toThrow(RangeError);
  });

  it.each(['limit', 'windowMs', 'guardMs', 'maxDelayMs'])('refuses a %s that would switch the limit off', (option) => {
    for (const value of [Number.NaN, -1, Infinity])
      expect(() => rateBudget({ limit: 1, windowMs: 1_000, [option]: value })).toThrow(
        new RegExp(`^rateBudget: ${option} must be .* got ${value}$`),
      );
    const budget = rateBudget({ limit: 1, windowMs: 1_000, clock: handClock() });
    expect(() => budget.holdUntil(Number.NaN)).toThrow(RangeError);
    expect(budget.freeAt()).toBe(0);
  });

  it('sends nothing whose lease is over by either clock, because one stops in a suspended process', async () => {
    const clock = virtualClock();
    const budget = rateBudget({ limit: 3, windowMs: 1_000, leaseMs: () => 100, clock });
    const [late, set, prompt] = [budget.take(), budget.take(), budget.take()];
    await clock.advance(100);
    expect(prompt.sent()).toBe(true);
    clock.stepEpoch(1);
    expect(set.sent()).toBe(false);
    clock.stepEpoch(-60_000);
    expect(set.sent()).toBe(true);
    await clock.advance(1);
    expect(late.sent()).toBe(false);
  });

  it('counts big limits in thousandths of the window, whether others share them or not', () => {
    const clock = handClock();
    const budget = rateBudget({ limit: 10_000, windowMs: 1_000_000, guardMs: 0, clock });
    clock.now = 10;
    budget.take().answered();
    expect(budget.freeAt(10_000)).toBe(1_001_000);
    budget.restore({ windowMs: 1_000_000, busy: [], others: [[2_000_000, 4_000]] });
    expect(budget.freeAt(6_000)).toBe(1_001_000);
  });

  it('leaves what is in flight and what the service said to a process that takes over, in a form that JSON keeps', () => {
    const clock = handClock();
    const options = { limit: 2, windowMs: 1_000, guardMs: 0, maxDelayMs: 300, clock };
    const leased = rateBudget({ ...options, leaseMs: () => 200 });
    const patient = rateBudget(options);
    for (const budget of [leased, patient]) budget.take().sent();
    patient.holdUntil(9_000);
    clock.now = 100;
    const takeOver = (budget: RateBudget): number => {
      const kept = budget.snapshot();
      expect(JSON.parse(JSON.stringify(kept))).toEqual(kept);
      const next = rateBudget(options);
      next.restore(kept);
      return next.freeAt(2);
    };
    expect([takeOver(leased), takeOver(patient)]).toEqual([1_500, 9_000]);
    // The response is still to come, and the service may count the request right before it responds.
    clock.now = 9_000;
    expect([takeOver(leased), takeOver(patient)]).toEqual([10_000, 10_000]);
  });

  it('counts what another entry of the journal keeps, and leaves it out of its own snapshots', () => {
    const clock = handClock();
    const options = { limit: 10, windowMs: 1_000, guardMs: 0, clock };
    const others = rateBudget(options);
    others.take(3).answered();
    const budget = rateBudget(options);
    budget.take(2).answered();
    const { busy, ...rest } = others.snapshot();
    budget.restore({ ...rest, busy, elsewhere: true });
    budget.restore({ ...rest, busy, elsewhere: true });
    clock.now = 100;
    const slot = budget.take();
    slot.answered();
    slot.corrected(2);
    expect([budget.used, budget.freeAt(2)]).toEqual([10, 1_000]);
    expect(budget.snapshot().busy).toEqual([
      [900, 2],
      [1_000, 2],
    ]);
  });

  describe('in a longer window than the journal was kept in', () => {
    const before = (answers: readonly number[], writtenAt: number): BudgetSnapshot => {
      const clock = handClock();
      const budget = rateBudget({ limit: 2, windowMs: 1_000, guardMs: 0, clock });
      for (const at of answers) {
        clock.now = at;
        budget.take().answered();
      }
      clock.now = writtenAt;
      return budget.snapshot();
    };
    const after = (snapshot: BudgetSnapshot, elapsedMs: number, limit = 2) => {
      const clock = handClock();
      const budget = rateBudget({ limit, windowMs: 60_000, guardMs: 0, clock });
      for (const aged of agedSnapshots([snapshot], elapsedMs)) budget.restore(aged);
      return { clock, budget };
    };
    /** The difference of the windows. */
    const moreMs = 59_000;

    it('counts what was free again in the shorter one', () => {
      const { clock, budget } = after(before([0, 0], 100), 2_000);
      expect([budget.used, budget.freeAt()]).toEqual([2, moreMs - 2_000 + 900]);
      clock.now = budget.freeAt();
      expect(budget.used).toBe(0);
    });

    it('leaves free what was never used', () => {
      const { budget } = after(before([0, 0], 100), 2_000, 3);
      expect([budget.freeAt(1), budget.freeAt(2)]).toEqual([0, moreMs - 2_000 + 900]);
    });

    it('holds all as long as what the journal no longer lists may count', () => {
      const { budget } = after(before([0, 0, 1_000, 1_000], 1_500), 2_000, 100);
      expect(budget.freeAt()).toBe(moreMs - 2_000 - 500);
      // A snapshot without `freedMs`, as older versions wrote it, also holds all requests.
      const { freedMs: _, ...old } = before([0], 100);
      expect(after(old, 2_000, 100).budget.freeAt()).toBe(moreMs - 2_000);
    });

    it('holds nothing when the journal is older than the window, and nothing in the same window', () => {
      const snapshot = before([0, 0, 1_000, 1_000], 1_500);
      expect(after(snapshot, 61_000).budget.freeAt()).toBe(0);
      const clock = handClock();
      const same = rateBudget({ limit: 2, windowMs: 1_000, guardMs: 0, clock });
      for (const aged of agedSnapshots([snapshot], 600)) same.restore(aged);
      expect([same.freeAt(), same.used, same.snapshot().freedMs]).toEqual([0, 0, 100]);
    });

    it('continues so across a third process', () => {
      const second = after(before([0, 0, 1_000, 1_000], 1_500), 2_000, 100);
      second.clock.now = 10_000;
      const third = after(second.budget.snapshot(), 5_000, 100);
      expect(third.budget.freeAt()).toBeCloseTo(moreMs - 2_000 - 500 - 15_000, -1);
    });
  });

  it('waits for a shorter window than the journal was kept in no longer than for that one', () => {
    const clock = handClock();
    const before = rateBudget({ limit: 2, windowMs: 60_000, guardMs: 0, clock });
    before.take().answered();
    before.take().sent();
    before.holdUntil(50_000);
    const budget = rateBudget({ limit: 2, windowMs: 1_000, guardMs: 0, maxDelayMs: 300, clock });
    for (const aged of agedSnapshots([before.snapshot()], 100)) budget.restore(aged);
    expect([budget.used, budget.freeAt(2)]).toEqual([2, 1_300]);
    // The requests that were sent a minute ago don't count in the shorter window.
    const late = rateBudget({ limit: 2, windowMs: 1_000, guardMs: 0, maxDelayMs: 300, clock });
    for (const aged of agedSnapshots([before.snapshot()], 59_500)) late.restore(aged);
    expect([late.used, late.freeAt(2)]).toEqual([0, 0]);
    // With a lease of 200 ms, a request may be sent, and so be counted, that much later.
    const leased = rateBudget({ limit: 2, windowMs: 1_000, guardMs: 0, maxDelayMs: 300, leaseMs: () => 200, clock });
    leased.restore(before.snapshot());
    expect(leased.freeAt(2)).toBe(1_500);
  });

  it.each([
    { limit: 0 },
    { limit: 1.5 },
    { windowMs: 0 },
    { windowMs: Infinity },
    { windowMs: Number.NaN },
    { leaseMs: () => Number.NaN },
    { leaseMs: () => -1 },
  ])('refuses %o', (wrong) => {
    expect(() => rateBudget({ limit: 1, windowMs: 1, ...wrong })).toThrow(RangeError);
  });

  const load = fc.record({
    limit: fc.integer({ min: 1, max: 6 }),
    driftPpm: fc.integer({ min: -500, max: 500 }),
    windowPhase: fc.double({ min: 0, max: 1, noNaN: true }),
    requests: fc.array(
      fc.record({
        idleMs: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: 0, max: 3_000 }) }),
        lateMs: fc.oneof(
          { weight: 5, arbitrary: fc.integer({ min: 0, max: 20 }) },
          { weight: 1, arbitrary: fc.integer({ min: 0, max: 2_000 }) },
        ),
        upMs: fc.integer({ min: 0, max: 700 }),
        downMs: fc.integer({ min: 0, max: 700 }),
        ending: fc.constantFrom(...(['answered', 'answered', 'answered', 'answered', 'aborted', 'unsent', 'killed'] as const)),
        evidence: fc.option(
          fc.record({ remaining: fc.integer({ min: 0, max: 7 }), resetInMs: fc.integer({ min: 0, max: 1_000 }), refused: fc.boolean() }),
          { nil: undefined },
        ),
      }),
      { minLength: 20, maxLength: 120, size: 'max' },
    ),
  });

  it.each(['rolling', 'first-request', 'wall-clock'] as const)(
    'never overruns a %s window, for any latency, drift, idling, ending, evidence, kill and takeover',
    (kind) => {
      fc.assert(
        fc.property(load, ({ limit, driftPpm, windowPhase, requests }) => {
          const windowMs = 1_000;
          const counted = simulate({ limit, windowMs, drift: 1 + driftPpm / 1e6, requests });
          expect(overruns({ kind, counted, limit, windowMs, phaseMs: windowPhase * windowMs })).toBe(0);
        }),
        { numRuns: 300 },
      );
    },
  );

  it('is found out by that check when it forgets the window behind an answer', () => {
    const counted = Array.from({ length: 10 }, (_, i) => i * 700);
    expect(overruns({ kind: 'rolling', counted, limit: 1, windowMs: 1_000, phaseMs: 0 })).toBeGreaterThan(0);
  });
});
