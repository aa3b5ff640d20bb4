import { Observable, type ObservableInput, of } from 'rxjs';
import { latestSignal, onAbort } from '../abort.ts';
import { creditPool } from '../admission/credit-pool.ts';
import { type DrainOptions, drain } from './drain.ts';
import type { Delivery, PageReader } from './page-reader.ts';
import { readThrough, type Stage } from './through.ts';

/** Options of a {@link PageStream}. */
export interface PageStreamOptions {
  /** An abort ends each walk with the signal's reason, and aborts the request in flight. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A walk in three shapes. Each subscription, iteration or drain is a separate walk.
 *
 * - as an `Observable` it pushes: a page is done when `next` returns;
 * - as an `AsyncIterable` it is pulled: a page is done when the consumer calls for the next one;
 * - `drain` delivers pages within a limit of outstanding items: a page is done when its projection completes.
 */
export class PageStream<T> extends Observable<T> implements AsyncIterable<T> {
  readonly #open: () => PageReader<T>;

  constructor(begin: () => PageReader<T>, { signal }: PageStreamOptions = {}) {
    const open = signal === undefined ? begin : () => endedBy(begin(), signal);
    // A page is acknowledged when `next` has returned, and only then is the next page requested.
    super((subscriber) => drain(open, (page) => of(page), { readAhead: 0 }).subscribe(subscriber));
    this.#open = open;
  }

  /** Delivers the pages to `project`, as the function `drain` does. A page is acknowledged when the result of `project` completes. */
  drain<R>(project: (page: T) => ObservableInput<R>, options?: DrainOptions): Observable<R> {
    return drain(this.#open, project, options);
  }

  /**
   * Passes the pages through stages, and returns a walk in the same three shapes. The values are those that `.pipe` of the same transforms
   * returns, but with backpressure: a page returns its credit when every value made from it is acknowledged. After `.pipe`, pages are
   * requested as fast as their budget permits, however slow the consumer is.
   *
   * - *Emits when* a stage emits a value: the drain treats each as a page.
   * - *Backpressures when* the drain does, or the values of a page aren't all acknowledged and credit has no capacity for the next one.
   * - *Completes when* the walk has ended and its last value is acknowledged. A stage's error comes after the values before it.
   * - *Cancels when* the consumer unsubscribes: the request in flight is aborted, and waiting values are dropped with their credit.
   */
  through<A>(a: Stage<T, A>): PageStream<A>;
  /** Two stages: the second reads the output of the first. */
  through<A, B>(a: Stage<T, A>, b: Stage<A, B>): PageStream<B>;
  /** Three stages, each reading the output of the one before it. */
  through<A, B, C>(a: Stage<T, A>, b: Stage<A, B>, c: Stage<B, C>): PageStream<C>;
  /** Four stages, each reading the output of the one before it. */
  through<A, B, C, D>(a: Stage<T, A>, b: Stage<A, B>, c: Stage<B, C>, d: Stage<C, D>): PageStream<D>;
  /** Five stages, each reading the output of the one before it. */
  through<A, B, C, D, E>(a: Stage<T, A>, b: Stage<A, B>, c: Stage<B, C>, d: Stage<C, D>, e: Stage<D, E>): PageStream<E>;
  /** Any number of stages, none of which changes the type; without any, the unchanged walk. */
  through(...stages: readonly Stage<T, T>[]): PageStream<T>;
  through(...given: readonly Stage<never, unknown>[]): PageStream<unknown> {
    // The overloads ensure that each stage reads the output of the one before it.
    const stages = given as readonly Stage<unknown, unknown>[];
    return new PageStream(() => stages.reduce<PageReader<unknown>>(readThrough, this.#open()));
  }

  /** Returns a reader of a new walk, for callers that manage the credit themselves. */
  reader(): PageReader<T> {
    return this.#open();
  }

  /**
   * Starts a walk that requests a page when the consumer asks for it, without a limit of outstanding items. Leaving a `for await` loop
   * aborts the request in flight.
   */
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
      // A generator would end only when the page that it waits for has arrived.
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

/**
 * Returns a reader that also ends with `signal`, not only with the signal of a read: the request in flight is aborted, and reads reject
 * with the signal's reason.
 */
function endedBy<T>(reader: PageReader<T>, signal: AbortSignal): PageReader<T> {
  const abort = new AbortController();
  const end = (reason: unknown): void => abort.abort(reason);
  const watch = latestSignal(end);
  return {
    take: () => (signal.aborted ? undefined : reader.take?.()),
    async read(options) {
      watch(options.signal);
      // The signal may outlive many walks, so each read stops listening to it at its end.
      const forget = onAbort(signal, end);
      try {
        abort.signal.throwIfAborted();
        return await reader.read({ ...options, signal: abort.signal });
      } finally {
        forget();
      }
    },
  };
}
