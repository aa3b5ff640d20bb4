import type { SourceError } from '../source-error.ts';
import type { MatchedRecords } from './match-records.ts';
import type { AuthorRecord, BookRecord } from './schema.ts';

/** The response for one requested ISBN, or (`unreadable`) a record of a batch that names no valid ISBN. */
export type BookAnswer = FoundBook | MissingBook | InvalidBook | UnreadableBook;

/** The service knows the ISBN. */
export interface FoundBook {
  /** Distinguishes found books from the other responses. */
  readonly kind: 'found';
  /** The requested ISBN, unchanged. */
  readonly requested: string;
  /** The ISBN as 13 digits. */
  readonly isbn: string;
  /** The record, as the service sent it. */
  readonly record: BookRecord;
}

/** The service doesn't know the ISBN. */
export interface MissingBook {
  /** Distinguishes missing books from the other responses. */
  readonly kind: 'missing';
  /** The requested ISBN, unchanged. */
  readonly requested: string;
  /** The ISBN as 13 digits. */
  readonly isbn: string;
}

/** The requested text isn't an ISBN, so it wasn't sent. */
export interface InvalidBook {
  /** Distinguishes texts that aren't ISBNs from the other responses. */
  readonly kind: 'invalid';
  /** The requested text, unchanged. */
  readonly requested: string;
  /** Undefined: there is no ISBN. The key is there so that all responses have the same shape. */
  readonly isbn: undefined;
  /** `HEADGATE_INVALID_ISBN`, not retryable; its message quotes the text. */
  readonly error: SourceError;
}

/** A record that isn't an object or names no valid ISBN. It comes after the responses of its batch, in addition to them. */
export interface UnreadableBook {
  /** Distinguishes unreadable records from the other responses. */
  readonly kind: 'unreadable';
  /** Undefined: the record can't be matched to a requested ISBN. */
  readonly requested: undefined;
  /** Undefined: the record names no valid ISBN. The key is there so that all responses have the same shape. */
  readonly isbn: undefined;
  /** The record, as the service sent it. */
  readonly record: unknown;
  /** `HEADGATE_INVALID_RECORD`, not retryable. */
  readonly error: SourceError;
}

/** A page of an author's books, as the service returned it. */
export interface AuthorAnswer {
  /** The requested name. */
  readonly author: string;
  /** True if `record.author` is a name that isn't a spelling of the requested one, so these may be another author's books. */
  readonly namesAnother: boolean;
  /** The record, as the service sent it. */
  readonly record: AuthorRecord;
}

/** The value of a response, for each kind of query. */
export type BooksValue =
  | { readonly kind: 'book'; readonly answer: FoundBook }
  | { readonly kind: 'author'; readonly answer: AuthorAnswer }
  | ({ readonly kind: 'batch' } & MatchedRecords);

/** Number of items that a value delivers: one per requested ISBN, plus the unreadable records; or an author's books, at least 1. */
export function itemsOf(value: BooksValue): number {
  if (value.kind === 'book') return 1;
  if (value.kind === 'author') return Math.max(1, value.answer.record.books.length);
  return value.answers.length;
}
