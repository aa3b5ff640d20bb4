import * as z from 'zod';

/**
 * A book or author as the service sent it, untouched: its fields and their types vary from record to record. A number that JavaScript would
 * spell differently is kept so that `JSON.stringify` returns its original digits.
 */
export type BooksRecord = Readonly<Record<string, unknown>>;

// Objects are checked, never rebuilt: a rebuilt one would have its keys in another order, and records must be passed on untouched.
const record: z.ZodType<BooksRecord> = z.custom<BooksRecord>(isRecord, "isn't a JSON object");

/** Response to `GET /book/{isbn}`; the record in it is checked separately, to distinguish a bad record from a bad response. */
export const bookAnswer: z.ZodType<{ book: unknown }> = z.looseObject({ book: z.unknown().refine((value) => value !== undefined) });

/** Response to `GET /author/{name}`: itself the author's record. */
export const authorAnswer: z.ZodType<AuthorRecord> = z.custom<AuthorRecord>((value) => isRecord(value) && Array.isArray(value['books']));

/** Response to `POST /books`. */
export const batchAnswer: z.ZodType<{ data: unknown[] }> = z.looseObject({ data: z.array(z.unknown()) });

/** A book's record needs an ISBN. ISBNs are strings, sometimes numbers, sometimes ''. */
export const bookRecord: z.ZodType<BookRecord> = record.refine(
  (value) => ['isbn13', 'isbn', 'isbn10'].some((field) => ['string', 'number'].includes(typeof value[field])),
  'names no ISBN',
);

const words = z.string().optional().catch(undefined);

/** A refusal: services use three spellings of one field. */
export const refusalAnswer: z.ZodType<{
  errorMessage?: string | undefined;
  error_message?: string | undefined;
  message?: string | undefined;
}> = z.looseObject({ errorMessage: words, error_message: words, message: words });

/** A book as the service sent it, untouched. */
export type BookRecord = BooksRecord;

/** An author as the service sent it, untouched, with a page of their books. */
export type AuthorRecord = BooksRecord & { readonly books: readonly unknown[] };

/** True if a value of a parsed response is a JSON object. */
export function isRecord(value: unknown): value is BooksRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);
}

/** Numbers kept as text by `JSON.rawJSON` are frozen objects without prototype and with this one key. */
function isRawNumber(value: object): boolean {
  return Object.isFrozen(value) && Object.getPrototypeOf(value) === null && 'rawJSON' in value;
}
