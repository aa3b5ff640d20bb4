import { boundaryDuplicates } from '@headgate/operators';
import type { FollowerPage, Followers } from '@headgate/sources/followers';
import { userLabel } from '@headgate/sources/followers/user';
import { SourceError } from '@headgate/sources';
import type { Clock, CreditPool } from '@headgate/throttle';
import type { NewRecord } from '@headgate/topics';
import { type Subscription, defer, mergeMap, of } from 'rxjs';
import type { Bell } from '../lanes/bell.ts';
import type { Lane } from '../lanes/lane.ts';
import { settled } from '../lanes/settled.ts';
import type { WishRecord } from '../lanes/wishes-in-order.ts';
import type { Flow } from '../lanes/work-lane.ts';
import { TOPICS } from '../records/topic-names.ts';
import { FIRST_CURSOR, type FollowersWish, followersWish } from '../records/wish.ts';
import type { RunEvent } from '../status/run-event.ts';
import { type CrawlCheckpoint, begunCrawls, crawlCheckpoints, crawlKey } from './crawl-checkpoint.ts';
import type { CrawlComparisons } from './crawl-comparisons.ts';
import { deadLetter, reasonOf } from './dead-letter.ts';
import { assertFits } from './record-size.ts';
import { type CrawlIdentity, crawlRecord, idRecords, pageRecord } from './followers-records.ts';
import { seenCursors } from './seen-cursors.ts';
import { endsOneRequestOnly, isStop } from './source-endings.ts';
import { readWish, wishText } from './wish-content.ts';

export interface FollowersFlowOptions {
  readonly api: Followers;
  readonly lane: Lane;
  readonly bell: Bell;
  /** Shared by all crawls. */
  readonly credits: CreditPool;
  /** Ids to ask for per page. */
  readonly count: number;
  /** Most empty pages in a row before a crawl is ended. */
  readonly maxEmptyPages: number;
  /** Whether to ask for ids as strings. */
  readonly stringifyIds: boolean;
  readonly emitPages: boolean;
  readonly emitIds: boolean;
  /** Absent where changes are not to be written. */
  readonly comparisons?: CrawlComparisons | undefined;
  readonly dropBoundaryDuplicates: boolean;
  readonly clock: Clock;
  readonly emit: (event: RunEvent) => void;
}

interface Crawl extends CrawlIdentity {
  readonly offset: number;
  readonly wish: FollowersWish;
  at: CrawlCheckpoint;
  subscription?: Subscription;
}

const CURSOR_LOOP = 'HEADGATE_CURSOR_LOOP';

/** Crawls users: all wishes taken are under way at once, and the budget's queue lets them take turns. */
export function followersFlow(options: FollowersFlowOptions): Flow {
  const { api, lane, bell, clock, emit, credits, comparisons } = options;
  const checkpoints = crawlCheckpoints((prefix) => lane.stateUnder(prefix));
  const active = new Map<number, Crawl | 'refusing'>();

  const letterBase = { partition: lane.partition, tooLarge: (record: NewRecord) => lane.tooLarge(record) };
  const crawlId = (offset: number): string => `${lane.topic}-${lane.partition}-${offset}`;
  const ended = (offset: number): void => {
    active.delete(offset);
    bell.ring();
  };

  const start = (wish: FollowersWish, offset: number): void => {
    const user = userLabel(wish);
    const saved = checkpoints.get(offset);
    const crawl: Crawl = {
      user,
      crawl: crawlId(offset),
      partition: lane.partition,
      offset,
      wish,
      at: saved ?? { user, cursor: wish.cursor ?? FIRST_CURSOR, page: 1, ids: 0 },
    };
    active.set(offset, crawl);
    const seen = seenCursors(crawl.at.seen);
    seen.add(crawl.at.cursor);
    const boundary = options.dropBoundaryDuplicates ? boundaryDuplicates({ state: crawl.at.boundary }) : undefined;
    emit({ type: 'crawl-started', user, crawl: crawl.crawl, page: crawl.at.page, resumed: saved !== undefined });

    const pages = api.pages({
      ...(wish.screenName === undefined ? { userId: wish.userId } : { screenName: wish.screenName }),
      cursor: crawl.at.cursor,
      count: wish.count ?? options.count,
      stringifyIds: options.stringifyIds,
      firstPage: crawl.at.page,
      maxEmptyPages: options.maxEmptyPages,
      emptyBefore: crawl.at.empty ?? 0,
    });
    const write = async (page: FollowerPage, pagesFrom: number | undefined): Promise<void> => {
      const { ids } = boundary?.apply(page) ?? page;
      const comesAgain = page.nextCursor !== '0' && seen.has(page.nextCursor);
      seen.add(page.nextCursor);
      await writePage(crawl, page, ids, { boundary: boundary?.state(), seen: seen.snapshot(), pagesFrom });
      // The walk itself sees a circle since its start only, which was the last restart.
      if (comesAgain) throw cursorLoop(user, page.nextCursor);
    };
    const begun = comparisons === undefined ? of(undefined) : defer(() => comparisons.pagesFrom(crawl.at));
    // The grant for the next page is in the transaction of this one, and it is asked for after that: a crash repeats one page at most.
    // So nothing may be waited for between a page and its commit.
    crawl.subscription = begun
      .pipe(mergeMap((from) => pages.drain((page) => defer(() => write(page, from)), { credits, readAhead: 1 })))
      .subscribe({ error: (error: unknown) => stopCrawl(crawl, error), complete: () => ended(offset) });
  };

  const writePage = async (
    crawl: Crawl,
    page: FollowerPage,
    ids: readonly string[],
    remembered: Pick<CrawlCheckpoint, 'boundary' | 'seen' | 'pagesFrom'>,
  ): Promise<void> => {
    const { at, user, offset, wish } = crawl;
    const isLast = page.nextCursor === '0';
    const pages = options.emitPages ? [pageRecord(crawl, at.page, page)] : [];
    assertFits(pages, lane, { service: 'followers', subject: user, record: `page ${at.page}` });
    const { pagesFrom: from } = remembered;
    const total = at.ids + ids.length;
    const empty = page.ids.length === 0 ? (at.empty ?? 0) + 1 : undefined;
    const next: CrawlCheckpoint = { user, cursor: page.nextCursor, page: at.page + 1, ids: total, empty, ...remembered, wish };
    const compared = isLast && from !== undefined ? comparisons?.ending(user, { crawl: crawl.crawl, pages: at.page, from }) : undefined;
    await lane.commit({
      records: [
        ...startedRecord(crawl),
        ...pages,
        ...(options.emitIds ? [idRecords(crawl, at.page, ids)] : []),
        ...(isLast ? [crawlRecord(crawl, { state: 'completed', pages: at.page, ids: total })] : []),
      ],
      state: [[crawlKey(offset), isLast ? null : next], ...(compared?.state ?? [])],
      finished: isLast ? [offset] : [],
    });
    crawl.at = next;
    emit({ type: 'page-written', user, crawl: crawl.crawl, page: at.page, ids: ids.length, credential: page.credential });
    if (isLast) emit({ type: 'crawl-completed', user, crawl: crawl.crawl, pages: at.page, ids: total });
    compared?.start();
  };

  /** A crawl's first transaction says that it was started; a resumed one has said so. */
  const startedRecord = (crawl: Crawl) => (crawl.at.page === 1 ? [crawlRecord(crawl, { state: 'started', pages: 0, ids: 0 })] : []);

  const stopCrawl = (crawl: Crawl, error: unknown): void => {
    if (endsOneRequestOnly(error)) {
      failCrawl(crawl, error).catch((failure: unknown) => bell.fail(failure));
      return;
    }
    ended(crawl.offset);
    if (!isStop(error)) bell.fail(error);
  };

  const failCrawl = async (crawl: Crawl, error: unknown): Promise<void> => {
    const { at, user, offset, wish } = crawl;
    const { code, message } = reasonOf(error);
    const topic = TOPICS.followersDeadLetters;
    // Replayed, it goes on where it stopped; from inside a circle there is no going on.
    const goesOn = at.page > 1 && code !== CURSOR_LOOP;
    const request = { ...wish, ...(goesOn && { cursor: at.cursor }) };
    await lane.commit({
      records: [
        ...startedRecord(crawl),
        crawlRecord(crawl, { state: 'failed', pages: at.page - 1, ids: at.ids, reason: { code, message } }),
        deadLetter({ ...letterBase, topic, key: user, id: crawl.crawl, content: { request }, error, at: clock.epochMs() }),
      ],
      state: [[crawlKey(offset), null]],
      finished: [offset],
    });
    emit({ type: 'crawl-failed', user, crawl: crawl.crawl, error: { code, message } });
    emit({ type: 'dead-letter', topic, key: user, error: { code, message } });
    ended(offset);
  };

  const refuse = async ({ key, value, offset }: WishRecord, error: unknown): Promise<void> => {
    const topic = TOPICS.followersDeadLetters;
    const id = crawlId(offset);
    const letter = deadLetter({
      ...letterBase,
      topic,
      key: key || id,
      id,
      content: { requestText: wishText(value) },
      error,
      at: clock.epochMs(),
    });
    await lane.commit({ records: [letter], finished: [offset] });
    emit({ type: 'dead-letter', topic, key: key || id, error: reasonOf(error) });
    ended(offset);
  };

  return {
    get load() {
      return active.size + (comparisons?.load ?? 0);
    },
    begun: begunCrawls(checkpoints),
    take(wish) {
      if (active.has(wish.offset)) return;
      try {
        start(readWish(followersWish, wish), wish.offset);
      } catch (error) {
        active.set(wish.offset, 'refusing');
        refuse(wish, error).catch((failure: unknown) => bell.fail(failure));
      }
    },
    flush: () => undefined,
    async stop() {
      api.stop();
      comparisons?.stop();
      try {
        await settled({ bell, clock, isBusy: () => active.size > 0 || comparisons?.isBusy === true });
      } finally {
        for (const crawl of active.values()) if (crawl !== 'refusing') crawl.subscription?.unsubscribe();
      }
    },
  };
}

function cursorLoop(user: string, cursor: string): SourceError {
  const message = `${user}: the service sends the walk in circles: cursor ${cursor} came back. What was read before it is kept. Start the walk again later.`;
  return new SourceError({ code: CURSOR_LOOP, retryable: true, service: 'followers', subject: user, message });
}
