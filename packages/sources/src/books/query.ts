import { toIsbn13 } from '@headgate/operators';
import { percentEncoded } from '../http/wire-request.ts';
import type { PathRequest } from '../source-definition.ts';
import { booksError, invalidOption } from './books-errors.ts';
import { booksChecks } from './options.ts';
import type { InvalidBook } from './results.ts';

export type BooksQuery = BookQuery | AuthorQuery | BatchQuery;

export interface BookQuery {
  readonly kind: 'book';
  readonly isbn: RequestedIsbn;
}

export interface AuthorQuery {
  readonly kind: 'author';
  /** Name of the only credential that may send the query. Default: any may. */
  readonly only?: string;
  readonly name: string;
  readonly page?: number;
  readonly pageSize?: number;
}

/** A batch of ISBNs. Each entry gets a response. A repeated ISBN is sent once; a malformed one isn't sent. */
export interface BatchQuery {
  readonly kind: 'batch';
  readonly entries: readonly BatchEntry[];
  /** Name of the only credential that may send the query. Default: any may. */
  readonly only?: string;
  /** Number of items to reserve capacity for. Default: one for each entry. */
  readonly items?: number;
  /** An ISBN that isn't among the entries, and is sent in addition. It gets no separate response. */
  readonly control?: ControlIsbn | undefined;
  /** True if the query isn't sent again after a 404. */
  readonly isLast?: boolean;
}

/** An ISBN that shows whether a 404 is about the other ISBNs of its batch. */
export interface ControlIsbn {
  readonly isbn: string;
  /** True if the service has returned a record for it, so that a 404 is the request limit. */
  readonly isKnown: boolean;
}

export type BatchEntry = RequestedIsbn | InvalidBook;

export interface RequestedIsbn {
  readonly requested: string;
  /** The ISBN as 13 digits. */
  readonly isbn: string;
}

/** Reads an ISBN as a user wrote it. */
export function batchEntry(text: string): BatchEntry {
  // Plain JavaScript can pass a value that isn't a string.
  const requested = typeof text === 'string' ? text : String(text);
  const isbn = toIsbn13(requested);
  if (isbn !== undefined) return { requested, isbn };
  const message = `${quoted(requested)} isn't an ISBN: an ISBN has 10 or 13 digits with a valid check digit. Correct it; no request was sent.`;
  const error = booksError('HEADGATE_INVALID_ISBN', message, { subject: requested.slice(0, LONGEST_QUOTE) });
  return { kind: 'invalid', requested, isbn: undefined, error };
}

/** Returns the valid ISBNs of a batch, each once. */
export function validIsbns(entries: readonly BatchEntry[]): readonly string[] {
  return [...new Set(entries.flatMap(({ isbn }) => (isbn === undefined ? [] : [isbn])))];
}

/** Returns the ISBNs that a batch sends. */
export function isbnsToSend({ entries, control }: BatchQuery): readonly string[] {
  const isbns = validIsbns(entries);
  return control === undefined ? isbns : [...isbns, control.isbn];
}

export function toRequest(query: BooksQuery): PathRequest {
  const headers = { accept: 'application/json', 'content-type': 'application/json' };
  if (query.kind === 'book') return { method: 'GET', path: `/book/${query.isbn.isbn}`, headers };
  if (query.kind === 'author') {
    const { name, page, pageSize } = query;
    const paging = { ...(page !== undefined && { page: String(page) }), ...(pageSize !== undefined && { pageSize: String(pageSize) }) };
    return { method: 'GET', path: `/author/${percentEncoded(name)}`, query: paging, headers };
  }
  // The service's documentation sends form-encoded text with a JSON content type.
  return { method: 'POST', path: '/books', headers, body: `isbns=${isbnsToSend(query).join(',')}` };
}

/** Returns the ISBN, author or batch of a query, for errors and displays. */
export function subjectOf(query: BooksQuery): string {
  if (query.kind === 'book') return query.isbn.isbn;
  if (query.kind === 'author') return query.name;
  const [first = query.control?.isbn ?? '', ...others] = validIsbns(query.entries);
  return others.length === 0 ? first : `${others.length + 1} ISBNs from ${first}`;
}

/** Returns the number of items to reserve capacity for before the request. */
export function itemsRequested(query: BooksQuery): number {
  if (query.kind === 'book') return 1;
  if (query.kind === 'author') return query.pageSize ?? DEFAULT_PAGE_SIZE;
  return query.items ?? query.entries.length;
}

const LONGEST_QUOTE = 40;

/** Quotes a text as JSON, so that control characters are visible and the text stays on one line. */
function quoted(text: string): string {
  return text.length > LONGEST_QUOTE ? `${JSON.stringify(text.slice(0, LONGEST_QUOTE))}…` : JSON.stringify(text);
}

/** Options of `Books.author`. */
export interface AuthorOptions {
  /** Number of the page, from 1. Default: none is sent, and the service returns page 1. */
  readonly page?: number;
  /** Books per page, 1 to 1,000. Default: none is sent, and the service returns 20. */
  readonly pageSize?: number;
}

/** Page size of the service if a request sets none. The service doesn't document it. */
const DEFAULT_PAGE_SIZE = 20;

/** Creates an author query. Throws a `SourceError` with `HEADGATE_INVALID_OPTION` for an invalid name or option. */
export function authorQuery(name: string, { page, pageSize }: AuthorOptions): AuthorQuery {
  const flaw = authorFlaw(name);
  if (flaw !== undefined) throw invalidOption(`the author's name ${quoted(name)} ${flaw}`);
  if (page !== undefined) booksChecks().whole({ page }, 1);
  if (pageSize !== undefined) booksChecks().whole({ pageSize }, 1, LARGEST_PAGE);
  return { kind: 'author', name, ...(page !== undefined && { page }), ...(pageSize !== undefined && { pageSize }) };
}

const LARGEST_PAGE = 1_000;

/** Returns why a name can't be requested, in words that follow the name. Undefined if it can. */
export function authorFlaw(name: string): string | undefined {
  if (name.trim() === '') return 'is empty';
  if (name.length > LONGEST_NAME) return `is longer than ${LONGEST_NAME} characters`;
  // Clients and servers can resolve `.` and `..` in a path, even if percent-encoded. The request would then go to another address.
  if (name.trim() === '.' || name.trim() === '..') return "is a relative path segment, which an address can't contain";
  if (!name.isWellFormed()) return 'contains half a surrogate pair';
  return undefined;
}

const LONGEST_NAME = 1_000;
