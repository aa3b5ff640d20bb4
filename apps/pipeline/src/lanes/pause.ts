import type { Clock } from '@headgate/throttle';

/** Resolves after `ms`, or when the signal aborts. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>();
  const cancel = clock.schedule(ms, over.resolve);
  await Promise.race([over.promise, aborted(signal)]);
  cancel();
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
