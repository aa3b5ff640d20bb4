import { InvalidIdError, TooManyIdsError, crawlChanges } from '@headgate/operators';
import type { Clock } from '@headgate/throttle';
import type { NewRecord, TopicLog } from '@headgate/topics';
import type { Bell } from '../lanes/bell.ts';
import type { LaneValue } from '../lanes/lane-keys.ts';
import type { Lane, StateChange } from '../lanes/lane.ts';
import { TOPICS } from '../records/topic-names.ts';
import { FIRST_CURSOR } from '../records/wish.ts';
import type { RunEvent } from '../status/run-event.ts';
import type { CrawlCheckpoint } from './crawl-checkpoint.ts';
import { PagesGoneError, type WholeCrawl, crawlIds } from './crawl-ids.ts';
import { changeRecord } from './followers-records.ts';

export interface CrawlComparisonsOptions {
  readonly log: TopicLog;
  readonly lane: Lane;
  readonly bell: Bell;
  readonly clock: Clock;
  readonly emit: (event: RunEvent) => void;
  /** Changes written in one transaction. Default 5,000. */
  readonly chunk?: number;
}

/** Writes who followed and unfollowed between a user's crawls. One comparison is under way at a time: each holds two crawls' ids in memory. */
export interface CrawlComparisons {
  /** Comparisons begun and not finished. */
  readonly load: number;
  readonly isBusy: boolean;
  /** An offset of `followers.pages` that no page of the crawl lies before; undefined where some of its pages are not there at all. */
  pagesFrom(at: CrawlCheckpoint): Promise<number | undefined>;
  /** A crawl's last page is about to be written. */
  ending(user: string, crawl: WholeCrawl): EndingCrawl;
  /** Starts no further chunk. What isn't finished goes on when the lane is opened again. */
  stop(): void;
}

export interface EndingCrawl {
  /** Belongs into the transaction with its last page. */
  readonly state: readonly StateChange[];
  /** To be called when that is durable. */
  start(): void;
}

/** A comparison as the lane's state keeps it. */
interface Comparison {
  readonly user: string;
  readonly before: WholeCrawl;
  readonly after: WholeCrawl;
  /** Changes written so far: they come in the same order whenever the crawls are compared again. */
  readonly written: number;
}

type Counts = Record<'followed' | 'unfollowed', number>;

const LAST = 'last/';
/** Followed by a number that tells in which order comparisons were begun. */
const COMPARE = 'compare/';

/** How many comparisons a lane's state holds that are not finished. */
export function unfinishedComparisons(stateUnder: (prefix: string) => readonly LaneValue[]): number {
  return stateUnder(COMPARE).length;
}

/** Goes on with the comparisons that the lane's state holds. */
export function crawlComparisons({ log, lane, bell, clock, emit, chunk = 5_000 }: CrawlComparisonsOptions): CrawlComparisons {
  const { partition } = lane;
  const last = new Map(lane.stateUnder(LAST).map(({ key, value }) => [key, value as WholeCrawl]));
  const begun = lane.stateUnder(COMPARE).map(({ key, value }) => ({ number: Number(key), comparison: value as Comparison }));
  const queue = begun.toSorted((one, other) => one.number - other.number);
  let lastNumber = queue.at(-1)?.number ?? 0;
  let isBusy = false;
  const stopping = new AbortController();
  const { signal } = stopping;

  const work = async (): Promise<void> => {
    if (isBusy) return;
    isBusy = true;
    try {
      for (let next = queue[0]; next !== undefined && !signal.aborted; next = queue[0]) {
        await compare(next.comparison, `${COMPARE}${next.number}`);
        queue.shift();
        bell.ring();
      }
    } catch (error) {
      if (!signal.aborted) bell.fail(error);
    } finally {
      isBusy = false;
      bell.ring();
    }
  };

  const compare = async (comparison: Comparison, key: string): Promise<void> => {
    const { user, before, after } = comparison;
    /** By this process. */
    const written = { followed: 0, unfollowed: 0 };
    let isDone = false;
    try {
      await writeChanges(comparison, key, written);
      isDone = true;
    } catch (error) {
      if (!(error instanceof PagesGoneError || error instanceof InvalidIdError || error instanceof TooManyIdsError)) throw error;
      await lane.commit({ records: [], state: [[key, null]] });
      const message = `${user}: crawls ${before.crawl} and ${after.crawl} can't be compared, so their changes are not all in ${TOPICS.followersChanges}. ${error.message}${adviceFor(error)}`;
      emit({ type: 'notice', level: 'warn', message });
    } finally {
      const isNew = comparison.written === 0 && isDone;
      if (isNew || written.followed + written.unfollowed > 0) emit({ type: 'changes-written', user, crawl: after.crawl, ...written });
    }
  };

  /** Counts up `counts` as changes become durable. */
  const writeChanges = async (comparison: Comparison, key: string, counts: Counts): Promise<void> => {
    const { user, before, after } = comparison;
    let isTold = false;
    const onHeldBack = (): void => {
      if (isTold) return;
      isTold = true;
      const message = `${user}: the comparison of its last two crawls waits for an open transaction in ${TOPICS.followersPages} to end`;
      emit({ type: 'notice', level: 'warn', message });
    };
    const idsOf = (crawl: WholeCrawl): AsyncIterable<string> => crawlIds({ log, partition, user, crawl, clock, signal, onHeldBack });
    let written = 0;
    let records: NewRecord[] = [];
    let inHand: Counts = { followed: 0, unfollowed: 0 };
    const commit = async (left: Comparison | null): Promise<void> => {
      await lane.commit({ records, state: [[key, left]] });
      counts.followed += inHand.followed;
      counts.unfollowed += inHand.unfollowed;
      records = [];
      inHand = { followed: 0, unfollowed: 0 };
    };
    for await (const { change, id } of crawlChanges({ before: idsOf(before), after: idsOf(after) })) {
      written += 1;
      if (written <= comparison.written) continue;
      inHand[change] += 1;
      records.push(changeRecord({ user, crawl: after.crawl, partition }, change, id));
      if (records.length < chunk) continue;
      await commit({ ...comparison, written });
      signal.throwIfAborted();
    }
    await commit(null);
  };

  for (const { comparison } of queue)
    emit({ type: 'notice', level: 'info', message: `${comparison.user}: the comparison of its last two crawls goes on` });
  void work();
  return {
    get load() {
      return queue.length;
    },
    get isBusy() {
      return isBusy;
    },
    async pagesFrom({ page, cursor, pagesFrom }) {
      if (page > 1) return pagesFrom;
      if (cursor !== FIRST_CURSOR) return undefined;
      const [topic] = await log.listTopics([TOPICS.followersPages]);
      return topic?.offsets[partition]?.end ?? 0;
    },
    ending(user, crawl) {
      const before = last.get(user);
      last.set(user, crawl);
      const noted: StateChange = [`${LAST}${user}`, crawl];
      if (before === undefined) return { state: [noted], start: () => undefined };
      lastNumber += 1;
      const number = lastNumber;
      const comparison: Comparison = { user, before, after: crawl, written: 0 };
      return {
        state: [noted, [`${COMPARE}${number}`, comparison]],
        start() {
          queue.push({ number, comparison });
          void work();
        },
      };
    },
    stop: () => stopping.abort(),
  };
}

function adviceFor(error: Error): string {
  return error instanceof PagesGoneError ? ` Keep that topic for longer than a user's crawls are apart.` : '';
}
