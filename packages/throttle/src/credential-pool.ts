import type { RateBudget, Slot } from './rate-budget.ts';

export interface PoolMember {
  /** The credential's name; never its secret. */
  readonly name: string;
  /** Every budget that a request with this credential is charged to. */
  readonly budgets: readonly RateBudget[];
}

/** Credentials any of which may carry the next request. */
export interface CredentialPool {
  /** The members that still may be used. */
  readonly members: readonly PoolMember[];
  /** The monotonic ms at which some member may go, `Infinity` while only the end of requests under way can tell. */
  freeAt(weights: readonly number[]): number;
  /** Takes a slot of every budget of the member that may go first. Throws a `RangeError` unless `freeAt` has come. */
  take(weights: readonly number[]): Grant;
  /** Takes a credential out for good: `error` says why. */
  retire(name: string, error: Error): void;
  /** Why the last credential left; undefined while there is one. */
  readonly exhausted: Error | undefined;
}

export interface Grant extends Slot {
  readonly credential: string;
}

/**
 * Makes a pool. `weights` of its methods stand for the members' budgets in their order; a missing one is 1.
 * Of several members that may go, the one that has waited longest goes, so that none is worn out while others idle.
 */
export function credentialPool(initial: readonly PoolMember[]): CredentialPool {
  if (initial.length === 0) throw new RangeError('credentialPool: at least one credential is needed');
  // Least recently used first.
  let members = [...initial];
  let exhausted: Error | undefined;

  const best = (weights: readonly number[]): { member: PoolMember | undefined; at: number } => {
    let found: { member: PoolMember | undefined; at: number } = { member: undefined, at: Infinity };
    for (const member of members) {
      const at = member.budgets.reduce((latest, budget, i) => Math.max(latest, budget.freeAt(weights[i])), -Infinity);
      if (found.member === undefined || at < found.at) found = { member, at };
    }
    return found;
  };

  return {
    get members() {
      return members;
    },
    get exhausted() {
      return exhausted;
    },
    freeAt: (weights) => best(weights).at,
    take(weights) {
      const { member } = best(weights);
      if (member === undefined) throw new RangeError('credentialPool: no credential is left');
      const slots = member.budgets.map((budget, i) => budget.take(weights[i]));
      members = [...members.filter((other) => other !== member), member];
      return {
        credential: member.name,
        sent: () => slots.forEach((slot) => slot.sent()),
        answered: () => slots.forEach((slot) => slot.answered()),
        aborted: () => slots.forEach((slot) => slot.aborted()),
      };
    },
    retire(name, error) {
      members = members.filter((member) => member.name !== name);
      if (members.length === 0) exhausted ??= error;
    },
  };
}
