import type { Credit } from '@headgate/throttle';
import { abortable } from '@headgate/throttle/internal';
import type { QueryOptions } from '../source.ts';

/** Waits for capacity, and reserves it for results that need no request. Rejects with `signal.reason` when aborted. */
export function waitForCredit(items: number, { credits, signal }: QueryOptions): Promise<Credit> {
  return abortable(signal, (resolve) => {
    const reserve = (): void => {
      if (credits.hasRoom(items)) resolve(credits.reserve(items));
    };
    reserve();
    return credits.onRelease(reserve);
  });
}
