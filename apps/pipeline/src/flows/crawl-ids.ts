import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '@headgate/throttle';
import type { TopicLog } from '@headgate/topics';
import { pause } from '../lanes/pause.ts';
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
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Told each second that nothing more can be read because of another's transaction. */
  readonly onHeldBack: () => void;
}

/** Pages of a crawl are in their topic no longer. */
export class PagesGoneError extends Error {
  override readonly name = 'PagesGoneError';
  readonly code = 'HEADGATE_PAGES_GONE';
  readonly retryable = false;
}

const LOOK_AGAIN_MS = 1_000;

/**
 * Reads the ids of a crawl back, a page at a time. Waits while an open transaction, or one that is decided and not yet ended everywhere,
 * keeps pages from being read. Throws a `PagesGoneError`, and `signal.reason` where that aborts.
 */
export async function* crawlIds(options: CrawlIdsOptions): AsyncGenerator<string, void, undefined> {
  const { log, partition, user, crawl, clock, signal, onHeldBack } = options;
  const topic = TOPICS.followersPages;
  let { from } = crawl;
  let page = 0;
  for (let isDecided = false; ;) {
    await using reader = log.read({ topic, partitions: [partition], from, unreadable: 'mark', signal });
    for await (const { offset, key, value } of reader) {
      if (key !== user) continue;
      const found = parsedPage(value);
      if (found?.crawl !== crawl.crawl || found.page !== page + 1) continue;
      page = found.page;
      from = offset + 1;
      yield* found.ids;
      if (page === crawl.pages) return;
      // Pages that were fetched together come without a pause: budgets' timers and the requests under way have theirs in between.
      await turn();
      signal.throwIfAborted();
    }
    signal.throwIfAborted();
    if (isDecided) throw new PagesGoneError(`Page ${page + 1} of ${crawl.pages} of crawl ${crawl.crawl} is no longer in ${topic}.`);
    isDecided = (await log.heldBack({ topic, partition }, signal)) === undefined;
    if (isDecided) continue;
    onHeldBack();
    await pause(clock, LOOK_AGAIN_MS, signal);
  }
}

/** Undefined for what somebody else has put into the topic. */
function parsedPage(value: string | null): RecordOf<'followers.pages'> | undefined {
  try {
    return recordSchemas['followers.pages'].parse(JSON.parse(value ?? ''));
  } catch {
    return undefined;
  }
}
