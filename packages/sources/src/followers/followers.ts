import type { PageStream } from '@headgate/throttle';
import { defineSource } from '../define-source.ts';
import type { WalkedPage } from '../paging.ts';
import type { SourceOptions } from '../source-options.ts';
import type { Source } from '../source.ts';
import { mapPages } from '../walk-pages.ts';
import { classify } from './classify.ts';
import type { FollowerPage, FollowersAnswer } from './page.ts';
import { assertCursor, type FollowersQuery, followersPaging, type PagesOptions } from './query.ts';

/** The options of every source; `limit` is 15 requests per 15 minutes by default (service document, Limits). */
export type FollowersOptions = SourceOptions;

/** The followers service: a source whose `pages` takes a user. `walk` of `@headgate/pipeline` takes it with a {@link followersPaging}. */
export interface Followers extends Omit<Source<FollowersQuery, FollowersAnswer>, 'pages'> {
  /**
   * Walks the pages of one user's followers; each subscription, iteration or drain is a separate walk.
   *
   * - *Emits when* a page has arrived, as soon as budget and demand permit.
   * - *Backpressures when* downstream has no capacity for `count` more IDs.
   * - *Completes when* the service says there is no more (cursor 0). Short and empty pages aren't the end.
   * - *Cancels when* unsubscribed, or when `signal` is aborted: the request in flight is aborted.
   *
   * IDs are strings, or bigints with `ids: 'bigint'`, and exact either way. Throws a `SourceError` with `HEADGATE_INVALID_OPTION`, before
   * any request, unless exactly one of `userId` and `screenName` is set and the other options are valid. The walk ends with a `SourceError`
   * of the code `HEADGATE_USER_NOT_FOUND`, `_USER_PROTECTED`, `_USER_SUSPENDED`, `HEADGATE_CURSOR_LOOP`, `HEADGATE_EMPTY_PAGES`,
   * `HEADGATE_GAVE_UP` or another that names the cause.
   */
  pages(options: PagesOptions & { readonly ids: 'bigint' }): PageStream<FollowerPage<bigint>>;
  /** As above, with IDs as strings: the default. */
  pages(options: PagesOptions & { readonly ids?: 'string' }): PageStream<FollowerPage>;
}

/** Opens the followers service. Throws a `SourceError` with `HEADGATE_INVALID_OPTION` for invalid options. */
export function followers(options: FollowersOptions): Followers {
  const source = open(options);

  function pages(given: PagesOptions & { readonly ids: 'bigint' }): PageStream<FollowerPage<bigint>>;
  function pages(given: PagesOptions & { readonly ids?: 'string' }): PageStream<FollowerPage>;
  function pages(
    given: PagesOptions & { readonly ids?: 'string' | 'bigint' },
  ): PageStream<FollowerPage> | PageStream<FollowerPage<bigint>> {
    const { from, ids } = given;
    if (from !== undefined && from !== 'last') assertCursor(from.cursor);
    const walked = source.pages(followersPaging(given), given);
    return ids === 'bigint'
      ? mapPages(walked, (one): FollowerPage<bigint> => ({ ...pageOf(one), ids: one.page.ids.map(BigInt) }))
      : mapPages(walked, pageOf);
  }

  return { ...source, pages };
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
