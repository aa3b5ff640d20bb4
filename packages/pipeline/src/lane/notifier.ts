import type { Clock } from '@headgate/throttle';

/** Lets a lane wait for notifications. A notification that comes before the wait ends the next wait immediately. */
export interface Notifier {
  notify(): void;
  /** Notifies, and makes the current and all later calls of `wait` reject with the first `error`, because the lane can't continue. */
  fail(error: unknown): void;
  /** Registers a callback for the next failure. It is called before the waiter wakes. */
  onFailure(callback: (error: unknown) => void): void;
  /** Resolves at the next notification, or after `atMostMs`. There can be only one waiter at a time. */
  wait(atMostMs?: number): Promise<void>;
  /** Waits like `wait`, but never rejects: for work that must end even after a failure. */
  waitOut(atMostMs: number): Promise<void>;
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
