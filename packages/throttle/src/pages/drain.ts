import { Observable, type ObservableInput, type Subscription, from } from 'rxjs';
import { onAbort } from '../abort.ts';
import { type CreditPool, creditPool } from '../admission/credit-pool.ts';
import { rangeChecks } from '../number-checks.ts';
import type { Delivery, PageReader } from './page-reader.ts';

/** Options of {@link drain}. */
export interface DrainOptions {
  /** Maximum items requested or delivered and not yet acknowledged. Default 20,000; ignored if `credits` is set. */
  readonly maxOutstanding?: number;
  /** A pool shared with other drains. Default: its own pool. */
  readonly credits?: CreditPool;
  /** Maximum pages to request while one is being projected. Default: as many as credit allows. */
  readonly readAhead?: number;
  /** Identifies the walk in the queue and in gauges. Default: the reader provides one. */
  readonly walk?: object;
  /** An abort ends the drain with the signal's reason: the request in flight is aborted and the projection unsubscribed. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Delivers pages one at a time and in order. A page is acknowledged when the Observable or promise of `project` completes.
 *
 * - *Emits when* the projection of a page emits.
 * - *Backpressures when* credit is used up: a page is requested only while there is capacity for it.
 * - *Completes when* the walk has ended and its last projection has completed.
 * - *Cancels when* the consumer unsubscribes: the request in flight is aborted and the projection unsubscribed.
 *
 * Errors of the walk come after the pages before them were acknowledged; an error of a projection ends the drain at once.
 */
export function drain<T, R>(
  open: () => PageReader<T>,
  project: (page: T) => ObservableInput<R>,
  { maxOutstanding = 20_000, credits, readAhead = Infinity, walk, signal }: DrainOptions = {},
): Observable<R> {
  const check = rangeChecks('drain');
  check.whole({ maxOutstanding }, 1, Infinity);
  check.whole({ readAhead }, 0, Infinity);
  return new Observable<R>((subscriber) => {
    if (signal?.aborted === true) {
      subscriber.error(signal.reason);
      return;
    }
    subscriber.add(onAbort(signal, (reason) => subscriber.error(reason)));
    const pool = credits ?? creditPool({ max: maxOutstanding });
    const reader = open();
    const abort = new AbortController();
    const waiting: Delivery<T>[] = [];
    let current: { readonly delivery: Delivery<T>; subscription?: Subscription } | undefined;
    let reading = false;
    let end: { readonly error?: unknown } | undefined;
    let delivering = false;

    const request = (): void => {
      if (reading || end !== undefined || abort.signal.aborted) return;
      if (waiting.length + (current === undefined ? 0 : 1) > readAhead) return;
      reading = true;
      reader.read({ credits: pool, signal: abort.signal, ...(walk !== undefined && { walk }) }).then(
        (delivery) => {
          reading = false;
          if (abort.signal.aborted) {
            delivery?.credit.release();
            return;
          }
          if (delivery === undefined) end = {};
          else waiting.push(delivery);
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
      while (current === undefined && !subscriber.closed) {
        const delivery = waiting.shift();
        if (delivery === undefined) break;
        begin(delivery);
      }
      delivering = false;
      if (current !== undefined || end === undefined || subscriber.closed) return;
      if ('error' in end) subscriber.error(end.error);
      else subscriber.complete();
    };

    const begin = (delivery: Delivery<T>): void => {
      const mine: { readonly delivery: Delivery<T>; subscription?: Subscription } = { delivery };
      current = mine;
      const acknowledged = (): void => {
        current = undefined;
        delivery.credit.release();
        deliver();
        request();
      };
      try {
        const inner = from(project(delivery.value));
        const subscription = inner.subscribe({
          next: (value) => subscriber.next(value),
          error: (error: unknown) => subscriber.error(error),
          complete: acknowledged,
        });
        mine.subscription = subscription;
        // The consumer may have unsubscribed while the projection was starting, before its subscription was stored.
        if (subscriber.closed) subscription.unsubscribe();
      } catch (error) {
        subscriber.error(error);
      }
    };

    subscriber.add(() => {
      abort.abort();
      current?.subscription?.unsubscribe();
      current?.delivery.credit.release();
      for (const delivery of waiting.splice(0)) delivery.credit.release();
    });
    request();
  });
}
