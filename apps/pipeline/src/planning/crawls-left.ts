import { pause, requestsLeft, topicNames } from '@headgate/pipeline';
import type { Clock } from '@headgate/throttle';
import type { TopicLog } from '@headgate/topics';
import type { TopicsConfig } from '../config/topics-section.ts';

/** Crawls that a next run would find in the log. */
export interface CrawlsLeft {
  readonly count: number;
  /** False where offsets have gaps, which are counted, too: the marks of transactions. */
  readonly isExact: boolean;
}

export interface CrawlsLeftOptions {
  readonly log: TopicLog;
  readonly topics: TopicsConfig;
  readonly clock: Clock;
  /** Longest to look, ms: a log that can't be reached must not hold the end of a run up. */
  readonly withinMs: number;
}

/** Counts by offsets. Undefined where it can't be told in time. */
export async function crawlsLeft({ log, topics, clock, withinMs }: CrawlsLeftOptions): Promise<CrawlsLeft | undefined> {
  const { group, lanes } = topics;
  const over = new AbortController();
  const counted = async (): Promise<CrawlsLeft> => ({
    count: await requestsLeft({ log, group, lanes, pipeline: { name: 'followers', credentials: [] }, names: topicNames(topics) }),
    isExact: topics.driver === 'sqlite',
  });
  try {
    return await Promise.race([counted(), pause(clock, withinMs, over.signal).then(() => undefined)]);
  } catch {
    // The run itself tells what ails the log.
    return undefined;
  } finally {
    over.abort();
  }
}
