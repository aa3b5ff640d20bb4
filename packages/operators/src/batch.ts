import { asyncScheduler, Observable, takeUntil, type OperatorFunction, type SchedulerLike, type Subscription } from 'rxjs';
import { optionChecks } from './operator-error.ts';

/** Options of {@link batch}. */
export interface BatchOptions {
  /** Number of items in a full batch. */
  readonly size: number;
  /** Maximum time from a batch's first item until the batch is emitted, in milliseconds. `Infinity`: no maximum. */
  readonly maxWaitMs: number;
  /** Scheduler of the timer for `maxWaitMs`. Default: `asyncScheduler`. */
  readonly scheduler?: SchedulerLike;
}

/** Maximum delay of a timer, in ms. Node.js fires a timer with a longer delay after 1 ms. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Gathers items into batches, in order. No batch is empty.
 *
 * *Emits when* a batch is full, `maxWaitMs` after its first item, and when the items complete.
 * *Backpressures when* never. It emits a full batch before `next` of the last item returns, so it holds at most `size` items.
 * *Completes when* the items complete, after the last batch.
 * *Cancels when* downstream cancels. Drops the unfinished batch, as does an error, which passes immediately.
 *
 * It uses a timer, so it isn't a transform for `pages.through(…)`. There, use `gather` of `@headgate/throttle`.
 *
 * @throws {@link OperatorError} when `size` isn't a whole number of at least 1, or `maxWaitMs` isn't `Infinity` or from 0 to 2^31 - 1.
 */
export function batch<T>({ size, maxWaitMs, scheduler = asyncScheduler }: BatchOptions): OperatorFunction<T, T[]> {
  const check = optionChecks('batch');
  check.whole({ size }, 1);
  if (maxWaitMs !== Infinity) check.number({ maxWaitMs }, 0, MAX_TIMER_MS);
  return (items) =>
    new Observable((subscriber) => {
      let waiting: T[] = [];
      let timer: Subscription | undefined;
      const flush = (): void => {
        timer?.unsubscribe();
        timer = undefined;
        // Empty the batch before emitting it, because its receiver can push the next item in the same call.
        const full = waiting;
        waiting = [];
        if (full.length > 0) {
          subscriber.next(full);
        }
      };
      // `cancelled` also stops a source that emits during `subscribe`, before `subscription` is assigned.
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
