import { creditPool, type Delivery, type PageStream } from '@headgate/throttle';
import type { BudgetSlots } from '../budget-slots.ts';
import { defineSource, pagingCalls } from '../define-source.ts';
import type { QueryOptions, SourceGauges } from '../source.ts';
import { mapPages, walkPages } from '../walk-pages.ts';
import {
  type AuthorPage,
  authorPage,
  type AuthorPageAnswer,
  type AuthorPageQuery,
  type AuthorPagesOptions,
  authorPaging,
} from './author-pages.ts';
import { invalidOption } from './books-errors.ts';
import { classifyBooks } from './classify.ts';
import { Doubt } from './doubt.ts';
import type { IsbnInput } from './isbn-input.ts';
import { EarlyItems, lookup } from './lookup.ts';
import { type BooksOptions, checkedBooksOptions } from './options.ts';
import {
  type AuthorOptions,
  authorQuery,
  type BatchEntry,
  batchEntry,
  type BooksQuery,
  isbnsToSend,
  itemsRequested,
  subjectOf,
  toRequest,
  validIsbns,
} from './query.ts';
import { type AuthorAnswer, type BookAnswer, type BooksValue, type FoundBook, itemsOf } from './results.ts';
import { waitForCredit } from './wait-for-credit.ts';

/** A book catalog: books by ISBN, singly or in batches, and authors by name. */
export interface Books extends AsyncDisposable {
  /**
   * Looks up one book. Rejects with a `SourceError`: `HEADGATE_BOOK_NOT_FOUND`, `HEADGATE_INVALID_ISBN` before any request, or another that
   * names the cause. Rejects with `signal.reason` when aborted.
   */
  book(isbn: string, options?: { readonly signal?: AbortSignal }): Promise<FoundBook>;
  /**
   * Looks up an author and one page of their books. Rejects with a `SourceError`, such as `HEADGATE_AUTHOR_NOT_FOUND`, or with
   * `signal.reason`.
   */
  author(name: string, options?: AuthorOptions & { readonly signal?: AbortSignal }): Promise<AuthorAnswer>;
  /**
   * Walks all pages of an author's books; each subscription, iteration or drain is a separate walk.
   *
   * - *Emits when* a page has arrived, as soon as budget and demand permit.
   * - *Backpressures when* downstream has no capacity for `pageSize` more books.
   * - *Completes when* a page is empty, repeats the first page or the one before, or doesn't exist (unless it is page 1). This costs one
   *   request after the last page with books. `mayBeCut` of the last page says whether books may be missing.
   * - *Cancels when* the consumer unsubscribes, or `signal` aborts: the request in flight is aborted.
   *
   * Throws a `SourceError` with `HEADGATE_INVALID_OPTION` before any request. The walk ends with a `SourceError` with the code
   * `HEADGATE_AUTHOR_NOT_FOUND`, `HEADGATE_PAGE_LIMIT`, `HEADGATE_GAVE_UP` or another that names the cause.
   */
  authorPages(name: string, options?: AuthorPagesOptions): PageStream<AuthorPage>;
  /** Requests a page of an author's books when the pool has capacity for it. Rejects with a `SourceError` or `signal.reason`. */
  query(query: AuthorPageQuery, options: QueryOptions): Promise<Delivery<AuthorPageAnswer>>;
  /**
   * Looks up a list of ISBNs in batches: one response for each requested ISBN, found or not, in the order of the list.
   *
   * - *Emits when* a batch has arrived; a malformed ISBN is emitted in its turn. A batch is sent when it is full, when the input has ended,
   *   or `batchWaitMs` after its first ISBN. An ISBN that is repeated in a batch is sent only once.
   * - *Backpressures when* earlier responses aren't consumed, or downstream has no capacity. At first one batch is in flight. Each delivered
   *   batch permits one more, up to the number of requests per window. Items of an Observable are buffered as they arrive.
   * - *Completes when* the input has ended and its last response is consumed. If the input or a batch fails, the walk ends with that error,
   *   after the earlier responses.
   * - *Cancels when* the consumer unsubscribes, or `signal` aborts: requests in flight are aborted, and no more input is read.
   */
  lookup(isbns: IsbnInput, options?: { readonly signal?: AbortSignal | undefined }): PageStream<BookAnswer>;
  /**
   * Looks up at most `maxBatch` different ISBNs in one request when the pool has capacity. Resolves to one response for each ISBN, in the
   * order of `isbns`, followed by the records that couldn't be read. Rejects as a whole with a `SourceError`, or with `signal.reason`.
   */
  batch(isbns: readonly string[], options: QueryOptions): Promise<Delivery<readonly BookAnswer[]>>;
  /** Returns the state of each budget and each unfinished query, and the number of ignored records. */
  gauges(): BooksGauges;
  /** Returns when the slots of each budget become free, for forecasts. */
  slots(): readonly BudgetSlots[];
  /**
   * Starts no further request. Calls that wait for one, and later calls, reject with `HEADGATE_STOPPED`. Requests in flight continue to
   * their end.
   */
  stop(): void;
  /** Aborts the requests in flight and closes the connections. */
  close(): Promise<void>;
}

/** The state of a client of the books service: budgets, unfinished queries, ignored records, and the rest of the daily quota. */
export interface BooksGauges extends SourceGauges {
  /**
   * Number of ignored records: those that weren't requested, that appeared twice in a batch, or that were unreadable beyond one per ISBN.
   */
  readonly ignoredRecords: number;
  /**
   * ISBNs left of the daily quota, after the queued requests that still fit into it. With several keys, the largest remainder counts.
   * Absent without a quota.
   */
  readonly leftToday?: number;
}

/** Creates a client of the books service. Throws a `SourceError` with `HEADGATE_INVALID_OPTION` for invalid options. */
export function books(options: BooksOptions): Books {
  const checked = checkedBooksOptions(options);
  const { maxBatch, hasQuota, source: sourceOptions } = checked;
  const names = sourceOptions.credentials.map(({ name }) => name);
  const source = defineSource<BooksQuery, BooksValue>({
    service: 'books',
    toRequest,
    classify: classifyBooks(checked),
    subject: subjectOf,
    items: itemsRequested,
    itemsOf,
    // With a quota, a query also costs one unit per ISBN, or one for an author's page.
    ...(hasQuota && { weights: (query: BooksQuery) => ({ isbns: query.kind === 'batch' ? isbnsToSend(query).length : 1 }) }),
    // Without a choice, each query keeps the credentials that are left.
    ...(names.length > 1 && { credentialsOf: (query: BooksQuery) => ('only' in query && query.only !== undefined ? [query.only] : names) }),
  })({
    ...sourceOptions,
    onAttempt(event) {
      doubt.saw(event);
      options.onAttempt?.(event);
    },
  });
  const doubt: Doubt = new Doubt((query, reading) => source.query(query, reading), checked);
  const unlimited = creditPool({ max: Infinity });
  const early = new EarlyItems();
  let ignoredRecords = 0;

  const queryBatch = async (entries: readonly BatchEntry[], reading: QueryOptions): Promise<Delivery<readonly BookAnswer[]>> => {
    const invalid = entries.filter((entry) => entry.isbn === undefined);
    if (invalid.length === entries.length) return { value: invalid, credit: await waitForCredit(entries.length, reading) };
    const { value, credit } = await doubt.batch({ kind: 'batch', entries }, reading);
    ignoredRecords += value.ignored;
    return { value: value.answers, credit };
  };
  const queryAuthor = async (name: string, reading: QueryOptions & AuthorOptions): Promise<Delivery<AuthorAnswer>> => {
    const { value, credit } = await doubt.author(authorQuery(name, reading), reading);
    return { value: value.answer, credit };
  };
  const queryPage: Books['query'] = (page, reading) => authorPage(queryAuthor, page, reading);
  const stop = (): void => {
    source.stop();
    doubt.stop();
  };
  const close = async (): Promise<void> => {
    const closed = source.close();
    doubt.stop();
    await closed;
  };

  return {
    async book(requested, { signal } = {}) {
      const entry = batchEntry(requested);
      if (entry.isbn === undefined) throw entry.error;
      return await doubt.book(entry, signal);
    },
    async author(name, page = {}) {
      const { value } = await queryAuthor(name, { ...page, credits: unlimited });
      return value;
    },
    authorPages(name, walk = {}) {
      const paging = authorPaging(name, walk);
      const walked = walkPages({ ...walk, ...pagingCalls('books'), paging, service: 'books', subject: () => name, query: queryPage });
      return mapPages(walked, ({ page, next }) => ({ ...page, next }));
    },
    query: queryPage,
    lookup: (isbns, { signal } = {}) => lookup(isbns, signal, checked, early, queryBatch),
    async batch(isbns, reading) {
      const entries = isbns.map(batchEntry);
      const { length } = validIsbns(entries);
      if (length > maxBatch)
        throw invalidOption(`a batch of ${length} ISBNs is larger than maxBatch (${maxBatch}): use lookup, or split it`);
      return queryBatch(entries, reading);
    },
    gauges() {
      const gauges = source.gauges();
      const queries = [...gauges.queries, ...doubt.waiting];
      return { ...gauges, queries, ignoredRecords, ...(hasQuota && { leftToday: leftToday(gauges) }) };
    },
    slots: () => source.slots(),
    stop,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function leftToday({ budgets, queries }: SourceGauges): number {
  const quotas = budgets.filter(({ budget }) => budget === 'isbns');
  let left = Math.max(0, ...quotas.map(({ limit, used }) => limit - used));
  // A request that needs more than the rest of the quota waits for the next reset.
  for (const { state, weights } of queries) {
    const { isbns = 1 } = weights ?? {};
    if ((state === 'queued' || state === 'service-down') && isbns <= left) left -= isbns;
  }
  return left;
}
