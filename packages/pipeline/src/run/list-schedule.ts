import type { Clock } from '@headgate/throttle';
import type { NothingDue } from './job-list.ts';

/**
 * Maximum time between two checks of the wall clock, and between two retries, in ms. A timer alone wouldn't notice that the clock was set.
 */
const MAX_SLEEP_MS = 60_000;
const FIRST_RETRY_MS = 1_000;

/**
 * Enqueues entries of lists when they become due by the wall clock. Returns a function that stops the schedule. `nothingDue`: the first time
 * span in which nothing is due. `enqueueDue`: returns the next one. `onFailure`: called if it rejects, with the error and the time until the
 * next attempt, ms.
 */
export function listSchedule(
  nothingDue: NothingDue,
  enqueueDue: () => Promise<NothingDue>,
  clock: Clock,
  onFailure: (error: unknown, retryInMs: number) => void,
): () => void {
  let stopped = false;
  let cancel = (): void => undefined;
  let { from, until } = nothingDue;
  let retryMs = FIRST_RETRY_MS;

  const sleep = (ms: number): void => {
    if (!stopped) cancel = clock.schedule(Math.min(ms, MAX_SLEEP_MS), () => void wake());
  };
  const wake = async (): Promise<void> => {
    const now = clock.epochMs();
    if (now >= from && now < until) {
      sleep(until - now);
      return;
    }
    try {
      ({ from, until } = await enqueueDue());
      retryMs = FIRST_RETRY_MS;
      sleep(Math.max(0, until - clock.epochMs()));
    } catch (error) {
      if (!stopped) onFailure(error, retryMs);
      sleep(retryMs);
      retryMs = Math.min(2 * retryMs, MAX_SLEEP_MS);
    }
  };
  if (until < Infinity) sleep(until - clock.epochMs());
  return () => {
    stopped = true;
    cancel();
  };
}
