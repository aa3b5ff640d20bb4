import type { FaultKind } from './fault-kind.ts';
import type { HeldBackLane } from './held-back-lanes.ts';
import type { FailedLane, HeldLane } from './held-lanes.ts';
import type { LogDriver, Reason, RunEvent, ServiceName } from './run-event.ts';

type RequestEvent = Extract<RunEvent, { type: 'request' }>;

/** A run as its events left it, at one instant; plain data, never changed afterwards. Times are epoch ms. */
export interface RunSnapshot {
  readonly startedAt: number;
  readonly now: number;
  /** When the last event came; the start where none did. */
  readonly lastEventAt: number;
  /** Crawls under way here and the last 1,000 that ended, in the order they started. */
  readonly crawls: readonly CrawlState[];
  /** The lanes this process works, the followers' first, each service's by number. */
  readonly lanes: readonly HeldLane[];
  /** Whether a service has, or had, more than one lane here, or a lane was left. */
  readonly lanesShared: boolean;
  /** How many lanes the group gives to this process; absent before it has said. */
  readonly lanesAssigned?: number;
  /** How many lanes were others' to work, as it was at the end of the run; 0 before. */
  readonly lanesElsewhere: number;
  /** The lanes whose requests wait for the end of another client's transaction. */
  readonly heldBack: readonly HeldBackLane[];
  /** The lanes that can't go on, and why. */
  readonly failedLanes: readonly FailedLane[];
  /** Set while the log can't be worked with. */
  readonly logUnavailable?: LogUnavailable;
  /** Of this run, all its crawls together; one that starts again under its own id, because its lane came back, counts once. */
  readonly totals: {
    readonly crawlsStarted: number;
    readonly crawlsCompleted: number;
    readonly crawlsFailed: number;
    readonly pages: number;
    readonly ids: number;
  };
  /** The last 100 crawls that failed. */
  readonly failures: readonly FailedCrawl[];
  /** Written by this process. */
  readonly changes: { readonly followed: number; readonly unfollowed: number };
  readonly books: BooksState;
  readonly deadLetters: {
    readonly total: number;
    readonly byTopic: Readonly<Record<string, number>>;
    /** The last 100. */
    readonly last: readonly DeadLetterState[];
  };
  /** Tries that ended, by service and outcome. */
  readonly requests: Readonly<Record<ServiceName, OutcomeCounts>>;
  /** Tries that met a fault, by kind, the most frequent first. */
  readonly faults: readonly { readonly kind: FaultKind; readonly count: number }[];
  readonly lastFault?: LastFault;
}

export interface LogUnavailable {
  readonly driver: LogDriver;
  /** Epoch ms. */
  readonly since: number;
  readonly reason: string;
  /** It answers, and refuses. */
  readonly refused?: true;
}

export type OutcomeCounts = Readonly<Record<RequestEvent['outcome'], number>>;

export interface CrawlState {
  readonly user: string;
  readonly crawl: string;
  readonly state: 'running' | 'completed' | 'failed';
  readonly resumed: boolean;
  /** The page it started at in this run, 1-based. */
  readonly firstPage: number;
  /** The last page written; one less than `firstPage` before that. */
  readonly page: number;
  /** Pages and ids written in this run. */
  readonly pages: number;
  readonly ids: number;
  /** How many pages it is expected to have, where that is known. */
  readonly expectedPages?: number;
  /** Ids a minute on the average of the time it was worked in this run, 0 before the first page. */
  readonly idsPerMinute: number;
  readonly startedAt: number;
  /** For how long since then its lane was not worked here, ms. */
  readonly awayMs: number;
  readonly endedAt?: number;
  readonly error?: Reason;
}

export interface FailedCrawl {
  readonly user: string;
  readonly crawl: string;
  readonly error: Reason;
  readonly at: number;
}

export interface BooksState {
  readonly queuedIsbns: number;
  readonly queuedAuthors: number;
  readonly found: number;
  readonly missing: number;
  /** Authors with all their pages written. */
  readonly authors: number;
  /** Books the authors' answers held. */
  readonly authorBooks: number;
}

export interface DeadLetterState {
  readonly topic: string;
  readonly key: string;
  readonly error: Reason;
  readonly at: number;
}

export interface LastFault {
  readonly at: number;
  readonly subject: string;
  readonly kind: FaultKind;
  /** When it is tried again, where it is. */
  readonly retryAt?: number;
}
