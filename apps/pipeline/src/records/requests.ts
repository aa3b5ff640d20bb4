import { type UserChoice, isScreenName, isUserId } from '@headgate/sources/followers/user';
import * as z from 'zod';

export const FIRST_CURSOR = '-1';

export const userId = z
  .string('must be a string of digits, in quotes: a bare number loses digits')
  .refine(isUserId, 'must be digits, at most 18446744073709551615, without leading zeros')
  .meta({ pattern: '^(0|[1-9]\\d{0,19})$', description: 'User ID, in digits.' });
export const screenName = z
  .string()
  .transform((name) => name.replace(/^@/, ''))
  .refine(isScreenName, 'must be 1 to 50 letters, digits or underscores')
  .meta({ type: 'string', pattern: '^@?\\w{1,50}$', description: 'Screen name of a user, with or without @.' });

/** A job in `followers.requests`: a user to crawl, from the start or from a cursor. */
export type FollowersRequest = UserChoice & { readonly cursor?: string | undefined; readonly count?: number | undefined };

/** Checks the value of a record in `followers.requests`, and removes a leading @ from the screen name. */
export const followersRequest: z.ZodType<FollowersRequest> = z
  .object({
    screenName: screenName.optional(),
    userId: userId.optional(),
    cursor: z
      .string('must be a string of digits, in quotes')
      .regex(/^-?\d{1,20}$/, 'must be a cursor: digits, optionally with a minus sign')
      .describe('Cursor of the page to start at. Default: the first page.')
      .optional(),
    count: z.int().min(1).max(5_000).describe('IDs per page. Default: the count in the configuration.').optional(),
  })
  .refine((request) => (request.screenName === undefined) !== (request.userId === undefined), 'takes either screenName or userId')
  .meta({ oneOf: [{ required: ['screenName'] }, { required: ['userId'] }] }) as z.ZodType<FollowersRequest>;

/** A job in `books.requests`: books to look up, or an author. ISBNs are checked one by one when they are looked up. */
export type BooksRequest = { readonly isbn: string } | { readonly isbns: readonly string[] } | AuthorRequest;

/** Checks the value of a record in `books.requests`. An ISBN's digits are checked later, when the book is looked up. */
export const booksRequest: z.ZodType<BooksRequest> = z
  .object({
    isbn: z.string('must be a string, in quotes').describe('ISBN of a book: 10 or 13 digits.').optional(),
    isbns: z.array(z.string('must be a string, in quotes')).min(1).max(100_000).describe('ISBNs of books.').optional(),
    author: z.string().trim().min(1).max(1_000).describe('Name of an author, as the service spells it.').optional(),
  })
  .refine((request) => Object.keys(request).length === 1, 'takes either {"isbn": "…"}, {"isbns": ["…"]} or {"author": "…"}')
  .meta({ oneOf: [{ required: ['isbn'] }, { required: ['isbns'] }, { required: ['author'] }] }) as z.ZodType<BooksRequest>;

/** All books of an author. */
export interface AuthorRequest {
  /** Name of the author, as the service spells it. */
  readonly author: string;
}
