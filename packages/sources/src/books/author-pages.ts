import type { Delivery } from '@headgate/throttle';
import { createHash } from 'node:crypto';
import type { Checkpoint, Paging, WalkOptions } from '../paging.ts';
import { SourceError } from '../source-error.ts';
import type { QueryOptions } from '../source.ts';
import { invalidOption } from './options.ts';
import { authorQuery, type AuthorOptions } from './query.ts';
import type { AuthorAnswer } from './results.ts';
import { waitForCredit } from './wait-for-credit.ts';

/** Selects the pages of a walk through an author's books. */
export interface AuthorWalk {
  /** Books to request per page, 1 to 1,000, the same for all pages. Default 100. */
  readonly pageSize?: number | undefined;
  /** Which page to begin with, from 1. Default 1. */
  readonly page?: number | undefined;
  /** Maximum pages of the walk; then it ends with `HEADGATE_PAGE_LIMIT`. Default 500. */
  readonly maxPages?: number;
}

/** Options of `Books.authorPages`: which pages, and where to continue. */
export type AuthorPagesOptions = AuthorWalk & WalkOptions<AuthorCursor>;

/** A page of an author's books, and whether it is the last. */
export interface AuthorPageAnswer extends AuthorAnswer {
  /** The service's number of the page, from 1. */
  readonly page: number;
  /** True when the author's books end with it. */
  readonly last: boolean;
  /**
   * True when books may be missing: the service sent its first page again for the second one, and the first may have been cut to a page's
   * size. Only on a last page.
   */
  readonly mayBeCut: boolean;
  /** The cursor of the next page; undefined on the last one. */
  readonly nextCursor: AuthorCursor | undefined;
}

/** A page of a walk through an author's books. */
export interface AuthorPage extends AuthorPageAnswer {
  /** The place at which the walk continues. Pass it to a later walk as `from`. */
  readonly next: Checkpoint<AuthorCursor> | 'last';
}

/** The position of a page among an author's books, and what shows whether it is the last one. */
export type AuthorCursor = {
  /** The service's number of the page. */
  readonly page: number;
  /** Books requested per page, the same for all pages. */
  readonly pageSize: number;
  /** Books on the walk's first page, which show the size of a full page of this service. Absent before it. */
  readonly full?: number;
  /** Digests of the books on the walk's first page and on the latest one. Absent before it. */
  readonly seen?: readonly string[];
};

/** A page's request. */
export interface AuthorPageQuery {
  /** The author. */
  readonly name: string;
  /** The page. */
  readonly cursor: AuthorCursor;
}

/**
 * Books to request per page. Larger pages spare requests. If records become larger than 1 MB, which topics don't accept by default, nothing
 * is gained.
 */
export const AUTHOR_PAGE_SIZE = 100;
const MOST_PAGES = 500;

/**
 * The paging of an author's books, for `walk({ source: books(…), paging })`. The service documents no end of the list, so it ends at a page
 * with fewer books than a full one, an empty page, a page that the service doesn't know (404), or a repeated page.
 *
 * A full page is as long as the first. A first page with fewer books than requested is also the last, unless their number is a multiple of
 * ten: then the service may use its own page size (20 was seen), and the next page decides.
 *
 * Throws a `SourceError` with `HEADGATE_INVALID_OPTION` before a request is spent.
 */
export function authorPaging(
  name: string,
  { page = 1, pageSize = AUTHOR_PAGE_SIZE, maxPages = MOST_PAGES }: AuthorWalk = {},
): Paging<AuthorPageQuery, AuthorPageAnswer, AuthorCursor> {
  authorQuery(name, { page, pageSize });
  if (!(Number.isSafeInteger(maxPages) && maxPages >= 1)) throw invalidOption(`maxPages must be a whole number from 1, got ${maxPages}`);
  return {
    first: { page, pageSize },
    query: (cursor) => ({ name, cursor }),
    next: ({ nextCursor }) => (nextCursor === undefined ? 'last' : { cursor: nextCursor }),
    maxPages,
  };
}

type Request = (name: string, options: AuthorOptions & QueryOptions) => Promise<Delivery<AuthorAnswer>>;

/** Requests a page of an author's books. A missing later page ends the list: it counts as the last one, without books. */
export async function authorPage(
  request: Request,
  { name, cursor }: AuthorPageQuery,
  options: QueryOptions,
): Promise<Delivery<AuthorPageAnswer>> {
  const { page, pageSize } = cursor;
  try {
    const { value, credit } = await request(name, { ...options, page, pageSize });
    return { value: pageAt(cursor, value), credit };
  } catch (error) {
    const isBeyond = page > 1 && error instanceof SourceError && error.code === 'HEADGATE_AUTHOR_NOT_FOUND';
    if (!isBeyond) throw error;
    const { credits, signal } = options;
    const credit = await waitForCredit({ credits, items: 0, signal });
    return { value: pageAt(cursor, { author: name, record: { books: [] } }), credit };
  }
}

function pageAt(cursor: AuthorCursor, answer: AuthorAnswer): AuthorPageAnswer {
  const { page, pageSize, full, seen } = cursor;
  const { author, record } = answer;
  const { length } = record.books;
  const digest = digestOf(record.books);
  if (seen?.includes(digest) === true) {
    const isSecond = seen[0] === seen[1];
    const mayBeCut = isSecond && full !== undefined && full <= pageSize;
    return { author, record: { books: [] }, page, last: true, mayBeCut, nextCursor: undefined };
  }
  const isShort = full === undefined ? length < pageSize && length % ROUND !== 0 : length < full;
  const last = length === 0 || isShort;
  const nextCursor: AuthorCursor | undefined = last
    ? undefined
    : { page: page + 1, pageSize, full: full ?? length, seen: [seen?.[0] ?? digest, digest] };
  return { author, record, page, last, mayBeCut: false, nextCursor };
}

/** Page sizes are multiples of it. */
const ROUND = 10;

function digestOf(books: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(books)).digest('base64url').slice(0, 22);
}
