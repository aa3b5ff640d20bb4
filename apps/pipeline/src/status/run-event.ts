/** What happens in a run, as it happens. The display, the summary, the log lines, the metrics and the status page are all made of these. */
export type RunEvent =
  | {
      readonly type: 'crawl-started';
      readonly user: string;
      readonly crawl: string;
      /** The page it starts at, 1-based. */
      readonly page: number;
      readonly resumed: boolean;
      /** How many pages it will have, where an earlier crawl of the user tells. */
      readonly expectedPages?: number;
    }
  | {
      readonly type: 'page-written';
      readonly user: string;
      readonly crawl: string;
      /** 1-based. */
      readonly page: number;
      readonly ids: number;
      readonly credential: string;
    }
  | { readonly type: 'crawl-completed'; readonly user: string; readonly crawl: string; readonly pages: number; readonly ids: number }
  /** A user's last two crawls were compared: how many changes this process has written of it, also where it was stopped. */
  | {
      readonly type: 'changes-written';
      readonly user: string;
      readonly crawl: string;
      readonly followed: number;
      readonly unfollowed: number;
    }
  | { readonly type: 'crawl-failed'; readonly user: string; readonly crawl: string; readonly error: Reason }
  | { readonly type: 'books-written'; readonly found: number; readonly missing: number }
  /** A page of an author's books, 1-based; they end with the last. */
  | { readonly type: 'author-written'; readonly author: string; readonly page: number; readonly last: boolean; readonly books: number }
  | { readonly type: 'books-queued'; readonly isbns: number; readonly authors: number }
  | { readonly type: 'dead-letter'; readonly topic: string; readonly key: string; readonly error: Reason }
  | {
      /** One try of one request has ended. */
      readonly type: 'request';
      readonly service: ServiceName;
      readonly credential: string;
      readonly outcome: 'ok' | 'rate-limited' | 'transient' | 'unauthorized' | 'gone' | 'fatal';
      /** `@alpha`, an ISBN, an author: whom it was about. */
      readonly subject: string;
      /** For anything but ok: what happened, in words. */
      readonly reason?: string;
      readonly status?: number;
      /** When it is tried again, ms from now; absent when it is not. */
      readonly retryInMs?: number;
    }
  | { readonly type: 'notice'; readonly level: 'info' | 'warn'; readonly message: string }
  /** So many lanes are this process's to open now, as far as the group knows; told when that changes. */
  | { readonly type: 'lanes-assigned'; readonly lanes: number }
  | { readonly type: 'lane-opened'; readonly service: ServiceName; readonly lane: number }
  | {
      /** This process works the lane no longer; its unfinished crawls go on wherever it is opened next. */
      readonly type: 'lane-left';
      readonly service: ServiceName;
      readonly lane: number;
      /** Why, where it was not given up in good order: in words, e.g. `process 12 on host-b since … has taken it over`. */
      readonly reason?: string;
      /** Nobody goes on with it before the cause is mended and a run begins anew; the other lanes go on. */
      readonly failed?: true;
    }
  | {
      /** Another client's transaction that hasn't ended keeps a lane's requests from being read; told once that has lasted two seconds. */
      readonly type: 'requests-held-back';
      readonly service: ServiceName;
      readonly lane: number;
      /** Of the transaction's first record. */
      readonly offset: number;
      /** When that was written, epoch ms. */
      readonly since: number;
    }
  | { readonly type: 'requests-readable'; readonly service: ServiceName; readonly lane: number }
  | {
      /** At the end: so many lanes were others' to work. */
      readonly type: 'lanes-elsewhere';
      readonly lanes: number;
    }
  | {
      /** The brokers can't be worked with, or the file can't be written; told once that has lasted two seconds. */
      readonly type: 'log-unavailable';
      readonly driver: LogDriver;
      readonly reason: string;
      /** It answers, and refuses: the reason says which rights are missing. Told again when that changes. */
      readonly refused?: true;
      /** Since when, epoch ms; default: since this event. */
      readonly since?: number;
    }
  | { readonly type: 'log-available'; readonly driver: LogDriver };

export type LogDriver = 'kafka' | 'sqlite';

export type ServiceName = 'followers' | 'books';

export interface Reason {
  readonly code: string;
  readonly message: string;
}

/** How things stand at one instant, polled by displays. */
export interface RunGauges {
  readonly budgets: readonly BudgetGauge[];
  readonly credits: readonly CreditGauge[];
  /** What each crawl (by user) and the books are doing right now. */
  readonly activities: readonly Activity[];
}

export interface BudgetGauge {
  readonly service: ServiceName;
  readonly credential: string;
  /** What is counted; default `requests`. */
  readonly unit?: 'requests' | 'isbns';
  readonly limit: number;
  readonly windowMs: number;
  /** Requests in the current window, those under way counted. */
  readonly used: number;
  /** Epoch ms when the next request may start; in the past or now when one may start at once; undefined while requests under way decide it. */
  readonly freeAt?: number;
}

export interface CreditGauge {
  readonly service: ServiceName;
  readonly max: number;
  readonly used: number;
}

export interface Activity {
  readonly service: ServiceName;
  /** `@alpha`, digits, or `isbns`, `authors`. */
  readonly subject: string;
  readonly state:
    | 'queued'
    | 'waiting-for-budget'
    | 'waiting-for-downstream'
    | 'waiting-to-retry'
    | 'asking'
    | 'writing'
    | 'done'
    | 'failed';
  /** For a wait: until when (epoch ms), where it is known. */
  readonly until?: number;
}
