import type { Clock } from '@headgate/throttle';
import { type CountOptions, type OpenDeadLetters, countOpenOf } from './open-dead-letters.ts';
import { every } from './run-view.ts';
import { totalOf } from './text/number-words.ts';

/** Delay of the first count. A run that ends earlier counts once, at its end. */
const FIRST_COUNT_MS = 1_000;
/** Interval at which the watch decides whether to count again. */
const COUNT_NEW_MS = 10_000;
/** Age (ms) at which a count is repeated while dead letters are open, because another process can replay or dismiss them. */
const COUNT_AGAIN_MS = 60_000;
/** Minimum time between the end of a count and the next automatic one, as a multiple of the count's duration. */
const SHARE = 20;

export interface OpenDeadLettersWatchOptions extends Omit<CountOptions, 'signal'> {
  readonly clock: Clock;
  readonly onCounted: (open: OpenDeadLetters) => void;
}

export interface OpenDeadLettersWatch {
  /** Call after this run has written a dead letter. */
  changed(): void;
  count(): Promise<void>;
  close(): void;
}

/** Counts the open dead letters after a second, and again after this run has written more, or while any are open. */
export function watchOpenDeadLetters(options: OpenDeadLettersWatchOptions): OpenDeadLettersWatch {
  const { clock, onCounted, ...where } = options;
  const over = new AbortController();
  let counting: Promise<void> | undefined;
  let hasChanged = false;
  let total = 0;
  let countedAtMs = -Infinity;
  let tookMs = 0;

  const countAll = async (): Promise<void> => {
    const startedMs = clock.monotonicMs();
    hasChanged = false;
    const open = await countOpenOf({ ...where, signal: over.signal });
    if (over.signal.aborted) return;
    countedAtMs = clock.monotonicMs();
    tookMs = countedAtMs - startedMs;
    total = Object.values(open).reduce((sum, byCode) => sum + totalOf(byCode), 0);
    onCounted(open);
  };
  const count = async (): Promise<void> => {
    await counting;
    // Lanes report a log that can't be read, so this error is dropped.
    counting = countAll().catch(() => undefined);
    await counting;
    counting = undefined;
  };
  const stop = every(clock, COUNT_NEW_MS, () => {
    const agoMs = clock.monotonicMs() - countedAtMs;
    const isDue = hasChanged || (total > 0 && agoMs >= COUNT_AGAIN_MS);
    if (isDue && counting === undefined && agoMs >= SHARE * tookMs) void count();
  });
  const cancelFirst = clock.schedule(FIRST_COUNT_MS, () => void count());
  return {
    changed: () => void (hasChanged = true),
    count,
    close() {
      stop();
      cancelFirst();
      over.abort();
    },
  };
}
