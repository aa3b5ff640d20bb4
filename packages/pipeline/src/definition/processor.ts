import type { BudgetSlots, SourceGauges } from '@headgate/sources';
import type { Clock, CreditPool } from '@headgate/throttle';
import type { TopicLog } from '@headgate/topics';
import type { RequestEvent, RunEvent } from '../events/events.ts';
import type { Lane } from '../lane/lane.ts';
import type { Notifier } from '../lane/notifier.ts';
import type { RequestRecord } from '../topics/request.ts';
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
  /** Creates the worker of one lane. */
  open(context: WorkerContext<Request, Topics>): Worker<Request>;
  /** Reads a lane's state, and returns a function that computes the unfinished part of a request. */
  left(state: StateOfLane, pipeline: string): (record: Pick<RequestRecord, 'offset' | 'resume'>, request: Request) => Left;
  /** Reads a lane's state, and returns a function for the size of a key's last complete walk. `kind`: as in {@link WorkerContext}. */
  lastCrawl(state: StateOfLane, of: { readonly pipeline: string; readonly kind: string }): LastCrawlOf<Request>;
}

/** Returns the size of the last complete walk of a request's key. Undefined if there is none. */
export type LastCrawlOf<Request> = (request: Request, key: string) => CrawlSize | undefined;

/** The size of a complete walk. */
export interface CrawlSize {
  /** Number of pages. */
  readonly pages: number;
  /** Number of items on those pages, as `WalkDefinition.items` counts them. */
  readonly items: number;
}

/** Reads the entries of a lane's state whose keys start with a prefix. Each has the rest of its key, its value and its age in ms. */
export type StateOfLane = Lane['stateUnder'];

/** The unfinished part of a request. */
export type Left =
  /** A walk that continues at `page`, 1-based. `whole`: true if the walk is for all pages. */
  | {
      readonly kind: 'walk';
      readonly page: number;
      readonly whole: boolean;
      /** Names of the credentials that may send the walk's next request. Default: any. */
      readonly credentials?: readonly string[];
    }
  /** A lookup. `keys`: how many of its keys have no response yet; `size`: maximum keys of one HTTP request. */
  | { readonly kind: 'lookup'; readonly keys: number; readonly size: number }
  /** The work after a complete walk. It needs no HTTP request. */
  | { readonly kind: 'after' };

/** The environment of a worker: its lane, and what the run provides. */
export interface WorkerContext<Request, Topics extends TopicMap> {
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
  /** Wakes the lane when the worker's load has changed, and ends it when the worker can't continue. */
  readonly notifier: Notifier;
  /** Capacity for items that aren't yet durable, shared by all work of the lane. */
  readonly credits: CreditPool;
  /** Returns the log's name of a topic. */
  readonly names: TopicNames;
  /** Creates records: `topics.records({ key, value })`. */
  readonly topics: RecordMakers<Topics>;
  /** Parses a request with the definition's schema. Throws a `PipelineError` (HEADGATE_MALFORMED_REQUEST) if the request doesn't fit. */
  readonly read: (value: string | null) => Request;
  /**
   * Returns the key of a request, from the definition's `keyOf`. `recordKey`: key of the request's record, named in the error if `keyOf`
   * throws.
   */
  readonly keyOf: (request: Request, recordKey: string) => string;
  /** Emits an event of the run. */
  readonly emit: (event: RequestEvent | Extract<RunEvent, { type: 'notice' }>) => void;
  /** Records traces. Default: no traces. */
  readonly tracing?: Tracing | undefined;
}

/** Processes a lane's requests. Calls `notify` of the notifier when its load has changed, and `fail` when it can't continue. */
export interface Worker<Request> {
  /**
   * Number of unfinished requests that the worker has taken. For lookups, it is the number of their keys. For walks, it includes those with
   * unfinished `after` work.
   */
  readonly load: number;
  /** Load at which the lane passes no more requests to the worker. */
  readonly backlog: number;
  /** Takes a request. Its work can start later. */
  take(record: RequestRecord, request: Request): void;
  /** Called when the lane has read its requests to the end: the worker then sends keys without waiting for a full batch. */
  flush(): void;
  /** Stops sending HTTP requests. The results of requests in flight are still written. */
  stop(): void;
  /** True while work is in progress. */
  readonly isBusy: boolean;
  /** Aborts the work that is still in flight after `stop`. */
  abandon(): void;
  /** Returns the active and the waiting walks, and the number of unfinished keys. */
  inWork(): InWork;
  /** Returns the size of a key's last complete walk, including walks that this worker has completed. */
  readonly lastCrawl: LastCrawlOf<Request>;
}

/** The unfinished work of a worker, for gauges and forecasts. */
export interface InWork {
  readonly walks: readonly WalkInWork[];
  /** Number of lookup keys whose results aren't durable yet. */
  readonly keys: number;
  /** The walk whose `after` work is running, and the name of that work. */
  readonly behind?: { readonly key: string; readonly request: string; readonly name: string } | undefined;
}

export interface WalkInWork {
  readonly offset: number;
  readonly request: string;
  readonly key: string;
  /** The next page, 1-based. */
  readonly page: number;
  /** Identifies the walk in the gauges of its source. Absent for a job that waits for the active walk of its key. */
  readonly walk?: object;
  readonly isWriting: boolean;
}
