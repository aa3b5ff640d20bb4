import type { Clock } from '@headgate/throttle';
import type { Notifier } from './notifier.ts';

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
export async function untilAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
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

/** The longest a stop waits for work in flight. */
const STOP_WITHIN_MS = 8_000;

export interface DrainInFlightOptions {
  readonly notifier: Notifier;
  readonly clock: Clock;
  readonly isBusy: () => boolean;
}

/** Waits until work in flight has been written or given up, at most 8 s. */
export async function drainInFlight({ notifier, clock, isBusy }: DrainInFlightOptions): Promise<void> {
  const deadline = clock.monotonicMs() + STOP_WITHIN_MS;
  while (isBusy() && clock.monotonicMs() < deadline) await notifier.waitOut(deadline - clock.monotonicMs());
}
