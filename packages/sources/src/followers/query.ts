import { optionChecks } from '../checked-options.ts';
import type { Paging, WalkOptions } from '../paging.ts';
import { SourceError } from '../source-error.ts';
import { MAX_EMPTY_PAGES } from '../walk-pages.ts';
import type { FollowersAnswer } from './page.ts';
import { type UserChoice, isScreenName, isUserId, userLabel } from './user-choice.ts';

/** Selects the pages of a walk. */
export type FollowersWalk = UserChoice & {
  /** Cursor of the first page to request: `-1`, or a cursor that an earlier page returned. Default `-1`, the first page. */
  readonly cursor?: string | undefined;
  /** Maximum IDs per page, 1 to 5,000. Default 5,000. */
  readonly count?: number | undefined;
  /** Asks the service to send IDs as strings. IDs are exact even if it sends numbers. Default true. */
  readonly stringifyIds?: boolean;
  /** `previous` walks backward, toward the first page. Default `next`. */
  readonly direction?: 'next' | 'previous';
  /** Number of empty pages in a row after which the walk ends with `HEADGATE_EMPTY_PAGES`. Default 100. */
  readonly maxEmptyPages?: number;
};

/** Selects the pages of a walk, and the place at which it resumes. */
export type PagesOptions = FollowersWalk & WalkOptions<string>;

/** The request for one page. */
export interface FollowersQuery {
  /** The user, by ID or by screen name. */
  readonly user: UserChoice;
  /** Name of the user in errors and displays: `@alpha`, or the digits of an ID. */
  readonly label: string;
  /** Cursor of the page. */
  readonly cursor: string;
  /** Maximum IDs of the page. */
  readonly count: number;
  /** Asks the service to send IDs as strings. */
  readonly stringifyIds: boolean;
  /** Direction of the walk: it continues with the page's next cursor or its previous one. */
  readonly direction: 'next' | 'previous';
}

/** Maximum `count` that the service accepts. */
const MOST_IDS = 5_000;

/** The service returns this cursor if no page is left. */
const END = '0';

/**
 * Paging through a user's followers, for `walk({ source: followers(…), paging })`. Throws a `SourceError` with `HEADGATE_INVALID_OPTION`
 * for invalid options.
 */
export function followersPaging(options: FollowersWalk): Paging<FollowersQuery, FollowersAnswer, string> {
  const { cursor = '-1', count = MOST_IDS, stringifyIds = true, direction = 'next', maxEmptyPages = MAX_EMPTY_PAGES } = options;
  const user = checkedUser(options);
  assertCursor(cursor);
  const check = optionChecks('followers');
  check.whole({ count }, 1, MOST_IDS);
  check.whole({ maxEmptyPages }, 1);
  if (direction !== 'next' && direction !== 'previous') refuse(`direction must be next or previous, got ${JSON.stringify(direction)}`);
  const common = { user, label: userLabel(user), count, stringifyIds, direction };
  return {
    first: cursor,
    query: (at) => ({ ...common, cursor: at }),
    next({ nextCursor, previousCursor }, at) {
      const given = direction === 'next' ? nextCursor : previousCursor;
      if (given === '') return { cursor: at, isUnknown: true };
      return given === END ? 'last' : { cursor: given };
    },
    maxEmptyPages,
  };
}

/** Throws unless the cursor is the text of a whole number. Plain JavaScript can pass a number, which may have lost digits. */
export function assertCursor(cursor: unknown): void {
  if (typeof cursor !== 'string' || !CURSOR.test(cursor))
    refuse(`cursor must be the digits of an earlier page's cursor, got ${JSON.stringify(cursor)}`);
}

const CURSOR = /^-?\d{1,20}$/;

/** Returns the user. Requires either an ID or a screen name, because the service doesn't document what it does with both or neither. */
function checkedUser({
  userId,
  screenName,
}: {
  readonly userId?: string | undefined;
  readonly screenName?: string | undefined;
}): UserChoice {
  if (userId !== undefined && screenName === undefined) {
    // Plain JavaScript can pass a number, which may have lost digits.
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
