import { Observable } from 'rxjs';
import { type Clock, systemClock } from './clock.ts';
import type { CredentialPool, Grant } from './credential-pool.ts';
import type { Credit, CreditPool } from './credit-pool.ts';
import { FairQueue, type Queued } from './fair-queue.ts';

export interface AdmissionOptions {
  /** Default: the machine's clock. */
  readonly clock?: Clock;
}

export interface AcquireOptions {
  readonly pool: CredentialPool;
  /** What the request costs in each budget of the pool's members, in their order. Default 1 each. */
  readonly weights?: readonly number[];
  /** Room downstream to take `items` from. */
  readonly credits: CreditPool;
  /** Items that the answer may hold at most. */
  readonly items: number;
  /** Whom the request is about, for those who ask what is waiting. */
  readonly label?: string;
  /** Requests of one walk take their turns among walks, however many of them wait. Default: each request is a walk of its own. */
  readonly walk?: object;
  /** How large a share of the turns the walk gets, against 1 of others. Default 1. */
  readonly share?: number;
  /** Gives the place in the queue up. */
  readonly signal?: AbortSignal;
}

/** One token of every budget concerned and the credit for one page, granted in one step. */
export interface Permit extends Omit<Grant, 'durable'> {
  readonly credit: Credit;
}

export interface Waiting {
  readonly label: string;
  readonly for: 'budget' | 'downstream';
  /** Epoch ms at which the wait ends, where that is known. */
  readonly until?: number;
}

/** The one queue in which requests wait for budget and credit. */
export interface Admission {
  /**
   * Waits for a permit. Credit and tokens are taken in one synchronous step: a token that waited for credit would go stale
   * and overrun its window. Where the credential has a journal the permit comes when its grant is durable.
   * Rejects with `signal.reason` when aborted, with the pool's error when its last credential has left, with the journal's
   * when it can't be written, and with a `RangeError` for weights that no member could ever bear.
   */
  acquire(options: AcquireOptions): Promise<Permit>;
  /** Who waits, in the order of their turns, and what for. */
  waiting(): readonly Waiting[];
  /** Emits who waits, at once and whenever that has changed. Completes never; unsubscribing costs nothing more. */
  readonly changes: Observable<readonly Waiting[]>;
  /** Looks again who may go: to be called after a credential has left. */
  wake(): void;
}

interface Waiter extends AcquireOptions, Queued {
  readonly weights: readonly number[];
  readonly resolve: (permit: Permit) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Makes an admission: walks take turns, first come first served among those of equal standing, and nobody waits behind
 * somebody else's full downstream.
 */
export function admission({ clock = systemClock() }: AdmissionOptions = {}): Admission {
  const queue = new FairQueue<Waiter>();
  const watched = new Map<CreditPool, { waiters: number; readonly unwatch: () => void }>();
  const pools = new Map<CredentialPool, number>();
  const listeners = new Set<() => void>();
  let cancelTimer: (() => void) | undefined;

  const add = (waiter: Waiter): void => {
    const { credits, pool } = waiter;
    queue.add(waiter);
    const watch = watched.get(credits);
    if (watch === undefined) watched.set(credits, { waiters: 1, unwatch: credits.onRelease(wake) });
    else watch.waiters += 1;
    pools.set(pool, (pools.get(pool) ?? 0) + 1);
  };
  const remove = (waiter: Waiter): boolean => {
    if (!queue.delete(waiter)) return false;
    const { credits, pool } = waiter;
    const watch = watched.get(credits);
    if (watch !== undefined) {
      watch.waiters -= 1;
      if (watch.waiters === 0) {
        watch.unwatch();
        watched.delete(credits);
      }
    }
    const others = (pools.get(pool) ?? 1) - 1;
    if (others === 0) pools.delete(pool);
    else pools.set(pool, others);
    return true;
  };

  const wake = (): void => {
    cancelTimer?.();
    cancelTimer = undefined;
    const wakeAt = serve();
    if (wakeAt < Infinity) cancelTimer = clock.schedule(Math.max(0, wakeAt - clock.monotonicMs()), wake);
    for (const listener of listeners) listener();
  };

  /** Grants to all who may go; returns when the next may. */
  const serve = (): number => {
    const blocked = new Map<CredentialPool, number>();
    const full = new Set<CreditPool>();
    for (const waiter of queue) {
      if (blocked.size > 0 && blocked.size === pools.size) break;
      const { pool, weights, credits, items } = waiter;
      if (pool.exhausted !== undefined) {
        remove(waiter);
        waiter.reject(pool.exhausted);
        continue;
      }
      // Behind one that doesn't fit nobody of the same downstream goes first: small pages would starve a big one.
      if (full.has(credits) || !credits.hasRoom(items)) {
        full.add(credits);
        continue;
      }
      if (blocked.has(pool)) continue;
      const at = pool.freeAt(weights);
      if (at > clock.monotonicMs()) {
        blocked.set(pool, at);
        continue;
      }
      remove(waiter);
      queue.served(waiter);
      hand(waiter, pool.take(weights), credits.reserve(items));
    }
    return Math.min(Infinity, ...blocked.values());
  };

  /** Gives the permit over, once its grant is durable. */
  const hand = (waiter: Waiter, grant: Grant, credit: Credit): void => {
    const permit = permitOf(grant, credit, wake);
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

  const waiting = (): readonly Waiting[] => {
    const offset = clock.epochMs() - clock.monotonicMs();
    return [...queue].map(({ label = '', pool, weights, credits, items }) => {
      if (!credits.hasRoom(items)) return { label, for: 'downstream' as const };
      const at = pool.freeAt(weights);
      return { label, for: 'budget' as const, ...(Number.isFinite(at) && { until: at + offset }) };
    });
  };

  return {
    acquire(options) {
      const { signal, pool, weights = [] } = options;
      return new Promise<Permit>((resolve, reject) => {
        if (signal?.aborted) {
          reject(signal.reason);
          return;
        }
        // Throws for what could never be borne: it must not wait for ever, nor stop others.
        if (pool.exhausted === undefined) pool.freeAt(weights);
        const waiter: Waiter = {
          ...options,
          weights,
          turn: 0,
          resolve: (granted) => {
            signal?.removeEventListener('abort', abort);
            resolve(granted);
          },
          reject: (reason) => {
            signal?.removeEventListener('abort', abort);
            reject(reason);
          },
        };
        const abort = (): void => {
          const wasWaiting = remove(waiter);
          waiter.reject(signal?.reason);
          if (wasWaiting) wake();
        };
        signal?.addEventListener('abort', abort);
        add(waiter);
        wake();
      });
    },
    waiting,
    changes: new Observable((subscriber) => {
      const tell = (): void => subscriber.next(waiting());
      listeners.add(tell);
      tell();
      return () => listeners.delete(tell);
    }),
    wake,
  };
}

function permitOf(grant: Grant, credit: Credit, wake: () => void): Permit {
  return {
    credential: grant.credential,
    credit,
    sent: () => grant.sent(),
    answered: () => {
      grant.answered();
      wake();
    },
    aborted: () => {
      grant.aborted();
      wake();
    },
  };
}
