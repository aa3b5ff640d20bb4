import { PageStream, type PageReader } from '@headgate/throttle';
import type { Observable } from 'rxjs';
import type { BudgetSlots } from '../budget-slots.ts';
import { defineSource } from '../define-source.ts';
import type { SourceOptions } from '../source-options.ts';
import type { SourceGauges } from '../source.ts';
import { classify } from './classify.ts';
import type { FollowerPage } from './page.ts';
import { firstQuery, type FollowersQuery, type PagesOptions, nextQuery } from './query.ts';

/** The options of every source; `limit` is 15 requests per 15 minutes by default (service document, Limits). */
export type FollowersOptions = SourceOptions;

/** The followers service. */
export interface Followers extends AsyncDisposable {
  /**
   * Walks the pages of one user's followers; each subscription, iteration or drain is a walk of its own.
   *
   * - *Emits when* a page has come, as soon as budget and demand permit.
   * - *Backpressures when* downstream has no room for `count` more ids.
   * - *Completes when* the service says there is no more (cursor 0). Short and empty pages are not the end.
   * - *Cancels when* unsubscribed, or when `signal` is aborted: the request in flight is aborted.
   *
   * Ids are strings, or bigints with `ids: 'bigint'`, and exact either way.
   * Throws a `SourceError` with `HEADGATE_INVALID_OPTION`, before a call is spent, unless exactly one of `userId` and `screenName` is given
   * and the rest is in bounds. The walk ends with a `SourceError` of the code `HEADGATE_USER_NOT_FOUND`, `_USER_PROTECTED`, `_USER_SUSPENDED`,
   * `HEADGATE_CURSOR_LOOP`, `HEADGATE_EMPTY_PAGES`, `HEADGATE_GAVE_UP` or another that names the cause.
   */
  pages(options: PagesOptions & { readonly ids: 'bigint' }): PageStream<FollowerPage<bigint>>;
  /** As above, with ids as strings: the default. */
  pages(options: PagesOptions & { readonly ids?: 'string' }): PageStream<FollowerPage>;
  /** How its budgets stand and who waits for what. */
  gauges(): SourceGauges;
  /** When the slots of each budget come free: what a forecast is made of. */
  slots(): readonly BudgetSlots[];
  /** The same as `gauges`, at once and whenever who waits or what for has changed; completes never. */
  readonly changes: Observable<SourceGauges>;
  /**
   * Starts no further request: calls that wait for one, and later calls, reject with `HEADGATE_STOPPED`; requests in flight run to their
   * end.
   */
  stop(): void;
  /** Aborts the requests in flight and closes the connections. */
  close(): Promise<void>;
}

/** Opens the followers service. Throws a `SourceError` with `HEADGATE_INVALID_OPTION` for options that can't be. */
export function followers(options: FollowersOptions): Followers {
  const source = open(options);

  function pages(given: PagesOptions & { readonly ids: 'bigint' }): PageStream<FollowerPage<bigint>>;
  function pages(given: PagesOptions & { readonly ids?: 'string' }): PageStream<FollowerPage>;
  function pages(
    given: PagesOptions & { readonly ids?: 'string' | 'bigint' },
  ): PageStream<FollowerPage> | PageStream<FollowerPage<bigint>> {
    const first = firstQuery(given);
    const { signal, share = 1 } = given;
    // Each walk has state of its own, made when it starts.
    const reader = (): PageReader<FollowerPage> => source.walk(first, nextQuery(first), { share }).reader();
    return given.ids === 'bigint' ? new PageStream(() => bigintReader(reader()), { signal }) : new PageStream(reader, { signal });
  }

  return {
    pages,
    gauges: () => source.gauges(),
    slots: () => source.slots(),
    changes: source.changes,
    stop: () => source.stop(),
    close: () => source.close(),
    [Symbol.asyncDispose]: () => source.close(),
  };
}

const open = defineSource<FollowersQuery, FollowerPage>({
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

function bigintReader(reader: PageReader<FollowerPage>): PageReader<FollowerPage<bigint>> {
  return {
    async read(options) {
      const delivery = await reader.read(options);
      return delivery && { credit: delivery.credit, value: { ...delivery.value, ids: delivery.value.ids.map(BigInt) } };
    },
  };
}
