import { Observable, type ObservableInput, of } from 'rxjs';
import { type CreditPool, creditPool } from './credit-pool.ts';
import { type DrainOptions, drain } from './drain.ts';
import type { Delivery, PageReader } from './page-reader.ts';

/**
 * A walk in three shapes. Each subscription, iteration or drain is a walk of its own.
 *
 * - as an `Observable` it pushes: a page is done when `next` returns;
 * - as an `AsyncIterable` it is pulled: a page is done when the next one is asked for;
 * - `drain` hands pages over under credit: a page is done when its projection completes.
 */
export class PageStream<T> extends Observable<T> implements AsyncIterable<T> {
  readonly #open: () => PageReader<T>;

  constructor(open: () => PageReader<T>) {
    // No page is asked for ahead of the one in hand: whoever pushes can't know how fast the other end is.
    super((subscriber) => drain(open, (page) => of(page), { readAhead: 0 }).subscribe(subscriber));
    this.#open = open;
  }

  /** See `drain`: the completion of what `project` returns acknowledges the page. */
  drain<R>(project: (page: T) => ObservableInput<R>, options?: DrainOptions): Observable<R> {
    return drain(this.#open, project, options);
  }

  /** A reader of this walk, for those who keep the credit themselves. */
  reader(): PageReader<T> {
    return this.#open();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    const credits: CreditPool = creditPool({ max: Infinity });
    const abort = new AbortController();
    const reader = this.#open();
    let delivery: Delivery<T> | undefined;
    try {
      while ((delivery = await reader.read({ credits, signal: abort.signal })) !== undefined) {
        yield delivery.value;
        delivery.credit.release();
      }
    } finally {
      delivery?.credit.release();
      abort.abort();
    }
  }
}
