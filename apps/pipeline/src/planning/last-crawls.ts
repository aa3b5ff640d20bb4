import { recordSchemas, type RecordOf } from '../records/schemas.ts';
import { TOPICS } from '../records/topic-names.ts';
import { FIRST_CURSOR, type FollowersWish, followersWish, parseWish } from '../records/wish.ts';
import type { LogView } from './log-view.ts';

/** Whether a wish is for all pages of its user. */
export function isFromStart({ cursor = FIRST_CURSOR }: Pick<FollowersWish, 'cursor'>): boolean {
  return cursor === FIRST_CURSOR;
}

/** Pages of the last complete crawl of each of these users, where one began at the start. */
export async function pagesOfLastCrawls(log: LogView, users: ReadonlySet<string>): Promise<ReadonlyMap<string, number>> {
  const pages = new Map<string, number>();
  if (users.size === 0) return pages;
  const isWhole = await wholeWalks(log);
  for await (const { value } of log.read({ topic: TOPICS.followersCrawls, unreadable: 'mark' })) {
    const crawl = crawlOf(value);
    if (crawl?.state === 'completed' && users.has(crawl.user) && isWhole(crawl.crawl)) pages.set(crawl.user, crawl.pages);
  }
  return pages;
}

/** Tells by a crawl's wish whether it began at the start; false where the topic no longer has the wish. */
async function wholeWalks(log: LogView): Promise<(crawl: string) => boolean> {
  const topic = TOPICS.followersRequests;
  const first = new Map<number, number>();
  const parts = new Set<string>();
  for await (const { partition, offset, value } of log.read({ topic, unreadable: 'mark' })) {
    if (!first.has(partition)) first.set(partition, offset);
    if (isPart(value)) parts.add(`${topic}-${partition}-${offset}`);
  }
  return (crawl) => {
    const [, partition, offset] = /-(\d+)-(\d+)$/.exec(crawl) ?? [];
    return Number(offset) >= (first.get(Number(partition)) ?? Infinity) && !parts.has(crawl);
  };
}

function isPart(value: string | null): boolean {
  if (value === null || !value.includes('cursor')) return false;
  try {
    return !isFromStart(parseWish(followersWish, value));
  } catch {
    return false;
  }
}

/** Anybody may write to a topic. */
function crawlOf(value: string | null): RecordOf<'followers.crawls'> | undefined {
  try {
    return recordSchemas['followers.crawls'].safeParse(JSON.parse(value ?? 'null')).data;
  } catch {
    return undefined;
  }
}
