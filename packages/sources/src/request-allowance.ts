import { abortable } from '@headgate/throttle/internal';

/** A maximum number of requests that sources share. */
export interface RequestAllowance {
  /**
   * Resolves to a function that must be called when the request has ended: with `unsent` to give it back, because it wasn't sent. If all
   * requests are taken, waits for one that is given back. Rejects with the signal's reason when aborted.
   */
  take(signal: AbortSignal): Promise<(how?: 'unsent') => void>;
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
  let isUsedUp = false;
  const waiting = new Set<() => void>();
  const proceed = (): void => {
    const [next] = waiting;
    if (isUsedUp || next === undefined) return;
    if (left > 0) next();
    else if (inFlight === 0) {
      isUsedUp = true;
      onUsedUp();
    }
  };
  const taken = (): ((how?: 'unsent') => void) => {
    left -= 1;
    inFlight += 1;
    return (how) => {
      inFlight -= 1;
      if (how === 'unsent') left += 1;
      proceed();
    };
  };
  return {
    take: (signal) =>
      abortable(signal, (resolve) => {
        const next = (): void => resolve(taken());
        waiting.add(next);
        proceed();
        return () => waiting.delete(next);
      }),
  };
}
