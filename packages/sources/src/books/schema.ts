import { z } from 'zod';
import { type BooksRecord, isRecord } from './results.ts';

// Objects are checked, never rebuilt: a rebuilt one has its keys in another order, and records are handed on untouched.
const record: z.ZodType<BooksRecord> = z.custom<BooksRecord>(isRecord, 'is not a JSON object');

/** Answer to `GET /book/{isbn}`; the record in it is looked at apart, so that a bad one can be told from a bad answer. */
export const bookAnswer: z.ZodType<{ book: unknown }> = z.looseObject({ book: z.unknown().refine((value) => value !== undefined) });

/** Answer to `GET /author/{name}`: itself the author's record. */
export const authorAnswer: z.ZodType<AuthorRecord> = z.custom<AuthorRecord>((value) => isRecord(value) && Array.isArray(value['books']));

/** Answer to `POST /books`. */
export const batchAnswer: z.ZodType<{ data: unknown[] }> = z.looseObject({ data: z.array(z.unknown()) });

/** What a book's record needs: to say which book it is. ISBNs come as strings, now and then as numbers, now and then as ''. */
export const bookRecord: z.ZodType<BookRecord> = record.refine(
  (value) => ['isbn13', 'isbn', 'isbn10'].some((field) => ['string', 'number'].includes(typeof value[field])),
  'names no ISBN',
);

const words = z.string().optional().catch(undefined);

/** A refusal: three spellings of one field are about. */
export const refusalAnswer: z.ZodType<{
  errorMessage?: string | undefined;
  error_message?: string | undefined;
  message?: string | undefined;
}> = z.looseObject({ errorMessage: words, error_message: words, message: words });

/** A book as the service sent it, untouched. */
export type BookRecord = BooksRecord;

/** An author as the service sent it, untouched, with a page of their books. */
export type AuthorRecord = BooksRecord & { readonly books: readonly unknown[] };
