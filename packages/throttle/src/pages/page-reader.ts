import type { Credit, CreditPool } from '../admission/credit-pool.ts';

/** A walk that is read page by page, as demand allows. */
export interface PageReader<T> {
  /**
   * Requests the next page as soon as budget permits and credit has capacity. Resolves to the values of the page, or of a stage's output for
   * it, which may be none; undefined after the last page. Wait for the result of a call before the next call. Rejects when the walk has
   * failed, and with the signal's reason when it was aborted.
   */
  read(): Promise<readonly Delivery<T>[] | undefined>;
}

/** Options of a walk's reader. */
export interface PageReadOptions {
  /** Pool from which a page's credit is reserved before the page is requested. */
  readonly credits: CreditPool;
  /** An abort ends the walk: it aborts the request in flight. Abort it when you need no more pages. */
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

/** Releases the credit of deliveries that will never be processed. */
export function releaseAll(deliveries: Iterable<Delivery<unknown>> = []): void {
  for (const { credit } of deliveries) credit.release();
}
