import * as z from 'zod';

/**
 * A book or author as the service sent it, untouched: its fields and their types vary from record to record. A number that JavaScript would
 * spell differently is kept as an object that `JSON.stringify` writes with its original digits.
 */
export type BooksRecord = Readonly<Record<string, unknown>>;

// `z.custom` passes the object on unchanged. An object schema would build another one with its keys in another order.
const record: z.ZodType<BooksRecord> = z.custom<BooksRecord>(isRecord, "isn't a JSON object");

/** Response to `GET /book/{isbn}`. Its record is checked separately, to distinguish a bad record from a bad response. */
export const bookAnswer: z.ZodType<{ book: unknown }> = z.looseObject({ book: z.unknown().refine((value) => value !== undefined) });

/** Response to `GET /author/{name}`: the author's record. */
export const authorAnswer: z.ZodType<AuthorRecord> = z.custom<AuthorRecord>((value) => isRecord(value) && Array.isArray(value['books']));

/** Response to `POST /books`. */
export const batchAnswer: z.ZodType<{ data: unknown[] }> = z.looseObject({ data: z.array(z.unknown()) });

/** A book's record must have an ISBN field. Its value is a string (sometimes empty) or a number. */
export const bookRecord: z.ZodType<BookRecord> = record.refine(
  (value) => ['isbn13', 'isbn', 'isbn10'].some((field) => ['string', 'number'].includes(typeof value[field])),
  'names no ISBN',
);

const words = z.string().optional().catch(undefined);

/** An error response. Its text is in one of three fields. */
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

/** True for a number that `JSON.rawJSON` keeps as text: a frozen object without a prototype, with this one key. */
function isRawNumber(value: object): boolean {
  return Object.isFrozen(value) && Object.getPrototypeOf(value) === null && 'rawJSON' in value;
}
