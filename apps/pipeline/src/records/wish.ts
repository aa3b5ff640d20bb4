import { isScreenName, isUserId } from '@headgate/sources/followers/user';
import { z } from 'zod';

const userId = z
  .string('must be a string of digits, in quotes: a bare number loses digits')
  .refine(isUserId, 'must be digits, 18446744073709551615 at most, without a zero in front');
const screenName = z
  .string()
  .transform((name) => name.replace(/^@/, ''))
  .refine(isScreenName, 'must be 1 to 50 letters, digits or underscores');

/** Where a walk begins that is for all of a user's pages. */
export const FIRST_CURSOR = '-1';

/** A wish in `followers.requests`: crawl this user, all of it or from a cursor on. */
export const followersWish: z.ZodType<FollowersWish> = z
  .object({
    screenName: screenName.optional(),
    userId: userId.optional(),
    cursor: z
      .string('must be a string of digits, in quotes')
      .regex(/^-?\d{1,20}$/, 'must be a cursor: digits, perhaps with a minus sign')
      .optional(),
    count: z.int().min(1).max(5_000).optional(),
  })
  .refine(
    (wish) => (wish.screenName === undefined) !== (wish.userId === undefined),
    'takes either screenName or userId',
  ) as z.ZodType<FollowersWish>;

export type FollowersWish = (
  | { readonly screenName: string; readonly userId?: undefined }
  | { readonly userId: string; readonly screenName?: undefined }
) & {
  readonly cursor?: string | undefined;
  readonly count?: number | undefined;
};

/** A wish in `books.requests`: look these books up, or this author. ISBNs are checked one by one when they are worked. */
export const booksWish: z.ZodType<BooksWish> = z.union(
  [
    z.object({ isbn: z.string() }),
    z.object({ isbns: z.array(z.string()).min(1).max(100_000) }),
    z.object({
      author: z.string().trim().min(1).max(1_000),
      page: z.int().min(1).optional(),
      pageSize: z.int().min(1).max(1_000).optional(),
    }),
  ],
  'takes {"isbn": "…"}, {"isbns": ["…"]} or {"author": "…"}',
);

export type BooksWish = { readonly isbn: string } | { readonly isbns: readonly string[] } | AuthorWish;

/** All books of an author, or those from a page on. */
export interface AuthorWish {
  readonly author: string;
  readonly page?: number | undefined;
  /** Books a page, which `page` counts. Default: the configuration's. */
  readonly pageSize?: number | undefined;
}

export class MalformedWishError extends Error {
  override readonly name = 'MalformedWishError';
  readonly code = 'HEADGATE_MALFORMED_WISH';
  readonly retryable = false;
}

/** Reads a wish from a record's value. Throws a `MalformedWishError` that says what is wrong with it. */
export function parseWish<Wish>(schema: z.ZodType<Wish>, value: string | null): Wish {
  if (value === null) throw new MalformedWishError('The request has no value. It takes a JSON object.');
  let json: unknown;
  try {
    json = JSON.parse(value);
  } catch (error) {
    throw new MalformedWishError(`The request is not JSON: ${(error as Error).message}`, { cause: error });
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')} ${message}`));
  throw new MalformedWishError(`The request is malformed: ${problems.join('; ')}.`);
}
