import { SourceError } from '../source-error.ts';
import type { FollowerPage } from './page.ts';
import { type UserChoice, isScreenName, isUserId, userLabel } from './user-choice.ts';

/** Selects the pages of a walk. */
export type PagesOptions = UserChoice & {
  /** Where to begin, as an earlier page gave it. Default `-1`, the first page. */
  readonly cursor?: string;
  /** Most ids of a page, 1 to 5,000, the same through the whole walk. Default 5,000. */
  readonly count?: number;
  /** Requests ids as strings. They arrive exact either way. Default true. */
  readonly stringifyIds?: boolean;
  /** `previous` walks back, to the first page. Default `next`. */
  readonly direction?: 'next' | 'previous';
  /** The number of the first page, for a walk that goes on. Default 1. */
  readonly firstPage?: number;
  /** Most empty pages in a row, each with a new cursor, before the walk is ended. Default 100. */
  readonly maxEmptyPages?: number;
  /** How many pages before the first were empty in a row, for a walk that goes on. Default 0. */
  readonly emptyBefore?: number;
  /** How large a share of the turns the walk gets, against 1 of others, where budget is short. Default 1. */
  readonly share?: number;
  /** Ends each walk with the signal's reason, and aborts the request in flight. */
  readonly signal?: AbortSignal | undefined;
};

/** One page's request. */
export interface FollowersQuery {
  readonly user: UserChoice;
  readonly label: string;
  readonly cursor: string;
  readonly count: number;
  readonly stringifyIds: boolean;
  readonly direction: 'next' | 'previous';
  readonly page: number;
  readonly maxEmptyPages: number;
  /** Pages right before it that were empty. */
  readonly emptyBefore: number;
}

/** The service's own upper limit. */
const MOST_IDS = 5_000;

/** Pages of nothing but suspended accounts come empty, now and then some in a row; so many is a service that never ends. */
const MOST_EMPTY_PAGES = 100;

/** Looks at the options before a call is spent on them. Throws a `SourceError` with `HEADGATE_INVALID_OPTION`. */
export function firstQuery(options: PagesOptions): FollowersQuery {
  const { cursor = '-1', count = MOST_IDS, stringifyIds = true, direction = 'next', firstPage = 1, share = 1 } = options;
  const { maxEmptyPages = MOST_EMPTY_PAGES, emptyBefore = 0 } = options;
  const user = checkedUser(options);
  // Plain JavaScript may give a number, which has lost digits.
  if (typeof cursor !== 'string' || !CURSOR.test(cursor))
    refuse(`cursor must be digits as an earlier page gave them, got ${JSON.stringify(cursor)}`);
  if (!Number.isSafeInteger(count) || count < 1 || count > MOST_IDS)
    refuse(`count must be a whole number from 1 to ${MOST_IDS}, got ${count}`);
  if (direction !== 'next' && direction !== 'previous') refuse(`direction must be next or previous, got ${JSON.stringify(direction)}`);
  if (!(share > 0 && share < Infinity)) refuse(`share must be a number above 0, got ${share}`);
  if (!Number.isSafeInteger(firstPage) || firstPage < 1) refuse(`firstPage must be a whole number from 1 on, got ${firstPage}`);
  if (!Number.isSafeInteger(maxEmptyPages) || maxEmptyPages < 1)
    refuse(`maxEmptyPages must be a whole number from 1 on, got ${maxEmptyPages}`);
  if (!Number.isSafeInteger(emptyBefore) || emptyBefore < 0) refuse(`emptyBefore must be a whole number from 0 on, got ${emptyBefore}`);
  return { user, label: userLabel(user), cursor, count, stringifyIds, direction, page: firstPage, maxEmptyPages, emptyBefore };
}

const CURSOR = /^-?\d{1,20}$/;

/** The service documents neither both nor none of the two, so the options need exactly one. */
function checkedUser({
  userId,
  screenName,
}: {
  readonly userId?: string | undefined;
  readonly screenName?: string | undefined;
}): UserChoice {
  if (userId !== undefined && screenName === undefined) {
    // A caller without types may pass a number, which may have lost digits already.
    if (typeof userId !== 'string' || !isUserId(userId))
      refuse(`userId must be a string of digits, 18446744073709551615 at most, without a zero in front, got ${JSON.stringify(userId)}`);
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

/** The cursor that means: there is nothing more. */
const END = '0';

/**
 * Makes the function that finds the next query of one walk; undefined after its last page.
 *
 * It remembers every cursor it has seen and throws a `SourceError` with `HEADGATE_CURSOR_LOOP` for one that comes again: the service
 * would lead the walk in a circle. Ten million followers are 2,000 cursors. After `maxEmptyPages` empty pages in a row it throws one with
 * `HEADGATE_EMPTY_PAGES`: ever new cursors would lead the walk nowhere, for ever.
 */
export function nextQuery(first: FollowersQuery): (page: FollowerPage, query: FollowersQuery) => FollowersQuery | undefined {
  const seen = new Set([first.cursor]);
  return (page, query) => {
    const cursor = query.direction === 'next' ? page.nextCursor : page.previousCursor;
    if (cursor === END) return undefined;
    if (seen.has(cursor)) throw loopError(page, cursor);
    seen.add(cursor);
    const emptyBefore = page.ids.length === 0 ? query.emptyBefore + 1 : 0;
    if (emptyBefore >= query.maxEmptyPages) throw emptyPagesError(page, { cursor, inARow: emptyBefore });
    return { ...query, cursor, page: query.page + 1, emptyBefore };
  };
}

function loopError({ user, page, credential }: FollowerPage, cursor: string): SourceError {
  const message = `${user}: page ${page} points back to the cursor ${cursor}, which was used before in this walk. The service leads in a circle: start the walk again later.`;
  return new SourceError({ code: 'HEADGATE_CURSOR_LOOP', retryable: true, service: 'followers', credential, subject: user, message });
}

function emptyPagesError(
  { user, page, credential }: FollowerPage,
  { cursor, inARow }: { readonly cursor: string; readonly inARow: number },
): SourceError {
  const message =
    `${user}: page ${page} was the last of ${inARow} empty ones in a row, each of which gave a new cursor. ` +
    `To walk on, begin at the cursor ${cursor}, or allow more empty pages (maxEmptyPages).`;
  return new SourceError({ code: 'HEADGATE_EMPTY_PAGES', retryable: true, service: 'followers', credential, subject: user, message });
}
