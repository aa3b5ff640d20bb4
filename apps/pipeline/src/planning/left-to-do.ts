import type { Clock } from '@headgate/throttle';
import type { TopicLog } from '@headgate/topics';
import { begunLists, isIsbn } from '../flows/book-list.ts';
import { type CrawlCheckpoint, begunCrawls, crawlCheckpoints } from '../flows/crawl-checkpoint.ts';
import { unfinishedComparisons } from '../flows/crawl-comparisons.ts';
import { listedAndDue } from '../flows/wish-list.ts';
import { type LaneValue, laneKeys } from '../lanes/lane-keys.ts';
import { type OffsetRanges, type OffsetRangesSnapshot, offsetRanges } from '../lanes/offset-ranges.ts';
import { type WishRecord, wishesInOrder } from '../lanes/wishes-in-order.ts';
import type { Config } from '../config/config.ts';
import { TOPICS, requestsTopic, statePartition } from '../records/topic-names.ts';
import { booksWish, followersWish, parseWish, userKey } from '../records/wish.ts';
import type { ServiceName } from '../status/run-event.ts';

export interface LeftToDoOptions {
  readonly log: TopicLog;
  readonly config: Config;
  readonly clock: Clock;
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
  /** Pages of the user's last complete crawl, where there was one. */
  readonly pagesLastTime?: number;
}

/** Reads what is unfinished without taking a lane: it may be looked at while a run goes on. */
export async function leftToDo({ log, config, clock }: LeftToDoOptions): Promise<LeftToDo> {
  const crawls: CrawlLeft[] = [];
  let isbns = 0;
  let authors = 0;
  let comparisons = 0;
  const lastTime = await pagesOfLastCrawls(log);
  const add = (wish: { user: string; checkpoint?: CrawlCheckpoint | undefined; cursor?: string | undefined }): void => {
    const { user, checkpoint, cursor = '-1' } = wish;
    const pagesLastTime = lastTime.get(user);
    crawls.push({
      user,
      page: checkpoint?.page ?? 1,
      cursor: checkpoint?.cursor ?? cursor,
      ...(pagesLastTime !== undefined && { pagesLastTime }),
    });
  };

  for (let lane = 0; lane < config.topics.lanes; lane += 1) {
    const state = await laneState(log, config.topics.group, 'followers', lane);
    const checkpoints = crawlCheckpoints(state.under);
    if (config.followers?.emit.includes('changes') === true) comparisons += unfinishedComparisons(state.under);
    for await (const { value, offset } of unfinished(log, state, begunCrawls(checkpoints))) {
      try {
        const wish = parseWish(followersWish, value);
        add({ user: userKey(wish), cursor: wish.cursor, checkpoint: checkpoints.get(offset) });
      } catch {
        // Malformed: it costs no request.
      }
    }
  }
  const state = await laneState(log, config.topics.group, 'books', 0);
  const lists = begunLists(state.under);
  for await (const { value, offset } of unfinished(log, state, lists.wishes)) {
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
    else if (!('isbn' in wish)) add({ user: userKey(wish) });
    else if (isIsbn(wish.isbn)) isbns += 1;
  }
  return { crawls, isbns, authors, comparisons };
}

interface LaneState {
  readonly topic: string;
  readonly partition: number;
  readonly finished: OffsetRanges;
  under(this: void, prefix: string): readonly LaneValue[];
}

async function laneState(log: TopicLog, group: string, service: ServiceName, lane: number): Promise<LaneState> {
  const state = await log.readState(TOPICS.state, statePartition(service, lane));
  const keys = laneKeys({ group, service, lane });
  return {
    topic: requestsTopic(service),
    partition: lane,
    finished: offsetRanges(keys.get(state, 'lane') as OffsetRangesSnapshot | undefined),
    under: (prefix) => keys.under(state, prefix),
  };
}

async function* unfinished(
  log: TopicLog,
  { topic, partition, finished }: LaneState,
  begun: readonly WishRecord[],
): AsyncGenerator<WishRecord> {
  for await (const wish of wishesInOrder({ log, topic, partition, from: finished.next, begun })) {
    if (!finished.has(wish.offset)) yield wish;
  }
}

async function pagesOfLastCrawls(log: TopicLog): Promise<ReadonlyMap<string, number>> {
  const pages = new Map<string, number>();
  for await (const { value } of log.read({ topic: TOPICS.followersCrawls })) {
    const { user, state, pages: count } = JSON.parse(value ?? '{}') as { user?: string; state?: string; pages?: number };
    if (state === 'completed' && user !== undefined && count !== undefined) pages.set(user, count);
  }
  return pages;
}
