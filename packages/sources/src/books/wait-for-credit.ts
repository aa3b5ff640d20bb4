import type { Credit, CreditPool } from '@headgate/throttle';
import { abortable } from '@headgate/throttle/internal';

export interface WaitForCreditOptions {
  readonly credits: CreditPool;
  readonly items: number;
  readonly signal?: AbortSignal | undefined;
}

/** Waits for capacity, and reserves it for results that need no request. Rejects with `signal.reason` when aborted. */
export function waitForCredit({ credits, items, signal }: WaitForCreditOptions): Promise<Credit> {
  return abortable(signal, (resolve) => {
    const reserve = (): void => {
      if (credits.hasRoom(items)) resolve(credits.reserve(items));
    };
    reserve();
    return credits.onRelease(reserve);
  });
}
