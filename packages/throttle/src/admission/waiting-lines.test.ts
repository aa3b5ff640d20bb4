import { describe, expect, it } from 'vitest';
import { handClock } from '../budget/budget-simulation.fixture.ts';
import { rateBudget } from '../budget/rate-budget.ts';
import { credentialPool } from './credential-pool.ts';
import { type CreditPool, creditPool } from './credit-pool.ts';
import { type Lined, WaitingLines } from './waiting-lines.ts';

function scene() {
  const clock = handClock();
  const budgets = [rateBudget({ limit: 100, windowMs: 1_000, clock }), rateBudget({ limit: 100, windowMs: 1_000, clock })];
  const pool = credentialPool({ members: [{ name: 'a', budgets }], clock });
  let watchers = 0;
  const room = creditPool({ max: 100 });
  const credits: CreditPool = {
    ...room,
    onRelease(callback) {
      watchers += 1;
      const unwatch = room.onRelease(callback);
      return () => {
        watchers -= 1;
        unwatch();
      };
    },
  };
  const request = (turn: number, items: number, weights: readonly number[] = []): Lined => ({
    pool,
    credits,
    items,
    weights,
    turn,
    arrival: turn,
  });
  return { lines: new WaitingLines<Lined>({ onRoom: () => undefined }), pool, request, watchers: () => watchers };
}

describe('waiting lines', () => {
  it('hold requests of the same cost and size alone', () => {
    const { lines, request } = scene();
    const [one, same, others] = [
      request(1, 5, [1, 11]),
      request(2, 5, [1, 11]),
      [request(3, 5, [11, 1]), request(4, 6, [1, 11]), request(5, 5, [])],
    ];
    for (const each of [one, same, ...others]) lines.add(each);
    expect(lines.lineOf(same)).toBe(lines.lineOf(one));
    expect(new Set([one, ...others].map((each) => lines.lineOf(each))).size).toBe(4);
  });

  it('give the turn to a request that comes before all of its line', () => {
    const { lines, request } = scene();
    const [late, first, early] = [request(3, 5), request(2, 6), request(1, 5)];
    lines.add(late);
    lines.add(first);
    expect(lines.look().first()).toBe(first);
    lines.add(early);
    expect(lines.look().first()).toBe(early);
    lines.delete(early);
    expect(lines.look().first()).toBe(first);
  });

  it('forget a pool and a downstream for which no request waits', () => {
    const { lines, pool, request, watchers } = scene();
    const all = [request(1, 5), request(2, 5), request(3, 6, [0, 1])];
    for (const one of all) lines.add(one);
    pool.retire('a', new Error('revoked'));
    for (const one of all) {
      expect([lines.isAnyExhausted, watchers()]).toEqual([true, 1]);
      lines.delete(one);
    }
    expect([lines.isAnyExhausted, watchers()]).toEqual([false, 0]);
  });
});
