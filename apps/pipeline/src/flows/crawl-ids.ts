import { setImmediate as turn } from 'node:timers/promises';
import type { TopicLog } from '@headgate/topics';
import { type RecordOf, recordSchemas } from '../records/schemas.ts';
import { TOPICS } from '../records/topic-names.ts';

/** A crawl that was walked from its first page to its last, with all pages in `followers.pages`. */
export interface WholeCrawl {
  readonly crawl: string;
  readonly pages: number;
  /** No page of it lies before this offset. */
  readonly from: number;
}

export interface CrawlIdsOptions {
  readonly log: TopicLog;
  readonly partition: number;
  /** `@alpha`, or the digits of an id. */
  readonly user: string;
  readonly crawl: WholeCrawl;
  readonly signal: AbortSignal;
}

/** Pages of a crawl are in their topic no longer. */
export class PagesGoneError extends Error {
  override readonly name = 'PagesGoneError';
  readonly code = 'HEADGATE_PAGES_GONE';
  readonly retryable = false;
}

/** Reads the ids of a crawl back, a page at a time. Throws a `PagesGoneError`, and `signal.reason` where that aborts. */
export async function* crawlIds({ log, partition, user, crawl, signal }: CrawlIdsOptions): AsyncGenerator<string, void, undefined> {
  const { from, pages } = crawl;
  let page = 0;
  await using reader = log.read({ topic: TOPICS.followersPages, partitions: [partition], from, signal });
  for await (const { key, value } of reader) {
    if (key !== user) continue;
    const found = parsedPage(value);
    if (found?.crawl !== crawl.crawl || found.page !== page + 1) continue;
    page = found.page;
    yield* found.ids;
    if (page === pages) return;
    // Pages that were fetched together come without a pause: budgets' timers and the requests under way have theirs in between.
    await turn();
    signal.throwIfAborted();
  }
  signal.throwIfAborted();
  throw new PagesGoneError(`Page ${page + 1} of ${pages} of crawl ${crawl.crawl} is no longer in ${TOPICS.followersPages}.`);
}

/** Undefined for what somebody else has put into the topic. */
function parsedPage(value: string | null): RecordOf<'followers.pages'> | undefined {
  try {
    return recordSchemas['followers.pages'].parse(JSON.parse(value ?? ''));
  } catch {
    return undefined;
  }
}
