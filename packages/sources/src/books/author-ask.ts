import { type AuthorAsk, quoted } from './ask.ts';
import { invalidOption } from './books-options.ts';

export interface AuthorOptions {
  /** Which page of the author's books, from 1. Default: the service's own, 1. */
  readonly page?: number;
  /** Books on a page, 1 to 1,000. Default: the service's own, 20. */
  readonly pageSize?: number;
}

/** Books on a page where the service isn't told (seen in the live interface). */
export const DEFAULT_PAGE_SIZE = 20;

/** Checks what is asked of an author. Throws a `SourceError` with `HEADGATE_INVALID_OPTION`; no request is spent then. */
export function authorAsk(name: string, { page, pageSize }: AuthorOptions): AuthorAsk {
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

/** Why a text can't be asked for as an author's name: words behind the name; undefined where it can. */
export function authorFlaw(name: string): string | undefined {
  if (name.trim() === '') return 'is empty';
  if (name.length > LONGEST_NAME) return `is longer than ${LONGEST_NAME} characters`;
  // Every client and server on the way resolves these two in a path, however they are spelled.
  if (name.trim() === '.' || name.trim() === '..') return 'is a step in an address, and can not be asked for';
  if (!name.isWellFormed()) return 'has half a character in it';
  return undefined;
}

const LONGEST_NAME = 1_000;
