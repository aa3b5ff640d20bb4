import type { Credit, CreditPool } from '@headgate/throttle';

export interface WaitForCreditOptions {
  readonly credits: CreditPool;
  readonly items: number;
  readonly signal?: AbortSignal;
}

/** Waits for capacity for results that need no request. Rejects with `signal.reason` when aborted. */
export function waitForCredit({ credits, items, signal }: WaitForCreditOptions): Promise<Credit> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      unwatch();
      signal?.removeEventListener('abort', abort);
    };
    const abort = (): void => {
      stop();
      reject(signal?.reason);
    };
    const look = (): void => {
      if (!credits.hasRoom(items)) return;
      stop();
      resolve(credits.reserve(items));
    };
    const unwatch = credits.onRelease(look);
    signal?.addEventListener('abort', abort);
    if (signal?.aborted) abort();
    else look();
  });
}
