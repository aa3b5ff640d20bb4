import { userLabel } from '@headgate/sources/followers/user';
import type { Clock } from '@headgate/throttle';
import { partitionForKey } from '@headgate/topics';
import { begunLists, isIsbn } from '../flows/book-list.ts';
import { type CrawlCheckpoint, begunCrawls, crawlCheckpoints } from '../flows/crawl-checkpoint.ts';
import { unfinishedComparisons } from '../flows/crawl-comparisons.ts';
import { listedAndDue } from '../flows/wish-list.ts';
import { offsetRanges } from '../lanes/offset-ranges.ts';
import { type WishRecord, wishesInOrder } from '../lanes/wishes-in-order.ts';
import type { Config } from '../config/config.ts';
import { FIRST_CURSOR, type FollowersWish, booksWish, followersWish, parseWish } from '../records/wish.ts';
import type { LaneState, LaneStates } from './lane-states.ts';
import { isFromStart, pagesOfLastCrawls } from './last-crawls.ts';
import type { LogView } from './log-view.ts';

export interface LeftToDoOptions {
  readonly log: LogView;
  readonly config: Config;
  readonly clock: Clock;
  readonly states: LaneStates;
}

/** What a run would find to do. */
export interface LeftToDo {
  readonly crawls: readonly CrawlLeft[];
  readonly isbns: number;
  readonly authors: number;
  /** Comparisons of crawls that were begun: they need no request. */
  readonly comparisons: number;
}

export interface CrawlLeft {
  readonly user: string;
  /** The next page, 1-based: above 1 a crawl goes on there. */
  readonly page: number;
  readonly cursor: string;
  /** Its wish's partition: only that lane's credentials ask for it. */
  readonly lane: number;
  /** Pages of the user's last complete crawl, where there was one and this one began at the start, too. */
  readonly pagesLastTime?: number;
}

/** Reads what is unfinished without taking a lane: it may be looked at while a run goes on. */
export async function leftToDo({ log, config, clock, states }: LeftToDoOptions): Promise<LeftToDo> {
  const begun: (CrawlLeft & { readonly isWhole: boolean })[] = [];
  let isbns = 0;
  let authors = 0;
  let comparisons = 0;
  const add = (wish: FollowersWish, lane: number, checkpoint?: CrawlCheckpoint): void => {
    const { page = 1, cursor = wish.cursor ?? FIRST_CURSOR } = checkpoint ?? {};
    begun.push({ user: userLabel(wish), page, cursor, lane, isWhole: isFromStart(wish) });
  };

  for (const state of states.followers) {
    const checkpoints = crawlCheckpoints(state.under);
    if (config.followers?.emit.includes('changes') === true) comparisons += unfinishedComparisons(state.under);
    for await (const { value, offset } of unfinished(log, state, begunCrawls(checkpoints))) {
      try {
        add(parseWish(followersWish, value), state.partition, checkpoints.get(offset));
      } catch {
        // Malformed: it costs no request.
      }
    }
  }
  const lists = begunLists(states.books.under);
  for await (const { value, offset } of unfinished(log, states.books, lists.wishes)) {
    try {
      const wish = parseWish(booksWish, value);
      if ('author' in wish) {
        authors += 1;
        continue;
      }
      const answered = offsetRanges(lists.answered.get(offset));
      const asks = lists.asks(offset, 'isbn' in wish ? [wish.isbn] : wish.isbns);
      isbns += asks.filter((isbn, place) => !answered.has(place) && isIsbn(isbn)).length;
    } catch {
      // As above.
    }
  }
  for (const { wish } of await listedAndDue({ log, config, clock })) {
    if ('author' in wish) authors += 1;
    else if (!('isbn' in wish)) add(wish, partitionForKey(userLabel(wish), config.topics.lanes));
    else if (isIsbn(wish.isbn)) isbns += 1;
  }
  const lastTime = await pagesOfLastCrawls(log, new Set(begun.filter(({ isWhole }) => isWhole).map(({ user }) => user)));
  const crawls = begun.map(({ isWhole, ...crawl }) => {
    const pagesLastTime = isWhole ? lastTime.get(crawl.user) : undefined;
    return { ...crawl, ...(pagesLastTime !== undefined && { pagesLastTime }) };
  });
  return { crawls, isbns, authors, comparisons };
}

async function* unfinished(
  log: LogView,
  { topic, partition, finished }: LaneState,
  begun: readonly WishRecord[],
): AsyncGenerator<WishRecord> {
  for await (const wish of wishesInOrder({ log, topic, partition, from: finished.next, begun })) {
    if (!finished.has(wish.offset)) yield wish;
  }
}
