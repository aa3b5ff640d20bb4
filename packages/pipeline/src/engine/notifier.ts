import type { Clock } from '@headgate/throttle';

/** Wakes the waiter for an event in a lane; a notification that comes before the wait is not lost. */
export interface Notifier {
  notify(): void;
  /** Notifies; every `wait`, this and later ones, rejects with the first `error`: the lane can't continue. */
  fail(error: unknown): void;
  /** Calls back with the first failure, before its waiter wakes. */
  onFailure(callback: (error: unknown) => void): void;
  /** Resolves at the next notification, or after `atMostMs`. One waits at a time. */
  wait(atMostMs?: number): Promise<void>;
  /** Waits in the same way, whatever has failed, for work that ends in any case. */
  waitOut(atMostMs: number): Promise<void>;
  /** Throws the first error that `fail` was called with; returns if there was none. */
  throwIfFailed(): void;
}

export function notifier({ clock }: { readonly clock: Clock }): Notifier {
  let notified = false;
  let failure: { readonly error: unknown } | undefined;
  let wake: (() => void) | undefined;
  const listeners: ((error: unknown) => void)[] = [];

  const notify = (): void => {
    notified = true;
    wake?.();
  };
  const waitOut = async (atMostMs: number): Promise<void> => {
    if (!notified) {
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
  };
  const throwIfFailed = (): void => {
    if (failure !== undefined) throw failure.error;
  };

  return {
    notify,
    fail(error) {
      failure ??= { error };
      for (const listener of listeners.splice(0)) listener(error);
      notify();
    },
    onFailure: (callback) => void listeners.push(callback),
    async wait(atMostMs = Infinity) {
      throwIfFailed();
      await waitOut(atMostMs);
      throwIfFailed();
    },
    waitOut,
    throwIfFailed,
  };
}
