import type { Credit, CreditPool } from '../admission/credit-pool.ts';

/** A walk that is read page by page, as demand allows. */
export interface PageReader<T> {
  /**
   * Requests the next page as soon as budget permits and `credits` has capacity; undefined after the last page. Wait for the result of a
   * call before the next call. Rejects when the walk has failed, and with `signal.reason` when it was aborted.
   */
  read(options: PageReadOptions): Promise<Delivery<T> | undefined>;
  /**
   * Returns another value that has already arrived, without waiting; undefined if there is none. Absent if each read returns everything
   * that has arrived.
   */
  take?(): Delivery<T> | undefined;
}

/** Options of `PageReader.read`. */
export interface PageReadOptions {
  /** Pool from which the page's credit is reserved before the page is requested. */
  readonly credits: CreditPool;
  /** An abort ends the request in flight, and releases the credit of waiting values. */
  readonly signal: AbortSignal;
  /** Identifies the walk in the queue and in gauges. Default: the reader provides one. */
  readonly walk?: object;
}

/** A page and the credit that it holds until its consumer has processed it. */
export interface Delivery<T> {
  /** The page, or a value that a stage made from it. */
  readonly value: T;
  /** Capacity for the items of `value`. Its holder releases it when downstream has processed them. */
  readonly credit: Credit;
}
