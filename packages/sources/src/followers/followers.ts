import type { PageStream } from '@headgate/throttle';
import { defineSource } from '../define-source.ts';
import type { WalkedPage } from '../paging.ts';
import type { SourceOptions } from '../source-options.ts';
import type { Source } from '../source.ts';
import { mapPages } from '../walk-pages.ts';
import { classify } from './classify.ts';
import type { FollowerPage, FollowersAnswer } from './page.ts';
import { assertCursor, type FollowersQuery, followersPaging, type PagesOptions } from './query.ts';

/** The options of every source. `limit` defaults to the documented limit of the service: 15 requests per 15 minutes. */
export type FollowersOptions = SourceOptions;

/**
 * A source for the followers service. Its `pages` takes a user. To use it with `walk` of `@headgate/pipeline`, pass a {@link
 * followersPaging}.
 */
export interface Followers extends Omit<Source<FollowersQuery, FollowersAnswer>, 'pages'> {
  /**
   * Walks the pages of one user's followers; each subscription, iteration or drain is a separate walk.
   *
   * - *Emits when* a page has arrived, as soon as budget and demand permit.
   * - *Backpressures when* downstream has no capacity for `count` more IDs.
   * - *Completes when* the service returns the cursor 0, which means that no page is left. A short or empty page isn't the end.
   * - *Cancels when* the consumer unsubscribes, or `signal` aborts: the request in flight is aborted.
   *
   * IDs are strings of exactly the service's digits. Throws a `SourceError` with `HEADGATE_INVALID_OPTION`, before any
   * request, unless exactly one of `userId` and `screenName` is set and the other options are valid. The walk ends with a `SourceError`
   * with the code `HEADGATE_USER_NOT_FOUND`, `HEADGATE_USER_PROTECTED`, `HEADGATE_USER_SUSPENDED`, `HEADGATE_CURSOR_LOOP`,
   * `HEADGATE_EMPTY_PAGES`, `HEADGATE_GAVE_UP` or another that names the cause.
   */
  pages(options: PagesOptions): PageStream<FollowerPage>;
}

/** Creates a source for the followers service. Throws a `SourceError` with `HEADGATE_INVALID_OPTION` for invalid options. */
export function followers(options: FollowersOptions): Followers {
  const source = open(options);
  return {
    ...source,
    pages(given) {
      const { from } = given;
      if (from !== undefined && from !== 'last') assertCursor(from.cursor);
      return mapPages(source.pages(followersPaging(given), given), pageOf);
    },
  };
}

function pageOf({ page, number, next }: WalkedPage<FollowersAnswer, string>): FollowerPage {
  return { ...page, page: number, next };
}

const open = defineSource<FollowersQuery, FollowersAnswer>({
  service: 'followers',
  limit: { requests: 15, windowMs: 15 * 60_000 },
  toRequest({ user, cursor, count, stringifyIds }) {
    const whose: Readonly<Record<string, string>> =
      user.screenName === undefined ? { user_id: user.userId } : { screen_name: user.screenName };
    return {
      method: 'GET',
      path: '/1.1/followers/ids.json',
      query: { ...whose, cursor, count: String(count), stringify_ids: String(stringifyIds) },
    };
  },
  classify,
  subject: ({ label }) => label,
  items: ({ count }) => count,
  itemsOf: ({ ids }) => ids.length,
});
