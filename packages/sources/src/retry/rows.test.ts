import { type BudgetSnapshot, type Journal, rateBudget } from '@headgate/throttle';
import { virtualClock } from '@headgate/throttle/testing';
import { expect, test } from 'vitest';
import { openRows } from './rows.ts';

const limit = { requests: 9, windowMs: 1_000 };

test('a row has what its budgets sent, and what none of them takes, but nothing of other rows', async () => {
  const clock = virtualClock();
  const written = new Map<string, () => readonly BudgetSnapshot[]>();
  const busy = (weight: number) => ({ windowMs: 1_000, busy: [[500, weight]] as const, freedMs: null });
  const rows: Readonly<Record<string, readonly BudgetSnapshot[]>> = {
    a: [
      { name: 'rate', ...busy(1) },
      { name: 'rate', ...busy(2), elsewhere: true },
      { name: 'old', ...busy(3) },
      { name: 'old', ...busy(4), elsewhere: true },
    ],
    '': [{ name: 'rate', ...busy(2) }],
  };
  const journal: Journal = {
    leaseMs: 0,
    open(name, snapshots) {
      written.set(name, snapshots);
      const entry = { granted: () => Promise.resolve(), settled: () => undefined, flush: () => undefined };
      return { restored: rows[name], ...entry };
    },
  };
  const budget = rateBudget({ limit: limit.requests, windowMs: limit.windowMs, clock });
  openRows(journal, 'toy', clock, [{ name: 'a', own: [{ name: 'rate', of: limit, budget }] }], []);
  expect(budget.used).toBe(1 + 2 + 2);
  await clock.advance(100);
  expect(written.get('a')?.()).toMatchObject([
    { name: 'rate', busy: [[400, 1]] },
    { name: 'old', busy: [[400, 3]] },
  ]);
});

test('grants may be ahead up to the least limit of a row, but not where a limit is shared', () => {
  const clock = virtualClock();
  const named = (name: string, requests: number) => {
    const of = { requests, windowMs: 1_000 };
    return { name, of, budget: rateBudget({ limit: requests, windowMs: 1_000, clock }) };
  };
  const opened = (shared: readonly ReturnType<typeof named>[]): readonly unknown[] => {
    const least: unknown[] = [];
    const journal: Journal = {
      leaseMs: 0,
      open(name, _, most) {
        least.push([name, most]);
        return { restored: undefined, granted: () => Promise.resolve(), settled: () => undefined, flush: () => undefined };
      },
    };
    openRows(journal, 'toy', clock, [{ name: 'a', own: [named('second', 700), named('day', 600)] }], shared);
    return least;
  };
  expect(opened([])).toEqual([
    ['', undefined],
    ['a', 600],
  ]);
  expect(opened([named('all', 900)])).toEqual([
    ['', 0],
    ['a', 0],
  ]);
});
