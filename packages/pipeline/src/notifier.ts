import type { Clock } from '@headgate/throttle';

/** Wakes the waiter for an event in a lane; a notification that comes before the wait is not lost. */
export interface Notifier {
  notify(): void;
  /** Every wait, this and later ones, rejects with `error`: the lane can't go on. */
  fail(error: unknown): void;
  /** Resolves at the next notification, or after `atMostMs`. One waits at a time. */
  wait(atMostMs?: number): Promise<void>;
}

export function notifier({ clock }: { readonly clock: Clock }): Notifier {
  let notified = false;
  let failure: { readonly error: unknown } | undefined;
  let wake: (() => void) | undefined;

  return {
    notify() {
      notified = true;
      wake?.();
    },
    fail(error) {
      failure ??= { error };
      wake?.();
    },
    async wait(atMostMs = Infinity) {
      if (!notified && failure === undefined) {
        await new Promise<void>((resolve) => {
          const cancel = atMostMs < Infinity ? clock.schedule(atMostMs, resolve) : undefined;
          wake = () => {
            cancel?.();
            resolve();
          };
        });
        wake = undefined;
      }
      notified = false;
      if (failure !== undefined) throw failure.error;
    },
  };
}
