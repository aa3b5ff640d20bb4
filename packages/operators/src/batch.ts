import { asyncScheduler, Observable, takeUntil, type OperatorFunction, type SchedulerLike, type Subscription } from 'rxjs';
import { invalidOption } from './operator-error.ts';

/** Options of {@link batch}. */
export interface BatchOptions {
  /** How many items make a batch full: never more are held. */
  readonly size: number;
  /** How long the first item of a batch may wait, in milliseconds; `Infinity` for as long as it takes to fill. */
  readonly maxWaitMs: number;
  /** The clock of `maxWaitMs`. Default: `asyncScheduler`. */
  readonly scheduler?: SchedulerLike;
}

/** The maximum delay of a timer; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Gathers items into batches, in order; never an empty one.
 *
 * *Emits when* a batch is full, `maxWaitMs` after its first item, and when the items complete.
 * *Backpressures when* never: it emits a full batch before the item's `next` returns, so it holds at most `size` items, but later stages
 * hold all that arrive. It uses a timer, so it can't be a transform: under credit, use `gather` of `@headgate/throttle` instead.
 * *Completes when* the items complete, after the last batch.
 * *Cancels when* downstream cancels; an error passes at once. Both drop the unfinished batch.
 *
 * @throws {@link OperatorError} when `size` is not a whole number of at least 1, or `maxWaitMs` is longer than a timer can wait.
 */
export function batch<T>({ size, maxWaitMs, scheduler = asyncScheduler }: BatchOptions): OperatorFunction<T, T[]> {
  if (!Number.isSafeInteger(size) || size < 1) {
    throw invalidOption('batch', 'size', `must be a whole number of at least 1, not ${size}`);
  }
  if (!(maxWaitMs >= 0 && (maxWaitMs <= MAX_TIMER_MS || maxWaitMs === Infinity))) {
    throw invalidOption('batch', 'maxWaitMs', `must be 0 to ${MAX_TIMER_MS} ms or Infinity, not ${maxWaitMs}`);
  }
  return (items) =>
    new Observable((subscriber) => {
      let waiting: T[] = [];
      let timer: Subscription | undefined;
      const flush = (): void => {
        timer?.unsubscribe();
        timer = undefined;
        // Emptied first: the batch's receiver may push the next item from within.
        const full = waiting;
        waiting = [];
        if (full.length > 0) {
          subscriber.next(full);
        }
      };
      // A source that emits during subscription is stopped only by this, because there is no subscription to end yet.
      const cancelled = new Observable<void>((notify) => subscriber.add(() => notify.next()));
      const subscription = items.pipe(takeUntil(cancelled)).subscribe({
        next(item) {
          waiting.push(item);
          if (waiting.length === size) {
            flush();
          } else if (waiting.length === 1 && maxWaitMs !== Infinity) {
            timer = scheduler.schedule(flush, maxWaitMs);
          }
        },
        error: (error: unknown) => subscriber.error(error),
        complete() {
          flush();
          subscriber.complete();
        },
      });
      return () => {
        subscription.unsubscribe();
        timer?.unsubscribe();
        waiting = [];
      };
    });
}
