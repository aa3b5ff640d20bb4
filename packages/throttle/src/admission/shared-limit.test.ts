import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { handClock, overruns } from '../budget/budget-simulation.fixture.ts';
import { type RateBudget, rateBudget } from '../budget/rate-budget.ts';
import { virtualClock } from '../testing/index.ts';
import { type Claims, credentialPool } from './credential-pool.ts';
import { granted } from './granted.fixture.ts';
import type { Permit } from './permit.ts';
import { limiter } from './limiter.ts';

const WINDOW_MS = 1_000;

/**
 * Creates a pool. Each member has its own budget, followed by shared ones. `shares` lists the indexes of these in `limits` for each member.
 */
function poolOf({
  limits,
  shares,
  clock,
}: {
  limits: readonly number[];
  shares: readonly (readonly number[])[];
  clock: ReturnType<typeof handClock>;
}) {
  const budget = (limit: number): RateBudget => rateBudget({ limit, windowMs: WINDOW_MS, guardMs: 0, maxDelayMs: 100, clock });
  const shared = limits.map(budget);
  const members = shares.map((some, i) => ({
    name: String(i),
    budgets: [budget(2), ...[...new Set(some)].flatMap((which) => shared[which % shared.length] ?? [])],
  }));
  return { pool: credentialPool({ members, clock }), members, shared };
}

const step = fc.record({
  do: fc.constantFrom(...(['take', 'take', 'answer', 'abort', 'unsent', 'wait', 'hold'] as const)),
  which: fc.nat(20),
  weights: fc.constantFrom([], [], [1, 2], [2, 1], [0, 1], [1, 0], [1, 1, 2]),
});
const limits = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 2, maxLength: 2 });
const shares = fc.oneof(
  fc.array(fc.uniqueArray(fc.nat(1), { maxLength: 2 }), { minLength: 1, maxLength: 5 }),
  fc.integer({ min: 1, max: 5 }).map((size) => Array.from({ length: size }, () => [0, 1])),
);

describe('a budget that several credentials share', () => {
  it('is waited for as looking at every budget of every credential would, for any interleaving', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: 'max' }), limits, shares, (steps, ofShared, whose) => {
        const clock = handClock();
        const { pool, members } = poolOf({ limits: ofShared, shares: whose, clock });
        const bears = (budgets: readonly RateBudget[], weights: readonly number[]): boolean =>
          budgets.every(({ limit }, i) => (weights[i] ?? 1) <= limit);
        const freeAt = (weights: readonly number[]): number =>
          Math.min(
            ...members.map(({ budgets }) =>
              bears(budgets, weights)
                ? Math.max(...budgets.map((one, i) => (weights[i] === 0 ? -Infinity : one.freeAt(weights[i]))))
                : Infinity,
            ),
          );
        const open: Permit[] = [];
        for (const { do: what, which, weights } of steps) {
          if (what === 'wait') clock.now += which * 40;
          if (what === 'hold') members[which % members.length]?.budgets.at(-1)?.holdUntil(clock.now + 300);
          if (what === 'answer' || what === 'abort' || what === 'unsent') {
            const [grant] = open.splice(which % Math.max(1, open.length), 1);
            if (what !== 'unsent') grant?.sent();
            if (what === 'answer') grant?.answered();
            else if (what === 'abort') grant?.aborted();
            else grant?.unsent();
          }
          for (const asked of [[], weights]) {
            if (!members.some(({ budgets }) => bears(budgets, asked))) continue;
            const least = freeAt(asked);
            expect(pool.freeAt(asked)).toBe(least <= clock.now ? -Infinity : least);
          }
          if (what === 'take' && pool.bears(weights) && freeAt(weights) <= clock.now) open.push(granted(pool, weights));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('is never over in any window, whichever credentials carry the requests, and whenever the service counts them', () => {
    let count = 0;
    const request = fc.record({
      idleMs: fc.nat(200),
      upMs: fc.nat(90),
      downMs: fc.nat(90),
      ending: fc.constantFrom('answered', 'answered', 'aborted', 'unsent'),
    });
    fc.assert(
      fc.property(fc.array(request, { minLength: 20, maxLength: 80, size: 'max' }), limits, shares, (requests, ofShared, whose) => {
        const clock = handClock();
        const { pool, members, shared } = poolOf({ limits: ofShared, shares: whose, clock });
        const counted: { readonly at: number; readonly carrier: string }[] = [];
        let inFlight: { readonly at: number; readonly settle: () => void }[] = [];
        const goTo = (instant: number): void => {
          const due = inFlight.filter(({ at }) => at <= instant).toSorted((a, b) => a.at - b.at);
          inFlight = inFlight.filter(({ at }) => at > instant);
          for (const { at, settle } of due) {
            clock.now = at;
            settle();
          }
          clock.now = instant;
        };
        for (const { idleMs, upMs, downMs, ending } of requests) {
          goTo(clock.now + idleMs);
          for (let at = pool.freeAt([]); at > clock.now; at = pool.freeAt([])) goTo(Math.min(at, ...inFlight.map((one) => one.at)));
          const grant = granted(pool);
          if (ending === 'unsent') {
            grant.unsent();
            continue;
          }
          expect(grant.sent()).toBe(true);
          counted.push({ at: clock.now + upMs, carrier: grant.credential });
          count += 1;
          if (ending === 'answered') inFlight.push({ at: clock.now + upMs + downMs, settle: () => grant.answered() });
          else inFlight.push({ at: clock.now + downMs / 2, settle: () => grant.aborted() });
        }
        const of = (carriers: readonly string[]) =>
          counted.flatMap(({ at, carrier }) => (carriers.includes(carrier) ? at : [])).toSorted((a, b) => a - b);
        const over = (carriers: readonly string[], limit: number) =>
          overruns({ kind: 'rolling', counted: of(carriers), limit, windowMs: WINDOW_MS, phaseMs: 0 });
        for (const { name } of members) expect(over([name], 2)).toBe(0);
        for (const budget of shared) {
          const carriers = members.flatMap(({ name, budgets }) => (budgets.includes(budget) ? name : []));
          expect(over(carriers, budget.limit)).toBe(0);
        }
      }),
      { numRuns: 200 },
    );
    expect(count).toBeGreaterThan(2_000);
  });

  it('gives a slot that one credential returns to another at once', () => {
    const clock = handClock();
    const { pool } = poolOf({ limits: [1, 5], shares: [[0], [0]], clock });
    const first = granted(pool);
    expect(pool.freeAt([])).toBe(Infinity);
    first.unsent();
    const second = granted(pool);
    expect([first.credential, second.credential]).toEqual(['0', '1']);
  });

  it("isn't taken by a lighter request that a heavier one of another credential waits for", () => {
    const clock = handClock();
    const shared = rateBudget({ limit: 4, windowMs: WINDOW_MS, guardMs: 0, clock });
    const own = (limit: number): RateBudget => rateBudget({ limit, windowMs: WINDOW_MS, guardMs: 0, clock });
    const pool = credentialPool({
      members: [
        { name: 'small', budgets: [own(1), shared] },
        { name: 'large', budgets: [own(2), shared] },
      ],
      clock,
    });
    const first = granted(pool, [2, 1]);
    first.sent();
    first.answered();
    const claims: Claims = new Map();
    pool.claim([2, 4], undefined, claims);
    expect(pool.freeAt([1, 1], undefined, claims)).toBe(Infinity);
    expect(granted(pool, [1, 0], claims).credential).toBe('small');
  });

  it('is used to its last slot by a limiter of several credentials', async () => {
    const clock = virtualClock();
    const address = rateBudget({ limit: 3, windowMs: WINDOW_MS, guardMs: 0, clock });
    const carried: { readonly at: number; readonly by: string }[] = [];
    const limited = limiter({
      credentials: ['a', 'b', 'c', 'd'],
      budgets: () => [rateBudget({ limit: 2, windowMs: WINDOW_MS, guardMs: 0, clock }), address],
      clock,
    });
    const all = Promise.all(Array.from({ length: 30 }, () => limited.run((by) => void carried.push({ at: clock.monotonicMs(), by }))));
    await clock.advance(9 * WINDOW_MS);
    await all;
    expect(Object.values(Object.groupBy(carried, ({ at }) => at)).map((same = []) => same.length)).toEqual(
      Array.from({ length: 10 }, () => 3),
    );
    expect(new Set(carried.map(({ by }) => by)).size).toBe(4);
  });
});
