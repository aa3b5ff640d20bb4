import { orAborted } from '@headgate/throttle/internal';

/** A maximum of requests that sources share. */
export interface RequestAllowance {
  /**
   * Resolves, when one more request may be sent, to a function to call at its end. After the last one it waits, and rejects with the
   * signal's reason.
   */
  take(signal: AbortSignal): Promise<() => void>;
}

/** Options of {@link requestAllowance}. */
export interface RequestAllowanceOptions {
  /** Maximum number of requests, retries and redirects included. */
  readonly max: number;
  /** Called once, when all of them have ended and another one waits: it waits until its source is stopped. */
  readonly onUsedUp: () => void;
}

/** Creates an allowance for as many requests: each source that has it as its `allowance` takes from it. */
export function requestAllowance({ max, onUsedUp }: RequestAllowanceOptions): RequestAllowance {
  let left = max;
  let inFlight = 0;
  let isRefusing = false;
  let isUsedUp = false;
  const reportUsedUp = (): void => {
    if (isUsedUp || !isRefusing || inFlight > 0) return;
    isUsedUp = true;
    onUsedUp();
  };
  return {
    async take(signal) {
      signal.throwIfAborted();
      if (left > 0) {
        left -= 1;
        inFlight += 1;
        return () => {
          inFlight -= 1;
          reportUsedUp();
        };
      }
      isRefusing = true;
      reportUsedUp();
      return await orAborted(signal, new Promise<never>(() => undefined));
    },
  };
}
