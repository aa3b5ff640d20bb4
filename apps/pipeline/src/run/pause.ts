import type { Clock } from '@headgate/throttle';

/** Resolves after `ms`, or when the signal aborts. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>();
  const end = (): void => over.resolve();
  const cancel = clock.schedule(ms, end);
  signal.addEventListener('abort', end);
  if (signal.aborted) end();
  await over.promise;
  cancel();
  signal.removeEventListener('abort', end);
}
