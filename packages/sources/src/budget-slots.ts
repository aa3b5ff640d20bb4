import type { Clock, RateBudget } from '@headgate/throttle';
import type { Limit, Quota } from './source-options.ts';

/** Slots of a budget that come free together. */
export interface FreeSlots {
  /** Ms from now. */
  readonly inMs: number;
  readonly count: number;
}

/** When a budget's slots come free, from now on. */
export interface BudgetSlots {
  readonly credential: string;
  /** The budget's name. */
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
  /** Name of what it counts. Default: requests. */
  readonly unit?: string;
  /** All of its slots; those of requests that have no answer yet as if it came now. */
  readonly free: readonly FreeSlots[];
  /** Ms after which a slot is free again that is taken as it comes free: the window and its guard. */
  readonly againInMs: number;
  /** The quota of a budget that is whole again at its reset, in place of `againInMs`. */
  readonly quota?: Quota;
}

export interface BudgetSlotsOptions {
  readonly credential: string;
  /** The budget's name. */
  readonly name: string;
  readonly budget: RateBudget;
  readonly of: Limit | Quota;
  readonly clock: Clock;
}

/** Reads when a budget's slots come free. It takes none. */
export function budgetSlots({ credential, name, budget, of, clock }: BudgetSlotsOptions): BudgetSlots {
  const now = clock.monotonicMs();
  const againInMs = Math.ceil(budget.freeAgainAt(0) - now);
  const free: FreeSlots[] = [];
  for (let taken = 0; taken < budget.limit;) {
    const at = budget.freeAt(taken + 1);
    let [last, beyond] = [taken + 1, budget.limit + 1];
    while (beyond - last > 1) {
      const between = Math.floor((last + beyond) / 2);
      if (budget.freeAt(between) <= at) last = between;
      else beyond = between;
    }
    free.push({ inMs: at < Infinity ? Math.max(0, Math.ceil(at - now)) : againInMs, count: last - taken });
    taken = last;
  }
  return {
    credential,
    name,
    limit: budget.limit,
    windowMs: budget.windowMs,
    ...(of.unit !== undefined && { unit: of.unit }),
    free,
    againInMs,
    ...('per' in of && { quota: of }),
  };
}
