import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { handClock } from '../budget/budget-simulation.fixture.ts';
import { type Claims, type CredentialPool, credentialPool } from './credential-pool.ts';
import { granted } from './granted.fixture.ts';
import type { Permit } from './permit.ts';
import { rateBudget } from '../budget/rate-budget.ts';

function countingJournal() {
  let count = 0;
  return {
    restored: undefined,
    granted: () => Promise.resolve(),
    settled: () => (count += 1),
    flush: () => undefined,
    get count() {
      return count;
    },
  };
}

/** Returns true if a request could start now and leave the earlier ones what they claim. Takes nothing. */
function mayPass(pool: CredentialPool, weights: readonly number[], ahead: readonly (readonly number[])[]): boolean {
  const claims: Claims = new Map();
  for (const earlier of ahead) pool.claim(earlier, undefined, claims);
  return pool.freeAt(weights, undefined, claims) === -Infinity;
}

describe('credentialPool', () => {
  it('gives the permit of whichever may go first, for any interleaving, as looking at each of them would', () => {
    const steps = fc.array(
      fc.record({ do: fc.constantFrom(...(['take', 'answer', 'abort', 'wait', 'hold', 'keep', 'free'] as const)), which: fc.nat(20) }),
      { maxLength: 120, size: 'max' },
    );
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 5 }), (all, size) => {
        const clock = handClock();
        const budgets = Array.from({ length: size }, () => rateBudget({ limit: 2, windowMs: 1_000, guardMs: 0, clock }));
        const heldUntil = budgets.map(() => -Infinity);
        const members = budgets.map((budget, i) => ({ name: String(i), budgets: [budget], heldUntilMs: () => heldUntil[i] ?? 0 }));
        const pool = credentialPool({ members, clock });
        const freeAt = (i: number): number => Math.max(budgets[i]?.freeAt() ?? 0, heldUntil[i] ?? 0);
        const open: Permit[] = [];
        for (const { do: what, which } of all) {
          if (what === 'wait') clock.now += which * 40;
          if (what === 'hold') budgets[which % size]?.holdUntil(clock.now + 300);
          if (what === 'keep') heldUntil[which % size] = which > 15 ? Infinity : clock.now + which * 60;
          if (what === 'free') heldUntil[which % size] = -Infinity;
          const [grant] = what === 'answer' || what === 'abort' ? open.splice(which % Math.max(1, open.length), 1) : [];
          grant?.sent();
          if (what === 'answer') grant?.answered();
          if (what === 'abort') grant?.aborted();
          const least = Math.min(...budgets.map((_, i) => freeAt(i)));
          expect(pool.freeAt([])).toBe(least <= clock.now ? -Infinity : least);
          if (what === 'take' && least <= clock.now) {
            const free = budgets.flatMap((_, i) => (freeAt(i) <= clock.now ? [String(i)] : []));
            const taken = granted(pool);
            if (!free.includes(taken.credential)) throw new Error(`${taken.credential} was not free`);
            open.push(taken);
          }
        }
      }),
    );
  });

  it('looks at every budget and weight of a member', () => {
    const clock = handClock();
    const perSecond = rateBudget({ limit: 1, windowMs: 1_000, guardMs: 0, clock });
    const perDay = rateBudget({ limit: 100, windowMs: 86_400_000, guardMs: 0, clock });
    const pool = credentialPool({ members: [{ name: 'key', budgets: [perSecond, perDay] }], clock });
    const first = granted(pool, [1, 60]);
    first.sent();
    first.answered();
    expect(pool.freeAt([1, 40])).toBe(1_000);
    expect(pool.freeAt([1, 41])).toBe(86_400_000);
    expect(perDay.used).toBe(60);
  });

  it('skips members with too small limits, and reports it only if all have them', () => {
    const clock = handClock();
    const member = (name: string, limit: number) => ({ name, budgets: [rateBudget({ limit, windowMs: 1_000, guardMs: 0, clock })] });
    const pool = credentialPool({ members: [member('small', 2), member('large', 5)], clock });
    expect([pool.bears([2]), pool.bears([5]), pool.bears([6]), pool.bears([0.5])]).toEqual([true, true, false, false]);
    expect(pool.freeAt([4])).toBe(-Infinity);
    expect(granted(pool, [4]).credential).toBe('large');
    expect(pool.freeAt([4])).toBe(Infinity);
    expect(() => granted(pool, [4])).toThrow(RangeError);
    expect(pool.freeAt([6])).toBe(Infinity);
    // A request of weight 4 can't use the small budget, so a slot taken there doesn't delay it.
    expect(mayPass(pool, [2], [[4]])).toBe(true);
    pool.retire('large', new Error('revoked'));
    expect(pool.freeAt([4])).toBe(Infinity);
    pool.retire('small', new Error('revoked'));
    expect(pool.freeAt([4])).toBe(Infinity);
  });

  it('leaves a budget alone that a weight of 0 says is not concerned, whichever makes its member wait', () => {
    const clock = handClock();
    const budgets = () => ['core', 'search'].map(() => rateBudget({ limit: 1, windowMs: 1_000, guardMs: 0, clock }));
    const pool = credentialPool({
      members: [
        { name: 'a', budgets: budgets() },
        { name: 'b', budgets: budgets() },
      ],
      clock,
    });
    const [core, search, both] = [[1, 0], [0, 1], [] as const];
    for (const weights of [core, core]) granted(pool, weights).answered();
    expect(pool.freeAt(both)).toBe(1_000);
    expect(pool.freeAt(search)).toBe(-Infinity);
    expect(mayPass(pool, search, [core, both])).toBe(true);
    expect(mayPass(pool, core, [search])).toBe(false);
    expect([granted(pool, search).credential, granted(pool, search).credential]).toEqual(['a', 'b']);
    expect(pool.members.map(({ budgets: own }) => own.map(({ used }) => used))).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });

  it('finds the one that may go first although another of its budgets would make it wait longest', () => {
    const clock = handClock();
    const budgets = () => ['core', 'search'].map(() => rateBudget({ limit: 1, windowMs: 1_000, guardMs: 0, clock }));
    const [a, b] = [budgets(), budgets()];
    const pool = credentialPool({ members: [a, b].map((own, i) => ({ name: 'ab'.charAt(i), budgets: own })), clock });
    a[1]?.holdUntil(500);
    b[0]?.holdUntil(1_000);
    expect(pool.freeAt([])).toBe(500);
    expect(pool.freeAt([0, 1])).toBe(-Infinity);
    expect(granted(pool, [0, 1]).credential).toBe('b');
  });

  it('leaves a waiting request all of the budget that it waits for, and its weight of the others', () => {
    const clock = handClock();
    const budgets = ['core', 'search'].map(() => rateBudget({ limit: 3, windowMs: 1_000, guardMs: 0, clock }));
    const pool = credentialPool({ members: [{ name: 'a', budgets }], clock });
    granted(pool, [2, 0]).answered();
    expect(mayPass(pool, [1, 0], [[2, 0]])).toBe(false);
    expect(mayPass(pool, [0, 3], [[2, 0]])).toBe(true);
    expect(mayPass(pool, [0, 3], [[2, 1]])).toBe(true);
    expect([1, 2].map((weight) => mayPass(pool, [0, weight], [[2, 2]]))).toEqual([true, false]);
    expect(
      mayPass(
        pool,
        [0, 2],
        [
          [2, 2],
          [2, 1],
        ],
      ),
    ).toBe(false);
  });

  it('tells when the first budget that a request waits for becomes free', () => {
    const clock = handClock();
    const budgets = [1_000, 3_000].map((windowMs) => rateBudget({ limit: 1, windowMs, guardMs: 0, clock }));
    const pool = credentialPool({ members: [{ name: 'a', budgets }], clock });
    const grant = granted(pool);
    expect(pool.claim([], undefined, new Map())).toBe(Infinity);
    grant.answered();
    expect([pool.claim([], undefined, new Map()), pool.freeAt([])]).toEqual([1_000, 3_000]);
    expect(pool.claim([0, 1], undefined, new Map())).toBe(3_000);
  });

  it('charges each budget its cost, and continues with the capacity that this frees', () => {
    const clock = handClock();
    const budgets = ['core', 'search', 'day'].map(() => rateBudget({ limit: 5, windowMs: 1_000, guardMs: 0, clock }));
    const journal = countingJournal();
    const pool = credentialPool({ members: [{ name: 'a', budgets, journal }], clock });
    const grant = granted(pool, [5, 0, 3]);
    grant.sent();
    grant.answered();
    expect(pool.freeAt([])).toBe(1_000);
    grant.corrected([2, 4, undefined]);
    expect([budgets.map(({ used }) => used), pool.freeAt([]), journal.count]).toEqual([[2, 0, 3], -Infinity, 2]);
  });

  it('uses the least recently used one, and none that was removed; the last one says why', () => {
    const clock = handClock();
    const members = ['a', 'b', 'c'].map((name) => ({ name, budgets: [rateBudget({ limit: 9, windowMs: 1_000, guardMs: 0, clock })] }));
    const pool = credentialPool({ members, clock });
    const taken = (times: number) => Array.from({ length: times }, () => granted(pool).credential).join('');
    expect(taken(5)).toBe('abcab');
    pool.retire('b', new Error('revoked'));
    pool.retire('nobody', new Error('unknown'));
    expect([taken(4), pool.members.map(({ name }) => name), pool.exhausted]).toEqual(['caca', ['a', 'c'], undefined]);
    pool.retire('a', new Error('revoked'));
    const last = new Error('expired');
    pool.retire('c', last);
    pool.retire('c', new Error('again'));
    expect([pool.members, pool.bears([1]), pool.exhausted]).toEqual([[], false, last]);
    expect(() => granted(pool)).toThrow(RangeError);
  });

  it('settles what was taken of one that has left', () => {
    const clock = handClock();
    const budget = rateBudget({ limit: 1, windowMs: 1_000, guardMs: 0, clock });
    const journal = countingJournal();
    const pool = credentialPool({ members: [{ name: 'a', budgets: [budget], journal }], clock });
    const grant = granted(pool);
    pool.retire('a', new Error('revoked'));
    grant.sent();
    grant.answered();
    clock.now = 1_000;
    expect([journal.count, budget.used, pool.freeAt([])]).toEqual([1, 0, Infinity]);
  });

  it('sends with all budgets or with none: one whose lease is over frees the others', () => {
    const clock = handClock();
    const [patient, hasty] = [Infinity, 100].map((leaseMs) =>
      rateBudget({ limit: 1, windowMs: 1_000, guardMs: 0, leaseMs: () => leaseMs, clock }),
    );
    if (patient === undefined || hasty === undefined) throw new Error('two budgets were made');
    const pool = credentialPool({ members: [{ name: 'key', budgets: [patient, hasty] }], clock });
    const grant = granted(pool);
    clock.now = 101;
    expect(grant.sent()).toBe(false);
    grant.aborted();
    expect([patient.used, hasty.used]).toEqual([0, 0]);
    const next = granted(pool);
    expect(next.sent()).toBe(true);
    clock.now = 300;
    expect(next.sent()).toBe(false);
    next.aborted();
    expect([patient.used, hasty.used]).toEqual([1, 1]);
  });

  it('refuses two credentials of one name, and none', () => {
    const budgets = [rateBudget({ limit: 1, windowMs: 1, clock: handClock() })];
    expect(() => credentialPool({ members: [] })).toThrow(RangeError);
    expect(() =>
      credentialPool({
        members: [
          { name: 'a', budgets },
          { name: 'a', budgets },
        ],
      }),
    ).toThrow(/two credentials are named a/);
  });
});
