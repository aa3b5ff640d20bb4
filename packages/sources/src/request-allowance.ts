import { orAborted } from '@headgate/throttle/internal';

/** A maximum number of requests that sources share. */
export interface RequestAllowance {
  /**
   * Resolves to a function that must be called when the request has ended. If all requests are used up, waits until `signal` aborts, and
   * rejects with the signal's reason.
   */
  take(signal: AbortSignal): Promise<() => void>;
}

/** Options of {@link requestAllowance}. */
export interface RequestAllowanceOptions {
  /** Maximum number of requests, retries and redirects included. */
  readonly max: number;
  /** Called once, when all these requests have ended and another one waits. */
  readonly onUsedUp: () => void;
}

/** Creates an allowance of `max` requests. All sources that have it as their `allowance` share these. */
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
