import type { Paging, WalkOptions } from '../paging.ts';
import { SourceError } from '../source-error.ts';
import type { FollowersAnswer } from './page.ts';
import { type UserChoice, isScreenName, isUserId, userLabel } from './user-choice.ts';

/** Selects the pages of a walk. */
export type FollowersWalk = UserChoice & {
  /** Cursor of the first page to request, as an earlier page returned it. Default `-1`, the first page. */
  readonly cursor?: string | undefined;
  /** Maximum IDs per page, 1 to 5,000, the same for all pages. Default 5,000. */
  readonly count?: number | undefined;
  /** Requests IDs as strings. They arrive exact either way. Default true. */
  readonly stringifyIds?: boolean;
  /** `previous` walks back, to the first page. Default `next`. */
  readonly direction?: 'next' | 'previous';
  /** Maximum empty pages in a row, each with a new cursor, before the walk is ended. Default 100. */
  readonly maxEmptyPages?: number;
};

/** Selects the pages of a walk, and where to continue. */
export type PagesOptions = FollowersWalk & WalkOptions<string>;

/** One page's request. */
export interface FollowersQuery {
  /** The user, in the form that the service expects. */
  readonly user: UserChoice;
  /** `@alpha`, or the digits of an ID. */
  readonly label: string;
  /** The page's cursor. */
  readonly cursor: string;
  /** Maximum IDs of the page. */
  readonly count: number;
  /** Requests IDs as strings. */
  readonly stringifyIds: boolean;
  /** Which cursor of the page the walk needs. */
  readonly direction: 'next' | 'previous';
}

/** The service's own upper limit. */
const MOST_IDS = 5_000;

/** The cursor that means: there is nothing more. */
const END = '0';

/** The paging of a user's followers, for `walk({ source: followers(…), paging })`. Throws a `SourceError` with `HEADGATE_INVALID_OPTION`. */
export function followersPaging(options: FollowersWalk): Paging<FollowersQuery, FollowersAnswer, string> {
  const { cursor = '-1', count = MOST_IDS, stringifyIds = true, direction = 'next', maxEmptyPages } = options;
  const user = checkedUser(options);
  assertCursor(cursor);
  if (!Number.isSafeInteger(count) || count < 1 || count > MOST_IDS)
    refuse(`count must be a whole number from 1 to ${MOST_IDS}, got ${count}`);
  if (direction !== 'next' && direction !== 'previous') refuse(`direction must be next or previous, got ${JSON.stringify(direction)}`);
  if (maxEmptyPages !== undefined && !(Number.isSafeInteger(maxEmptyPages) && maxEmptyPages >= 1))
    refuse(`maxEmptyPages must be a whole number from 1, got ${maxEmptyPages}`);
  const common = { user, label: userLabel(user), count, stringifyIds, direction };
  return {
    first: cursor,
    query: (at) => ({ ...common, cursor: at }),
    next({ nextCursor, previousCursor }) {
      const given = direction === 'next' ? nextCursor : previousCursor;
      return given === END ? 'last' : { cursor: given };
    },
    ...(maxEmptyPages !== undefined && { maxEmptyPages }),
  };
}

/** Throws for a cursor that no page returned. Plain JavaScript may pass a number, which has lost digits. */
export function assertCursor(cursor: unknown): void {
  if (typeof cursor !== 'string' || !CURSOR.test(cursor))
    refuse(`cursor must be the digits of an earlier page's cursor, got ${JSON.stringify(cursor)}`);
}

const CURSOR = /^-?\d{1,20}$/;

/** The service doesn't document what both or none of them mean, so the options require exactly one. */
function checkedUser({
  userId,
  screenName,
}: {
  readonly userId?: string | undefined;
  readonly screenName?: string | undefined;
}): UserChoice {
  if (userId !== undefined && screenName === undefined) {
    // A caller without types may pass a number, which may already have lost digits.
    if (typeof userId !== 'string' || !isUserId(userId))
      refuse(`userId must be a string of digits, at most 18446744073709551615, without leading zeros, got ${JSON.stringify(userId)}`);
    return { userId };
  }
  if (screenName !== undefined && userId === undefined) {
    if (typeof screenName !== 'string' || !isScreenName(screenName))
      refuse(`screenName must be letters, digits and _, without @, got ${JSON.stringify(screenName)}`);
    return { screenName };
  }
  return refuse(`give exactly one of userId and screenName, got ${userId === undefined ? 'neither' : 'both'}`);
}

function refuse(message: string): never {
  throw new SourceError({ code: 'HEADGATE_INVALID_OPTION', retryable: false, service: 'followers', message: `followers: ${message}` });
}
