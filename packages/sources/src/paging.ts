import type { Json } from '@headgate/throttle';
import { rangeChecks } from '@headgate/throttle/internal';

/**
 * Defines how a walk gets from page to page. Another process may resume a walk from its cursor, so a cursor must be JSON; any other value
 * ends the walk with an error. The functions must be pure and return synchronously.
 */
export interface Paging<Query, Page, Cursor extends NonNullable<Json>> {
  /** The cursor of the first page. */
  readonly first: Cursor;
  /** Returns the query for the page at a cursor. */
  query(cursor: Cursor): Query;
  /**
   * Returns the next page's cursor, or `last` if the service has no more pages. `cursor`: the cursor of this page. If the page should say
   * whether another follows, and doesn't, return its own cursor with `isUnknown`.
   */
  next(page: Page, cursor: Cursor): NextPage<Cursor> | 'last';
  /**
   * Returns the part of a cursor that tells its page from others, if the cursor also counts or remembers something. A walk that comes to a
   * page again ends with `HEADGATE_CURSOR_LOOP`. Default: the whole cursor.
   */
  place?(cursor: Cursor): Json;
  /** Number of empty pages in a row after which the walk ends with `HEADGATE_EMPTY_PAGES`. Default 100. */
  readonly maxEmptyPages?: number;
  /** Maximum number of pages. If more follow, the walk ends with `HEADGATE_PAGE_LIMIT`. Default: no limit. */
  readonly maxPages?: number;
}

/** The result of `Paging.next` for a page that isn't the last. */
export interface NextPage<Cursor> {
  /** The cursor of the next page, or of this page if `isUnknown`. */
  readonly cursor: Cursor;
  /** True if it is unknown whether another page follows: the walk ends after this page with `HEADGATE_UNFIT_ANSWER`. Default false. */
  readonly isUnknown?: boolean;
}

/** The position at which a walk continues, as JSON. Store it with the records of the previous page. Only `cursor` is required. */
export type Checkpoint<Cursor extends NonNullable<Json>> = {
  /** The cursor of the next page. */
  readonly cursor: Cursor;
  /** Number of pages before the next page. Default 0. */
  readonly pages?: number;
  /** Number of empty pages in a row right before the next page. Default 0. */
  readonly empty?: number;
  /** Digests of the cursors so far. Without them, a resumed walk detects a loop of cursors later. Default: none. */
  readonly seen?: string;
  /** Set if the cursor is that of an earlier page: the walk ends here with `HEADGATE_CURSOR_LOOP`. */
  readonly isCircle?: true;
  /** Set with `isCircle` if the next page is unknown: the walk ends here with `HEADGATE_UNFIT_ANSWER`. */
  readonly isUnknown?: true;
};

/** A page of a walk, with its number and the checkpoint after it. */
export interface WalkedPage<Page, Cursor extends NonNullable<Json>> {
  /** The value that the source's `query` resolves to. */
  readonly page: Page;
  /** Number of the page, from 1 on. */
  readonly number: number;
  /** The cursor with which the page was requested. */
  readonly cursor: Cursor;
  /** The checkpoint after this page: pass it as `from` to resume the walk. `last` after the last page. */
  readonly next: Checkpoint<Cursor> | 'last';
}

/** Options of a walk through pages. */
export interface WalkOptions<Cursor extends NonNullable<Json>> {
  /** The checkpoint to resume from: `next` of an earlier walk's page. `last` ends the walk at once. Default: the first page. */
  readonly from?: Checkpoint<Cursor> | 'last' | undefined;
  /** An abort ends the walk with the signal's reason, and aborts the request in flight. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of {@link nextLink}. */
export interface NextLinkOptions<Query, Page> {
  /** The query of the first page. */
  readonly first: Query;
  /** Returns the query for an address: `(url) => ({ url })` if queries are requests. */
  readonly query: (address: string) => Query;
  /** Returns the Link header of a page's response. The source's `classify` must keep the header in its value. */
  readonly link: (page: Page) => string | null | undefined;
  /** The link's relation to the page. Default `next`. */
  readonly rel?: string;
}

/** Follows the Link header (RFC 8288) of each response, until a response has no link with that relation. */
export function nextLink<Query, Page>({ link, rel = 'next', ...options }: NextLinkOptions<Query, Page>): Paging<Query, Page, string> {
  return nextAddress({ ...options, next: (page) => linkTarget(link(page) ?? '', rel) });
}

/** Options of {@link nextAddress}. */
export interface NextAddressOptions<Query, Page> {
  /** The query of the first page. */
  readonly first: Query;
  /** Returns the query for an address: `(url) => ({ url })` if queries are requests. */
  readonly query: (address: string) => Query;
  /** Returns the address of the next page; undefined, null or empty after the last one. */
  readonly next: (page: Page) => string | null | undefined;
}

/** Follows the address that each page names for the next one. The address is the cursor; the first page's cursor is `''`. */
export function nextAddress<Query, Page>({ first, query, next }: NextAddressOptions<Query, Page>): Paging<Query, Page, string> {
  return cursorParameter({ query: (address = '') => (address === '' ? first : query(address)), next });
}

/** Options of {@link cursorParameter}. */
export interface CursorParameterOptions<Query, Page> {
  /** Returns the query with a cursor. `cursor` is undefined for the first page. */
  readonly query: (cursor: string | undefined) => Query;
  /** Returns the cursor of the next page. Undefined, null or empty after the last page. */
  readonly next: (page: Page) => string | null | undefined;
  /** A cursor that also marks the last page, such as `0`. Default: none. */
  readonly end?: string;
}

/** Requests each page with the cursor that the page before it returned. */
export function cursorParameter<Query, Page>({ query, next, end }: CursorParameterOptions<Query, Page>): Paging<Query, Page, string> {
  return {
    first: '',
    query: (cursor) => query(cursor === '' ? undefined : cursor),
    next(page) {
      const cursor = next(page) ?? '';
      return cursor === '' || cursor === end ? 'last' : { cursor };
    },
  };
}

/** Options of {@link pageNumbers}. */
export interface PageNumbersOptions<Query, Page> {
  /** Returns the query of a page by its number. */
  readonly query: (number: number) => Query;
  /** Returns whether a page is the last one: `({ items }) => items.length === 0`, or `(page, number) => number >= page.pages`. */
  readonly isLast: (page: Page, number: number) => boolean;
  /** Number of the service's first page. Default 1. */
  readonly first?: number;
}

/** Requests pages by number: the cursor is the page number, and rises by 1 until `isLast` returns true. */
export function pageNumbers<Query, Page>({ query, isLast, first = 1 }: PageNumbersOptions<Query, Page>): Paging<Query, Page, number> {
  rangeChecks('pageNumbers').whole({ first });
  return { first, query, next: (page, number) => (isLast(page, number) ? 'last' : { cursor: number + 1 }) };
}

/** Options of {@link offsets}. */
export interface OffsetsOptions<Query, Page> {
  /** Returns the query for the items from an offset on. */
  readonly query: (offset: number) => Query;
  /** Returns the number of items on a page, which is added to the offset. */
  readonly items: (page: Page) => number;
  /** Returns the total number of items, according to the page. If it is omitted or returns undefined, the walk ends at an empty page. */
  readonly total?: (page: Page) => number | undefined;
  /** The first offset. Default 0. */
  readonly first?: number;
}

/** Requests pages by offset: the cursor is the number of items before the page, plus `first`. Ends at an empty page or at `total`. */
export function offsets<Query, Page>({ query, items, total, first = 0 }: OffsetsOptions<Query, Page>): Paging<Query, Page, number> {
  rangeChecks('offsets').whole({ first }, 0);
  return {
    first,
    query,
    next(page, offset) {
      const [count, all = Infinity] = [items(page), total?.(page)];
      const check = rangeChecks('offsets');
      check.whole({ 'the result of items': count }, 0);
      check.number({ 'the result of total': all }, 0, Infinity);
      const cursor = offset + count;
      return cursor === offset || cursor >= all ? 'last' : { cursor };
    },
  };
}

/** One link of a header: its address in angle brackets, and its parameters, whose quoted values may hold commas and semicolons. */
const LINK = /<([^<>]*)>((?:\s*;\s*[^\s;,=]+(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,]*))?)*)/g;
const PARAMETER = /;\s*([^\s;,=]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,]*)))?/g;

/** Returns the address of a Link header's first link with a relation (RFC 8288). Undefined if there is none. */
export function linkTarget(header: string, rel: string): string | undefined {
  for (const [, address, parameters = ''] of header.matchAll(LINK)) {
    // Only the first `rel` of a link applies (RFC 8288, section 3.3).
    const [, , quoted, bare = ''] = [...parameters.matchAll(PARAMETER)].find(([, name]) => name?.toLowerCase() === 'rel') ?? [];
    const relations = (quoted ?? bare).toLowerCase().split(/\s+/);
    if (relations.includes(rel.toLowerCase())) return address;
  }
  return undefined;
}
