import { Observable, type ObservableInput, of } from 'rxjs';
import { creditPool } from './credit-pool.ts';
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

  [Symbol.asyncIterator](): AsyncIterator<T, void, undefined> & AsyncIterable<T> {
    const credits = creditPool({ max: Infinity });
    const abort = new AbortController();
    const reader = this.#open();
    let held: Delivery<T> | undefined;
    let last: Promise<unknown> = Promise.resolve();
    const end = (): void => {
      abort.abort();
      held?.credit.release();
      held = undefined;
    };
    const read = async (): Promise<IteratorResult<T, void>> => {
      held?.credit.release();
      held = undefined;
      if (abort.signal.aborted) return { done: true, value: undefined };
      try {
        held = await reader.read({ credits, signal: abort.signal });
      } catch (error) {
        const wasLeft = abort.signal.aborted;
        end();
        if (wasLeft) return { done: true, value: undefined };
        throw error;
      }
      if (abort.signal.aborted || held === undefined) {
        end();
        return { done: true, value: undefined };
      }
      return { done: false, value: held.value };
    };
    return {
      next() {
        const result = last.then(read);
        last = result.catch(() => undefined);
        return result;
      },
      // A generator would only come to its end when the page it waits for has come.
      return() {
        end();
        return Promise.resolve({ done: true, value: undefined });
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }
}
