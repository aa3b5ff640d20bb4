import { rangeChecks } from '../number-checks.ts';
import { type Clock, systemClock } from '../clock.ts';
import { IndexedHeap } from './indexed-heap.ts';
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

/** Options of `CredentialPool.take`. */
export interface TakeOptions {
  /** Monotonic ms at which the slot is taken. Default: the clock's time. */
  readonly nowMs?: number;
  /** Names of the members that may carry the request. Default: any member. */
  readonly among?: Among;
  /** Earlier requests that wait for a budget. Default: none. */
  readonly ahead?: readonly Ahead[];
  /**
   * Maximum time until the service has counted the request, in ms. If it is known, a slot that is free again before an earlier request can
   * start doesn't count as delaying that request. Default: unknown.
   */
  readonly countedWithinMs?: number | undefined;
}

/** An earlier request that waits for a budget. */
export interface Ahead {
  /** The earlier request's cost in each budget of a member, in their order. */
  readonly weights: readonly number[];
  /** Names of the members that may carry the request. Default: any member. */
  readonly among?: Among;
}

/** Credentials, any of which may carry the next request. */
export interface CredentialPool {
  /** The current members, without the retired ones. */
  readonly members: readonly PoolMember[];
  /** Returns true if some member of `among` has limits that are large enough for these weights. */
  bears(weights: readonly number[], among?: Among): boolean;
  /**
   * Returns the monotonic ms at which the first member may start a request: `-Infinity` if one may now, `Infinity` if that is unknown or
   * the pool is empty. Skips members whose limits are too small for the weights; throws a `RangeError` if no other is left. `nowMs`
   * defaults to the clock's time. To take what is free at once, pass the same instant to `freeAt` and `take`.
   */
  freeAt(weights: readonly number[], nowMs?: number, among?: Among): number;
  /** Like `tryTake`, but throws a `RangeError` instead of returning undefined. */
  take(weights: readonly number[], options?: TakeOptions): Grant;
  /** Takes slots of a member that may start now and delays none of `ahead`. Returns undefined if there is none. */
  tryTake(weights: readonly number[], options?: TakeOptions): Grant | undefined;
  /** Adds a credential. Throws a `RangeError` if a member has its name. Call `Admission.wake` after it. */
  add(member: PoolMember): void;
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

interface Node {
  readonly member: PoolMember;
  /** Monotonic ms before which the member's unshared budgets permit no request that costs at least 1 in each. */
  notBefore: number;
  /** Number of the pool's grant that last used this member. Before the first use, a number that keeps the members' order. */
  lastTaken: number;
  place: number;
}

/**
 * Creates a pool. Throws a `RangeError` if there are no credentials, or if two have the same name. `weights` of its methods correspond to
 * the members' budgets in their order; a missing one is 1, and 0 doesn't use the budget. Requests are spread over the members that may
 * start. A grant usually takes O(log n) time for n members.
 */
export function credentialPool({ members, clock = systemClock() }: CredentialPoolOptions): CredentialPool {
  if (members.length === 0) throw new RangeError('credentialPool: at least one credential is needed');
  const heap = new IndexedHeap<Node>((a, b) => a.notBefore - b.notBefore || a.lastTaken - b.lastTaken);
  const nodes = new Map<string, Node>();
  /** The number of members that use each budget, including retired ones. */
  const holders = new WeakMap<RateBudget, number>();
  const isShared = (budget: RateBudget): boolean => (holders.get(budget) ?? 0) > 1;
  let hasShared = false;
  /** Budgets of the first member, as of the last `add`. */
  let first: readonly RateBudget[] = [];
  /** For each budget of `first`: whether all members share it. */
  let ofAll: readonly boolean[] = [];
  let grants = 0;
  let exhausted: Error | undefined;

  const insert = (member: PoolMember, lastTaken: number): void => {
    if (nodes.has(member.name)) throw new RangeError(`credentialPool: two credentials are named ${member.name}`);
    const node: Node = { member, notBefore: -Infinity, lastTaken, place: -1 };
    nodes.set(member.name, node);
    heap.push(node);
    for (const budget of new Set(member.budgets)) holders.set(budget, (holders.get(budget) ?? 0) + 1);
  };
  const compareBudgets = (): void => {
    const all = Array.from(nodes.values(), (node) => node.member.budgets);
    [first = []] = all;
    hasShared = all.some((budgets) => budgets.some(isShared));
    ofAll = first.map((budget, i) => isShared(budget) && all.every((budgets) => budgets[i] === budget));
  };
  for (const [i, member] of members.entries()) insert(member, i - members.length);
  compareBudgets();

  const budgetsFreeAt = ({ member }: Node, weights: readonly number[], now: number): number => {
    if (!bears(member, weights)) return Infinity;
    let latest = -Infinity;
    for (const [i, budget] of member.budgets.entries()) {
      if (weights[i] !== 0) latest = Math.max(latest, budget.freeAt(weights[i], now));
    }
    return latest <= now ? -Infinity : latest;
  };
  /** Leaves out shared budgets, because the requests of another member can free a slot of them at any time. */
  const ownFreeAt = ({ member: { budgets } }: Node, now: number): number =>
    budgets.reduce((latest, budget) => (isShared(budget) ? latest : Math.max(latest, budget.freeAt(1, now))), -Infinity);
  /** Returns the monotonic ms at which the budgets that all members share permit the weights; `-Infinity` if they do now. */
  const allFreeAt = (weights: readonly number[], now: number): number => {
    let latest = -Infinity;
    for (const [i, budget] of first.entries()) {
      const weight = weights[i] ?? 1;
      if (ofAll[i] === true && weight !== 0) latest = Math.max(latest, weight <= budget.limit ? budget.freeAt(weight, now) : Infinity);
    }
    return latest <= now ? -Infinity : latest;
  };
  const notHeld = ({ member }: Node, at: number, now: number): number => {
    const heldUntil = member.heldUntilMs?.() ?? -Infinity;
    return heldUntil <= now ? at : Math.max(at, heldUntil);
  };
  const freeFrom = (node: Node, weights: readonly number[], now: number): number => notHeld(node, budgetsFreeAt(node, weights, now), now);
  const nodesOf = (among: Among): Iterable<Node> =>
    among === undefined ? nodes.values() : new Set(among.flatMap((name) => nodes.get(name) ?? []));
  const bestOf = (some: Iterable<Node>, weights: readonly number[], now: number): { node: Node | undefined; at: number } => {
    let found: { node: Node | undefined; at: number } = { node: undefined, at: Infinity };
    for (const node of some) {
      const at = freeFrom(node, weights, now);
      const isSooner = at < found.at || (at === found.at && found.node !== undefined && node.lastTaken < found.node.lastTaken);
      if (isSooner) found = { node, at };
    }
    return found;
  };
  /** Finds the member that is free first. The search ends when no remaining member can be free earlier. */
  const best = (weights: readonly number[], now: number, among: Among): { node: Node | undefined; at: number } => {
    if (among !== undefined) return bestOf(nodesOf(among), weights, now);
    const head = heap.peek();
    if (head !== undefined && notHeld(head, budgetsFreeAt(head, weights, now), now) === -Infinity) {
      if (weights.length === 0) head.notBefore = -Infinity;
      return { node: head, at: -Infinity };
    }
    const seen: Node[] = [];
    let found: { node: Node | undefined; at: number } = { node: undefined, at: Infinity };
    // With a weight of 0 for some budget, a request may start before `notBefore`.
    const isBound = !weights.includes(0);
    const floor = allFreeAt(weights, now);
    try {
      for (let node = heap.peek(); node !== undefined; node = heap.peek()) {
        if (Math.max(isBound ? node.notBefore : floor, floor) >= found.at) break;
        heap.remove(node);
        seen.push(node);
        const own = budgetsFreeAt(node, weights, now);
        // `notBefore` leaves out `heldUntilMs`, because that time may become earlier.
        if (weights.length === 0) node.notBefore = hasShared ? ownFreeAt(node, now) : own;
        const at = notHeld(node, own, now);
        if (at < found.at) found = { node, at };
      }
    } finally {
      for (const node of seen) heap.push(node);
    }
    return found;
  };
  const isBorne = (weights: readonly number[], among: Among): boolean => {
    for (const { member } of nodesOf(among)) if (bears(member, weights)) return true;
    return false;
  };
  /** Returns the members of `among` that a grant to `member` can affect: at most `member` itself, unless members share budgets. */
  const concernedBy = (member: PoolMember, among: Among): Iterable<Node> => {
    if (hasShared) return nodesOf(among);
    return isAmong(member.name, among) ? nodesOf([member.name]) : [];
  };
  const delaysNone = ({ member }: Node, weights: readonly number[], { ahead = [], countedWithinMs }: TakeOptions, now: number): boolean => {
    const costs = new Map(member.budgets.flatMap((budget, i) => (weights[i] === 0 ? [] : [[budget, weights[i] ?? 1] as const])));
    return ahead.every((earlier) => {
      const isRival = isAmong(member.name, earlier.among);
      /** True if the earlier request may need a slot of this budget that the grant would take. */
      const mayMiss = (budget: RateBudget, weight = 1): boolean => {
        const cost = costs.get(budget);
        if (cost === undefined || weight === 0) return false;
        if (isRival) return true;
        // Other credentials carry the earlier request, so it competes only for shared budgets. If it needs just one slot of this budget,
        // the next slot that becomes free is enough.
        return weight > 1 && (cost + weight > budget.limit || budget.freeAt(cost + weight, now) > now);
      };
      for (const { member: carrier } of concernedBy(member, earlier.among)) {
        // Skips a member whose limits are too small for the earlier request: another member carries that request.
        if (!bears(carrier, earlier.weights)) continue;
        const both = carrier.budgets.filter((budget, i) => mayMiss(budget, earlier.weights[i]));
        if (both.length === 0) continue;
        if (countedWithinMs === undefined) return false;
        const soonestAt = Math.max(
          ...carrier.budgets.map((budget, i) => (earlier.weights[i] === 0 ? -Infinity : budget.soonestAt(earlier.weights[i]))),
        );
        if (both.some((budget) => budget.freeAgainAt(countedWithinMs) > soonestAt)) return false;
      }
      return true;
    });
  };
  /** Returns the member that carries the request now; undefined if none is free, or each would delay one of `ahead`. */
  const choose = (weights: readonly number[], options: TakeOptions, now: number): Node | undefined => {
    const { among, ahead = [] } = options;
    const { node, at } = best(weights, now, among);
    if (node === undefined || at > now) return undefined;
    if (ahead.length === 0 || delaysNone(node, weights, options, now)) return node;
    const others = [...nodesOf(among)].filter((one) => freeFrom(one, weights, now) <= now && delaysNone(one, weights, options, now));
    return bestOf(others, weights, now).node;
  };
  const changed = (node: Node): void => {
    if (node.place === -1) return;
    node.notBefore = ownFreeAt(node, clock.monotonicMs());
    heap.moved(node);
  };

  const tryTake = (weights: readonly number[], options: TakeOptions = {}): Grant | undefined => {
    const { nowMs: now = clock.monotonicMs(), countedWithinMs = 0 } = options;
    const check = rangeChecks('credentialPool');
    check.number({ nowMs: now });
    check.number({ countedWithinMs }, 0, Infinity);
    const node = choose(weights, options, now);
    if (node === undefined) return undefined;
    const { name, budgets, journal } = node.member;
    const slots = budgets.map((budget, i) => (weights[i] === 0 ? undefined : budget.take(weights[i], now)));
    grants += 1;
    node.lastTaken = grants;
    changed(node);
    const settled = (): void => {
      journal?.settled();
      changed(node);
    };
    let isSent = false;
    return {
      credential: name,
      ...(journal !== undefined && { durable: journal.granted() }),
      sent() {
        const maySend = nodes.get(name) === node && slots.every((slot) => slot?.sent() !== false);
        isSent ||= maySend;
        return maySend;
      },
      answered(evidence) {
        for (const [i, slot] of slots.entries()) slot?.answered(evidence?.[i]);
        settled();
      },
      corrected(costs) {
        for (const [i, slot] of slots.entries()) {
          const cost = costs[i];
          if (cost !== undefined) slot?.corrected(cost);
        }
        settled();
      },
      unsent() {
        for (const slot of slots) slot?.unsent();
        settled();
      },
      aborted() {
        for (const slot of slots) {
          // The request was sent only if `sent` returned true. Otherwise each slot is free at once.
          if (isSent) slot?.aborted();
          else slot?.unsent();
        }
        settled();
      },
    };
  };

  return {
    get members() {
      return [...nodes.values()].map(({ member }) => member);
    },
    get exhausted() {
      return exhausted;
    },
    bears: isBorne,
    freeAt(weights, now = clock.monotonicMs(), among) {
      if (nodes.size > 0 && !isBorne(weights, among))
        throw new RangeError(`credentialPool: no credential's limits are large enough for weights of ${weights.join(', ')}`);
      return best(weights, now, among).at;
    },
    take(weights, options) {
      const grant = tryTake(weights, options);
      if (grant === undefined) throw new RangeError('credentialPool: no credential is free now; check freeAt first');
      return grant;
    },
    tryTake,
    add(member) {
      insert(member, grants);
      compareBudgets();
      exhausted = undefined;
    },
    retire(name, error) {
      const node = nodes.get(name);
      if (node === undefined) return;
      heap.remove(node);
      nodes.delete(name);
      if (nodes.size === 0) exhausted = error;
    },
  };
}

function isAmong(name: string, among: Among): boolean {
  return among === undefined || among.includes(name);
}

function bears({ budgets }: PoolMember, weights: readonly number[]): boolean {
  return budgets.every(({ limit }, i) => {
    const weight = weights[i] ?? 1;
    return weight === 0 || (weight >= 1 && weight <= limit);
  });
}
