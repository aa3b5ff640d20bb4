import type { Clock } from '@headgate/throttle';
import type { TopicLog } from '@headgate/topics';
import { normalizeIsbn } from '@headgate/operators';
import type { CrawlCheckpoint } from '../flows/followers-flow.ts';
import { listedAndDue } from '../flows/wish-list.ts';
import { laneKeys } from '../lanes/lane-keys.ts';
import { type OffsetRangesSnapshot, offsetRanges } from '../lanes/offset-ranges.ts';
import type { Config } from '../config/config.ts';
import { TOPICS, statePartition } from '../records/topic-names.ts';
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
    for await (const { value, offset, state } of unfinished(log, config.topics.group, 'followers', lane)) {
      try {
        const wish = parseWish(followersWish, value);
        add({ user: userKey(wish), cursor: wish.cursor, checkpoint: state(`crawl/${offset}`) as CrawlCheckpoint | undefined });
      } catch {
        // Malformed: it costs no request.
      }
    }
  }
  for await (const { value, offset, state } of unfinished(log, config.topics.group, 'books', 0)) {
    try {
      const wish = parseWish(booksWish, value);
      if ('author' in wish) {
        authors += 1;
        continue;
      }
      const answered = offsetRanges(state(`wish/${offset}`) as OffsetRangesSnapshot | undefined);
      const wanted = 'isbn' in wish ? [wish.isbn] : wish.isbns;
      isbns += wanted.filter((isbn, place) => !answered.has(place) && isSound(isbn)).length;
    } catch {
      // As above.
    }
  }
  for (const { wish } of await listedAndDue({ log, config, clock })) {
    if ('author' in wish) authors += 1;
    else if (!('isbn' in wish)) add({ user: userKey(wish) });
    else if (isSound(wish.isbn)) isbns += 1;
  }
  return { crawls, isbns, authors };
}

async function* unfinished(log: TopicLog, group: string, service: ServiceName, lane: number) {
  const topic = service === 'followers' ? TOPICS.followersRequests : TOPICS.booksRequests;
  const all = await log.readState(TOPICS.state, statePartition(service, lane));
  const keys = laneKeys({ group, service, lane });
  const state = (key: string): unknown => keys.get(all, key);
  const finished = offsetRanges(state('lane') as OffsetRangesSnapshot | undefined);
  for await (const { value, offset } of log.read({ topic, partitions: [lane], from: finished.next })) {
    if (!finished.has(offset)) yield { value, offset, state };
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

function isSound(isbn: string): boolean {
  try {
    normalizeIsbn(isbn);
    return true;
  } catch {
    return false;
  }
}
