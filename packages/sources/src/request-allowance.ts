import { rangeChecks } from '@headgate/throttle/internal';

/** A maximum number of requests that sources share. */
export interface RequestAllowance {
  /** True while each of the requests is taken. One that isn't sent is given back. */
  readonly isTaken: boolean;
  /** Adds a request that waits for its permit. */
  wait(sender: AllowanceSender): AllowedRequest;
}

/** A source that shares an allowance. */
export interface AllowanceSender {
  /** False if no waiting request of the source can start, for example because its credentials were refused. */
  readonly canSend: boolean;
  /** Called when a request of the allowance is given back. */
  readonly onGivenBack: () => void;
}

/** A request that waits for its permit, or has it. */
export interface AllowedRequest {
  /** Takes one of the requests. Call it in the synchronous step in which the permit is granted, and only if `isTaken` is false. */
  take(): void;
  /** Ends the wait, or the request. With `unsent`, a taken request is given back. Without effect after the first call. */
  end(how?: 'unsent'): void;
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
  rangeChecks('requestAllowance').whole({ max }, 1);
  let left = max;
  let inFlight = 0;
  let isUsedUp = false;
  const waiting = new Map<AllowedRequest, AllowanceSender>();
  const endIfUsedUp = (): void => {
    if (isUsedUp || left > 0 || inFlight > 0 || !waiting.values().some(({ canSend }) => canSend)) return;
    isUsedUp = true;
    onUsedUp();
  };
  return {
    get isTaken() {
      return left === 0;
    },
    wait(sender) {
      let isInFlight = false;
      const request: AllowedRequest = {
        take() {
          waiting.delete(request);
          isInFlight = true;
          left -= 1;
          inFlight += 1;
        },
        end(how) {
          waiting.delete(request);
          if (!isInFlight) return;
          isInFlight = false;
          inFlight -= 1;
          if (how === 'unsent') {
            left += 1;
            for (const { onGivenBack } of new Set(waiting.values())) onGivenBack();
          }
          endIfUsedUp();
        },
      };
      waiting.set(request, sender);
      endIfUsedUp();
      return request;
    },
  };
}
