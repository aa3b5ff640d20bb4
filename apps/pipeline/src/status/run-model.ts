import { createCrawlStates } from './crawl-states.ts';
import { faultKind } from './fault-kind.ts';
import { createHeldLanes } from './held-lanes.ts';
import { keepLast } from './keep-last.ts';
import { logReason } from './log-words.ts';
import { shortReason } from './short-reason.ts';
import { safeText } from './text/safe-text.ts';
import type { FaultKind } from './fault-kind.ts';
import type { HeldBackLane } from './held-back-lanes.ts';
import type { RunEvent, ServiceName } from './run-event.ts';
import type { BooksState, DeadLetterState, LastFault, LogUnavailable, OutcomeCounts, RunSnapshot } from './run-snapshot.ts';

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

const keptReasons = 100;

/** Reduces a run's events to how the run stands; its memory grows with the crawls under way, not with the length of the run. */
export function createRunModel(options: RunModelOptions): RunModel {
  const { clock } = options;
  const startedAt = clock.now();
  let lastEventAt = startedAt;
  const crawls = createCrawlStates();
  const lanes = createHeldLanes();
  const heldBack = new Map<string, HeldBackLane>();
  let lanesAssigned: number | undefined;
  let lanesElsewhere = 0;
  let logUnavailable: LogUnavailable | undefined;
  const books: Record<keyof BooksState, number> = { queuedIsbns: 0, queuedAuthors: 0, found: 0, missing: 0, authors: 0, authorBooks: 0 };
  const changes = { followed: 0, unfollowed: 0 };
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
        case 'page-written':
        case 'crawl-completed':
        case 'crawl-failed':
          crawls.apply(event, at);
          return;
        case 'lane-opened':
          lanes.apply(event);
          return;
        case 'lane-left':
          lanes.apply(event);
          crawls.apply(event, at);
          heldBack.delete(`${event.service} ${event.lane}`);
          return;
        case 'requests-held-back': {
          const { type: _, ...lane } = event;
          heldBack.set(`${event.service} ${event.lane}`, lane);
          return;
        }
        case 'requests-readable':
          heldBack.delete(`${event.service} ${event.lane}`);
          return;
        case 'lanes-assigned':
          lanesAssigned = event.lanes;
          return;
        case 'lanes-elsewhere':
          lanesElsewhere = event.lanes;
          return;
        case 'log-unavailable':
          logUnavailable = {
            driver: event.driver,
            since: logUnavailable?.since ?? event.since ?? at,
            reason: logReason(event),
            ...(event.refused && { refused: true }),
          };
          return;
        case 'log-available':
          logUnavailable = undefined;
          return;
        case 'changes-written':
          changes.followed += event.followed;
          changes.unfollowed += event.unfollowed;
          return;
        case 'books-queued':
          books.queuedIsbns += event.isbns;
          books.queuedAuthors += event.authors;
          return;
        case 'books-written':
          books.found += event.found;
          books.missing += event.missing;
          return;
        case 'author-written':
          if (event.last) books.authors += 1;
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
      ...crawls.snapshot(),
      lanes: lanes.held,
      lanesShared: lanes.shared,
      ...(lanesAssigned === undefined ? {} : { lanesAssigned }),
      lanesElsewhere,
      failedLanes: lanes.failed,
      heldBack: [...heldBack.values()],
      ...(logUnavailable === undefined ? {} : { logUnavailable }),
      changes: { ...changes },
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
}

function noOutcomes(): Record<keyof OutcomeCounts, number> {
  return { ok: 0, 'rate-limited': 0, transient: 0, unauthorized: 0, gone: 0, fatal: 0 };
}
