import type { LimitMismatch, SourceOutage } from '@headgate/sources';

/** An event of a run, emitted as it happens. */
export type RunEvent =
  | RequestEvent
  | {
      /** One attempt of one HTTP request has ended. */
      readonly type: 'attempt';
      readonly pipeline: string;
      readonly credential: string;
      readonly outcome: 'ok' | 'rate-limited' | 'transient' | 'unauthorized' | 'gone' | 'fatal';
      /** The repository, user or product that the HTTP request was about, as its source names it. */
      readonly subject: string;
      /** Description of every outcome except ok. */
      readonly reason?: string;
      /** Status of the response, if one arrived. */
      readonly status?: number;
      /** Time until the request is retried, ms; absent if it isn't retried. */
      readonly retryInMs?: number;
      /** Responses show another limit than the configured one: reported once by each source, and as a notice. */
      readonly limitMismatch?: LimitMismatch;
      /** Time from the permit of the attempt to its end, ms. */
      readonly durationMs: number;
    }
  | {
      /** Every attempt of the pipeline has failed since `since`. Emitted when this has lasted two seconds. */
      readonly type: 'service-unavailable';
      readonly pipeline: string;
      /** Epoch ms. */
      readonly since: number;
      /** Reason of the last attempt. */
      readonly reason: string;
    }
  | {
      /** An attempt has succeeded again. */
      readonly type: 'service-available';
      readonly pipeline: string;
      /** Epoch ms. */
      readonly since: number;
      readonly lastedMs: number;
    }
  | {
      /** A sentence for the user of the run, such as a warning about a topic's settings. */
      readonly type: 'notice';
      readonly level: 'info' | 'warn';
      readonly message: string;
    }
  | {
      /** The number of lanes that the group assigns to this process; emitted when it changes. */
      readonly type: 'lanes-assigned';
      readonly lanes: number;
    }
  | {
      /** This process has taken the lane, and works its requests from now on. */
      readonly type: 'lane-opened';
      readonly pipeline: string;
      /** Partition of the pipeline's requests topic, counted from 0. */
      readonly lane: number;
    }
  | {
      /** This process no longer works the lane; its unfinished requests continue wherever it is opened next. */
      readonly type: 'lane-left';
      readonly pipeline: string;
      readonly lane: number;
      /** The reason, unless it was released normally: `process 12 on host-b since … has taken it over`. */
      readonly reason?: string;
      /** No process resumes it before the cause is fixed and a new run starts; the other lanes continue. */
      readonly failed?: true;
    }
  | {
      /** Another client's open transaction blocks reading a lane's requests; emitted after two seconds. */
      readonly type: 'requests-blocked';
      readonly pipeline: string;
      readonly lane: number;
      /** The offset of the transaction's first record. */
      readonly offset: number;
      /** Time at which that record was written, epoch ms. */
      readonly since: number;
    }
  | {
      /** The transaction of `requests-blocked` has ended: the lane's requests can be read again. */
      readonly type: 'requests-readable';
      readonly pipeline: string;
      readonly lane: number;
    }
  | {
      /** At the end: number of lanes that other processes held. */
      readonly type: 'lanes-elsewhere';
      readonly lanes: number;
    };

/** An event of a request. */
export type RequestEvent =
  | {
      /** A walk starts here, or continues after its checkpoint. */
      readonly type: 'request-started';
      readonly pipeline: string;
      readonly lane: number;
      readonly key: string;
      /** `<requests topic>-<partition>-<offset>`. */
      readonly request: string;
      /** The page that the walk starts at, 1-based. */
      readonly page: number;
      /** Items of the previous pages. */
      readonly items: number;
      readonly resumed: boolean;
    }
  | {
      /** A page of a walk is durable, with its records and its checkpoint. */
      readonly type: 'page-written';
      readonly pipeline: string;
      readonly key: string;
      readonly request: string;
      /** Number of the page, 1-based. */
      readonly page: number;
      readonly items: number;
      /** True for the last page of the walk. */
      readonly last: boolean;
      readonly credential?: string;
    }
  | {
      /** The last page of a walk is durable. `pages` and `items` count those before a restart as well. */
      readonly type: 'request-completed';
      readonly pipeline: string;
      readonly key: string;
      readonly request: string;
      readonly pages: number;
      readonly items: number;
    }
  | {
      /** A walk has ended as a dead letter. */
      readonly type: 'request-failed';
      readonly pipeline: string;
      readonly key: string;
      readonly request: string;
      readonly error: Reason;
    }
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
      /** Records are durable. `counts`: their number by topic, named as within the pipeline. */
      readonly type: 'records-written';
      readonly pipeline: string;
      /** From a walk's page, or from the keys of lookups. */
      readonly kind: 'walk' | 'keys';
      readonly counts: Readonly<Record<string, number>>;
    }
  | {
      /** The work after a crawl ended: the records that this process has written for it, by topic and by their kinds. */
      readonly type: 'after-written';
      readonly pipeline: string;
      readonly key: string;
      readonly request: string;
      readonly counts: Readonly<Record<string, number>>;
      readonly kinds: Readonly<Record<string, number>>;
    }
  | {
      /** A dead letter is durable: a request, a key, or a part of a response that can't be processed. */
      readonly type: 'dead-letter';
      readonly pipeline: string;
      /** Name of the dead letters' topic. */
      readonly topic: string;
      readonly key: string;
      readonly error: Reason;
    };

/** Why a request, or a part of one, failed. */
export interface Reason {
  /** Code of the error, such as `HEADGATE_USER_NOT_FOUND`. */
  readonly code: string;
  /** A message without secrets. */
  readonly message: string;
}

/** The state of the work at one instant. Times are epoch ms. */
export interface RunGauges {
  readonly budgets: readonly BudgetGauge[];
  readonly credits: readonly CreditGauge[];
  /** The activity of each request in work, and the keys of each lane's lookups. */
  readonly work: readonly WorkGauge[];
  /** The lanes that this process works. */
  readonly lanes: readonly LaneGauge[];
  /** Services that are down, a row for each source of a lane. */
  readonly outages: readonly (SourceOutage & { readonly pipeline: string })[];
}

/** The work of one lane of this process. */
export interface LaneGauge {
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** Partition of the pipeline's requests topic, counted from 0. */
  readonly lane: number;
  /** Number of unfinished requests and keys that the lane has taken, and of unfinished work after walks. */
  readonly inWork: number;
  /** Number of walks in the requests topic that the lane hasn't taken yet, as far as Headgate has read the topic. */
  readonly behind: number;
  /** False during the first count of the topic. After it, the counts are some seconds old at most. */
  readonly isCounted: boolean;
  /** Number of unanswered keys of lookups: those that the lane has taken, and those counted in the requests topic after them. */
  readonly keys: number;
}

export interface WorkGauge {
  readonly pipeline: string;
  readonly lane: number;
  readonly key: string;
  /** The walk's request; absent for the keys of the lane's lookups, all together. */
  readonly request?: string;
  /** Expected total pages of the walk, if known. */
  readonly expected?: number;
  readonly doing: Doing;
}

/** The current activity of a request in work. */
export type Doing =
  /** Its HTTP request is being answered since then. */
  | { readonly state: 'requesting'; readonly since: number }
  /** The last attempt failed, for `reason`. The next one starts at `at`, epoch ms. */
  | { readonly state: 'retrying'; readonly at: number; readonly reason: string }
  /**
   * Waits for a budget, for capacity downstream (until earlier records are written), for a service that is down to answer another request,
   * or, with `concurrency`, for another request to end. `until`: if known. `credentials`: names of those that may send it, if not any may.
   */
  | {
      readonly state: 'waiting';
      readonly for: 'budget' | 'downstream' | 'service' | 'concurrency';
      readonly until?: number;
      readonly credentials?: readonly string[];
    }
  /** The log is writing a page of it, or the grant of its next request. */
  | { readonly state: 'writing' }
  /** All its pages are written, and the work after the walk continues. `name`: of that work. */
  | { readonly state: 'behind'; readonly name: string };

/** The state of one budget of one credential in this process. */
export interface BudgetGauge {
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** Name of the credential that the budget belongs to; absent for a limit over all credentials of the pipeline. */
  readonly credential?: string;
  /** Name of the budget: `rate`, unless the source has several. */
  readonly budget: string;
  /** Name of the unit that the budget counts. Default: requests. */
  readonly unit?: string;
  /** Maximum requests, or units of weight, per window. */
  readonly limit: number;
  /** Length of the window in ms; of a quota, 24 hours or 31 days. */
  readonly windowMs: number;
  /** Requests, or units of weight, used in the current window, including requests in flight. */
  readonly used: number;
  /** When the next request may start, not later than now if it may at once; undefined while that depends on requests in flight. */
  readonly freeAt?: number;
  /** The next reset of a quota. */
  readonly resetsAt?: number;
}

/** The capacity downstream of one lane of this process, in items. */
export interface CreditGauge {
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** Maximum items that may be outstanding: the pipeline's `maxOutstanding`. */
  readonly max: number;
  /** Items requested or in flight and not yet written. */
  readonly used: number;
}
