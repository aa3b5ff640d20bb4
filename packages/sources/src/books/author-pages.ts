import type { Delivery } from '@headgate/throttle';
import { createHash } from 'node:crypto';
import type { Checkpoint, Paging, WalkOptions } from '../paging.ts';
import { SourceError } from '../source-error.ts';
import type { QueryOptions } from '../source.ts';
import { booksChecks } from './options.ts';
import { authorQuery, type AuthorOptions } from './query.ts';
import type { AuthorAnswer } from './results.ts';
import { waitForCredit } from './wait-for-credit.ts';

/** Selects the pages of a walk through an author's books. */
export interface AuthorWalk {
  /** Books to request per page, 1 to 1,000, the same for all pages. Default 100. */
  readonly pageSize?: number | undefined;
  /** Number of the first page to request, from 1. Default 1. */
  readonly page?: number | undefined;
  /** Maximum pages of the walk. If more follow, the walk ends with `HEADGATE_PAGE_LIMIT`. Default 500. */
  readonly maxPages?: number;
}

/** Options of `Books.authorPages`: the pages, and the place at which the walk resumes. */
export type AuthorPagesOptions = AuthorWalk & WalkOptions<AuthorCursor>;

/** A page of an author's books, and whether it is the last. */
export interface AuthorPageAnswer extends AuthorAnswer {
  /** Number of the page at the service, from 1. */
  readonly page: number;
  /** True if this page is the last. */
  readonly last: boolean;
  /**
   * True if books may be missing: the service returned the walk's first page again as the second, and the first may have been cut to the
   * page size. Only on a last page.
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

/** The position of a page, and the facts that show whether it is the last one. */
export type AuthorCursor = {
  /** Number of the page at the service. */
  readonly page: number;
  /** Books requested per page, the same for all pages. */
  readonly pageSize: number;
  /** Number of books on the walk's first page, which shows the service's page size. Absent in the first page's cursor. */
  readonly full?: number;
  /** Digests of the books on the walk's first page and on the latest one. Absent in the first page's cursor. */
  readonly seen?: readonly string[];
};

/** The query for one page of an author's books. */
export interface AuthorPageQuery {
  /** Name of the author. */
  readonly name: string;
  /** Cursor of the page. */
  readonly cursor: AuthorCursor;
}

/** Default number of books per page. Larger pages need fewer requests, but may be too large to store as one record. */
export const AUTHOR_PAGE_SIZE = 100;
const MOST_PAGES = 500;

/**
 * Paging through an author's books, for `walk({ source: books(…), paging })`. The service doesn't document how the list ends, so the walk
 * ends at a page with fewer books than a full one, an empty page, a page that the service doesn't know (404), or one that repeats the first
 * page or the page before it.
 *
 * A full page has as many books as the first. A first page with fewer books than requested is also the last, unless their number is a
 * multiple of ten: then the service may use its own page size (20 was seen), and the next page decides.
 *
 * Throws a `SourceError` with `HEADGATE_INVALID_OPTION` for invalid options.
 */
export function authorPaging(
  name: string,
  { page = 1, pageSize = AUTHOR_PAGE_SIZE, maxPages = MOST_PAGES }: AuthorWalk = {},
): Paging<AuthorPageQuery, AuthorPageAnswer, AuthorCursor> {
  authorQuery(name, { page, pageSize });
  booksChecks().whole({ maxPages }, 1);
  return {
    first: { page, pageSize },
    query: (cursor) => ({ name, cursor }),
    next: ({ nextCursor }) => (nextCursor === undefined ? 'last' : { cursor: nextCursor }),
    maxPages,
  };
}

type Request = (name: string, options: AuthorOptions & QueryOptions) => Promise<Delivery<AuthorAnswer>>;

/** Requests a page of an author's books. If a page after the first doesn't exist, returns it as the last page, without books. */
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
    return { value: pageAt(cursor, { author: name, namesAnother: false, record: { books: [] } }), credit };
  }
}

function pageAt(cursor: AuthorCursor, answer: AuthorAnswer): AuthorPageAnswer {
  const { page, pageSize, full, seen } = cursor;
  const { books } = answer.record;
  const { length } = books;
  const digest = digestOf(books);
  if (seen?.includes(digest) === true) {
    const isSecond = seen[0] === seen[1];
    const mayBeCut = isSecond && full !== undefined && full <= pageSize;
    return { ...answer, record: { books: [] }, page, last: true, mayBeCut, nextCursor: undefined };
  }
  const isShort = full === undefined ? length < pageSize && length % ROUND !== 0 : length < full;
  const last = length === 0 || isShort;
  const nextCursor: AuthorCursor | undefined = last
    ? undefined
    : { page: page + 1, pageSize, full: full ?? length, seen: [seen?.[0] ?? digest, digest] };
  return { ...answer, page, last, mayBeCut: false, nextCursor };
}

/** The service's own page size is assumed to be a multiple of this number. */
const ROUND = 10;

function digestOf(books: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(books)).digest('base64url').slice(0, 22);
}
