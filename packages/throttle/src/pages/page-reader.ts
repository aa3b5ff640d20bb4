import type { Credit, CreditPool } from '../admission/credit-pool.ts';

/** A walk that is read page by page, as demand allows. */
export interface PageReader<T> {
  /**
   * Requests the next page as soon as budget permits and `credits` has capacity; undefined after the last. One call at a time. Rejects when
   * the walk has failed, and with `signal.reason` when it was aborted.
   */
  read(options: PageReadOptions): Promise<Delivery<T> | undefined>;
  /** Returns a value that came with an earlier one, without waiting; undefined if there is none. Default: none, ever. */
  take?(): Delivery<T> | undefined;
}

/** Options of `PageReader.read`. */
export interface PageReadOptions {
  /** Pool from which the page's credit is reserved before it is requested. */
  readonly credits: CreditPool;
  /** Aborts the request in flight, and gives back the credit of values that wait. */
  readonly signal: AbortSignal;
  /** Identifies the walk in the queue and in gauges. Default: the reader provides one. */
  readonly walk?: object;
}

/** A page and the credit that it holds until its consumer has processed it. */
export interface Delivery<T> {
  /** The page, or what a stage turned it into. */
  readonly value: T;
  /** Room for the items of `value`. Its holder releases it when downstream is done with them. */
  readonly credit: Credit;
}
