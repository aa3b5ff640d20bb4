import type { LimitMismatch } from '@headgate/sources';

/** A happening in a run, told as it happens. */
export type RunEvent =
  | RequestEvent
  | {
      /** One attempt of one HTTP request has ended. */
      readonly type: 'attempt';
      readonly pipeline: string;
      readonly credential: string;
      readonly outcome: 'ok' | 'rate-limited' | 'transient' | 'unauthorized' | 'gone' | 'fatal';
      /** The repository, user or product it was about, as its source names it. */
      readonly subject: string;
      /** For anything but ok: what happened, in words. */
      readonly reason?: string;
      readonly status?: number;
      /** When it is tried again, ms from now; absent when it is not. */
      readonly retryInMs?: number;
      /** Answers show another limit than the one that is configured: told once by each source, and as a notice. */
      readonly limitMismatch?: LimitMismatch;
    }
  | { readonly type: 'notice'; readonly level: 'info' | 'warn'; readonly message: string }
  /** So many lanes are this process's to open now, as far as the group knows; told when that changes. */
  | { readonly type: 'lanes-assigned'; readonly lanes: number }
  | { readonly type: 'lane-opened'; readonly pipeline: string; readonly lane: number }
  | {
      /** This process works the lane no longer; its unfinished requests go on wherever it is opened next. */
      readonly type: 'lane-left';
      readonly pipeline: string;
      readonly lane: number;
      /** Why, where it was not given up in good order: `process 12 on host-b since … has taken it over`. */
      readonly reason?: string;
      /** No process goes on with it before the cause is mended and a run begins anew; the other lanes go on. */
      readonly failed?: true;
    }
  | {
      /** Another client's open transaction keeps a lane's requests from being read; told once that has lasted two seconds. */
      readonly type: 'requests-blocked';
      readonly pipeline: string;
      readonly lane: number;
      /** Of the transaction's first record. */
      readonly offset: number;
      /** When that was written, epoch ms. */
      readonly since: number;
    }
  | { readonly type: 'requests-readable'; readonly pipeline: string; readonly lane: number }
  | {
      /** At the end: so many lanes were other processes' to work. */
      readonly type: 'lanes-elsewhere';
      readonly lanes: number;
    };

/** A happening to a request. */
export type RequestEvent =
  | {
      readonly type: 'request-started';
      readonly pipeline: string;
      readonly key: string;
      /** `<requests topic>-<partition>-<offset>`. */
      readonly request: string;
      /** The page it starts at, 1-based. */
      readonly page: number;
      readonly resumed: boolean;
    }
  | {
      readonly type: 'page-written';
      readonly pipeline: string;
      readonly key: string;
      readonly request: string;
      /** 1-based. */
      readonly page: number;
      readonly items: number;
      /** Whether the walk ends with it. */
      readonly last: boolean;
      readonly credential?: string;
    }
  | {
      readonly type: 'request-completed';
      readonly pipeline: string;
      readonly key: string;
      readonly request: string;
      readonly pages: number;
      readonly items: number;
    }
  | { readonly type: 'request-failed'; readonly pipeline: string; readonly key: string; readonly request: string; readonly error: Reason }
  | {
      /** Keys of lookups were taken from the requests topic. */
      readonly type: 'keys-queued';
      readonly pipeline: string;
      readonly count: number;
    }
  | {
      /** Keys of lookups were answered, and their records are durable. */
      readonly type: 'keys-answered';
      readonly pipeline: string;
      readonly count: number;
    }
  | {
      /** Records are durable. By topic, within the pipeline. */
      readonly type: 'records-written';
      readonly pipeline: string;
      readonly counts: Readonly<Record<string, number>>;
    }
  | {
      /** The work behind a crawl has ended: by topic, the records this process has written for it. */
      readonly type: 'after-written';
      readonly pipeline: string;
      readonly key: string;
      readonly request: string;
      readonly counts: Readonly<Record<string, number>>;
    }
  | { readonly type: 'dead-letter'; readonly pipeline: string; readonly topic: string; readonly key: string; readonly error: Reason };

export interface Reason {
  readonly code: string;
  readonly message: string;
}

/** How the work stands at one instant. */
export interface RunGauges {
  readonly budgets: readonly BudgetGauge[];
  readonly credits: readonly CreditGauge[];
  /** HTTP requests that wait, by the label of their source. */
  readonly waiting: readonly WaitingGauge[];
  /** Requests and keys that lanes have taken and not finished. */
  readonly inFlight: readonly { readonly pipeline: string; readonly lane: number; readonly count: number }[];
}

export interface BudgetGauge {
  readonly pipeline: string;
  readonly credential: string;
  readonly limit: number;
  readonly windowMs: number;
  /** Requests in the current window, those in flight counted. */
  readonly used: number;
  /** Epoch ms when the next request may start; undefined while requests in flight decide it. */
  readonly freeAt?: number;
}

export interface CreditGauge {
  readonly pipeline: string;
  readonly max: number;
  readonly used: number;
}

export interface WaitingGauge {
  readonly pipeline: string;
  readonly label: string;
  readonly for: 'budget' | 'credit';
  /** Epoch ms, where it is known. */
  readonly until?: number;
}
