import type { LimitMismatch, SourceOutage } from '@headgate/sources';

/** An event of a run, emitted as it happens. */
export type RunEvent =
  | JobEvent
  | {
      /** One attempt of one HTTP request has ended. */
      readonly type: 'attempt';
      readonly pipeline: string;
      readonly credential: string;
      readonly outcome: 'ok' | 'rate-limited' | 'transient' | 'unauthorized' | 'gone' | 'ambiguous' | 'fatal';
      /** The repository, user or product that the HTTP request was about, as its source names it. */
      readonly subject: string;
      /** Description of the outcome. Absent if the outcome is `ok`. */
      readonly reason?: string;
      /** Status of the response, if one arrived. */
      readonly status?: number;
      /** Time until the request is retried, ms; absent if it isn't retried. */
      readonly retryInMs?: number;
      /** A limit in the service's responses that differs from the configured one. A source reports each difference once. */
      readonly limitMismatch?: LimitMismatch;
      /** Time from the permit of the attempt to its end, ms. */
      readonly durationMs: number;
    }
  | {
      /** Every attempt of the pipeline has failed for two seconds. */
      readonly type: 'service-unavailable';
      readonly pipeline: string;
      /** Start of the first failed attempt, epoch ms. */
      readonly since: number;
      /** Reason of the last attempt. */
      readonly reason: string;
    }
  | {
      /** The failures that `service-unavailable` reported have ended. */
      readonly type: 'service-available';
      readonly pipeline: string;
      /** Start of the first failed attempt, epoch ms. */
      readonly since: number;
      /** Time from that start to this event, ms. */
      readonly lastedMs: number;
    }
  | {
      /** A sentence for the user of the run, such as a warning about a topic's settings. */
      readonly type: 'notice';
      readonly level: 'info' | 'warn';
      readonly message: string;
    }
  | {
      /** The number of lanes that the group assigns to this process has changed. */
      readonly type: 'lanes-assigned';
      readonly lanes: number;
    }
  | {
      /** This process has taken the lane. */
      readonly type: 'lane-opened';
      readonly pipeline: string;
      /** Partition of the pipeline's requests topic, counted from 0. */
      readonly lane: number;
    }
  | {
      /** This process no longer holds the lane. The lane's unfinished requests continue when the lane is next opened. */
      readonly type: 'lane-left';
      readonly pipeline: string;
      readonly lane: number;
      /**
       * Why this process left the lane, such as `process 12 on host-b since … has taken it over`. Absent if the lane was released normally.
       */
      readonly reason?: string;
      /** True if the lane has failed. The other lanes continue. */
      readonly failed?: true;
    }
  | {
      /** An open transaction has blocked the reading of a lane's requests for two seconds. */
      readonly type: 'requests-blocked';
      readonly pipeline: string;
      readonly lane: number;
      /** Offset of the transaction's first record. */
      readonly offset: number;
      /** Time at which that record was written, epoch ms. */
      readonly since: number;
    }
  | {
      /** The transaction of `requests-blocked` has ended, so the lane's requests can be read again. */
      readonly type: 'requests-readable';
      readonly pipeline: string;
      readonly lane: number;
    }
  | {
      /** The run ends without this number of lanes, which the group hasn't assigned to this process. */
      readonly type: 'lanes-elsewhere';
      readonly lanes: number;
    };

/** An event of a request. `group`: name of the job's group, if the pipeline has groups. */
export type JobEvent =
  | {
      /** A walk starts in this process, or resumes at its checkpoint. */
      readonly type: 'request-started';
      readonly pipeline: string;
      readonly lane: number;
      readonly key: string;
      /** ID of the request: `<requests topic>-<partition>-<offset>`. */
      readonly request: string;
      /** The page that the walk starts at, 1-based. */
      readonly page: number;
      /** Number of items on the previous pages. */
      readonly items: number;
      readonly resumed: boolean;
      readonly group?: string;
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
      readonly group?: string;
    }
  | {
      /** The last page of a walk is durable. `pages` and `items` include those before a restart. */
      readonly type: 'request-completed';
      readonly pipeline: string;
      readonly key: string;
      readonly request: string;
      readonly pages: number;
      readonly items: number;
      readonly group?: string;
    }
  | {
      /** A walk has failed, and its request is a dead letter. */
      readonly type: 'request-failed';
      readonly pipeline: string;
      readonly key: string;
      readonly request: string;
      readonly error: Reason;
      readonly group?: string;
    }
  | {
      /** A lane has taken lookup keys from the requests topic. */
      readonly type: 'keys-queued';
      readonly pipeline: string;
      readonly count: number;
    }
  | {
      /** The results of lookup keys are durable: records or dead letters. */
      readonly type: 'keys-answered';
      readonly pipeline: string;
      readonly count: number;
    }
  | {
      /** Records are durable. `counts`: their number by topic, named as within the pipeline. */
      readonly type: 'records-written';
      readonly pipeline: string;
      /** Whether the records come from a page of a walk, or from keys of lookups. */
      readonly kind: 'walk' | 'keys';
      readonly counts: Readonly<Record<string, number>>;
    }
  | {
      /**
       * The work after a crawl has ended or was interrupted. `counts` and `kinds`: number of records that this process has written for it,
       * by topic and by kind.
       */
      readonly type: 'after-written';
      readonly pipeline: string;
      readonly key: string;
      readonly request: string;
      readonly counts: Readonly<Record<string, number>>;
      readonly kinds: Readonly<Record<string, number>>;
      readonly group?: string;
    }
  | {
      /** A dead letter is durable. It is about a request, a key, or a part of a response that can't be processed. */
      readonly type: 'dead-letter';
      readonly pipeline: string;
      /** Name of the dead-letters topic on the log. */
      readonly topic: string;
      readonly key: string;
      readonly error: Reason;
    };

/** Why a request, or a part of one, failed. */
export interface Reason {
  /** Code of the error, such as `HEADGATE_USER_NOT_FOUND`. */
  readonly code: string;
  /** Message of the error. */
  readonly message: string;
}

/** The state of a run's work at one instant. Times are epoch ms. */
export interface RunGauges {
  readonly budgets: readonly BudgetGauge[];
  readonly credits: readonly CreditGauge[];
  /** The activity of each active walk, of the work after a walk, and of each lane's lookup keys together. */
  readonly work: readonly WorkGauge[];
  /** The lanes that this process holds. */
  readonly lanes: readonly LaneGauge[];
  /** Outages of services, one for each source of a lane that has noticed one. */
  readonly outages: readonly (SourceOutage & { readonly pipeline: string })[];
}

/** The work of one lane of this process. */
export interface LaneGauge {
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** Partition of the pipeline's requests topic, counted from 0. */
  readonly lane: number;
  /** Number of unfinished requests and keys that the lane has started. A walk with unfinished `after` work counts as one. */
  readonly inWork: number;
  /** Number of walks that the lane hasn't started, as far as Headgate has read the requests topic. Some wait for a walk of the same key. */
  readonly behind: number;
  /** False during the first count of the topic. */
  readonly isCounted: boolean;
  /** The walks of `behind` by group, if the pipeline has groups. */
  readonly groups?: Readonly<Record<string, number>>;
  /** Number of unanswered lookup keys: those that the lane has taken, and those counted in the requests topic after them. */
  readonly keys: number;
}

export interface WorkGauge {
  readonly pipeline: string;
  readonly lane: number;
  readonly key: string;
  /** ID of the walk's request. Absent for the lookup keys of the lane, which share one gauge. */
  readonly request?: string;
  /** Expected total pages of the walk, if known. */
  readonly expected?: number;
  readonly doing: Doing;
}

/** The current activity of a walk, or of a lane's lookup keys. */
export type Doing =
  /** An HTTP request has been in flight since `since`, epoch ms. */
  | { readonly state: 'requesting'; readonly since: number }
  /** The last attempt failed, for `reason`. The next one starts at `at`, epoch ms. */
  | { readonly state: 'retrying'; readonly at: number; readonly reason: string }
  /**
   * Waiting for a budget, for capacity downstream (until earlier records are written), for a service that is down, or, with `concurrency`,
   * for another request to end. `until`: when the wait ends, epoch ms, if known. `credentials`: names of the only credentials that may send
   * the request. Default: any.
   */
  | {
      readonly state: 'waiting';
      readonly for: 'budget' | 'downstream' | 'service' | 'concurrency';
      readonly until?: number;
      readonly credentials?: readonly string[];
    }
  /** The log is writing, for example a page or the permit of the next request. */
  | { readonly state: 'writing' }
  /** All pages are written, and the work after the walk is running. `name`: name of that work. */
  | { readonly state: 'behind'; readonly name: string };

/** The state of one budget of one credential in this process. */
export interface BudgetGauge {
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** Name of the credential that the budget belongs to. Absent for a limit on all credentials of the pipeline together. */
  readonly credential?: string;
  /** Name of the budget: `rate`, unless the source has several. */
  readonly budget: string;
  /** Name of the unit that the budget counts. Default: requests. */
  readonly unit?: string;
  /** Maximum requests, or units of weight, per window. */
  readonly limit: number;
  /** Length of the window, ms. For a quota, it is 24 hours or 31 days. */
  readonly windowMs: number;
  /** Requests, or units of weight, used in the current window, including requests in flight. */
  readonly used: number;
  /**
   * Earliest time for the next request, epoch ms; now or earlier if it can start immediately. Undefined while requests in flight decide it.
   */
  readonly freeAt?: number;
  /** Time of the next reset, epoch ms. Set only for a quota. */
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
