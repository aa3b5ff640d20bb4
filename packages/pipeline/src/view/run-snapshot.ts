import type { BudgetGauge, CreditGauge, Doing, LaneGauge, Reason } from './events.ts';
import type { Histogram } from './histogram.ts';

/** A run at one instant, as plain data: a row for each request in work and for each budget, totals, and when it will be done. Times are epoch ms. */
export interface RunSnapshot {
  /** When the run began. */
  readonly startedAt: number;
  /** Time of the snapshot. */
  readonly now: number;
  /** Time of the last event, or of the start if there was none. */
  readonly lastEventAt: number;
  /** Pipelines by name, in the order in which `start` got them. */
  readonly pipelines: Readonly<Record<string, PipelineSnapshot>>;
  /** Walks in work here, and the last 1,000 that ended, in the order they began; then the keys of lookups, a row for each pipeline. */
  readonly work: readonly WorkRow[];
  /** An element for each budget of each credential of the lanes that this process holds, and for each limit over all credentials. */
  readonly budgets: readonly BudgetGauge[];
  /** An element for each lane that this process holds. */
  readonly credits: readonly CreditGauge[];
  /** The lanes that this process works. */
  readonly lanes: readonly LaneGauge[];
  /** Lanes that no process resumes before the cause is fixed. */
  readonly failedLanes: readonly { readonly pipeline: string; readonly lane: number; readonly reason: string }[];
  /**
   * Lanes whose requests wait for the end of another client's open transaction, with the offset of its first record and the time of the
   * block.
   */
  readonly blockedLanes: readonly { readonly pipeline: string; readonly lane: number; readonly offset: number; readonly since: number }[];
  /** Lanes that the group assigns to this process; absent before the assignment. */
  readonly lanesAssigned?: number;
  /** At the end: lanes that other processes held. */
  readonly lanesElsewhere: number;
  /** Dead letters that this run has written, in all and by topic. */
  readonly deadLetters: {
    readonly total: number;
    readonly byTopic: Readonly<Record<string, number>>;
    /** The last 20 dead letters of the run. */
    readonly last: readonly { readonly at: number; readonly topic: string; readonly key: string; readonly error: Reason }[];
  };
  /** Progress of all pipelines together. */
  readonly progress: Progress;
}

/** How much of the work of the lanes held here is done. */
export interface Progress {
  /** Successful HTTP requests of this run. */
  readonly done: number;
  /** Remaining HTTP requests; a minimum if `isExact` is false, because some walks are new or a lane has failed. */
  readonly left: number;
  /** False if `left` and `doneAt` are minimums. */
  readonly isExact: boolean;
  /** Time of the last response, or the earliest time if `isExact` is false; absent if nothing is left. */
  readonly doneAt?: number;
}

/** One pipeline since the run began. */
export interface PipelineSnapshot {
  /** Name of the pipeline's items. */
  readonly unit: string;
  /** Maximum items per page of a walk, if its definition says so. */
  readonly pageItems?: number;
  /** HTTP attempts by outcome. */
  readonly attempts: Readonly<Record<string, number>>;
  /** HTTP attempts by the name of their credential, then by outcome. */
  readonly credentials: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Durations of attempts, from the permit to the end. */
  readonly attemptTimes: Histogram;
  /** When the last attempt succeeded. */
  readonly lastSuccessAt?: number;
  /** Durations of the log's transactions. */
  readonly commitTimes: Histogram;
  /** Failed attempts, by the HTTP status of their response or `none`. */
  readonly faults: Readonly<Record<string, number>>;
  /**
   * Set while no attempt succeeds: the start, the number of failures, the last reason, and the time of the next attempt, if known.
   * `waiting`: requests that leave the attempts to one of them while the service is down.
   */
  readonly failing?: {
    readonly since: number;
    readonly attempts: number;
    readonly reason: string;
    readonly retryAt?: number;
    readonly waiting?: number;
  };
  /** Number of durable records, by topic within the pipeline. */
  readonly records: Readonly<Record<string, number>>;
  /** Walks that began or were resumed, and those that have ended. */
  readonly walks: { readonly started: number; readonly completed: number; readonly failed: number };
  /** Pages of walks written. */
  readonly pages: number;
  /** Items of the pages written. */
  readonly items: number;
  /** Keys of lookups that were taken, and those of them that have a response. */
  readonly keys: { readonly queued: number; readonly answered: number };
  /** Dead letters written. */
  readonly deadLetters: number;
  /** How much of the work of the pipeline's lanes held here is done. */
  readonly progress: Progress;
}

/** A request that is walked, or all keys of a pipeline's lookups. */
export type WorkRow = WalkRow | KeysRow;

/** A request that is walked, or that was in this run. */
export interface WalkRow {
  /** Distinguishes the row from a `KeysRow`. */
  readonly kind: 'walk';
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** Partition of the pipeline's requests topic, counted from 0. */
  readonly lane: number;
  /** Key of the request. */
  readonly key: string;
  /** `<requests topic>-<partition>-<offset>`: two requests of one key are two rows. */
  readonly request: string;
  /** `failed`: it became a dead letter. */
  readonly state: 'working' | 'completed' | 'failed';
  /** Number of durable pages, including those of earlier runs. */
  readonly pages: number;
  /** Items of those pages. */
  readonly items: number;
  /** Expected total pages, if known. */
  readonly expected?: number;
  /** Time of its last page's response, if the sizes of all walks of its lane are known: for the first 50 of a lane. */
  readonly doneAt?: number;
  /** While it is worked, and while work after it continues. */
  readonly doing?: Doing;
  /** Why it has failed; absent while it hasn't. */
  readonly error?: Reason;
}

/** The keys of a pipeline's lookups, all together. */
export interface KeysRow {
  /** Distinguishes the row from a `WalkRow`. */
  readonly kind: 'keys';
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** Number of keys with a response. */
  readonly answered: number;
  /** All known keys of this run, including those without a response. */
  readonly known: number;
  /** True if `known` includes all keys in the requests topic. */
  readonly isExact: boolean;
  /** Number of durable records of these keys, by topic within the pipeline. */
  readonly records: Readonly<Record<string, number>>;
  /** The activity of the first lane of this process with active keys; absent if there is none. */
  readonly doing?: Doing;
}
