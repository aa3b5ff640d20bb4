import { type Clock, systemClock } from '../clock.ts';
import type { JournalEntry } from '../budget/journal.ts';
import type { RateBudget, Slot } from '../budget/rate-budget.ts';

/** A credential of a pool, with its budgets. */
export interface PoolMember {
  /** The credential's name, not its secret. */
  readonly name: string;
  /** The budgets that a request with this credential is charged to. A budget that several members have is one limit over all of them. */
  readonly budgets: readonly RateBudget[];
  /** Journal entry that stores each grant of this credential before its request is sent. Default: none. */
  readonly journal?: JournalEntry | undefined;
  /**
   * Returns the monotonic ms before which this credential sends no request, whatever its budgets permit; `Infinity` while that time is
   * unknown. Call `Admission.wake` when the time becomes earlier. Default: `-Infinity`.
   */
  readonly heldUntilMs?: () => number;
}

/** Options of {@link credentialPool}. */
export interface CredentialPoolOptions {
  /** One or more credentials with different names. */
  readonly members: readonly PoolMember[];
  /** The clock of the members' budgets. Default: the machine's. */
  readonly clock?: Clock;
}

/** Names of the members that may carry a request. Names that the pool doesn't have are ignored. Undefined: any member. */
export type Among = readonly string[] | undefined;

/**
 * The capacity of each budget that earlier requests wait for, and later ones must leave, in units of weight. `Infinity`: all that becomes
 * free.
 */
export type Claims = Map<RateBudget, number>;

/** Slots that `CredentialPool.take` took. */
export interface Taken {
  /** The credential that carries the request. */
  readonly member: PoolMember;
  /** A slot of each of its budgets, in their order; undefined for one that the request doesn't use. */
  readonly slots: readonly (Slot | undefined)[];
}

/**
 * Creates a pool. Throws a `RangeError` if there are no credentials, or if two have the same name. `weights` of its methods correspond to
 * the members' budgets in their order; a missing one is 1, and 0 doesn't use the budget. Requests are spread over the members that may
 * start. A grant looks at each member.
 */
export function credentialPool({ members, clock = systemClock() }: CredentialPoolOptions): CredentialPool {
  if (members.length === 0) throw new RangeError('credentialPool: at least one credential is needed');
  return new CredentialPool(members, clock);
}

const NO_CLAIMS: Claims = new Map();

/** Credentials, any of which may carry the next request; created by {@link credentialPool}. */
export class CredentialPool {
  readonly #clock: Clock;
  readonly #members = new Map<string, PoolMember>();
  /** The number of each member's last grant, or of its arrival. */
  readonly #lastTaken = new Map<PoolMember, number>();
  #turns = 0;
  #exhausted: Error | undefined;

  constructor(members: readonly PoolMember[], clock: Clock) {
    this.#clock = clock;
    for (const member of members) {
      if (this.#members.has(member.name)) throw new RangeError(`credentialPool: two credentials are named ${member.name}`);
      this.#members.set(member.name, member);
      this.#lastTaken.set(member, this.#nextTurn());
    }
  }

  /** The current members, without the retired ones. */
  get members(): readonly PoolMember[] {
    return [...this.#members.values()];
  }

  /** The error with which the last credential was retired; undefined while there is a credential. */
  get exhausted(): Error | undefined {
    return this.#exhausted;
  }

  /** Returns true unless the member was retired. */
  has(member: PoolMember): boolean {
    return this.#members.get(member.name) === member;
  }

  /** Returns true if some member of `among` has limits that are large enough for these weights. */
  bears(weights: readonly number[], among?: Among): boolean {
    return this.#membersOf(among).some((member) => bears(member, weights));
  }

  /**
   * Returns the monotonic ms at which the first member of `among` may start a request, and leave earlier requests what they claim:
   * `-Infinity` if one may now, `Infinity` if that is unknown or no member's limits are large enough for the weights.
   */
  freeAt(weights: readonly number[], among?: Among, claims: Claims = NO_CLAIMS, now: number = this.#clock.monotonicMs()): number {
    return this.#first(weights, among, claims, now)?.at ?? Infinity;
  }

  /** Takes slots of the member that may start now, the least recently used one first. Throws a `RangeError` if there is none. */
  take(weights: readonly number[], among?: Among, claims: Claims = NO_CLAIMS, now: number = this.#clock.monotonicMs()): Taken {
    const first = this.#first(weights, among, claims, now);
    if (first === undefined || first.at > now) throw new RangeError('credentialPool: no credential is free now; check freeAt first');
    const { member } = first;
    this.#lastTaken.set(member, this.#nextTurn());
    return { member, slots: member.budgets.map((budget, i) => (weights[i] === 0 ? undefined : budget.take(weights[i], now))) };
  }

  /**
   * Adds to `claims` what a waiting request needs of each member that may carry it: all of a budget that it waits for, and its weight, if it
   * is above 1, of a budget that has capacity for it. A weight of 1 isn't claimed there: the next slot that becomes free is enough. Returns
   * the monotonic ms at which a budget that it waits for becomes free; `Infinity` if that is unknown.
   */
  claim(weights: readonly number[], among: Among, claims: Claims, now: number = this.#clock.monotonicMs()): number {
    let nextAt = Infinity;
    for (const member of this.#membersOf(among)) {
      if (!bears(member, weights)) continue;
      for (const [i, budget] of member.budgets.entries()) {
        const weight = weights[i] ?? 1;
        if (weight === 0) continue;
        const at = budget.freeAt(weight, now);
        if (at > now) nextAt = Math.min(nextAt, at);
        const claim = at > now ? Infinity : weight > 1 ? weight : 0;
        claims.set(budget, Math.max(claim, claims.get(budget) ?? 0));
      }
    }
    return nextAt;
  }

  /** Removes a credential. `error`: the reason. Call `Admission.wake` after it. */
  retire(name: string, error: Error): void {
    if (this.#members.delete(name) && this.#members.size === 0) this.#exhausted = error;
  }

  /** Returns the member that may start a request first, the least recently used one among equals. */
  #first(weights: readonly number[], among: Among, claims: Claims, now: number) {
    let first: { readonly member: PoolMember; readonly at: number; readonly lastTaken: number } | undefined;
    for (const member of this.#membersOf(among)) {
      if (!bears(member, weights)) continue;
      const at = freeAt(member, weights, claims, now);
      const lastTaken = this.#lastTaken.get(member) ?? 0;
      if (first === undefined || at < first.at || (at === first.at && lastTaken < first.lastTaken)) first = { member, at, lastTaken };
    }
    return first;
  }

  #nextTurn(): number {
    this.#turns += 1;
    return this.#turns;
  }

  #membersOf(among: Among): readonly PoolMember[] {
    return among === undefined ? this.members : [...new Set(among)].flatMap((name) => this.#members.get(name) ?? []);
  }
}

function bears({ budgets }: PoolMember, weights: readonly number[]): boolean {
  return budgets.every(({ limit }, i) => {
    const weight = weights[i] ?? 1;
    return weight === 0 || (weight >= 1 && weight <= limit);
  });
}

/** Returns the monotonic ms at which a member may start a request and leave all that is claimed; `-Infinity` if it may now. */
function freeAt({ budgets, heldUntilMs }: PoolMember, weights: readonly number[], claims: Claims, now: number): number {
  let latest = heldUntilMs?.() ?? -Infinity;
  for (const [i, budget] of budgets.entries()) {
    const weight = weights[i] ?? 1;
    if (weight === 0) continue;
    const withClaims = weight + (claims.get(budget) ?? 0);
    latest = Math.max(latest, withClaims <= budget.limit ? budget.freeAt(withClaims, now) : Infinity);
  }
  return latest <= now ? -Infinity : latest;
}
