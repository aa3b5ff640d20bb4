/**
 * A client of the books service: books by ISBN, singly or in batches, and authors with all their books.
 *
 * @packageDocumentation
 */
export type { AuthorAnswer, BookAnswer, FoundBook, InvalidBook, MissingBook, UnreadableBook } from './results.ts';
export { authorFlaw, type AuthorOptions } from './query.ts';
export {
  AUTHOR_PAGE_SIZE,
  type AuthorCursor,
  type AuthorPage,
  type AuthorPageAnswer,
  type AuthorPageQuery,
  type AuthorPagesOptions,
  authorPaging,
  type AuthorWalk,
} from './author-pages.ts';
export { books, type Books, type BooksGauges } from './books.ts';
export type { IsbnInput } from './isbn-input.ts';
export type { BooksOptions, BooksPlan, DailyQuota } from './options.ts';
export type { AuthorRecord, BookRecord, BooksRecord } from './schema.ts';
