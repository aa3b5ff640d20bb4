import { SourceError } from '../source-error.ts';
import { toIsbn13 } from '@headgate/operators';

/** What the service can be asked. */
export type BooksAsk = BookAsk | AuthorAsk | BatchAsk;

export interface BookAsk {
  readonly kind: 'book';
  readonly isbn: AskedIsbn;
}

export interface AuthorAsk {
  readonly kind: 'author';
  readonly name: string;
  readonly page?: number;
  readonly pageSize?: number;
}

/** Each entry gets an answer; the same ISBN is sent once however often it is asked, a malformed one not at all. */
export interface BatchAsk {
  readonly kind: 'batch';
  readonly entries: readonly BatchEntry[];
}

export type BatchEntry = AskedIsbn | InvalidIsbn;

export interface AskedIsbn {
  readonly asked: string;
  /** 13 digits. */
  readonly isbn: string;
}

export interface InvalidIsbn {
  readonly asked: string;
  readonly isbn: undefined;
  readonly error: SourceError;
}

/** Reads one ISBN as its user wrote it. */
export function batchEntry(text: string): BatchEntry {
  // Lists come from files and from JavaScript: what should be text may be anything.
  const asked = typeof text === 'string' ? text : String(text);
  const isbn = toIsbn13(asked);
  if (isbn !== undefined) return { asked, isbn };
  const error = new SourceError({
    code: 'HEADGATE_INVALID_ISBN',
    message: `${quoted(asked)} is no ISBN: it takes 10 or 13 digits and a check digit that fits them. Correct it; no request was spent.`,
    retryable: false,
    service: 'books',
    subject: asked.slice(0, LONGEST_QUOTE),
  });
  return { asked, isbn: undefined, error };
}

/** The ISBNs that a batch sends. */
export function isbnsToSend({ entries }: BatchAsk): readonly string[] {
  return [...new Set(entries.flatMap(({ isbn }) => (isbn === undefined ? [] : [isbn])))];
}

/** Whom an ask is about. */
export function subjectOf(ask: BooksAsk): string {
  if (ask.kind === 'book') return ask.isbn.isbn;
  if (ask.kind === 'author') return ask.name;
  const [first = '', ...others] = isbnsToSend(ask);
  return others.length === 0 ? first : `${others.length + 1} ISBNs from ${first}`;
}

const LONGEST_QUOTE = 40;

/** In JSON's quotes: whatever hides in the text stays visible and on one line. */
export function quoted(text: string): string {
  return text.length > LONGEST_QUOTE ? `${JSON.stringify(text.slice(0, LONGEST_QUOTE))}…` : JSON.stringify(text);
}
