import type { BoundaryState } from '@headgate/operators';
import type { LaneValue } from '../lanes/lane-keys.ts';
import type { WishRecord } from '../lanes/wishes-in-order.ts';
import type { FollowersWish } from '../records/wish.ts';

/** What a crawl needs to go on, as the lane's state keeps it. */
export interface CrawlCheckpoint {
  readonly user: string;
  readonly cursor: string;
  /** The next page's number, 1-based. */
  readonly page: number;
  readonly ids: number;
  /** How many pages right before the next one were empty. */
  readonly empty?: number | undefined;
  /** What the dropping of boundary duplicates remembers. */
  readonly boundary?: BoundaryState | undefined;
  /** What `seenCursors` remembers of the cursors asked so far. */
  readonly seen?: string | undefined;
  /** No page of the crawl lies before this offset of `followers.pages`; kept for the comparison of crawls. */
  readonly pagesFrom?: number | undefined;
  /** What was asked for: the requests topic may not hold it as long as the crawl takes. Checkpoints of earlier versions lack it. */
  readonly wish?: FollowersWish | undefined;
}

const CRAWL = 'crawl/';

/** The key of a crawl's checkpoint in its lane's state. */
export function crawlKey(offset: number): string {
  return `${CRAWL}${offset}`;
}

/** The checkpoints of a lane's state, by the offset of their wish. */
export function crawlCheckpoints(stateUnder: (prefix: string) => readonly LaneValue[]): ReadonlyMap<number, CrawlCheckpoint> {
  return new Map(stateUnder(CRAWL).map(({ key, value }) => [Number(key), value as CrawlCheckpoint]));
}

/** The wishes that checkpoints hold. */
export function begunCrawls(checkpoints: ReadonlyMap<number, CrawlCheckpoint>): readonly WishRecord[] {
  return [...checkpoints].flatMap(([offset, { user, wish }]) =>
    wish === undefined ? [] : [{ offset, key: user, value: JSON.stringify(wish) }],
  );
}
