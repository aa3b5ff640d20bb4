import { rangeChecks } from '../number-checks.ts';
import { type Clock, systemClock } from '../clock.ts';
import type { JournalEntry } from '../budget/journal.ts';
import type { BudgetEvidence, RateBudget, Slot } from '../budget/rate-budget.ts';

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

/** Options of `CredentialPool.freeAt`, `take` and `claim`. */
export interface TakeOptions {
  /** Monotonic ms at which the request would start. Default: the clock's time. Pass the same instant to `freeAt` and `take`. */
  readonly nowMs?: number;
  /** Names of the members that may carry the request. Default: any member. */
  readonly among?: Among;
  /** The claims of earlier requests. Default: none. */
  readonly claims?: Claims;
  /** Called when the grant has changed its budgets: something may start earlier than before. */
  readonly onSettled?: () => void;
}

/** Credentials, any of which may carry the next request. */
export interface CredentialPool {
  /** The current members, without the retired ones. */
  readonly members: readonly PoolMember[];
  /** Returns true if some member of `among` has limits that are large enough for these weights. */
  bears(weights: readonly number[], among?: Among): boolean;
  /**
   * Returns the monotonic ms at which the first member may start a request: `-Infinity` if one may now, `Infinity` if that is unknown or
   * the pool is empty. Skips members whose limits are too small for the weights; throws a `RangeError` if no other is left.
   */
  freeAt(weights: readonly number[], options?: TakeOptions): number;
  /** Takes slots of the member that may start now, the least recently used one first. Throws a `RangeError` if there is none. */
  take(weights: readonly number[], options?: TakeOptions): Grant;
  /**
   * Adds to `claims` what a waiting request needs of each member that may carry it: all of a budget that it waits for, and its weight, if it
   * is above 1, of a budget that has capacity for it. A weight of 1 isn't claimed there: the next slot that becomes free is enough. Returns
   * the monotonic ms at which a budget that it waits for becomes free; `Infinity` if that is unknown.
   */
  claim(weights: readonly number[], options: TakeOptions & { readonly claims: Claims }): number;
  /** Removes a credential. `error`: the reason. Call `Admission.wake` after it. */
  retire(name: string, error: Error): void;
  /** The error with which the last credential was retired; undefined while there is a credential. */
  readonly exhausted: Error | undefined;
}

/** A slot of every budget that one request is charged to, and the credential that carries it. */
export interface Grant extends Omit<Slot, 'answered' | 'corrected'> {
  /** Name of the pool's member whose budgets were taken. */
  readonly credential: string;
  /** Call it when the response arrives, with what the response reports about each budget of the member, in their order. */
  answered(evidence?: readonly (BudgetEvidence | undefined)[]): void;
  /**
   * Sets the request's actual cost in each budget of the member, in their order. Undefined leaves a cost unchanged. Throws a `RangeError`
   * for an invalid cost.
   */
  corrected(costs: readonly (number | undefined)[]): void;
  /** Resolves when the grant is durable, and rejects if it can't be written. Absent without a journal. */
  readonly durable?: Promise<void>;
}

/**
 * Creates a pool. Throws a `RangeError` if there are no credentials, or if two have the same name. `weights` of its methods correspond to
 * the members' budgets in their order; a missing one is 1, and 0 doesn't use the budget. Requests are spread over the members that may
 * start. A grant looks at each member.
 */
export function credentialPool({ members, clock = systemClock() }: CredentialPoolOptions): CredentialPool {
  if (members.length === 0) throw new RangeError('credentialPool: at least one credential is needed');
  return new PlainPool(members, clock);
}

interface Node {
  readonly member: PoolMember;
  /** Orders the members by their last grant, and those without one by their arrival. */
  lastTaken: number;
}

class PlainPool implements CredentialPool {
  readonly #clock: Clock;
  readonly #nodes = new Map<string, Node>();
  #turns = 0;
  #exhausted: Error | undefined;

  constructor(members: readonly PoolMember[], clock: Clock) {
    this.#clock = clock;
    for (const member of members) {
      if (this.#nodes.has(member.name)) throw new RangeError(`credentialPool: two credentials are named ${member.name}`);
      this.#nodes.set(member.name, { member, lastTaken: this.#nextTurn() });
    }
  }

  get members(): readonly PoolMember[] {
    return Array.from(this.#nodes.values(), ({ member }) => member);
  }

  get exhausted(): Error | undefined {
    return this.#exhausted;
  }

  bears(weights: readonly number[], among?: Among): boolean {
    return this.#nodesOf(among).some(({ member }) => bears(member, weights));
  }

  freeAt(weights: readonly number[], options: TakeOptions = {}): number {
    const { among } = options;
    if (this.#nodes.size > 0 && !this.bears(weights, among))
      throw new RangeError(`credentialPool: no credential's limits are large enough for weights of ${weights.join(', ')}`);
    return this.#first(weights, options)?.at ?? Infinity;
  }

  take(weights: readonly number[], options: TakeOptions = {}): Grant {
    const { nowMs: now = this.#clock.monotonicMs(), onSettled } = options;
    rangeChecks('credentialPool').number({ nowMs: now });
    const first = this.#first(weights, { ...options, nowMs: now });
    if (first === undefined || first.at > now) throw new RangeError('credentialPool: no credential is free now; check freeAt first');
    const { node } = first;
    const { member } = node;
    const slots = member.budgets.map((budget, i) => (weights[i] === 0 ? undefined : budget.take(weights[i], now)));
    node.lastTaken = this.#nextTurn();
    return new MemberGrant(member, slots, () => this.#nodes.get(member.name) === node, onSettled);
  }

  claim(
    weights: readonly number[],
    { nowMs: now = this.#clock.monotonicMs(), among, claims }: Parameters<CredentialPool['claim']>[1],
  ): number {
    let nextAt = Infinity;
    for (const { member } of this.#nodesOf(among)) {
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

  retire(name: string, error: Error): void {
    if (this.#nodes.delete(name) && this.#nodes.size === 0) this.#exhausted = error;
  }

  /** Returns the member that may start a request first, the least recently used one among equals. */
  #first(weights: readonly number[], { nowMs: now = this.#clock.monotonicMs(), among, claims }: TakeOptions) {
    let first: { readonly node: Node; readonly at: number } | undefined;
    for (const node of this.#nodesOf(among)) {
      if (!bears(node.member, weights)) continue;
      const at = freeAt(node.member, weights, now, claims);
      const isSooner = first === undefined || at < first.at || (at === first.at && node.lastTaken < first.node.lastTaken);
      if (isSooner) first = { node, at };
    }
    return first;
  }

  #nextTurn(): number {
    this.#turns += 1;
    return this.#turns;
  }

  #nodesOf(among: Among): readonly Node[] {
    return among === undefined ? [...this.#nodes.values()] : [...new Set(among)].flatMap((name) => this.#nodes.get(name) ?? []);
  }
}

function bears({ budgets }: PoolMember, weights: readonly number[]): boolean {
  return budgets.every(({ limit }, i) => {
    const weight = weights[i] ?? 1;
    return weight === 0 || (weight >= 1 && weight <= limit);
  });
}

/** Returns the monotonic ms at which a member may start a request and leave all that is claimed; `-Infinity` if it may now. */
function freeAt({ budgets, heldUntilMs }: PoolMember, weights: readonly number[], now: number, claims: Claims | undefined): number {
  let latest = heldUntilMs?.() ?? -Infinity;
  for (const [i, budget] of budgets.entries()) {
    const weight = weights[i] ?? 1;
    if (weight === 0) continue;
    const withClaims = weight + (claims?.get(budget) ?? 0);
    latest = Math.max(latest, withClaims <= budget.limit ? budget.freeAt(withClaims, now) : Infinity);
  }
  return latest <= now ? -Infinity : latest;
}

class MemberGrant implements Grant {
  readonly credential: string;
  readonly durable?: Promise<void>;
  readonly #journal: JournalEntry | undefined;
  /** Undefined for a budget that the request doesn't use. */
  readonly #slots: readonly (Slot | undefined)[];
  readonly #isMember: () => boolean;
  readonly #onSettled: (() => void) | undefined;
  #isSent = false;

  constructor(
    { name, journal }: PoolMember,
    slots: readonly (Slot | undefined)[],
    isMember: () => boolean,
    onSettled: (() => void) | undefined,
  ) {
    this.credential = name;
    this.#journal = journal;
    if (journal !== undefined) this.durable = journal.granted();
    this.#slots = slots;
    this.#isMember = isMember;
    this.#onSettled = onSettled;
  }

  sent(): boolean {
    const maySend = this.#isMember() && this.#slots.every((slot) => slot?.sent() !== false);
    this.#isSent ||= maySend;
    return maySend;
  }

  answered(evidence?: readonly (BudgetEvidence | undefined)[]): void {
    this.#settle((slot, i) => slot.answered(evidence?.[i]));
  }

  corrected(costs: readonly (number | undefined)[]): void {
    this.#settle((slot, i) => {
      const cost = costs[i];
      if (cost !== undefined) slot.corrected(cost);
    });
  }

  unsent(): void {
    this.#settle((slot) => slot.unsent());
  }

  aborted(): void {
    // The request was sent only if `sent` returned true. Otherwise each slot is free at once.
    this.#settle((slot) => (this.#isSent ? slot.aborted() : slot.unsent()));
  }

  #settle(settle: (slot: Slot, budget: number) => void): void {
    for (const [i, slot] of this.#slots.entries()) if (slot !== undefined) settle(slot, i);
    this.#journal?.settled();
    this.#onSettled?.();
  }
}
