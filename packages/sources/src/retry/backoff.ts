import type { Clock } from '@headgate/throttle';

export interface BackoffOptions {
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  /** From the first failure until it is given up, ms. */
  readonly retryForMs: number;
}

/** When a request that keeps failing is tried again, and when no more. */
export interface Backoff {
  /** Failed attempts. */
  readonly failures: number;
  /** Ms since the first failure, waits for a permit left out. */
  readonly elapsedMs: number;
  /** Ms until the time is over. */
  readonly leftMs: number;
  /**
   * Records a failed attempt and returns the wait before the next, ms. Undefined when the time is over, or ends before `atLeastMs`, the
   * wait that the service requests: an earlier attempt is sure to be refused.
   */
  failed(atLeastMs?: number): number | undefined;
  /** A wait for budget or room of this long is not the service's failing: it doesn't count. */
  waited(ms: number): void;
}

const BASE_MS = 500;
const CAP_MS = 30_000;

/** Full jitter: a random part of a delay that doubles from 500 ms to 30 s, so that clients that failed together don't come back together. */
export function backoff({ clock, random, retryForMs }: BackoffOptions): Backoff {
  let failures = 0;
  let countedFrom: number | undefined;
  const elapsedMs = (): number => (countedFrom === undefined ? 0 : clock.monotonicMs() - countedFrom);
  const leftMs = (): number => retryForMs - elapsedMs();
  return {
    get failures() {
      return failures;
    },
    get elapsedMs() {
      return elapsedMs();
    },
    get leftMs() {
      return leftMs();
    },
    failed(atLeastMs = 0) {
      countedFrom ??= clock.monotonicMs();
      const left = leftMs();
      const delayMs = random() * Math.min(CAP_MS, BASE_MS * 2 ** failures);
      failures += 1;
      return left > 0 && atLeastMs <= left ? Math.min(left, Math.max(delayMs, atLeastMs)) : undefined;
    },
    waited(ms) {
      if (countedFrom !== undefined) countedFrom += ms;
    },
  };
}

export interface PauseOptions {
  readonly clock: Clock;
  readonly ms: number;
  readonly signal: AbortSignal;
}

/** Waits; rejects with `signal.reason` when aborted. */
export function pause({ clock, ms, signal }: PauseOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const until = clock.monotonicMs() + ms;
    let cancel = (): void => undefined;
    const abort = (): void => {
      cancel();
      reject(signal.reason as Error);
    };
    const look = (): void => {
      const left = until - clock.monotonicMs();
      if (left > 0) {
        cancel = clock.schedule(left, look);
        return;
      }
      signal.removeEventListener('abort', abort);
      resolve();
    };
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    signal.addEventListener('abort', abort, { once: true });
    look();
  });
}
