import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Credit, creditPool } from './credit-pool.ts';

describe('creditPool', () => {
  it('admits one page however large while no credit is held, and nothing else with it', () => {
    const pool = creditPool({ max: 100 });
    expect(pool.hasRoom(5_000)).toBe(true);
    const credit = pool.reserve(5_000);
    expect(pool.hasRoom(0)).toBe(false);
    expect(() => pool.reserve(1)).toThrow(/5000 of 100 are outstanding/);
    credit.release();
    expect(pool.outstanding).toBe(0);
  });

  it('shrinks to what has arrived and notifies those that wait', () => {
    const pool = creditPool({ max: 10 });
    let told = 0;
    const stop = pool.onRelease(() => (told += 1));
    const credit = pool.reserve(10);
    credit.resize(4);
    expect([pool.outstanding, credit.items, told]).toEqual([4, 4, 1]);
    credit.release();
    credit.release();
    expect([pool.outstanding, told]).toEqual([0, 2]);
    stop();
    pool.reserve(1).release();
    expect(told).toBe(2);
  });

  it('grows if more has arrived, even past its maximum, but not after its release', () => {
    const pool = creditPool({ max: 10 });
    let told = 0;
    pool.onRelease(() => (told += 1));
    const credit = pool.reserve(4);
    expect([pool.hasRoom(6), pool.hasRoom(7)]).toEqual([true, false]);
    credit.resize(15);
    credit.resize(15);
    expect([credit.items, pool.outstanding, pool.hasRoom(0), told]).toEqual([15, 15, false, 0]);
    credit.release();
    credit.resize(3);
    expect([credit.items, pool.outstanding, told]).toEqual([0, 0, 1]);
  });

  it.each([-1, 1.5, NaN, Infinity])('holds no %s items', (items) => {
    const pool = creditPool({ max: Infinity });
    const credit = pool.reserve(0);
    expect(() => pool.reserve(items)).toThrow(RangeError);
    expect(() => credit.resize(items)).toThrow(RangeError);
    expect([credit.items, pool.outstanding]).toEqual([0, 0]);
  });

  it('never leaks and never passes its maximum but for a page alone', () => {
    const steps = fc.array(
      fc.record({ do: fc.constantFrom('reserve' as const, 'resize' as const, 'release' as const), which: fc.nat(9), items: fc.nat(40) }),
      { maxLength: 60, size: 'max' },
    );
    fc.assert(
      fc.property(steps, (all) => {
        const pool = creditPool({ max: 50 });
        const held: Credit[] = [];
        for (const { do: what, which, items } of all) {
          const credit = held[which % Math.max(1, held.length)];
          if (what === 'reserve' && pool.hasRoom(items)) held.push(pool.reserve(items));
          if (what === 'resize' && credit !== undefined) credit.resize(Math.min(items, credit.items));
          if (what === 'release') credit?.release();
          expect(pool.outstanding).toBe(held.reduce((sum, { items: some }) => sum + some, 0));
          expect(pool.outstanding).toBeLessThanOrEqual(50);
        }
        for (const credit of held) credit.release();
        expect(pool.outstanding).toBe(0);
      }),
    );
  });

  it.each([0, -1, Number.NaN])('refuses a maximum of %s', (max) => {
    expect(() => creditPool({ max })).toThrow(/^creditPool: max must be a whole number from 1, got /);
  });
});
