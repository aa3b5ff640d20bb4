import { abortable } from '../abort.ts';
import { type Clock, systemClock } from '../clock.ts';
import type { Among, Claims, CredentialPool, Taken } from './credential-pool.ts';
import type { CreditPool } from './credit-pool.ts';
import { rangeChecks } from '../number-checks.ts';
import { FairQueue, type Queued } from './fair-queue.ts';
import { Permit } from './permit.ts';

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
  /** Identifies the request in `waiting`. */
  readonly label?: Label;
  /** Identifies the request's walk. Walks take turns, however many requests of one walk wait. Default: each request is a separate walk. */
  readonly walk?: object | undefined;
  /** Requests of a lower rank come first, whatever their turns. Default 0. */
  readonly rank?: number;
  /** An abort cancels the wait for the permit. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the credential's name as soon as a permit is granted, before the next request gets one. It must not throw. */
  readonly onGranted?: (credential: string) => void;
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

interface Waiter<Label = unknown> extends AcquireOptions<Label>, Queued {
  readonly weights: readonly number[];
  /** Text that is the same for requests of the same weights and credentials: if one of them can't start, no later one can. */
  readonly kind: string;
  isWaiting: boolean;
  readonly grant: (permit: Permit) => void;
  readonly refuse: (reason: unknown) => void;
}

/**
 * Creates an admission. Walks take turns; among equals, the first to come is served first. A full downstream holds up only its own
 * requests. A request can overtake an earlier one, but doesn't use a budget that the earlier one waits for.
 */
export function admission<Label = string>({ pool, clock = systemClock() }: AdmissionOptions): Admission<Label> {
  return new Admission(pool, clock);
}

/**
 * The queue in which requests wait for budgets and credit; created by {@link admission}. Looks through one list of waiting requests, in the
 * order of their turns, whenever one of them may be able to start.
 */
export class Admission<Label = string> {
  readonly #pool: CredentialPool;
  readonly #clock: Clock;
  readonly #queue = new FairQueue<Waiter<Label>>();
  /** The downstreams that requests wait for. */
  readonly #downstreams = new Map<CreditPool, { waiting: number; readonly unwatch: () => void }>();
  /** Number of waiting requests of each kind. */
  readonly #kinds = new Map<string, number>();
  /** Monotonic ms at which the timer fires; `Infinity` without a timer. */
  #wakeAt = Infinity;
  #cancelTimer: (() => void) | undefined;

  constructor(pool: CredentialPool, clock: Clock) {
    this.#pool = pool;
    this.#clock = clock;
  }

  /**
   * Waits for a permit. Credit and the slots of the budgets are taken in one synchronous step, because a slot that waited for credit could
   * be used too late, in the next window. If the credential has a journal, the permit comes when its grant is durable.
   *
   * Rejects with `signal.reason` on abort, with the error that `CredentialPool.retire` got if no credential is left, with the journal's
   * error if the grant can't be written, and with a `RangeError` for invalid `items`, or if no remaining credential
   * may carry the request or has large enough limits.
   */
  acquire(options: AcquireOptions<Label>): Promise<Permit> {
    const { signal, weights = [], among } = options;
    return abortable(signal, (grant, refuse) => {
      checkRequest(options);
      const kind = `${weights.join(' ')}${among === undefined ? '' : JSON.stringify(among)}`;
      const waiter: Waiter<Label> = { ...options, weights, kind, turn: 0, isWaiting: false, grant, refuse };
      if (!this.#pool.bears(weights, among)) {
        refuse(this.#unservable(waiter));
        return;
      }
      this.#add(waiter);
      // A new request can't let others start. So unless it can start, nothing can.
      if (this.#freeAt(waiter) < this.#wakeAt) this.#serve();
      return () => {
        if (!waiter.isWaiting) return;
        // An aborted request. Others may start now.
        this.#remove(waiter);
        this.#serve();
      };
    });
  }

  /** Returns the waiting requests in the order of their turns, each with the reason why it waits. */
  waiting(): readonly Waiting<Label>[] {
    const offset = this.#clock.epochMs() - this.#clock.monotonicMs();
    let first: number | undefined;
    const freeAt = new Map<string, number>();
    return this.#queue.entries.map((waiter) => {
      const { label, kind, credits, items } = waiter;
      const said = label === undefined ? {} : { label };
      if (!credits.hasRoom(items)) return { ...said, for: 'downstream' as const };
      const own = freeAt.get(kind) ?? this.#freeAt(waiter);
      freeAt.set(kind, own);
      // A request whose budgets are free waits for an earlier request.
      const at = own === -Infinity ? (first ?? own) : own;
      first = Math.min(first ?? Infinity, at);
      return { ...said, for: 'budget' as const, ...(Number.isFinite(at) && { until: at + offset }) };
    });
  }

  /**
   * Checks again which requests may start. Call it after removing a credential, and when a credential may send earlier than
   * before.
   */
  wake(): void {
    const gone = this.#queue.entries.filter(({ weights, among }) => !this.#pool.bears(weights, among));
    for (const waiter of gone) this.#refuse(waiter);
    this.#serve();
  }

  /** Returns the monotonic ms at which the request could start if no other one waited; `Infinity` if that is unknown. */
  #freeAt({ weights, among, credits, items }: Waiter<Label>): number {
    return credits.hasRoom(items) ? this.#pool.freeAt(weights, among) : Infinity;
  }

  /** Grants the requests that may start, and sets a timer for the time at which the next may. */
  readonly #serve = (): void => {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#wakeAt = this.#look();
    if (this.#wakeAt === Infinity) return;
    this.#cancelTimer = this.#clock.schedule(Math.max(0, this.#wakeAt - this.#clock.monotonicMs()), this.#serve);
  };

  /** Returns the monotonic ms at which to look again; `Infinity` if that depends on requests in flight, or on the downstream. */
  #look(): number {
    const now = this.#clock.monotonicMs();
    const full = new Set<CreditPool>();
    const blocked = new Set<string>();
    const claims: Claims = new Map();
    let wakeAt = Infinity;
    for (let i = 0, waiter = this.#queue.entries[i]; waiter !== undefined; waiter = this.#queue.entries[i]) {
      const { weights, among, kind, credits, items } = waiter;
      // After a request that doesn't fit, all of the same downstream wait. Otherwise small pages would starve a large one.
      if (!credits.hasRoom(items)) full.add(credits);
      if (full.size === this.#downstreams.size || blocked.size === this.#kinds.size) break;
      if (full.has(credits) || blocked.has(kind)) {
        i += 1;
        continue;
      }
      if (!this.#pool.bears(weights, among)) {
        this.#refuse(waiter);
        continue;
      }
      const at = this.#pool.freeAt(weights, among, claims, now);
      if (at > now) {
        wakeAt = Math.min(wakeAt, at, this.#pool.claim(weights, among, claims, now));
        blocked.add(kind);
        continue;
      }
      this.#remove(waiter);
      this.#queue.served(waiter);
      this.#deliver(waiter, this.#pool.take(weights, among, claims, now));
    }
    return wakeAt;
  }

  #deliver({ weights, credits, items, signal, onGranted, grant, refuse }: Waiter<Label>, taken: Taken): void {
    onGranted?.(taken.member.name);
    const permit = new Permit(this.#pool, taken, credits.reserve(items), this.#serve);
    const giveBack = (reason: unknown): void => {
      permit[Symbol.dispose]();
      refuse(reason);
    };
    const durable = taken.member.journal?.granted(Math.max(1, ...weights));
    if (durable === undefined) grant(permit);
    else durable.then(() => (signal?.aborted === true ? giveBack(signal.reason) : grant(permit)), giveBack);
  }

  #unservable({ weights, among }: Waiter<Label>): Error {
    return this.#pool.exhausted ?? noneFor(weights, among, this.#pool);
  }

  #refuse(waiter: Waiter<Label>): void {
    this.#remove(waiter);
    waiter.refuse(this.#unservable(waiter));
  }

  #add(waiter: Waiter<Label>): void {
    this.#queue.add(waiter);
    waiter.isWaiting = true;
    this.#kinds.set(waiter.kind, (this.#kinds.get(waiter.kind) ?? 0) + 1);
    const downstream = this.#downstreams.get(waiter.credits);
    if (downstream === undefined) this.#downstreams.set(waiter.credits, { waiting: 1, unwatch: waiter.credits.onRelease(this.#serve) });
    else downstream.waiting += 1;
  }

  #remove(waiter: Waiter<Label>): void {
    this.#queue.delete(waiter);
    waiter.isWaiting = false;
    const left = (this.#kinds.get(waiter.kind) ?? 1) - 1;
    if (left > 0) this.#kinds.set(waiter.kind, left);
    else this.#kinds.delete(waiter.kind);
    const downstream = this.#downstreams.get(waiter.credits);
    if (downstream === undefined) return;
    downstream.waiting -= 1;
    if (downstream.waiting > 0) return;
    downstream.unwatch();
    this.#downstreams.delete(waiter.credits);
  }
}

/** Throws a `RangeError` for a number that would fail only after the slots are taken. */
function checkRequest({ items, weights = [], rank = 0 }: AcquireOptions<unknown>): void {
  CHECK.whole({ items }, 0);
  CHECK.number({ rank });
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
