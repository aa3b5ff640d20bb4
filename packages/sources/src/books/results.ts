import type { SourceError } from '../source-error.ts';
import type { AuthorRecord, BookRecord } from './schema.ts';

/** The answer for one requested ISBN, or (`unreadable`) a record of a batch that matches none of them. */
export type BookAnswer = FoundBook | MissingBook | InvalidBook | UnreadableBook;

export interface FoundBook {
  readonly kind: 'found';
  /** The ISBN as it was given. */
  readonly requested: string;
  /** The ISBN as 13 digits. */
  readonly isbn: string;
  readonly record: BookRecord;
}

/** The service doesn't know the ISBN. */
export interface MissingBook {
  readonly kind: 'missing';
  readonly requested: string;
  readonly isbn: string;
}

/** The text isn't an ISBN; no request was spent on it. */
export interface InvalidBook {
  readonly kind: 'invalid';
  readonly requested: string;
  readonly isbn: undefined;
  readonly error: SourceError;
}

/** A record that is no object or names no ISBN. It comes after the answers of its batch, in addition to them. */
export interface UnreadableBook {
  readonly kind: 'unreadable';
  readonly requested: undefined;
  readonly isbn: undefined;
  /** As the service sent it. */
  readonly record: unknown;
  readonly error: SourceError;
}

export interface AuthorAnswer {
  /** The requested name. */
  readonly author: string;
  readonly record: AuthorRecord;
}

/** The value of a query. */
export type BooksValue =
  | { readonly kind: 'book'; readonly answer: FoundBook }
  | { readonly kind: 'author'; readonly answer: AuthorAnswer }
  | {
      readonly kind: 'batch';
      readonly answers: readonly BookAnswer[];
      /** Records that weren't requested, or that came twice. */
      readonly ignored: number;
    };

/** Records (or what stands for one) that have come: what downstream needs room for. */
export function itemsOf(value: BooksValue): number {
  if (value.kind === 'book') return 1;
  if (value.kind === 'author') return Math.max(1, value.answer.record.books.length);
  return value.answers.length;
}
