import type { AuthorAsk } from './ask.ts';
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
  // Every client and server on the way resolves these two in a path, however they are spelled.
  if (name.trim() === '' || name === '.' || name === '..')
    throw invalidOption(`${JSON.stringify(name)} can't be asked for as an author's name`);
  if (!name.isWellFormed()) throw invalidOption(`the author's name ${JSON.stringify(name)} has half a character in it`);
  if (page !== undefined && !(Number.isSafeInteger(page) && page >= 1))
    throw invalidOption(`page must be a whole number from 1, got ${page}`);
  if (pageSize !== undefined && !(Number.isSafeInteger(pageSize) && pageSize >= 1 && pageSize <= LARGEST_PAGE)) {
    throw invalidOption(`pageSize must be a whole number from 1 to ${LARGEST_PAGE}, got ${pageSize}`);
  }
  return { kind: 'author', name, ...(page !== undefined && { page }), ...(pageSize !== undefined && { pageSize }) };
}

const LARGEST_PAGE = 1_000;
