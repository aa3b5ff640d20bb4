import type { BudgetGauge, CreditGauge, Doing, LaneGauge, Reason } from '../events/events.ts';
import type { Histogram } from '../events/histogram.ts';

/** The state of a run at one instant, as plain data. Times are epoch ms. */
export interface RunSnapshot {
  /** Time of the run's start. */
  readonly startedAt: number;
  /** Time of the snapshot. */
  readonly now: number;
  /** Time of the last event, or of the start if there was none. */
  readonly lastEventAt: number;
  /** Pipelines by name, in the order in which `start` got them. */
  readonly pipelines: Readonly<Record<string, PipelineSnapshot>>;
  /** The active walks of this process and the last 1,000 that ended, then a row for each pipeline with lookup keys. */
  readonly work: readonly WorkRow[];
  /** An element for each budget of each credential of the lanes that this process holds, and for each limit on all credentials together. */
  readonly budgets: readonly BudgetGauge[];
  /** An element for each lane that this process holds. */
  readonly credits: readonly CreditGauge[];
  /** The lanes that this process holds. */
  readonly lanes: readonly LaneGauge[];
  /** Lanes that have failed while others continued, and that this process hasn't opened again. */
  readonly failedLanes: readonly { readonly pipeline: string; readonly lane: number; readonly reason: string }[];
  /**
   * Lanes whose requests can't be read until an open transaction ends. `offset` and `since`: offset and time of that transaction's first
   * record.
   */
  readonly blockedLanes: readonly { readonly pipeline: string; readonly lane: number; readonly offset: number; readonly since: number }[];
  /** Number of lanes that the group assigns to this process. Absent before the first assignment. */
  readonly lanesAssigned?: number;
  /** Number of lanes that the group hadn't assigned to this process when the run ended. 0 until then. */
  readonly lanesElsewhere: number;
  /** Number of dead letters that this run has written, in total and by topic. */
  readonly deadLetters: {
    readonly total: number;
    readonly byTopic: Readonly<Record<string, number>>;
    /** The last 20 dead letters of the run. */
    readonly last: readonly { readonly at: number; readonly topic: string; readonly key: string; readonly error: Reason }[];
  };
  /** Progress of all pipelines together. */
  readonly progress: Progress;
}

/** The progress of the lanes that this process holds. */
export interface Progress {
  /** Number of HTTP requests of this run whose results are written. */
  readonly done: number;
  /** Number of remaining HTTP requests. A minimum if `isExact` is false, for example because some walks are new or a lane has failed. */
  readonly left: number;
  /** False if `left` and `doneAt` are minimums. */
  readonly isExact: boolean;
  /**
   * Expected time of the last response, or the earliest possible time if `isExact` is false. Absent if nothing is left, or if the run has
   * ended.
   */
  readonly doneAt?: number;
}

/** One pipeline since the run began. */
export interface PipelineSnapshot {
  /** Name of the pipeline's items. */
  readonly unit: string;
  /** Maximum items per page of a walk, if its definition says so. */
  readonly pageItems?: number;
  /** Number of HTTP attempts by outcome. */
  readonly attempts: Readonly<Record<string, number>>;
  /** Number of HTTP attempts by the name of their credential, then by outcome. */
  readonly credentials: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Durations of attempts, from the permit to the end of the attempt. */
  readonly attemptTimes: Histogram;
  /** Time of the last successful attempt. */
  readonly lastSuccessAt?: number;
  /** Durations of the transactions of the pipeline's lanes. */
  readonly commitTimes: Histogram;
  /** Number of attempts that were rate-limited or failed transiently, by the HTTP status of their response, or `none`. */
  readonly faults: Readonly<Record<string, number>>;
  /**
   * Set while every attempt fails transiently: the start, the number of failures, the last reason, and the time of the next attempt, if known.
   * `waiting`: number of requests that wait during an outage while another request tests the service.
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
  /** Number of walks that this run started or resumed, and of those that have ended. */
  readonly walks: { readonly started: number; readonly completed: number; readonly failed: number };
  /** The jobs of each group that has any, by the group's name. Absent if the pipeline has no groups. */
  readonly groups?: Readonly<Record<string, JobGroup>>;
  /** Number of written pages. */
  readonly pages: number;
  /** Number of items on these pages. */
  readonly items: number;
  /** Number of lookup keys that were taken, and of those whose results are durable. */
  readonly keys: { readonly queued: number; readonly answered: number };
  /** Number of written dead letters. */
  readonly deadLetters: number;
  /** The progress of the pipeline's lanes that this process holds. */
  readonly progress: Progress;
}

/** The jobs of a group since the run began. */
export interface JobGroup {
  /** Number of walks that this run has completed. */
  readonly done: number;
  /** Number of walks that have failed. */
  readonly failed: number;
  /** Number of unfinished walks, started or not. A minimum if `isExact` is false. */
  readonly left: number;
  /** False while other jobs can still create jobs of this group, and during the first count of the requests topic. */
  readonly isExact: boolean;
  /** Number of pages that this run has written. */
  readonly pages: number;
  /** Number of items on these pages. */
  readonly items: number;
}

/** A request that is walked, or all keys of a pipeline's lookups. */
export type WorkRow = WalkRow | KeysRow;

/** A request that is being walked, or whose walk has ended. */
export interface WalkRow {
  /** Distinguishes the row from a `KeysRow`. */
  readonly kind: 'walk';
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** Partition of the pipeline's requests topic, counted from 0. */
  readonly lane: number;
  /** Key of the request. */
  readonly key: string;
  /** Name of the request's group, if the pipeline has groups. */
  readonly group?: string;
  /** ID of the request: `<requests topic>-<partition>-<offset>`. Two requests with the same key are two rows. */
  readonly request: string;
  /** `failed`: the request became a dead letter. */
  readonly state: 'working' | 'completed' | 'failed';
  /** Number of durable pages, including those of earlier runs. 0 if an earlier run has completed the walk. */
  readonly pages: number;
  /** Number of items on those pages. */
  readonly items: number;
  /** Expected total pages, if known. */
  readonly expected?: number;
  /** Current activity. Set while the walk, or the work after it, isn't finished. */
  readonly doing?: Doing;
  /** Why the walk failed. Absent if it hasn't. */
  readonly error?: Reason;
}

/** All lookup keys of a pipeline. */
export interface KeysRow {
  /** Distinguishes the row from a `WalkRow`. */
  readonly kind: 'keys';
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** Number of keys whose results are durable. */
  readonly answered: number;
  /** Number of lookup keys that this run knows, with and without a result. */
  readonly known: number;
  /** False during the first count of the requests topic. During that count, `known` can be too low. */
  readonly isExact: boolean;
  /** Number of durable records of these keys, by topic within the pipeline. */
  readonly records: Readonly<Record<string, number>>;
  /** The activity of the first lane of this process with active keys. Absent if there is none. */
  readonly doing?: Doing;
}
