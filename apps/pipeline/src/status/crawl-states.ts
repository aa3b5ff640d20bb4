import { isCrawlOf } from './held-lanes.ts';
import { keepLast } from './keep-last.ts';
import { shortReason } from './short-reason.ts';
import { safeText } from './text/safe-text.ts';
import type { RunEvent } from './run-event.ts';
import type { CrawlState, FailedCrawl, RunSnapshot } from './run-snapshot.ts';

export type CrawlEvent = Extract<RunEvent, { type: 'crawl-started' | 'page-written' | 'crawl-completed' | 'crawl-failed' | 'lane-left' }>;

export interface CrawlStates {
  /** Takes an event in that came at `at` (epoch ms). */
  apply(event: CrawlEvent, at: number): void;
  snapshot(): Pick<RunSnapshot, 'crawls' | 'totals' | 'failures'>;
}

/** A crawl whose lane is worked elsewhere, or nowhere. */
interface LeftCrawl {
  readonly state: CrawlState;
  readonly leftAt: number;
}

const keptEndedCrawls = 1000;
const keptLeftCrawls = 10_000;
const keptFailures = 100;

/** Reduces what happens to crawls to how they stand; its memory grows with the crawls under way only. */
export function createCrawlStates(): CrawlStates {
  const crawls = new Map<string, CrawlState>();
  const endedCrawls: string[] = [];
  const left = new Map<string, LeftCrawl>();
  const totals = { crawlsStarted: 0, crawlsCompleted: 0, crawlsFailed: 0, pages: 0, ids: 0 };
  const failures: FailedCrawl[] = [];

  return {
    apply(event, at) {
      switch (event.type) {
        case 'crawl-started':
          start(event, at);
          return;
        case 'page-written':
          totals.pages += 1;
          totals.ids += event.ids;
          addPage(event, at);
          return;
        case 'crawl-completed':
          totals.crawlsCompleted += 1;
          end({ ...known(event, at), state: 'completed', endedAt: at });
          return;
        case 'crawl-failed': {
          totals.crawlsFailed += 1;
          const { user, crawl } = event;
          const error = shortReason(event.error);
          end({ ...known(event, at), state: 'failed', endedAt: at, error });
          keepLast(failures, { user: safeText(user), crawl, error, at }, keptFailures);
          return;
        }
        case 'lane-left':
          leave(event, at);
          return;
      }
    },

    snapshot: () => ({
      crawls: [...crawls.values()],
      totals: { ...totals },
      failures: [...failures],
    }),
  };

  function start(event: Extract<CrawlEvent, { type: 'crawl-started' }>, at: number): void {
    const { crawl } = event;
    const before = crawls.get(crawl);
    const back = left.get(crawl) ?? (before?.state === 'running' ? { state: before, leftAt: at } : undefined);
    if (back === undefined && before === undefined) totals.crawlsStarted += 1;
    left.delete(crawl);
    crawls.set(crawl, back === undefined ? started(event, at) : goneOn(back, event, at));
  }

  function addPage(event: Extract<CrawlEvent, { type: 'page-written' }>, at: number): void {
    const { crawl, page, ids } = event;
    const away = left.get(crawl);
    // Committed before its lane was left, told after it: the crawl is gone all the same.
    if (away !== undefined) left.set(crawl, { ...away, state: withPage(away.state, page, ids, at) });
    // A page of a crawl nobody announced still counts.
    else crawls.set(crawl, withPage(crawls.get(crawl) ?? started({ ...event, resumed: false }, at), page, ids, at));
  }

  function leave(event: Extract<CrawlEvent, { type: 'lane-left' }>, at: number): void {
    for (const [crawl, state] of crawls) {
      if (state.state !== 'running' || !isCrawlOf(crawl, event)) continue;
      crawls.delete(crawl);
      left.set(crawl, { state, leftAt: at });
    }
    for (const crawl of left.keys()) {
      if (left.size <= keptLeftCrawls) return;
      left.delete(crawl);
    }
  }

  function known(event: { readonly user: string; readonly crawl: string }, at: number): CrawlState {
    return crawls.get(event.crawl) ?? left.get(event.crawl)?.state ?? started({ ...event, page: 1, resumed: false }, at);
  }

  function end(crawl: CrawlState): void {
    left.delete(crawl.crawl);
    crawls.set(crawl.crawl, crawl);
    endedCrawls.push(crawl.crawl);
    if (endedCrawls.length <= keptEndedCrawls) return;
    const oldest = endedCrawls.shift();
    // The same crawl may have been started again since it failed.
    if (oldest !== undefined && crawls.get(oldest)?.state !== 'running') crawls.delete(oldest);
  }
}

type Start = Omit<Extract<RunEvent, { type: 'crawl-started' }>, 'type'>;

function started(event: Start, at: number): CrawlState {
  const expected = event.expectedPages === undefined ? {} : { expectedPages: event.expectedPages };
  return {
    user: safeText(event.user),
    crawl: event.crawl,
    state: 'running',
    resumed: event.resumed,
    firstPage: event.page,
    page: event.page - 1,
    pages: 0,
    ids: 0,
    idsPerMinute: 0,
    startedAt: at,
    awayMs: 0,
    ...expected,
  };
}

/** A crawl whose lane is back; another process may have written pages of it in the meantime. */
function goneOn({ state, leftAt }: LeftCrawl, event: Start, at: number): CrawlState {
  const expected = event.expectedPages === undefined ? {} : { expectedPages: event.expectedPages };
  return { ...state, ...expected, page: event.page - 1, awayMs: state.awayMs + at - leftAt };
}

function withPage(before: CrawlState, page: number, ids: number, at: number): CrawlState {
  const total = before.ids + ids;
  const minutes = Math.max(at - before.startedAt - before.awayMs, 1000) / 60_000;
  return { ...before, page, pages: before.pages + 1, ids: total, idsPerMinute: Math.round(total / minutes) };
}
