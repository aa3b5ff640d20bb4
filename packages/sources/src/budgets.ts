import { type Clock, dailyBudget, monthlyBudget, rateBudget, type RateBudget } from '@headgate/throttle';
import { nextDayOfMonth, nextTimeOfDay } from '@headgate/throttle/internal';
import type { Budgets, Limit, Quota } from './source-options.ts';

export interface NamedBudgets {
  readonly limit?: Limit | undefined;
  readonly budgets?: Budgets | undefined;
}

/** Merges budgets by name: a later one replaces an earlier one. A `limit` is the budget named `rate`. */
export function mergedBudgets(...named: readonly NamedBudgets[]): Budgets {
  const all = named.flatMap(({ limit, budgets }) => [
    ...(limit === undefined ? [] : [['rate', limit] as const]),
    ...Object.entries(budgets ?? {}),
  ]);
  return Object.fromEntries(all);
}

export interface BudgetOptions {
  readonly maxDelayMs?: number | undefined;
  readonly leaseMs?: (() => number) | undefined;
  readonly clock: Clock;
}

/** Creates a budget. Throws a `RangeError` for invalid values. */
export function budgetOf(budget: Limit | Quota, options: BudgetOptions): RateBudget {
  if ('windowMs' in budget) return rateBudget({ limit: budget.requests, windowMs: budget.windowMs, ...options });
  const { requests: limit, per, resetsAt, resetsOn, zone } = budget;
  const reset = { limit, resetsAt, zone, ...options };
  switch (per) {
    case 'day':
      return dailyBudget(reset);
    case 'month':
      return monthlyBudget({ ...reset, resetsOn });
  }
}

/** Returns the epoch ms of a quota's first reset after an instant. */
export function nextReset(budget: Quota, afterMs: number): number {
  const { per, resetsAt: at = '00:00', resetsOn: day = 1, zone = 'UTC' } = budget;
  return (per === 'day' ? nextTimeOfDay(at, zone) : nextDayOfMonth(day, at, zone))(afterMs);
}

/**
 * Returns values by budget name as a list in the order of `names`, or an empty list if there are no values. Throws a `RangeError` for an
 * unknown name.
 */
export function inOrder<T>(said: Readonly<Record<string, T>>, names: readonly string[]): readonly (T | undefined)[] {
  const given = Object.keys(said);
  const unknown = given.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new RangeError(`there is no budget ${JSON.stringify(unknown)}, only ${names.join(', ')}`);
  return given.length === 0 ? [] : names.map((name) => said[name]);
}
