import { onAbort } from '../abort.ts';
import { type Clock, systemClock } from '../clock.ts';
import type { Ahead, Among, CredentialPool, Grant } from './credential-pool.ts';
import type { Credit, CreditPool } from './credit-pool.ts';
import { ABOVE_0, rangeChecks } from '../number-checks.ts';
import { FairQueue, type Queued } from './fair-queue.ts';
import { WaitingLines } from './waiting-lines.ts';

/** Options of {@link admission}. */
export interface AdmissionOptions {
  /** The credentials that carry requests. */
  readonly pool: CredentialPool;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
}

/** Options of `Admission.acquire`. */
export interface AcquireOptions<Label = string> {
  /** The request's cost in each budget of the pool's members, in their order. Default 1 each. */
  readonly weights?: readonly number[];
  /** Names of the credentials that may carry the request. Default: any of the pool. */
  readonly among?: readonly string[] | undefined;
  /** Credit pool of the downstream, from which `items` are reserved. */
  readonly credits: CreditPool;
  /** Maximum items in the response, a whole number from 0. */
  readonly items: number;
  /**
   * Maximum time from the permit until the service has counted the request, in ms. With a known maximum, the request can pass earlier ones
   * in more cases. Default: unknown.
   */
  readonly countedWithinMs?: number;
  /** Identifies the request in `waiting`. */
  readonly label?: Label;
  /** Identifies the request's walk. Walks take turns, however many requests of one walk wait. Default: each request is a separate walk. */
  readonly walk?: object | undefined;
  /** The walk's share of the turns, a number above 0: a walk with 2 gets twice as many as a walk with 1. Default 1. */
  readonly share?: number;
  /** Requests of a lower rank come first, whatever their turns. Default 0. */
  readonly rank?: number;
  /** An abort cancels the wait for the permit. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the credential's name as soon as a permit is granted, before the next request gets one. It must not throw. */
  readonly onGranted?: (credential: string) => void;
}

/**
 * A slot of each affected budget and the credit for one response, granted in one step. Disposing the permit releases its credit, and aborts
 * the permit unless it is already settled. If the credit must outlive the permit, call `answered`, `aborted` or `unsent` instead.
 */
export interface Permit extends Omit<Grant, 'durable'>, Disposable {
  /** The capacity reserved for the response; `resize` it to the items that arrived. */
  readonly credit: Credit;
}

/** A request in the queue, and the reason why it waits. */
export interface Waiting<Label = string> {
  /** The request's `label`, if it has one. */
  readonly label?: Label;
  /** `downstream` if the credit pool lacks capacity for the request; `budget` otherwise. */
  readonly for: 'budget' | 'downstream';
  /** Epoch ms at which the wait is expected to end, if that is known. */
  readonly until?: number;
}

/** The queue in which requests wait for budgets and credit. */
export interface Admission<Label = string> {
  /**
   * Waits for a permit. Credit and the slots of the budgets are taken in one synchronous step, because a slot that waited for credit could
   * be used too late, in the next window. If the credential has a journal, the permit comes when its grant is durable.
   *
   * Rejects with `signal.reason` on abort, with the error that `CredentialPool.retire` got if no credential is left, with the journal's
   * error if the grant can't be written, and with a `RangeError` for invalid `items` or an invalid `share`, or if no remaining credential
   * may carry the request or has large enough limits.
   */
  acquire(options: AcquireOptions<Label>): Promise<Permit>;
  /** Returns the waiting requests in the order of their turns, each with the reason why it waits. */
  waiting(): readonly Waiting<Label>[];
  /**
   * Checks again which requests may start. Call it after adding or removing a credential, and when a credential may send earlier than
   * before.
   */
  wake(): void;
}

interface Waiter<Label = unknown> extends AcquireOptions<Label>, Queued {
  readonly weights: readonly number[];
  readonly resolve: (permit: Permit) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Creates an admission. Walks take turns; among equals, the first to come is served first. A full downstream holds up only its own
 * requests. A request can overtake an earlier one that it doesn't delay, such as one that other credentials carry.
 */
export function admission<Label = string>({ pool, clock = systemClock() }: AdmissionOptions): Admission<Label> {
  const queue = new FairQueue<Waiter<Label>>();
  const lines = new WaitingLines<Waiter<Label>>({ onRoom: () => grantReady() });
  let cancelTimer: (() => void) | undefined;

  const add = (waiter: Waiter<Label>): void => {
    queue.add(waiter);
    lines.add(waiter);
  };
  const remove = (waiter: Waiter<Label>): void => {
    queue.delete(waiter);
    lines.delete(waiter);
  };

  const grantReady = (): void => {
    cancelTimer?.();
    cancelTimer = undefined;
    const wakeAt = queue.isEmpty ? Infinity : serve();
    if (wakeAt < Infinity) cancelTimer = clock.schedule(Math.max(0, wakeAt - clock.monotonicMs()), grantReady);
  };

  const refuse = (): void => {
    for (const waiter of lines.unservable(({ weights, among }) => pool.bears(weights, among))) {
      remove(waiter);
      waiter.reject(unservable(waiter));
    }
  };

  const unservable = ({ weights, among }: Ahead): Error => pool.exhausted ?? noneFor(weights, among, pool);

  /** Grants the requests that may start. Returns the monotonic ms at which to try again, or `Infinity`. */
  const serve = (): number => {
    if (pool.exhausted !== undefined) refuse();
    /** Waiting requests that later ones must not delay. */
    const ahead: Ahead[] = [];
    let wakeAt = Infinity;
    const scan = lines.scan();
    try {
      for (let waiter = scan.first(); waiter !== undefined; waiter = scan.first()) {
        const { weights, among, credits, items, countedWithinMs } = waiter;
        if (!pool.bears(weights, among)) {
          queue.delete(waiter);
          scan.refused(waiter);
          waiter.reject(unservable(waiter));
          continue;
        }
        if (scan.isFull(waiter)) continue;
        if (ahead.some((one) => waitsBehind(waiter, one))) {
          scan.pass(waiter);
          continue;
        }
        // `freeAt` and `tryTake` get the same time, because a free slot may be gone a moment later.
        const now = clock.monotonicMs();
        const at = pool.freeAt(weights, now, among);
        const grant = at <= now ? pool.tryTake(weights, { nowMs: now, among, ahead, countedWithinMs }) : undefined;
        if (grant === undefined) {
          if (at > now) wakeAt = Math.min(wakeAt, at);
          ahead.push(waiter);
          // This request costs at most 1 in each budget, so only a later request that costs 0 somewhere could start before it. `close`
          // skips the others.
          if (among === undefined && costsAsMuch([], weights)) scan.close(waiter);
          continue;
        }
        queue.delete(waiter);
        scan.granted(waiter);
        // This turn isn't over while an earlier request that shares a credential with this one waits.
        if (!ahead.some((one) => isRival(waiter, one))) queue.served(waiter);
        deliver(waiter, grant, credits.reserve(items));
      }
    } finally {
      scan.end();
    }
    return wakeAt;
  };

  const mayGoAtOnce = ({ weights, among, credits, items }: Waiter, now: number): boolean =>
    queue.isEmpty && credits.hasRoom(items) && pool.freeAt(weights, now, among) <= now;

  const deliver = (waiter: Waiter, grant: Grant, credit: Credit): void => {
    waiter.onGranted?.(grant.credential);
    const permit = permitOf(grant, credit, grantReady);
    if (grant.durable === undefined) {
      waiter.resolve(permit);
      return;
    }
    const giveBack = (reason: unknown): void => {
      permit.aborted();
      credit.release();
      waiter.reject(reason);
    };
    grant.durable.then(() => {
      if (waiter.signal?.aborted === true) giveBack(waiter.signal.reason);
      else waiter.resolve(permit);
    }, giveBack);
  };

  const waiting = (): readonly Waiting<Label>[] => {
    const offset = clock.epochMs() - clock.monotonicMs();
    let first: number | undefined;
    const waits = new Map<object | undefined, { readonly hasRoom: boolean; readonly own: number }>();
    const waitOf = ({ weights, among, credits, items }: Waiter) => {
      const hasRoom = credits.hasRoom(items);
      return { hasRoom, own: hasRoom && pool.bears(weights, among) ? pool.freeAt(weights, undefined, among) : Infinity };
    };
    return Array.from(queue, (waiter) => {
      const { label } = waiter;
      const line = lines.lineOf(waiter);
      const { hasRoom, own } = waits.get(line) ?? waitOf(waiter);
      waits.set(line, { hasRoom, own });
      const said = label === undefined ? {} : { label };
      if (!hasRoom) return { ...said, for: 'downstream' as const };
      // A request whose budgets are free waits for an earlier request.
      const at = own === -Infinity ? (first ?? own) : own;
      first = Math.min(first ?? Infinity, at);
      return { ...said, for: 'budget' as const, ...(Number.isFinite(at) && { until: at + offset }) };
    });
  };

  return {
    acquire(options) {
      const { signal, weights = [], among } = options;
      return new Promise<Permit>((resolve, reject) => {
        checkRequest(options);
        if (signal?.aborted) {
          reject(signal.reason);
          return;
        }
        if (pool.exhausted === undefined && !pool.bears(weights, among)) {
          reject(unservable({ weights, among }));
          return;
        }
        const abort = (reason: unknown): void => {
          remove(waiter);
          waiter.reject(reason);
          grantReady();
        };
        let forget: (() => void) | undefined;
        const watch = (): void => {
          forget = onAbort(signal, abort);
        };
        const waiter: Waiter<Label> = {
          ...options,
          weights,
          turn: 0,
          arrival: 0,
          resolve: (granted) => {
            forget?.();
            resolve(granted);
          },
          reject: (reason) => {
            forget?.();
            reject(reason);
          },
        };
        const now = clock.monotonicMs();
        if (pool.exhausted === undefined && mayGoAtOnce(waiter, now)) {
          const grant = pool.take(weights, { nowMs: now, among });
          if (grant.durable !== undefined) watch();
          queue.pass(waiter);
          deliver(waiter, grant, options.credits.reserve(options.items));
          return;
        }
        watch();
        add(waiter);
        grantReady();
      });
    },
    waiting,
    wake() {
      refuse();
      grantReady();
    },
  };
}

/** Throws a `RangeError` for a number that would fail only after the slots are taken, or would end the turns of all walks. */
function checkRequest({ items, weights = [], countedWithinMs = 0, rank = 0, share = 1 }: AcquireOptions<unknown>): void {
  CHECK.whole({ items }, 0);
  CHECK.number({ share }, ABOVE_0);
  CHECK.number({ rank });
  CHECK.number({ countedWithinMs }, 0, Infinity);
  for (const weight of weights) CHECK.number({ 'each of the weights': weight }, 0);
}

const CHECK = rangeChecks('admission');

function noneFor(weights: readonly number[], among: Among, { members }: CredentialPool): RangeError {
  const names = members.map(({ name }) => name);
  if (among !== undefined && !names.some((name) => among.includes(name)))
    return new RangeError(`admission: only ${listed(among)} may carry this request, but the pool has only ${listed(names)}`);
  return new RangeError(`admission: no credential's limits are large enough for weights of ${weights.join(', ')}`);
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'no credential' : names.join(', ');
}

/** True if a request can't start before an earlier one: it costs at least as much, and only credentials of the earlier one may carry it. */
function waitsBehind({ weights, among }: Ahead, earlier: Ahead): boolean {
  const isWithin = earlier.among === undefined || (among !== undefined && among.every((name) => earlier.among?.includes(name)));
  return isWithin && costsAsMuch(weights, earlier.weights);
}

/** True if the two requests have a credential in common. */
function isRival({ among }: Ahead, other: Ahead): boolean {
  return among === undefined || other.among === undefined || among.some((name) => other.among?.includes(name));
}

function costsAsMuch(one: readonly number[], other: readonly number[]): boolean {
  return Array.from({ length: Math.max(one.length, other.length) }, (_, i) => (one[i] ?? 1) >= (other[i] ?? 1)).every(Boolean);
}

function permitOf(grant: Grant, credit: Credit, wake: () => void): Permit {
  const aborted = (): void => {
    grant.aborted();
    wake();
  };
  return {
    credential: grant.credential,
    credit,
    sent: () => grant.sent(),
    answered: (evidence) => {
      grant.answered(evidence);
      wake();
    },
    corrected: (costs) => {
      grant.corrected(costs);
      wake();
    },
    unsent: () => {
      grant.unsent();
      wake();
    },
    aborted,
    [Symbol.dispose]: () => {
      aborted();
      credit.release();
    },
  };
}
