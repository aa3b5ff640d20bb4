import type { Clock } from '@headgate/throttle';
import type { Notifier } from './notifier.ts';
import { WRITTEN_WITHIN_MS } from './stop-deadline.ts';

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

/** Resolves with `promise`, or when the signal aborts. */
export async function untilAborted(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>();
  const end = (): void => over.resolve();
  signal.addEventListener('abort', end);
  if (signal.aborted) end();
  try {
    await Promise.race([promise, over.promise]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

export interface DrainInFlightOptions {
  readonly notifier: Notifier;
  readonly clock: Clock;
  readonly isBusy: () => boolean;
  /** Aborts when a stop waits no longer. */
  readonly written: AbortSignal;
}

/** Waits until work in flight has been written or given up, at most 8 s, and not after `written` aborts. */
export async function drainInFlight({ notifier, clock, isBusy, written }: DrainInFlightOptions): Promise<void> {
  const deadline = clock.monotonicMs() + WRITTEN_WITHIN_MS;
  const wake = (): void => notifier.notify();
  written.addEventListener('abort', wake);
  while (isBusy() && !written.aborted && clock.monotonicMs() < deadline) await notifier.waitOut(deadline - clock.monotonicMs());
  written.removeEventListener('abort', wake);
}
