import { Observable, type ObservableInput, from } from 'rxjs';
import { onAbort } from '../abort.ts';
import { type Credit, type CreditPool, creditPool } from '../admission/credit-pool.ts';
import { rangeChecks } from '../number-checks.ts';
import { type Delivery, type PageReader, type PageReadOptions, releaseAll } from './page-reader.ts';

/** Options of {@link drain}. */
export interface DrainOptions {
  /** Maximum items requested or delivered and not yet acknowledged. Default 20,000; ignored if `credits` is set. */
  readonly maxOutstanding?: number;
  /** A pool shared with other drains. Default: its own pool. */
  readonly credits?: CreditPool;
  /** Maximum pages to request while earlier ones wait or are being projected. Default: as many as credit allows. */
  readonly readAhead?: number;
  /** Maximum pages to project at a time. Their projections begin in order. Default 1. */
  readonly concurrency?: number;
  /** Identifies the walk in the queue and in gauges. Default: the reader provides one. */
  readonly walk?: object;
  /** An abort ends the drain with the signal's reason: the request in flight is aborted and the projection unsubscribed. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Delivers pages in order, by default one at a time. A page is acknowledged when the Observable or promise of `project` completes.
 *
 * - *Emits when* the projection of a page emits.
 * - *Backpressures when* credit is used up: a page is requested only while there is capacity for it.
 * - *Completes when* the walk has ended and its last projection has completed.
 * - *Cancels when* the consumer unsubscribes: the request in flight is aborted and the projection unsubscribed.
 *
 * Errors of the walk come after the pages before them were acknowledged; an error of a projection ends the drain at once.
 */
export function drain<T, R>(
  open: (options: PageReadOptions) => PageReader<T>,
  project: (page: T) => ObservableInput<R>,
  { maxOutstanding = 20_000, credits, readAhead = Infinity, concurrency = 1, walk, signal }: DrainOptions = {},
): Observable<R> {
  const check = rangeChecks('drain');
  check.whole({ maxOutstanding }, 1, Infinity);
  check.whole({ readAhead }, 0, Infinity);
  check.whole({ concurrency }, 1, Infinity);
  return new Observable<R>((subscriber) => {
    subscriber.add(onAbort(signal, (reason) => subscriber.error(reason)));
    if (subscriber.closed) return;
    const left = new AbortController();
    const pool = credits ?? creditPool({ max: maxOutstanding });
    const reader = open({ credits: pool, signal: left.signal, ...(walk !== undefined && { walk }) });
    const waiting: Delivery<T>[] = [];
    // Holds credits instead of deliveries, so that a page can be freed while its projection waits.
    const projected = new Set<Credit>();
    let reading = false;
    let end: { readonly error?: unknown } | undefined;
    let delivering = false;

    const request = (): void => {
      if (reading || end !== undefined || subscriber.closed) return;
      if (waiting.length + projected.size > readAhead) return;
      reading = true;
      reader.read().then(
        (deliveries) => {
          reading = false;
          if (subscriber.closed) {
            releaseAll(deliveries);
            return;
          }
          if (deliveries === undefined) end = {};
          else for (const delivery of deliveries) waiting.push(delivery);
          // Requests the next page before it delivers this one, so that a journal can make the next grant durable together with this page.
          request();
          deliver();
        },
        (error: unknown) => {
          end = { error };
          deliver();
        },
      );
    };

    // A loop, because a recursion would overflow the stack if thousands of projections completed synchronously.
    const deliver = (): void => {
      if (delivering) return;
      delivering = true;
      while (projected.size < concurrency && !subscriber.closed) {
        const next = waiting.shift();
        if (next === undefined) break;
        projected.add(next.credit);
        begin(next.value, next.credit);
      }
      delivering = false;
      if (projected.size > 0 || end === undefined || subscriber.closed) return;
      if ('error' in end) subscriber.error(end.error);
      else subscriber.complete();
    };

    const acknowledged = (credit: Credit): void => {
      projected.delete(credit);
      credit.release();
      deliver();
      request();
    };

    const begin = (value: T, credit: Credit): void => {
      try {
        const projection = from(project(value)).subscribe({
          next: (result) => subscriber.next(result),
          error: (error: unknown) => subscriber.error(error),
          complete: () => acknowledged(credit),
        });
        // If the consumer unsubscribed while the projection was starting, this unsubscribes it.
        subscriber.add(projection);
      } catch (error) {
        subscriber.error(error);
      }
    };

    subscriber.add(() => {
      left.abort();
      for (const credit of projected) credit.release();
      releaseAll(waiting.splice(0));
    });
    request();
  });
}
