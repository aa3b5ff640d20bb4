import type { BudgetSlots, SourceGauges } from '@headgate/sources';
import type { Clock, CreditPool } from '@headgate/throttle';
import type { TopicLog } from '@headgate/topics';
import type { RequestEvent, RunEvent } from '../view/events.ts';
import type { Lane } from './lane.ts';
import type { Notifier } from './notifier.ts';
import type { RequestRecord } from '../definition/request.ts';
import type { RecordMakers, TopicMap, TopicNames } from '../definition/topic.ts';
import type { Tracing } from '../view/tracing.ts';

/** The part of a source that every kind of work needs. */
export interface SourceControls {
  /** The state of its budgets and queries. */
  gauges(): SourceGauges;
  /** When its budgets' slots come free, for forecasts. */
  slots(): readonly BudgetSlots[];
  /** Set if only some of its credentials may send a query, whose names it returns. Such a source works with one lane only. */
  readonly credentialsOf?: ((query: never) => readonly string[]) | undefined;
  /** Starts no further request; requests in flight run to their end. An error after this makes no dead letter. */
  stop(): void;
  /** Aborts requests in flight and closes the connections. */
  close(): Promise<void>;
}

/** Processes a pipeline's requests: created by `walk`, `lookup` or `route`. */
export interface Processor<Request, Topics extends TopicMap> {
  /** The sources that it sends requests to. The opener of the pipeline closes them. */
  readonly sources: readonly SourceControls[];
  /** Creates the worker of one lane. */
  open(context: WorkerContext<Request, Topics>): Worker<Request>;
  /** Reads from a lane's state what is left of a request. */
  left(state: StateOfLane, pipeline: string): (record: Pick<RequestRecord, 'offset' | 'resume'>, request: Request) => Left;
  /** Reads from a lane's state how large the last whole walk was that had a request's key. `kind`: as in {@link WorkerContext}. */
  lastCrawl(state: StateOfLane, of: { readonly pipeline: string; readonly kind: string }): LastCrawlOf<Request>;
}

/** Returns the size of the last complete walk with the key of a request. */
export type LastCrawlOf<Request> = (request: Request, key: string) => CrawlSize | undefined;

/** The size of a complete walk. */
export interface CrawlSize {
  /** Pages of the walk. */
  readonly pages: number;
  /** Items of its pages, as `WalkDefinition.items` counts them. */
  readonly items: number;
}

/** Reads a lane's state: the entries whose keys begin with a prefix, each with the rest of its key, its value and its age in ms. */
export type StateOfLane = Lane['stateUnder'];

/** The rest of a request. */
export type Left =
  /** A walk continues at this page, 1-based. `whole`: it is for all pages there are. */
  | {
      readonly kind: 'walk';
      readonly page: number;
      readonly whole: boolean;
      /** Names of the credentials that may send its next request. Default: any. */
      readonly credentials?: readonly string[];
    }
  /** Keys without a response; `size`: of one HTTP request. */
  | { readonly kind: 'lookup'; readonly keys: number; readonly size: number };

/** The lane that a worker works. */
export interface WorkerContext<Request, Topics extends TopicMap> {
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** Separates what several kinds of work in a lane know about one key. Empty, or the work's kind in its `route` and a slash. */
  readonly kind: string;
  /** Commits records, checkpoints and finished requests. */
  readonly lane: Lane;
  /** Log that has the lane, to be read back. */
  readonly log: TopicLog;
  /** The run's clock. */
  readonly clock: Clock;
  /** Wakes the lane when the worker's load has changed, and ends it when the worker can't continue. */
  readonly notifier: Notifier;
  /** Capacity for items that aren't yet durable, shared by all work of the lane. */
  readonly credits: CreditPool;
  /** The topics' names on the log. */
  readonly names: TopicNames;
  /** Makes records: `topics.records({ key, value })`. */
  readonly topics: RecordMakers<Topics>;
  /** Reads a request by the definition's schema. Throws a `PipelineError` (HEADGATE_MALFORMED_REQUEST). */
  readonly read: (value: string | null) => Request;
  /** The key of a request, from the definition's `keyOf`. `recordKey`: of its record, for the error of `keyOf`. */
  readonly keyOf: (request: Request, recordKey: string) => string;
  /** Emits an event of the run. */
  readonly emit: (event: RequestEvent | Extract<RunEvent, { type: 'notice' }>) => void;
  /** Default: no traces. */
  readonly tracing?: Tracing | undefined;
}

/** Works a lane's requests. It notifies whenever its load has changed, and fails the notifier when it can't continue. */
export interface Worker<Request> {
  /** Requests, or keys of them, taken and not finished. */
  readonly load: number;
  /** Load at which no further request is taken. */
  readonly backlog: number;
  /** Starts the work on a request. */
  take(record: RequestRecord, request: Request): void;
  /** The queue has been read to its end: nothing waits for a fuller batch. */
  flush(): void;
  /** Starts no further request; work in flight is written. */
  stop(): void;
  /** True when a request is in flight. */
  readonly isBusy: boolean;
  /** Gives up what is still in flight after `stop`. */
  abandon(): void;
  /** The unfinished requests it has taken, in their current state. */
  inWork(): InWork;
  /** The current size of the last complete walk with a request's key. */
  readonly lastCrawl: LastCrawlOf<Request>;
}

/** Requests that a worker has in work, for gauges and forecasts. */
export interface InWork {
  readonly walks: readonly WalkInWork[];
  /** Keys of lookups taken and not answered. */
  readonly keys: number;
  /** The walk whose subsequent work is running, and the name of that work. */
  readonly behind?: { readonly key: string; readonly request: string; readonly name: string } | undefined;
}

export interface WalkInWork {
  readonly offset: number;
  readonly request: string;
  readonly key: string;
  /** The next page, 1-based. */
  readonly page: number;
  /** Represents the walk in its source's gauges. */
  readonly walk: object;
  readonly isWriting: boolean;
}
