import type { Clock } from '@headgate/throttle';
import type { TopicInfo, TopicLog } from '@headgate/topics';
import type { TopicsConfig } from '../config/config.ts';
import { begunCrawls, crawlCheckpoints } from '../flows/crawl-checkpoint.ts';
import { pause } from '../lanes/pause.ts';
import { TOPICS } from '../records/topic-names.ts';
import { type LaneState, readLaneStates } from './lane-states.ts';

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

/** Counts by offsets, without reading a wish: there may be millions. Undefined where it can't be told in time. */
export async function crawlsLeft({ log, topics, clock, withinMs }: CrawlsLeftOptions): Promise<CrawlsLeft | undefined> {
  const over = new AbortController();
  const counted = async (): Promise<CrawlsLeft> => {
    const [requests] = await log.listTopics([TOPICS.followersRequests]);
    const { followers } = await readLaneStates({ log, topics });
    const count = followers.reduce((sum, state) => sum + leftOf(state, requests?.offsets[state.partition]), 0);
    return { count, isExact: topics.driver === 'sqlite' };
  };
  try {
    return await Promise.race([counted(), pause(clock, withinMs, over.signal).then(() => undefined)]);
  } catch {
    // The run itself tells what ails the log.
    return undefined;
  } finally {
    over.abort();
  }
}

function leftOf({ finished, under }: LaneState, offsets: TopicInfo['offsets'][number] | undefined): number {
  const { earliest = 0, end = 0 } = offsets ?? {};
  const { next, done } = finished.snapshot();
  const from = Math.max(next, earliest);
  // Crawls whose wishes the topic holds no longer go on all the same.
  const begun = begunCrawls(crawlCheckpoints(under)).filter(({ offset }) => offset < earliest && !finished.has(offset));
  const above = done.reduce((sum, [first, last]) => sum + Math.max(0, Math.min(last, end - 1) - Math.max(first, from) + 1), 0);
  return begun.length + Math.max(0, end - from) - above;
}
