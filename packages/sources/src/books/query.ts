import { toIsbn13 } from '@headgate/operators';
import { percentEncoded } from '../http/wire-request.ts';
import type { PathRequest } from '../source-definition.ts';
import { SourceError } from '../source-error.ts';
import { invalidOption } from './options.ts';

/** The queries that the service answers. */
export type BooksQuery = BookQuery | AuthorQuery | BatchQuery;

export interface BookQuery {
  readonly kind: 'book';
  readonly isbn: RequestedIsbn;
}

export interface AuthorQuery {
  readonly kind: 'author';
  readonly name: string;
  readonly page?: number;
  readonly pageSize?: number;
}

/** Each entry gets a response; a repeated ISBN is sent once, a malformed one not at all. */
export interface BatchQuery {
  readonly kind: 'batch';
  readonly entries: readonly BatchEntry[];
}

export type BatchEntry = RequestedIsbn | InvalidIsbn;

export interface RequestedIsbn {
  readonly requested: string;
  /** 13 digits. */
  readonly isbn: string;
}

export interface InvalidIsbn {
  readonly requested: string;
  readonly isbn: undefined;
  readonly error: SourceError;
}

/** Reads one ISBN as its user wrote it. */
export function batchEntry(text: string): BatchEntry {
  // Lists come from files and from JavaScript, so an entry may not be text.
  const requested = typeof text === 'string' ? text : String(text);
  const isbn = toIsbn13(requested);
  if (isbn !== undefined) return { requested, isbn };
  const error = new SourceError({
    code: 'HEADGATE_INVALID_ISBN',
    message: `${quoted(requested)} isn't an ISBN: an ISBN has 10 or 13 digits with a valid check digit. Correct it; no request was sent.`,
    retryable: false,
    service: 'books',
    subject: requested.slice(0, LONGEST_QUOTE),
  });
  return { requested, isbn: undefined, error };
}

/** The ISBNs that a batch sends. */
export function isbnsToSend({ entries }: BatchQuery): readonly string[] {
  return [...new Set(entries.flatMap(({ isbn }) => (isbn === undefined ? [] : [isbn])))];
}

/** The HTTP request of a query (service document, Endpoints). */
export function toRequest(query: BooksQuery): PathRequest {
  const headers = { accept: 'application/json', 'content-type': 'application/json' };
  if (query.kind === 'book') return { method: 'GET', path: `/book/${query.isbn.isbn}`, headers };
  if (query.kind === 'author') {
    const { name, page, pageSize } = query;
    const paging = { ...(page !== undefined && { page: String(page) }), ...(pageSize !== undefined && { pageSize: String(pageSize) }) };
    return { method: 'GET', path: `/author/${percentEncoded(name)}`, query: paging, headers };
  }
  // Form-style text under a JSON content type, as in the document's examples.
  return { method: 'POST', path: '/books', headers, body: `isbns=${isbnsToSend(query).join(',')}` };
}

/** The ISBN or author of a query, for errors and displays. */
export function subjectOf(query: BooksQuery): string {
  if (query.kind === 'book') return query.isbn.isbn;
  if (query.kind === 'author') return query.name;
  const [first = '', ...others] = isbnsToSend(query);
  return others.length === 0 ? first : `${others.length + 1} ISBNs from ${first}`;
}

const LONGEST_QUOTE = 40;

/** In JSON's quotes, so that control characters stay visible and on one line. */
function quoted(text: string): string {
  return text.length > LONGEST_QUOTE ? `${JSON.stringify(text.slice(0, LONGEST_QUOTE))}…` : JSON.stringify(text);
}

/** Options of `Books.author`. */
export interface AuthorOptions {
  /** Which page of the author's books, from 1. Default: the service's own, 1. */
  readonly page?: number;
  /** Books on a page, 1 to 1,000. Default: the service's own, 20. */
  readonly pageSize?: number;
}

/** Books on a page without a requested size (seen in the live interface). */
export const DEFAULT_PAGE_SIZE = 20;

/** Checks an author query. Throws a `SourceError` with `HEADGATE_INVALID_OPTION`; no request is spent then. */
export function authorQuery(name: string, { page, pageSize }: AuthorOptions): AuthorQuery {
  const flaw = authorFlaw(name);
  if (flaw !== undefined) throw invalidOption(`the author's name ${quoted(name)} ${flaw}`);
  if (page !== undefined && !(Number.isSafeInteger(page) && page >= 1))
    throw invalidOption(`page must be a whole number from 1, got ${page}`);
  if (pageSize !== undefined && !(Number.isSafeInteger(pageSize) && pageSize >= 1 && pageSize <= LARGEST_PAGE)) {
    throw invalidOption(`pageSize must be a whole number from 1 to ${LARGEST_PAGE}, got ${pageSize}`);
  }
  return { kind: 'author', name, ...(page !== undefined && { page }), ...(pageSize !== undefined && { pageSize }) };
}

const LARGEST_PAGE = 1_000;

/** Why a text can't be requested as an author's name, as words that follow the name; undefined if it can. */
export function authorFlaw(name: string): string | undefined {
  if (name.trim() === '') return 'is empty';
  if (name.length > LONGEST_NAME) return `is longer than ${LONGEST_NAME} characters`;
  // Every client and server on the way resolves these two in a path, in any spelling.
  if (name.trim() === '.' || name.trim() === '..') return "is a relative path segment, which an address can't contain";
  if (!name.isWellFormed()) return 'contains half a surrogate pair';
  return undefined;
}

const LONGEST_NAME = 1_000;
