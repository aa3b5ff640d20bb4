import { Observable, type ObservableInput, of } from 'rxjs';
import { anySignal } from '../abort.ts';
import { creditPool } from '../admission/credit-pool.ts';
import { type DrainOptions, drain } from './drain.ts';
import { type Delivery, type PageReader, type PageReadOptions, releaseAll } from './page-reader.ts';
import { readThrough, type Stage } from './through.ts';

/** Options of a {@link PageStream}. */
export interface PageStreamOptions {
  /** An abort ends each walk with the signal's reason, after the values that have arrived, and aborts the request in flight. */
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
  readonly #open: (options: PageReadOptions) => PageReader<T>;
  readonly #signal: AbortSignal | undefined;

  /** `open` begins a walk. */
  constructor(open: (options: PageReadOptions) => PageReader<T>, { signal }: PageStreamOptions = {}) {
    // A page is acknowledged when `next` has returned, and only then is the next page requested.
    super((subscriber) => this.drain((page) => of(page), { readAhead: 0 }).subscribe(subscriber));
    this.#open = open;
    this.#signal = signal;
  }

  /** Delivers the pages to `project`, as the function `drain` does. A page is acknowledged when the result of `project` completes. */
  drain<R>(project: (page: T) => ObservableInput<R>, options?: DrainOptions): Observable<R> {
    return drain((reading) => this.reader(reading), project, options);
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
    return new PageStream((reading) =>
      stages.reduce<PageReader<unknown>>((values, stage) => readThrough(values, stage, reading.signal), this.reader(reading)),
    );
  }

  /** Begins a walk, for callers that manage the credit themselves. */
  reader(options: PageReadOptions): PageReader<T> {
    const { signal } = anySignal([options.signal, this.#signal]);
    const reader = this.#open({ ...options, signal });
    const ended = (reason: unknown): never => {
      signal.throwIfAborted();
      throw reason;
    };
    return {
      async read() {
        signal.throwIfAborted();
        const deliveries = await reader.read().catch(ended);
        if (!signal.aborted) return deliveries;
        releaseAll(deliveries);
        throw signal.reason;
      },
    };
  }

  /**
   * Starts a walk that requests a page when the consumer asks for it, without a limit of outstanding items. Leaving a `for await` loop
   * aborts the request in flight.
   */
  [Symbol.asyncIterator](): AsyncIterator<T, void, undefined> & AsyncIterable<T> {
    const left = new AbortController();
    const values = this.#values(left);
    return {
      next: () => values.next(),
      // A generator alone would end only when the page that it waits for has arrived.
      return() {
        left.abort();
        return values.return();
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  async *#values(left: AbortController): AsyncGenerator<T, void, undefined> {
    const reader = this.reader({ credits: creditPool({ max: Infinity }), signal: left.signal });
    let ready: readonly Delivery<T>[] | undefined;
    try {
      while ((ready = await reader.read()) !== undefined) {
        for (const { value, credit } of ready) {
          yield value;
          credit.release();
        }
      }
    } catch (error) {
      if (!left.signal.aborted) throw error;
    } finally {
      left.abort();
      releaseAll(ready);
    }
  }
}
