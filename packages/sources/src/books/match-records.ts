import { toIsbn13 } from '@headgate/operators';
import type { SourceError } from '../source-error.ts';
import { booksError } from './books-errors.ts';
import { type BatchQuery, isbnsToSend } from './query.ts';
import type { BookAnswer } from './results.ts';
import { type BookRecord, bookRecord } from './schema.ts';

/**
 * Returns the valid ISBNs of a record as 13 digits, the most reliable first. A record has an ISBN-10, an ISBN-13 or both, as strings or
 * numbers.
 */
export function isbnsOf(record: BookRecord): readonly string[] {
  return ['isbn13', 'isbn', 'isbn10'].flatMap((field) => {
    const value = record[field];
    // An ISBN-10 sent as a number has lost any leading zeros.
    const text = typeof value === 'number' ? String(value).padStart(10, '0') : value;
    const isbn = typeof text === 'string' ? toIsbn13(text) : undefined;
    return isbn === undefined ? [] : [isbn];
  });
}

export interface MatchedRecords {
  readonly answers: readonly BookAnswer[];
  /** Number of ignored records: those that weren't requested, that appeared twice, or that were unreadable beyond one per ISBN. */
  readonly ignored: number;
  /** Whether the service sent the record of the batch's control; absent without a control. */
  readonly hasControl?: boolean;
}

/**
 * Matches the records of a batch to the requested ISBNs, in their order. The service leaves out unknown books, promises no order, and may
 * send books that weren't requested.
 */
export function matchRecords(query: BatchQuery, data: readonly unknown[]): MatchedRecords {
  const requested = new Set(isbnsToSend(query));
  const found = new Map<string, BookRecord>();
  const unreadable: BookAnswer[] = [];
  let ignored = 0;
  for (const item of data) {
    const record = bookRecord.safeParse(item);
    const isbns = record.success ? isbnsOf(record.data) : [];
    if (!record.success || isbns.length === 0) {
      // Limits the memory for unreadable records, in case the service sends only such records.
      if (unreadable.length >= query.entries.length) ignored += 1;
      else unreadable.push({ kind: 'unreadable', requested: undefined, isbn: undefined, record: item, error: unreadableError(query) });
      continue;
    }
    const isbn = isbns.find((one) => requested.has(one));
    if (isbn === undefined || found.has(isbn)) ignored += 1;
    else found.set(isbn, record.data);
  }
  const answers = query.entries.map((entry): BookAnswer => {
    if (entry.isbn === undefined) return entry;
    const record = found.get(entry.isbn);
    return record === undefined ? { kind: 'missing', ...entry } : { kind: 'found', ...entry, record };
  });
  return {
    answers: [...answers, ...unreadable],
    ignored,
    ...(query.control !== undefined && { hasControl: found.has(query.control.isbn) }),
  };
}

function unreadableError({ entries }: BatchQuery): SourceError {
  const message =
    `books: a record in the response for ${entries.length} ISBNs isn't an object or names no ISBN, so it can't be matched to any of them. ` +
    'The other records were read. Its ISBN is among those reported missing: request these again, one by one.';
  return booksError('HEADGATE_INVALID_RECORD', message, {});
}
