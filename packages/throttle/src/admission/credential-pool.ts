import { type Clock, systemClock } from '../clock.ts';
import { IndexedHeap } from './indexed-heap.ts';
import type { JournalEntry } from '../budget/journal.ts';
import type { BudgetEvidence, RateBudget, Slot } from '../budget/rate-budget.ts';

/** A credential of a pool, with its budgets. */
export interface PoolMember {
  /** The credential's name; never its secret. */
  readonly name: string;
  /** Every budget that a request with this credential is charged to. A budget that several members have is one limit over all of them. */
  readonly budgets: readonly RateBudget[];
  /** Makes its grants durable before they are used. Default: none. */
  readonly journal?: JournalEntry;
  /**
   * Monotonic ms before which it carries nothing, whatever its budgets permit; `Infinity` while that is unknown. Call `Admission.wake` when
   * it becomes earlier. Default: `-Infinity`.
   */
  readonly heldUntilMs?: () => number;
}

/** Options of {@link credentialPool}. */
export interface CredentialPoolOptions {
  /** One or more, each with its own name. */
  readonly members: readonly PoolMember[];
  /** The clock of the members' budgets. Default: the machine's. */
  readonly clock?: Clock;
}

/** Credentials, any of which may carry the next request. */
export interface CredentialPool {
  /** The members that may still be used. */
  readonly members: readonly PoolMember[];
  /** True when the limits of some member are large enough for these weights; false once all members have left. */
  bears(weights: readonly number[]): boolean;
  /**
   * The monotonic ms at which the first member may start, `-Infinity` if one may now, `Infinity` while that depends on requests in flight.
   * Skips members whose limits are too small for the weights; throws a `RangeError` if all are. `nowMs` defaults to the clock's time: to
   * take what is free at once, pass the same instant to both methods.
   */
  freeAt(weights: readonly number[], nowMs?: number): number;
  /**
   * True when a grant of `weights` now, counted within `countedWithinMs`, is free again before any of `ahead` that shares a budget with it
   * can go, so that it delays none of them. Without `countedWithinMs`, true only if they share no budget.
   */
  delaysNone(
    weights: readonly number[],
    options: { readonly ahead: readonly (readonly number[])[]; readonly countedWithinMs?: number | undefined; readonly nowMs?: number },
  ): boolean;
  /**
   * Takes a slot of every budget of the member that may start first. Throws a `RangeError` unless `freeAt` has come at `nowMs`, which
   * defaults to the clock's time.
   */
  take(weights: readonly number[], nowMs?: number): Grant;
  /** Removes a credential for good: `error` says why. */
  retire(name: string, error: Error): void;
  /** Why the last credential left; undefined while there is one. */
  readonly exhausted: Error | undefined;
}

/** A slot of every budget that one request is charged to, and the credential that carries it. */
export interface Grant extends Omit<Slot, 'answered' | 'corrected'> {
  /** Name of the pool's member whose budgets were taken. */
  readonly credential: string;
  /** Its response arrived, with what it says about each budget, in their order. */
  answered(evidence?: readonly (BudgetEvidence | undefined)[]): void;
  /**
   * Reports its cost in each budget, in their order, after its response; undefined: unchanged. Throws a `RangeError` for an invalid cost.
   */
  corrected(costs: readonly (number | undefined)[]): void;
  /** Settles when the grant is durable; absent without a journal. */
  readonly durable?: Promise<void>;
}

interface Node {
  readonly member: PoolMember;
  /** A lower bound of when the member's own budgets permit a weight of 1; `-Infinity` if they did at its last check. */
  notBefore: number;
  /** When it was last used, counted in grants; before the first one, its place among the members, counted from below 0. */
  lastTaken: number;
  place: number;
}

/**
 * Creates a pool. Throws a `RangeError` if there are no credentials, or two with one name. `weights` of its methods correspond to the
 * members' budgets in their order; a missing one is 1, and 0 doesn't use the budget. If several members may start, the least recently used
 * one does, so that all are used evenly. A grant costs O(log n) of n members; O(n) with a weight of 0, or with a budget that only some
 * members share.
 */
export function credentialPool({ members, clock = systemClock() }: CredentialPoolOptions): CredentialPool {
  if (members.length === 0) throw new RangeError('credentialPool: at least one credential is needed');
  const heap = new IndexedHeap<Node>((a, b) => a.notBefore - b.notBefore || a.lastTaken - b.lastTaken);
  const nodes = new Map<string, Node>();
  for (const [i, member] of members.entries()) {
    if (nodes.has(member.name)) throw new RangeError(`credentialPool: two credentials are named ${member.name}`);
    const node: Node = { member, notBefore: -Infinity, lastTaken: i - members.length, place: -1 };
    nodes.set(member.name, node);
    heap.push(node);
  }
  const holders = Map.groupBy(
    members.flatMap(({ budgets }) => [...new Set(budgets)]),
    (budget) => budget,
  );
  const isShared = (budget: RateBudget): boolean => (holders.get(budget)?.length ?? 0) > 1;
  const hasShared = [...holders.keys()].some(isShared);
  const ofAll = members[0]?.budgets.map((budget, i) => isShared(budget) && members.every(({ budgets }) => budgets[i] === budget)) ?? [];
  let grants = 0;
  let exhausted: Error | undefined;

  const budgetsFreeAt = ({ member }: Node, weights: readonly number[], now: number): number => {
    if (!bears(member, weights)) return Infinity;
    let latest = -Infinity;
    for (const [i, budget] of member.budgets.entries()) {
      if (weights[i] !== 0) latest = Math.max(latest, budget.freeAt(weights[i], now));
    }
    return latest <= now ? -Infinity : latest;
  };
  /** Another member can return a slot of a shared budget early, so only the other budgets say how long a member must wait. */
  const ownFreeAt = ({ member: { budgets } }: Node, now: number): number =>
    budgets.reduce((latest, budget) => (isShared(budget) ? latest : Math.max(latest, budget.freeAt(1, now))), -Infinity);
  /** No member is free before the budgets are that all of them have. */
  const allFreeAt = (weights: readonly number[], now: number): number => {
    let latest = -Infinity;
    for (const [i, budget] of members[0]?.budgets.entries() ?? []) {
      const weight = weights[i] ?? 1;
      if (ofAll[i] === true && weight !== 0) latest = Math.max(latest, weight <= budget.limit ? budget.freeAt(weight, now) : Infinity);
    }
    return latest <= now ? -Infinity : latest;
  };
  const notHeld = ({ member }: Node, at: number, now: number): number => {
    const heldUntil = member.heldUntilMs?.() ?? -Infinity;
    return heldUntil <= now ? at : Math.max(at, heldUntil);
  };
  /** A member's known time is never too late, so no other can be better once the best is no later than the next one's. */
  const best = (weights: readonly number[], now: number): { node: Node | undefined; at: number } => {
    const head = heap.peek();
    if (head !== undefined && notHeld(head, budgetsFreeAt(head, weights, now), now) === -Infinity) {
      if (weights.length === 0) head.notBefore = -Infinity;
      return { node: head, at: -Infinity };
    }
    const seen: Node[] = [];
    let found: { node: Node | undefined; at: number } = { node: undefined, at: Infinity };
    // A budget that isn't affected may be the one that makes a member wait.
    const isBound = !weights.includes(0);
    const floor = allFreeAt(weights, now);
    try {
      for (let node = heap.peek(); node !== undefined; node = heap.peek()) {
        if (Math.max(isBound ? node.notBefore : floor, floor) >= found.at) break;
        heap.remove(node);
        seen.push(node);
        const own = budgetsFreeAt(node, weights, now);
        // Without the time that it is held, which may become earlier.
        if (weights.length === 0) node.notBefore = hasShared ? ownFreeAt(node, now) : own;
        const at = notHeld(node, own, now);
        if (at < found.at) found = { node, at };
      }
    } finally {
      for (const node of seen) heap.push(node);
    }
    return found;
  };
  const isBorne = (weights: readonly number[]): boolean => {
    for (const { member } of nodes.values()) if (bears(member, weights)) return true;
    return false;
  };
  const changed = (node: Node): void => {
    if (node.place === -1) return;
    node.notBefore = ownFreeAt(node, clock.monotonicMs());
    heap.moved(node);
  };

  return {
    get members() {
      return [...nodes.values()].map(({ member }) => member);
    },
    get exhausted() {
      return exhausted;
    },
    bears: (weights) => isBorne(weights),
    freeAt(weights, now = clock.monotonicMs()) {
      if (nodes.size > 0 && !isBorne(weights))
        throw new RangeError(`credentialPool: no credential's limits are large enough for weights of ${weights.join(', ')}`);
      return best(weights, now).at;
    },
    delaysNone(weights, { ahead, countedWithinMs, nowMs = clock.monotonicMs() }) {
      const { member } = best(weights, nowMs).node ?? {};
      if (member === undefined) return true;
      const taken = new Set(member.budgets.filter((_, i) => weights[i] !== 0));
      /** It may delay the heavier ones on each member that has one of its budgets: its own, and those that share one with it. */
      const concerned = hasShared ? Array.from(nodes.values(), (node) => node.member) : [member];
      return ahead.every((heavier) =>
        concerned.every((carrier) => {
          // Another member carries the heavier ones that this one can't afford, so they lose nothing here.
          if (!bears(carrier, heavier)) return true;
          const both = carrier.budgets.filter((budget, i) => heavier[i] !== 0 && taken.has(budget));
          if (both.length === 0) return true;
          if (countedWithinMs === undefined) return false;
          const soonestAt = Math.max(...carrier.budgets.map((budget, i) => (heavier[i] === 0 ? -Infinity : budget.soonestAt(heavier[i]))));
          return both.every((budget) => budget.freeAgainAt(countedWithinMs) <= soonestAt);
        }),
      );
    },
    take(weights, now = clock.monotonicMs()) {
      const { node } = best(weights, now);
      if (node === undefined) throw new RangeError('credentialPool: no credential is free now; check freeAt first');
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
          const maySend = slots.every((slot) => slot?.sent() !== false);
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
            // One slot isn't enough: nothing was sent unless all agree.
            if (isSent) slot?.aborted();
            else slot?.unsent();
          }
          settled();
        },
      };
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

function bears({ budgets }: PoolMember, weights: readonly number[]): boolean {
  return budgets.every(({ limit }, i) => {
    const weight = weights[i] ?? 1;
    return weight === 0 || (weight >= 1 && weight <= limit);
  });
}
