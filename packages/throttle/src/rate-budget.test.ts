import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Clock } from './clock.ts';
import { rateBudget } from './rate-budget.ts';

describe('rateBudget', () => {
  it('grants up to its limit, then says when the next is free: the first answer plus a window and the guard', () => {
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
    expect(() => budget.take()).toThrow(/ask freeAt first/);
    clock.now = 1_035.5;
    expect(budget.freeAt()).toBe(1_035.5);
    expect(budget.used).toBe(1);
  });

  it('can not say when while only requests under way can tell', () => {
    const budget = rateBudget({ limit: 1, windowMs: 1_000, clock: handClock() });
    budget.take().sent();
    expect(budget.freeAt()).toBe(Infinity);
  });

  it('gives a slot back at once when it was never sent, and late when it was given up after sending', () => {
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

  it('trusts half of the least round trip after 200 answers', () => {
    const clock = handClock();
    const budget = rateBudget({ limit: 1, windowMs: 1_000, clock });
    for (let i = 0; i <= 200; i += 1) {
      clock.now = budget.freeAt();
      const slot = budget.take();
      slot.sent();
      clock.now += 40;
      slot.answered();
      expect(budget.freeAt() - clock.now).toBeCloseTo(1_005.5 - (i < 200 ? 0 : 20), 6);
    }
  });

  it('waits as long as the service said, whatever its own log says', () => {
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
    expect(() => budget.freeAt(11)).toThrow(RangeError);
  });

  it.each([{ limit: 0 }, { limit: 1.5 }, { windowMs: 0 }, { windowMs: Number.NaN }])('refuses %o', (wrong) => {
    expect(() => rateBudget({ limit: 1, windowMs: 1, ...wrong })).toThrow(RangeError);
  });

  const load = fc.record({
    limit: fc.integer({ min: 1, max: 6 }),
    driftPpm: fc.integer({ min: -500, max: 500 }),
    windowPhase: fc.double({ min: 0, max: 1, noNaN: true }),
    requests: fc.array(
      fc.record({
        idleMs: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: 0, max: 3_000 }) }),
        upMs: fc.integer({ min: 0, max: 700 }),
        downMs: fc.integer({ min: 0, max: 700 }),
        ending: fc.oneof(
          { weight: 8, arbitrary: fc.constant('answered' as const) },
          { weight: 1, arbitrary: fc.constant('aborted' as const) },
          { weight: 1, arbitrary: fc.constant('unsent' as const) },
        ),
      }),
      { minLength: 20, maxLength: 120 },
    ),
  });

  it.each(['rolling', 'first-request', 'wall-clock'] as const)(
    'never overruns a %s window, for any latency, drift, idling and ending',
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

interface Load {
  readonly limit: number;
  readonly windowMs: number;
  /** Client milliseconds per true millisecond. */
  readonly drift: number;
  readonly requests: readonly { idleMs: number; upMs: number; downMs: number; ending: 'answered' | 'aborted' | 'unsent' }[];
}

/** Runs requests as early as the budget permits, several at once; returns the true instants at which the server counted them. */
function simulate({ limit, windowMs, drift, requests }: Load): number[] {
  const clock = handClock();
  const budget = rateBudget({ limit, windowMs, maxDelayMs: 1_000, clock });
  const counted: number[] = [];
  const underWay: { at: number; settle: () => void }[] = [];
  let trueNow = 0;
  const goTo = (instant: number): void => {
    underWay.sort((a, b) => a.at - b.at);
    for (let next = underWay[0]; next !== undefined && next.at <= instant; next = underWay[0]) {
      underWay.shift();
      trueNow = Math.max(trueNow, next.at);
      clock.now = trueNow * drift;
      next.settle();
    }
    trueNow = Math.max(trueNow, instant);
    clock.now = trueNow * drift;
  };
  for (const { idleMs, upMs, downMs, ending } of requests) {
    goTo(trueNow + idleMs);
    for (let at = budget.freeAt(); at > clock.now; at = budget.freeAt()) {
      const settled = Math.min(...underWay.map((request) => request.at));
      goTo(Math.min(at / drift + 1e-9, settled));
    }
    const slot = budget.take();
    if (ending === 'unsent') {
      slot.aborted();
      continue;
    }
    slot.sent();
    counted.push(trueNow + upMs);
    if (ending === 'answered') underWay.push({ at: trueNow + upMs + downMs, settle: () => slot.answered() });
    else underWay.push({ at: trueNow + downMs / 2, settle: () => slot.aborted() });
  }
  return counted.sort((a, b) => a - b);
}

function overruns({
  kind,
  counted,
  limit,
  windowMs,
  phaseMs,
}: {
  kind: 'rolling' | 'first-request' | 'wall-clock';
  counted: readonly number[];
  limit: number;
  windowMs: number;
  phaseMs: number;
}): number {
  if (kind === 'rolling') return counted.filter((at, i) => at - (counted[i - limit] ?? -Infinity) < windowMs).length;
  let over = 0;
  let start = -Infinity;
  let used = 0;
  for (const at of counted) {
    const windowStart = kind === 'wall-clock' ? Math.floor((at + phaseMs) / windowMs) : at - start >= windowMs ? at : start;
    if (windowStart !== start) {
      start = windowStart;
      used = 0;
    }
    used += 1;
    if (used > limit) over += 1;
  }
  return over;
}

function handClock(): Clock & { now: number } {
  return {
    now: 0,
    monotonicMs() {
      return this.now;
    },
    epochMs() {
      return this.now;
    },
    schedule: () => () => undefined,
  };
}
