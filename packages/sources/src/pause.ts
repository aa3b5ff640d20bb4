import type { Clock } from '@headgate/throttle';

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
