import type { Clock, RateBudget } from '@headgate/throttle';
import type { Limit, Quota } from './source-options.ts';

/** Slots of a budget that come free together. */
export interface FreeSlots {
  /** Ms from now. */
  readonly inMs: number;
  /** Requests, or units of weight. */
  readonly count: number;
}

/** When a budget's slots come free, from now on. */
export interface BudgetSlots {
  /** Name of the credential that the budget belongs to; absent for a limit over all credentials. */
  readonly credential?: string;
  /** The budget's name. */
  readonly name: string;
  /** Slots in all: requests, or units of weight, per window. */
  readonly limit: number;
  /** Length of the window in ms; of a quota, 24 hours or 31 days. */
  readonly windowMs: number;
  /** Name of what it counts. Default: requests. */
  readonly unit?: string;
  /** All of its slots. Requests without a response yet count as if it came now. */
  readonly free: readonly FreeSlots[];
  /** Ms after which a slot is free again that is taken as it comes free: the window and its guard. */
  readonly againInMs: number;
  /** Maximum number of requests that the credential has under way at a time. Default: no maximum. */
  readonly concurrency?: number;
  /** The quota of a budget with resets, instead of `againInMs`. */
  readonly quota?: Quota;
}

/** A budget with its name and its definition. */
export interface NamedBudget {
  readonly name: string;
  readonly budget: RateBudget;
  readonly of: Limit | Quota;
}

export interface BudgetSlotsOptions extends NamedBudget {
  /** Undefined for a limit over all credentials. */
  readonly credential?: string;
  readonly clock: Clock;
}

/** Larger budgets are sampled in this many steps, because a display calls this every second. */
const MOST_STEPS = 64;

/** Reads when a budget's slots come free, those of a step when its last one does. It takes none. */
export function budgetSlots({ credential, name, budget, of, clock }: BudgetSlotsOptions): BudgetSlots {
  const now = clock.monotonicMs();
  const againInMs = Math.ceil(budget.freeAgainAt(0) - now);
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
