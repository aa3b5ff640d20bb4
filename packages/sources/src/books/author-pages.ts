import type { Delivery } from '@headgate/throttle';
import { createHash } from 'node:crypto';
import type { Checkpoint, Paging, WalkOptions } from '../paging.ts';
import { SourceError } from '../source-error.ts';
import type { QueryOptions } from '../source.ts';
import { isbnsOf } from './match-records.ts';
import { booksChecks } from './options.ts';
import { type AuthorOptions, authorQuery } from './query.ts';
import type { AuthorAnswer } from './results.ts';
import { bookRecord } from './schema.ts';
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
   * True if books may be missing: the list ended before the service's own total, or there is no total, and the service returned the walk's
   * first page again as the second, so it may ignore the number of the page. Only on a last page.
   */
  readonly mayBeCut: boolean;
  /** Number of books on the walk's pages so far. Absent if the walk began after page 1. */
  readonly read?: number;
  /** The service's own total of the author's books, if it sent one. */
  readonly total?: number;
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
  /** Number of books on the pages before this one. Absent in the first page's cursor, or if the walk began after page 1. */
  readonly read?: number;
  /** The service's own total, if an earlier page had one. */
  readonly total?: number;
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
 * Paging through an author's books, for `walk({ source: books(…), paging })`. The walk ends at an empty page, at one that the service doesn't
 * know (404), or at one that repeats the first page or the page before it.
 *
 * Nothing else shows the end. A page can be short because the service lowers the page size or hides a book, and a total can be wrong, so
 * neither saves the last request. A total that is larger than the number of books that came sets `mayBeCut`.
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

/** Requests a page of an author's books. If a page after the first doesn't exist, returns it as the last page, without books. */
export async function authorPage(
  request: (name: string, options: AuthorOptions & QueryOptions) => Promise<Delivery<AuthorAnswer>>,
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
    const value = pageAt(cursor, { author: name, namesAnother: false, record: { books: [] } });
    return { value, credit: await waitForCredit(0, options) };
  }
}

function pageAt(cursor: AuthorCursor, { author, namesAnother, record }: AuthorAnswer): AuthorPageAnswer {
  const { page, pageSize, seen, read: before = page === 1 ? 0 : undefined } = cursor;
  const digest = digestOf(record.books);
  const isRepeated = seen?.includes(digest) === true;
  const books = isRepeated ? [] : record.books;
  const last = books.length === 0;
  const total = totalOf(record['total']) ?? cursor.total;
  const read = before === undefined ? undefined : before + books.length;
  const counts = { ...(read !== undefined && { read }), ...(total !== undefined && { total }) };
  const isCounted = read !== undefined && total !== undefined;
  const nextCursor: AuthorCursor = { page: page + 1, pageSize, ...counts, seen: [seen?.[0] ?? digest, digest] };
  return {
    author,
    namesAnother,
    record: isRepeated ? { books } : record,
    page,
    last,
    mayBeCut: last && (isCounted ? read < total : isRepeated && seen[0] === seen[1]),
    ...counts,
    nextCursor: last ? undefined : nextCursor,
  };
}

function totalOf(total: unknown): number | undefined {
  return typeof total === 'number' && Number.isSafeInteger(total) && total >= 0 ? total : undefined;
}

/** Identifies a page by the ISBNs of its books, because other fields, such as a counter, can change from response to response. */
function digestOf(books: readonly unknown[]): string {
  const keys = books.map((book) => {
    const record = bookRecord.safeParse(book);
    return (record.success ? isbnsOf(record.data)[0] : undefined) ?? book;
  });
  return createHash('sha256').update(JSON.stringify(keys)).digest('base64url').slice(0, 22);
}
