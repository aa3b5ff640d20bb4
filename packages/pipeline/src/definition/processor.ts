import type { BudgetSlots, SourceGauges } from '@headgate/sources';
import type { Clock, CreditPool } from '@headgate/throttle';
import type { TopicLog } from '@headgate/topics';
import type { JobEvent, RunEvent } from '../events/events.ts';
import type { Lane } from '../lane/lane.ts';
import type { JobRecord } from '../topics/job.ts';
import type { RecordMakers, TopicMap, TopicNames } from '../topics/topic.ts';
import type { Tracing } from '../events/tracing.ts';

/** The members of a source that a lane uses, whether it walks or looks up keys. */
export interface SourceControls {
  /** Returns the current state of the source's budgets and of its queries. */
  gauges(): SourceGauges;
  /** Returns when the slots of the source's budgets become free, for forecasts. */
  slots(): readonly BudgetSlots[];
  /**
   * Returns the names of the credentials that may send a query. Default: any credential may. A source with this function supports only one
   * lane.
   */
  readonly credentialsOf?: ((query: never) => readonly string[]) | undefined;
  /** Stops sending: queries that wait reject, and requests in flight finish. */
  stop(): void;
  /** Aborts requests in flight and closes the connections. */
  close(): Promise<void>;
}

/** Processes a pipeline's requests. `walk`, `lookup` and `route` return one. */
export interface Processor<Request, Topics extends TopicMap> {
  /** The sources that send the pipeline's HTTP requests. The caller of `Pipeline.open` closes them. */
  readonly sources: readonly SourceControls[];
  /** Opens the work of one lane. */
  open(context: WorkContext<Request, Topics>): Work<Request>;
  /** Returns how much of a job is left. */
  size(job: SizedJob<Request>): Left;
}

/** A job in the requests topic, with the lane's state, which says how much of it is done. */
export interface SizedJob<Request> {
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** As in {@link WorkContext}. */
  readonly kind: string;
  /** The job's place in its topic, and where a replay continues. */
  readonly record: Pick<JobRecord, 'offset' | 'resume'>;
  /** The job, as parsed by the definition's schema. */
  readonly request: Request;
  /** Key of the job. */
  readonly key: string;
  /** Returns the value of a key of the lane's state. Undefined if there is none. */
  readonly stateAt: Lane['stateAt'];
}

/** The size of a complete walk. */
export interface CrawlSize {
  /** Number of pages. */
  readonly pages: number;
  /** Number of items on those pages, as `WalkDefinition.items` counts them. */
  readonly items: number;
}

/** The unfinished part of a request. */
export type Left =
  /** A walk that continues at `page`, 1-based. `whole`: true if the walk is for all pages. */
  | {
      readonly kind: 'walk';
      readonly page: number;
      readonly whole: boolean;
      /** The last complete walk of the key. Default: none is known. */
      readonly last?: CrawlSize | undefined;
    }
  /** A lookup. `keys`: how many of its keys have no response yet; `size`: maximum keys of one HTTP request. */
  | { readonly kind: 'lookup'; readonly keys: number; readonly size: number }
  /** The work after a complete walk. It needs no HTTP request. */
  | { readonly kind: 'after' };

/** The environment of a lane's work: the lane, and what the run provides. */
export interface WorkContext<Request, Topics extends TopicMap> {
  /** Name of the pipeline. */
  readonly pipeline: string;
  /**
   * Prefix that separates the state of several kinds of work in one lane. Empty without `route`; otherwise the encoded kind and a slash.
   */
  readonly kind: string;
  /** Commits records, checkpoints and finished requests. */
  readonly lane: Lane;
  /** Group of the run. Default `headgate`. */
  readonly group?: string;
  /** The log that contains the lane. The `after` of a walk reads records back from it. */
  readonly log: TopicLog;
  /** The run's clock. */
  readonly clock: Clock;
  /** Aborts when the run stops: no further HTTP request is sent, and the results of those in flight are still written. */
  readonly stopping: AbortSignal;
  /** Aborts when a stopped run waits no longer for work in flight. */
  readonly abandoned: AbortSignal;
  /** Capacity for items that aren't yet durable, shared by all work of the lane. */
  readonly credits: CreditPool;
  /** Maximum pages of a walk that are requested and not yet durable, where budgets are ample. */
  readonly unwrittenPages: number;
  /** Returns the log's name of a topic. */
  readonly names: TopicNames;
  /** Creates records: `topics.records({ key, value })`. */
  readonly topics: RecordMakers<Topics>;
  /** Parses a request with the definition's schema. Throws a `PipelineError` (HEADGATE_MALFORMED_REQUEST) if the request doesn't fit. */
  readonly read: (value: string | null) => Request;
  /** Returns the key of a request, from the definition's `keyOf`. */
  readonly keyOf: (request: Request) => string;
  /** Emits an event of the run. */
  readonly emit: (event: JobEvent | Extract<RunEvent, { type: 'notice' }>) => void;
  /** Records traces. Default: no traces. */
  readonly tracing?: Tracing | undefined;
}

/** Works a lane's jobs of one kind. The lane has the map of jobs. */
export interface Work<Request> {
  /** Number of unfinished jobs at which the lane takes no more. */
  readonly backlog: number;
  /**
   * Works a job. Resolves when its end is durable, or, after a stop, when the rest is left to the next run. Rejects if the lane can't
   * continue. Throws for a job that can't be worked at all: the lane makes a dead letter of it.
   */
  run(job: Job, request: Request): Promise<void>;
  /** Called when the lane has read its jobs to the end: a lookup then sends keys without waiting for a full batch. */
  flush(): void;
}

/** A job that a lane has taken and that isn't finished. */
export interface Job {
  readonly record: JobRecord;
  /** The job's row in the lane's state when the lane took it. Undefined: it begins. */
  readonly row: unknown;
  /** Expected total pages of the job's walk. The lane sets it when it takes the job. Undefined if it isn't known. */
  expected?: number | undefined;
  /** What the job does, for gauges and forecasts. Its work sets it. Undefined: nothing that they show. */
  doing?: WalkInWork | KeyInWork | AfterInWork | undefined;
}

/** A walk that is active, or that waits for the active walk of its key. */
export interface WalkInWork {
  readonly kind: 'walk';
  readonly request: string;
  readonly key: string;
  /** The next page, 1-based. */
  readonly page: number;
  /** Identifies the walk in the gauges of its source. Absent for a job that waits for the active walk of its key. */
  readonly walk?: object;
  readonly isWriting: boolean;
}

/** A key whose result isn't durable yet. */
export interface KeyInWork {
  readonly kind: 'key';
}

/** The running work after a walk. `name`: the name of that work. */
export interface AfterInWork {
  readonly kind: 'after';
  readonly key: string;
  readonly request: string;
  readonly name: string;
}
