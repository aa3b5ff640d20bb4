import { creditPool, type Delivery, type PageStream } from '@headgate/throttle';
import type { BudgetSlots } from '../budget-slots.ts';
import { defineSource, pagingCalls } from '../define-source.ts';
import type { QueryOptions, SourceGauges } from '../source.ts';
import {
  type AuthorPage,
  authorPage,
  type AuthorPageAnswer,
  type AuthorPageQuery,
  type AuthorPagesOptions,
  authorPaging,
} from './author-pages.ts';
import { mapPages, walkPages } from '../walk-pages.ts';
import { classifyBooks } from './classify.ts';
import type { IsbnInput } from './isbn-input.ts';
import { lookup } from './lookup.ts';
import { type BooksOptions, checkedBooksOptions, invalidOption } from './options.ts';
import { prefetch } from './prefetch.ts';
import {
  type BatchEntry,
  type BooksQuery,
  batchEntry,
  isbnsToSend,
  subjectOf,
  type AuthorOptions,
  authorQuery,
  DEFAULT_PAGE_SIZE,
  toRequest,
} from './query.ts';
import { type AuthorAnswer, type BookAnswer, type BooksValue, type FoundBook, itemsOf } from './results.ts';
import { waitForCredit } from './wait-for-credit.ts';

/** A book catalog: books by ISBN, singly or in batches, and authors by name. */
export interface Books extends AsyncDisposable {
  /**
   * Looks one book up. Rejects with a `SourceError`: `HEADGATE_BOOK_NOT_FOUND`, or `HEADGATE_INVALID_ISBN` before a request is
   * spent; with `signal.reason` when aborted.
   */
  book(isbn: string, options?: { readonly signal?: AbortSignal }): Promise<FoundBook>;
  /** Looks an author up, with one page of their books. Rejects with a `SourceError` (`HEADGATE_AUTHOR_NOT_FOUND`) or `signal.reason`. */
  author(name: string, options?: AuthorOptions & { readonly signal?: AbortSignal }): Promise<AuthorAnswer>;
  /**
   * Walks all pages of an author's books; each subscription, iteration or drain is a separate walk.
   *
   * - *Emits when* a page has arrived, as soon as budget and demand permit.
   * - *Backpressures when* downstream has no capacity for `pageSize` more books.
   * - *Completes when* a page has fewer books than the first, or none, or repeats an earlier one, or doesn't exist. A first page with fewer
   *   books than requested is the last, except for a multiple of ten, which may be the service's own page size.
   * - *Cancels when* unsubscribed, or when `signal` is aborted: the request in flight is aborted.
   *
   * Throws a `SourceError` with `HEADGATE_INVALID_OPTION` before a request is spent. The walk ends with one of the code
   * `HEADGATE_AUTHOR_NOT_FOUND`, `HEADGATE_PAGE_LIMIT`, `HEADGATE_GAVE_UP` or another that names the cause.
   */
  authorPages(name: string, options?: AuthorPagesOptions): PageStream<AuthorPage>;
  /**
   * Requests a page of an author's books under credit: for `walk` of `@headgate/pipeline`, whose `paging` is `authorPaging(name)`. Rejects with
   * a `SourceError` or `signal.reason`.
   */
  query(query: AuthorPageQuery, options: QueryOptions): Promise<Delivery<AuthorPageAnswer>>;
  /**
   * Looks up a list of ISBNs in batches: one response for each requested ISBN, found or not, in the order of the list.
   *
   * - *Emits when* a batch has arrived, and for malformed ISBNs in their turn. A batch is sent when it is full, when the input has ended,
   *   or `batchWaitMs` after its first ISBN. A repeated ISBN of a batch is sent once and answered twice.
   * - *Backpressures when* the responses before it aren't consumed or credit is used up: at first it reads the input at most one batch
   *   ahead, and later one for each request of the budget's window. Items of an Observable are buffered as they arrive.
   * - *Completes when* the input has ended and its last response is consumed. It ends with the error of the input or of a batch after the
   *   responses before it.
   * - *Cancels when* unsubscribed, or when `signal` is aborted: requests in flight are aborted, and no more input is read.
   */
  lookup(isbns: IsbnInput, options?: { readonly signal?: AbortSignal | undefined }): PageStream<BookAnswer>;
  /**
   * Looks up at most `maxBatch` ISBNs in one request, under credit: one response each, in the order of `isbns`; then any records that match
   * none. Rejects as a whole with a `SourceError`, or with `signal.reason`.
   */
  batch(isbns: readonly string[], options: QueryOptions): Promise<Delivery<readonly BookAnswer[]>>;
  /** The state of its budgets and of each query, and how many records were ignored. */
  gauges(): BooksGauges;
  /** When the slots of each budget become free, for forecasts. */
  slots(): readonly BudgetSlots[];
  /**
   * Starts no further request: calls that wait for one, and later calls, reject with `HEADGATE_STOPPED`; requests in flight run to their
   * end.
   */
  stop(): void;
  /** Aborts the requests in flight and closes the connections. */
  close(): Promise<void>;
}

/** The budgets of the books service, and the queries that are waiting. */
export interface BooksGauges extends SourceGauges {
  /** Records that weren't requested, or that appeared twice in a batch. */
  readonly ignoredRecords: number;
  /** The day's quota, less its use and the weight of waiting requests; absent without a quota. */
  readonly leftToday?: number;
}

/** Creates a client of the books service. Throws a `SourceError` with `HEADGATE_INVALID_OPTION`. */
export function books(options: BooksOptions): Books {
  const { plan, maxBatch, batchWaitMs, quotaReset, limit, hasQuota, clock, source: sourceOptions } = checkedBooksOptions(options);
  const source = defineSource<BooksQuery, BooksValue>({
    service: 'books',
    toRequest,
    classify: classifyBooks({ plan, maxBatch, quotaReset }),
    subject: subjectOf,
    items: itemsRequested,
    itemsOf,
    // One request of the rate and, with a quota, one unit for each ISBN.
    ...(hasQuota && { weights: (query: BooksQuery) => ({ isbns: query.kind === 'batch' ? isbnsToSend(query).length : 1 }) }),
  })(sourceOptions);
  const unlimited = creditPool({ max: Infinity });
  const ahead = prefetch();
  let ignoredRecords = 0;

  const query = async <K extends BooksValue['kind']>(
    kind: K,
    one: BooksQuery & { kind: K },
    options: QueryOptions,
  ): Promise<Delivery<ValueOf<K>>> => {
    const { value, credit } = await source.query(one, options);
    if (isKind(value, kind)) return { value, credit };
    credit.release();
    throw new TypeError(`books: requested a ${kind}, but read a ${value.kind}`);
  };
  const queryBatch = async (entries: readonly BatchEntry[], options: QueryOptions): Promise<Delivery<readonly BookAnswer[]>> => {
    const invalid = entries.flatMap((entry) => (entry.isbn === undefined ? [{ kind: 'invalid' as const, ...entry }] : []));
    if (invalid.length === entries.length) {
      const { credits, signal } = options;
      const credit = await waitForCredit({ credits, items: entries.length, signal });
      return { value: invalid, credit };
    }
    const { value, credit } = await query('batch', { kind: 'batch', entries }, { requests: entries.length, ...options });
    ignoredRecords += value.ignored;
    return { value: value.answers, credit };
  };
  const queryAuthor = async (name: string, options: QueryOptions & AuthorOptions): Promise<Delivery<AuthorAnswer>> => {
    const { value, credit } = await query('author', authorQuery(name, options), options);
    return { value: value.answer, credit };
  };
  const queryPage: Books['query'] = async (page, options) => await authorPage(queryAuthor, page, options);

  return {
    async book(requested, { signal } = {}) {
      const isbn = batchEntry(requested);
      if (isbn.isbn === undefined) throw isbn.error;
      const { value, credit } = await query('book', { kind: 'book', isbn }, { credits: unlimited, signal });
      credit.release();
      return value.answer;
    },
    async author(name, ofAuthor = {}) {
      const { value, credit } = await queryAuthor(name, { ...ofAuthor, credits: unlimited });
      credit.release();
      return value;
    },
    authorPages(name, options = {}) {
      const paging = authorPaging(name, options);
      const walked = walkPages({ ...options, ...pagingCalls('books'), paging, service: 'books', subject: () => name, query: queryPage });
      return mapPages(walked, ({ page, next }) => ({ ...page, next }));
    },
    query: queryPage,
    lookup: (isbns, { signal } = {}) =>
      lookup({ isbns, signal, maxBatch, waitMs: batchWaitMs, parallel: limit.requests, ahead, clock, queryBatch }),
    async batch(isbns, options) {
      const entries = isbns.map(batchEntry);
      const toSend = isbnsToSend({ kind: 'batch', entries }).length;
      if (toSend > maxBatch)
        throw invalidOption(`a batch of ${toSend} ISBNs is larger than maxBatch (${maxBatch}): use lookup, or split it`);
      return queryBatch(entries, options);
    },
    gauges() {
      const gauges = source.gauges();
      return { ...gauges, ignoredRecords, ...(hasQuota && { leftToday: leftToday(gauges) }) };
    },
    slots: () => source.slots(),
    stop: () => source.stop(),
    close: () => source.close(),
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

type ValueOf<K extends BooksValue['kind']> = Extract<BooksValue, { readonly kind: K }>;

function leftToday({ budgets, queries }: SourceGauges): number {
  const quotas = budgets.filter(({ budget }) => budget === 'isbns');
  let left = Math.max(0, ...quotas.map(({ limit, used }) => limit - used));
  // Requests that exceed the rest of the quota wait for the next day.
  for (const { state, weights } of queries) {
    const { isbns = 1 } = weights ?? {};
    if ((state === 'queued' || state === 'service-down') && isbns <= left) left -= isbns;
  }
  return left;
}

function isKind<K extends BooksValue['kind']>(value: BooksValue, kind: K): value is ValueOf<K> {
  return value.kind === kind;
}

function itemsRequested(query: BooksQuery): number {
  if (query.kind === 'book') return 1;
  if (query.kind === 'author') return query.pageSize ?? DEFAULT_PAGE_SIZE;
  return query.entries.length;
}
