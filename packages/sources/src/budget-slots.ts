import type { BudgetSnapshot, Clock, GrantsAhead, RateBudget } from '@headgate/throttle';
import type { Limit, Quota } from './source-options.ts';

/** Slots of a budget that become free together. */
export interface FreeSlots {
  /** Time until they are free, in ms from now. */
  readonly inMs: number;
  /** Number of slots: requests, or units of weight. */
  readonly count: number;
}

/** The times at which the slots of a budget become free. */
export interface BudgetSlots {
  /** Name of the credential that the budget belongs to; absent for a limit over all credentials. */
  readonly credential?: string;
  /** The budget's name. */
  readonly name: string;
  /** Slots in all: requests, or units of weight, per window. */
  readonly limit: number;
  /** Length of the window in ms; for a quota, 24 hours or 31 days. */
  readonly windowMs: number;
  /** Name of the unit that the budget counts. Default: requests. */
  readonly unit?: string;
  /** All slots of the budget. A request in flight counts as if its response arrived now. */
  readonly free: readonly FreeSlots[];
  /** Time from taking a slot to the slot being free again, in ms, if the response comes at once. */
  readonly againInMs: number;
  /** Maximum concurrent requests of the credential. Default: no maximum. */
  readonly concurrency?: number;
  /** The quota's definition, for a budget with resets. The resets decide when slots are free again, not `againInMs`. */
  readonly quota?: Quota;
}

export interface NamedBudget {
  /** Name of the credential that it belongs to; absent for a limit over all credentials. */
  readonly credential?: string;
  readonly name: string;
  readonly budget: RateBudget;
  readonly of: Limit | Quota;
}

/** The state of budgets, each with its budget's name. */
export function namedSnapshots(budgets: readonly NamedBudget[], ahead?: GrantsAhead): BudgetSnapshot[] {
  return budgets.map(({ name, budget }) => ({ name, ...budget.snapshot(ahead) }));
}

/** Maximum number of steps in which slots are counted. Counting the slots of a large budget one by one would be slow. */
const MOST_STEPS = 64;

/** Returns when the slots of a budget become free, without taking any. All slots of a step count as free when the last of them is. */
export function budgetSlots({ credential, name, budget, of }: NamedBudget, clock: Clock): BudgetSlots {
  const now = clock.monotonicMs();
  const againInMs = Math.ceil(budget.freeAgainAt() - now);
  const free: { inMs: number; count: number }[] = [];
  const steps = Math.min(budget.limit, MOST_STEPS);
  let counted = 0;
  for (let step = 1; step <= steps; step += 1) {
    const upTo = Math.round((budget.limit * step) / steps);
    const at = budget.freeAt(upTo);
    const inMs = at < Infinity ? Math.max(0, Math.ceil(at - now)) : againInMs;
    const last = free.at(-1);
    if (last?.inMs === inMs) last.count += upTo - counted;
    else free.push({ inMs, count: upTo - counted });
    counted = upTo;
  }
  return {
    ...(credential !== undefined && { credential }),
    name,
    limit: budget.limit,
    windowMs: budget.windowMs,
    ...(of.unit !== undefined && { unit: of.unit }),
    free,
    againInMs,
    ...('per' in of && { quota: of }),
  };
}
