import type { FollowerPage } from '@headgate/sources/followers';
import type { NewRecord, RecordSeries } from '@headgate/topics';
import type { RecordOf } from '../records/schemas.ts';
import { TOPICS } from '../records/topic-names.ts';
import { cloudEventHeaders } from './cloud-event.ts';

/** Which crawl a record belongs to, and the partition that all of its records go to. */
export interface CrawlIdentity {
  /** `@alpha`, or the digits of an id. */
  readonly user: string;
  /** `<requests topic>-<partition>-<offset>` of the wish. */
  readonly crawl: string;
  readonly partition: number;
}

/** The record of a whole page. */
export function pageRecord(
  { user, crawl, partition }: CrawlIdentity,
  page: number,
  { cursor, nextCursor, previousCursor, ids }: FollowerPage,
): NewRecord {
  const value: RecordOf<'followers.pages'> = { user, crawl, page, cursor, nextCursor, previousCursor, ids: [...ids] };
  const headers = cloudEventHeaders({ topic: TOPICS.followersPages, id: `${crawl}/${page}` });
  return { topic: TOPICS.followersPages, partition, key: user, value: JSON.stringify(value), headers };
}

/** One record per id. They carry no headers: what those would say is in the value, 5,000 times a page. */
export function idRecords({ user, crawl, partition }: CrawlIdentity, page: number, ids: readonly string[]): RecordSeries {
  const before = JSON.stringify({ user, crawl, page } satisfies Omit<RecordOf<'followers.ids'>, 'id'>).slice(0, -1);
  // Ids are digits only, so they need no escaping.
  const valueAt = (index: number): string => `${before},"id":"${ids[index]}"}`;
  return { topic: TOPICS.followersIds, partition, key: user, count: ids.length, valueAt };
}

/** The record of one who has followed or unfollowed since the user's crawl before. */
export function changeRecord({ user, crawl, partition }: CrawlIdentity, change: 'followed' | 'unfollowed', id: string): NewRecord {
  const value: RecordOf<'followers.changes'> = { user, crawl, change, id };
  const headers = cloudEventHeaders({ topic: TOPICS.followersChanges, id: `${crawl}/${id}` });
  return { topic: TOPICS.followersChanges, partition, key: user, value: JSON.stringify(value), headers };
}

/** The record of a crawl's change of state. */
export function crawlRecord(
  { user, crawl, partition }: CrawlIdentity,
  change: Omit<RecordOf<'followers.crawls'>, 'user' | 'crawl'>,
): NewRecord {
  const value: RecordOf<'followers.crawls'> = { user, crawl, ...change };
  const headers = cloudEventHeaders({ topic: TOPICS.followersCrawls, id: `${crawl}/${change.state}` });
  return { topic: TOPICS.followersCrawls, partition, key: user, value: JSON.stringify(value), headers };
}
