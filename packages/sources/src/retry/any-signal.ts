/** A promise that `start` resolves. Rejects with `signal.reason` when aborted, after calling what `start` has returned. */
export function abortable(signal: AbortSignal, start: (resolve: () => void) => () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const abort = (): void => {
      cancel();
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', abort, { once: true });
    const cancel = start(() => {
      signal.removeEventListener('abort', abort);
      resolve();
    });
  });
}

export interface AnySignal {
  /** Aborts with the first of them, and with its reason. */
  readonly signal: AbortSignal;
  /** Aborts it independently of the signals. */
  abort(reason: unknown): void;
  /** Lets go of them: nothing aborts it any more. */
  forget(): void;
}

/**
 * Follows several signals for a while. `AbortSignal.any` leaves a weak reference on a long-lived signal for each follower; this leaves
 * nothing.
 */
export function anySignal(signals: readonly AbortSignal[]): AnySignal {
  const abort = new AbortController();
  const forget = (): void => {
    for (const signal of signals) signal.removeEventListener('abort', look);
  };
  const look = (): void => {
    const first = signals.find((signal) => signal.aborted);
    if (first === undefined) return;
    forget();
    abort.abort(first.reason);
  };
  for (const signal of signals) signal.addEventListener('abort', look);
  look();
  return {
    signal: abort.signal,
    abort(reason) {
      forget();
      abort.abort(reason);
    },
    forget,
  };
}
