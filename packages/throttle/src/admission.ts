import { type Clock, systemClock } from './clock.ts';
import type { CredentialPool, Grant } from './credential-pool.ts';
import type { Credit, CreditPool } from './credit-pool.ts';

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
  /** Gives the place in the queue up. */
  readonly signal?: AbortSignal;
}

/** One token of every budget concerned and the credit for one page, granted in one step. */
export interface Permit extends Grant {
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
   * and overrun its window. Rejects with `signal.reason` when aborted, and with the pool's error when its last credential has left.
   */
  acquire(options: AcquireOptions): Promise<Permit>;
  /** Who waits, first come first, and what for. */
  waiting(): readonly Waiting[];
  /** Looks again who may go: to be called after a slot was settled or a credential left. */
  wake(): void;
}

interface Waiter extends AcquireOptions {
  readonly weights: readonly number[];
  readonly resolve: (permit: Permit) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Makes an admission: first come, first served, except that nobody waits behind somebody else's full downstream.
 */
export function admission({ clock = systemClock() }: AdmissionOptions = {}): Admission {
  const queue = new Set<Waiter>();
  const watched = new Map<CreditPool, () => void>();
  let cancelTimer: (() => void) | undefined;

  const wake = (): void => {
    cancelTimer?.();
    cancelTimer = undefined;
    const wakeAt = serve();
    const nowMs = clock.monotonicMs();
    if (wakeAt < Infinity) cancelTimer = clock.schedule(Math.max(0, wakeAt - nowMs), wake);
    const wanted = new Set([...queue].map((waiter) => waiter.credits));
    for (const [credits, unwatch] of watched) {
      if (wanted.has(credits)) continue;
      unwatch();
      watched.delete(credits);
    }
  };

  /** Grants to all who may go; returns when the next may. */
  const serve = (): number => {
    const blocked = new Map<CredentialPool, number>();
    const full = new Set<CreditPool>();
    for (const waiter of queue) {
      const { pool, weights, credits, items } = waiter;
      if (pool.exhausted !== undefined) {
        queue.delete(waiter);
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
      queue.delete(waiter);
      const grant = pool.take(weights);
      waiter.resolve(permit(grant, credits.reserve(items), wake));
    }
    return Math.min(Infinity, ...blocked.values());
  };

  return {
    acquire(options) {
      const { signal, credits } = options;
      return new Promise<Permit>((resolve, reject) => {
        if (signal?.aborted) {
          reject(signal.reason);
          return;
        }
        const waiter: Waiter = {
          ...options,
          weights: options.weights ?? [],
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
          queue.delete(waiter);
          waiter.reject(signal?.reason);
          wake();
        };
        signal?.addEventListener('abort', abort);
        queue.add(waiter);
        if (!watched.has(credits)) watched.set(credits, credits.onRelease(wake));
        wake();
      });
    },
    waiting() {
      const offset = clock.epochMs() - clock.monotonicMs();
      return [...queue].map(({ label = '', pool, weights, credits, items }) => {
        if (!credits.hasRoom(items)) return { label, for: 'downstream' as const };
        const at = pool.freeAt(weights);
        return { label, for: 'budget' as const, ...(at < Infinity && { until: at + offset }) };
      });
    },
    wake,
  };
}

function permit(grant: Grant, credit: Credit, wake: () => void): Permit {
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
