import { faultKind } from './fault-kind.ts';
import { safeText } from './text/safe-text.ts';
import type { FaultKind } from './fault-kind.ts';
import type { Reason, RunEvent, ServiceName } from './run-event.ts';
import type { BooksState, CrawlState, DeadLetterState, FailedCrawl, LastFault, OutcomeCounts, RunSnapshot } from './run-snapshot.ts';

export interface RunModelOptions {
  readonly clock: {
    /** Epoch ms. */
    now(): number;
  };
}

export interface RunModel {
  apply(event: RunEvent): void;
  snapshot(): RunSnapshot;
}

const keptEndedCrawls = 1000;
const keptReasons = 100;

/** Reduces a run's events to how the run stands; its memory grows with the crawls under way, not with the length of the run. */
export function createRunModel(options: RunModelOptions): RunModel {
  const { clock } = options;
  const startedAt = clock.now();
  let lastEventAt = startedAt;
  const crawls = new Map<string, CrawlState>();
  const endedCrawls: string[] = [];
  const totals = { crawlsStarted: 0, crawlsCompleted: 0, crawlsFailed: 0, pages: 0, ids: 0 };
  const failures: FailedCrawl[] = [];
  const books: Record<keyof BooksState, number> = { queuedIsbns: 0, queuedAuthors: 0, found: 0, missing: 0, authors: 0, authorBooks: 0 };
  const deadLetters = new Map<string, number>();
  const lastDeadLetters: DeadLetterState[] = [];
  const requests: Record<ServiceName, Record<keyof OutcomeCounts, number>> = { followers: noOutcomes(), books: noOutcomes() };
  const faults = new Map<FaultKind, number>();
  let lastFault: LastFault | undefined;

  return {
    apply(event) {
      const at = clock.now();
      lastEventAt = at;
      switch (event.type) {
        case 'crawl-started':
          totals.crawlsStarted += 1;
          crawls.set(event.crawl, started(event, at));
          return;
        case 'page-written': {
          totals.pages += 1;
          totals.ids += event.ids;
          // A page of a crawl nobody announced still counts.
          const before = crawls.get(event.crawl) ?? started({ ...event, resumed: false }, at);
          crawls.set(event.crawl, withPage(before, event.page, event.ids, at));
          return;
        }
        case 'crawl-completed':
          totals.crawlsCompleted += 1;
          end({ ...(crawls.get(event.crawl) ?? started({ ...event, page: 1, resumed: false }, at)), state: 'completed', endedAt: at });
          return;
        case 'crawl-failed': {
          totals.crawlsFailed += 1;
          const { user, crawl } = event;
          const error = shortReason(event.error);
          end({ ...(crawls.get(crawl) ?? started({ ...event, page: 1, resumed: false }, at)), state: 'failed', endedAt: at, error });
          keepLast(failures, { user: safeText(user), crawl, error, at }, keptReasons);
          return;
        }
        case 'books-queued':
          books.queuedIsbns += event.isbns;
          books.queuedAuthors += event.authors;
          return;
        case 'books-written':
          books.found += event.found;
          books.missing += event.missing;
          return;
        case 'author-written':
          books.authors += 1;
          books.authorBooks += event.books;
          return;
        case 'dead-letter':
          deadLetters.set(event.topic, (deadLetters.get(event.topic) ?? 0) + 1);
          keepLast(lastDeadLetters, { topic: event.topic, key: safeText(event.key), error: shortReason(event.error), at }, keptReasons);
          return;
        case 'request': {
          requests[event.service][event.outcome] += 1;
          const kind = faultKind(event);
          if (kind === undefined) return;
          faults.set(kind, (faults.get(kind) ?? 0) + 1);
          const retry = event.retryInMs === undefined ? {} : { retryAt: at + event.retryInMs };
          lastFault = { at, subject: safeText(event.subject), kind, ...retry };
          return;
        }
        case 'notice':
          return;
      }
    },

    snapshot: () => ({
      startedAt,
      now: clock.now(),
      lastEventAt,
      crawls: [...crawls.values()],
      totals: { ...totals },
      failures: [...failures],
      books: { ...books },
      deadLetters: {
        total: [...deadLetters.values()].reduce((sum, count) => sum + count, 0),
        byTopic: Object.fromEntries(deadLetters),
        last: [...lastDeadLetters],
      },
      requests: { followers: { ...requests.followers }, books: { ...requests.books } },
      faults: [...faults].map(([kind, count]) => ({ kind, count })).toSorted((one, other) => other.count - one.count),
      ...(lastFault === undefined ? {} : { lastFault }),
    }),
  };

  function end(crawl: CrawlState): void {
    crawls.set(crawl.crawl, crawl);
    endedCrawls.push(crawl.crawl);
    if (endedCrawls.length <= keptEndedCrawls) return;
    const oldest = endedCrawls.shift();
    // The same crawl may have been started again since it failed.
    if (oldest !== undefined && crawls.get(oldest)?.state !== 'running') crawls.delete(oldest);
  }
}

function started(
  event: {
    readonly user: string;
    readonly crawl: string;
    readonly page: number;
    readonly resumed: boolean;
    readonly expectedPages?: number;
  },
  at: number,
): CrawlState {
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
    ...expected,
  };
}

function withPage(before: CrawlState, page: number, ids: number, at: number): CrawlState {
  const total = before.ids + ids;
  const minutes = Math.max(at - before.startedAt, 1000) / 60_000;
  return { ...before, page, pages: before.pages + 1, ids: total, idsPerMinute: Math.round(total / minutes) };
}

/** What comes from outside may be a megabyte; what is kept of it is for reading. */
function shortReason(error: Reason): Reason {
  return { code: safeText(error.code, 100), message: safeText(error.message, 500) };
}

function keepLast<T>(list: T[], item: T, most: number): void {
  list.push(item);
  if (list.length > most) list.shift();
}

function noOutcomes(): Record<keyof OutcomeCounts, number> {
  return { ok: 0, 'rate-limited': 0, transient: 0, unauthorized: 0, gone: 0, fatal: 0 };
}
