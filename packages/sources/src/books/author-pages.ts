import type { Delivery, PageReader, ReadOptions } from '@headgate/throttle';
import { createHash } from 'node:crypto';
import { SourceError } from '../source-error.ts';
import type { QueryOptions } from '../source.ts';
import { invalidOption } from './options.ts';
import { authorQuery, type AuthorOptions } from './query.ts';
import type { AuthorAnswer } from './results.ts';
import { waitForCredit } from './wait-for-credit.ts';

/** Options of `Books.authorPages`. */
export interface AuthorPagesOptions {
  /** Books to request per page, 1 to 1,000, the same through the whole walk. Default 100. */
  readonly pageSize?: number;
  /** Which page to begin with, from 1. Default 1. */
  readonly page?: number;
  /** Most pages of the walk; then it ends with `HEADGATE_PAGE_LIMIT`. Default 500. */
  readonly maxPages?: number;
  /** The checkpoint of an earlier walk of the same author, in place of `page` and `pageSize`. Default: a new walk. */
  readonly from?: AuthorCheckpoint | undefined;
  /** How large a share of the turns the walk gets, against 1 of others, where budget is short. Default 1. */
  readonly share?: number;
  /** Ends each walk with the signal's reason, and aborts the request in flight. */
  readonly signal?: AbortSignal | undefined;
}

/** A page of an author's books. */
export interface AuthorPage extends AuthorAnswer {
  /** From 1 on. */
  readonly page: number;
  /** True when the author's books end with it. */
  readonly last: boolean;
  /**
   * True when books may be missing: the service sent its first page again for the second one, and the first may have been cut to a page's
   * size. Only on a last page.
   */
  readonly mayBeCut: boolean;
  /** Where to go on behind it; undefined on the last page. */
  readonly checkpoint: AuthorCheckpoint | undefined;
}

/** Where a walk through an author's books has come to. It is JSON. */
export interface AuthorCheckpoint {
  /** The next page. */
  readonly page: number;
  /** The walk's first page. */
  readonly first: number;
  /** Books requested per page, the same through the whole walk. */
  readonly pageSize: number;
  /** Books on the first page: what a full page of this service has. */
  readonly full: number;
  /** Digests of the books on the first page and on the latest one. */
  readonly seen: readonly string[];
}

export interface AuthorPagesReaderOptions extends AuthorPagesOptions {
  readonly name: string;
  readonly query: (name: string, options: AuthorOptions & QueryOptions & ReadOptions) => Promise<Delivery<AuthorAnswer>>;
}

/** Books to request per page. Larger pages spare requests; larger records than 1 MB, which topics don't take by default, spare nothing. */
export const AUTHOR_PAGE_SIZE = 100;
const MOST_PAGES = 500;

/**
 * Makes readers of an author's pages. The service documents no end of them, so these are ends: a page with fewer books than a full one, an
 * empty one, one that the service doesn't know (404), and one that came before.
 *
 * A full page is as long as the first. A first page with fewer books than requested is the last, too, unless their number is a multiple of
 * ten: then the service may use a page size of its own (20 was seen), and the next page decides.
 *
 * Throws a `SourceError` with `HEADGATE_INVALID_OPTION` before a request is spent.
 */
export function authorPages(options: AuthorPagesReaderOptions): () => PageReader<AuthorPage> {
  const { name, page = 1, pageSize = AUTHOR_PAGE_SIZE, maxPages = MOST_PAGES, from, share = 1, query } = options;
  authorQuery(name, { page, pageSize });
  if (!(Number.isSafeInteger(maxPages) && maxPages >= 1)) throw invalidOption(`maxPages must be a whole number from 1, got ${maxPages}`);
  if (!(share > 0 && share < Infinity)) throw invalidOption(`share must be a number above 0, got ${share}`);
  return () => {
    const turns = { walk: {}, share };
    let next: Place | undefined = from ?? { page, first: page, pageSize };
    return {
      async read(reading) {
        const at = next;
        if (at === undefined) return undefined;
        if (at.page - at.first >= maxPages) throw pageLimit(name, at.page, maxPages);
        const { value, credit } = await answerAt({ name, at, query, options: { ...turns, ...reading } });
        const given = pageAt(at, value);
        next = given.checkpoint;
        return { value: given, credit };
      },
    };
  };
}

/** The next page: a checkpoint, or before the first page what is known of it. */
type Place = Pick<AuthorCheckpoint, 'page' | 'first' | 'pageSize'> & Partial<AuthorCheckpoint>;

interface AnswerAtOptions extends Pick<AuthorPagesReaderOptions, 'name' | 'query'> {
  readonly at: Place;
  readonly options: QueryOptions & ReadOptions;
}

async function answerAt({ name, at: { page, pageSize }, query, options }: AnswerAtOptions): Promise<Delivery<AuthorAnswer>> {
  try {
    return await query(name, { ...options, page, pageSize });
  } catch (error) {
    // A later page that isn't there ends the list.
    const isBeyond = page > 1 && error instanceof SourceError && error.code === 'HEADGATE_AUTHOR_NOT_FOUND';
    if (!isBeyond) throw error;
    return { value: { author: name, record: { books: [] } }, credit: await waitForCredit({ ...options, items: 0 }) };
  }
}

function pageAt(at: Place, answer: AuthorAnswer): AuthorPage {
  const { page, first, pageSize, seen = [] } = at;
  const { author, record } = answer;
  const { length } = record.books;
  const digest = digestOf(record.books);
  if (seen.includes(digest)) {
    const isUnturned = page === first + 1 && at.full !== undefined && at.full <= pageSize;
    return { author, record: { books: [] }, page, last: true, mayBeCut: isUnturned, checkpoint: undefined };
  }
  const isShort = at.full === undefined ? length < pageSize && length % ROUND !== 0 : length < at.full;
  const last = length === 0 || isShort;
  const { full = length } = at;
  const checkpoint = last ? undefined : { page: page + 1, first, pageSize, full, seen: [seen[0] ?? digest, digest] };
  return { author, record, page, last, mayBeCut: false, checkpoint };
}

/** Page sizes are multiples of it. */
const ROUND = 10;

function digestOf(books: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(books)).digest('base64url').slice(0, 22);
}

function pageLimit(name: string, page: number, maxPages: number): SourceError {
  const message =
    `${name}: ${maxPages} pages of the author's books have come, and the last was full. ` +
    `To walk on, begin at page ${page}, or allow more pages (maxPages).`;
  return new SourceError({ code: 'HEADGATE_PAGE_LIMIT', retryable: true, service: 'books', subject: name, message });
}
