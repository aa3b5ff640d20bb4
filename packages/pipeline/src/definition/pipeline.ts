import type { Json } from '@headgate/throttle';
import type * as z from 'zod';
import type { OptionIssue } from '../settings/parse-options.ts';
import type { JobGroups, PipelineIo, Probe } from './pipeline-definition.ts';
import type { KeyedJob, PipelineJobs } from './pipeline-jobs.ts';
import type { TopicFormat, TopicMap } from '../topics/topic.ts';
import type { CrawlSize, Processor } from './processor.ts';

/** Options that every pipeline has in addition to its own. */
export type CommonOptions = {
  /** Interval after which the pipeline's list is requested again: `24h`, or ms. Default: the list is requested once. */
  readonly every?: string | number | undefined;
  /** Maximum items of a lane that are requested or in flight and not yet written. Default: the definition's. */
  readonly maxOutstanding?: number | undefined;
  /** Maximum pages of a job that are requested and not yet written, 1 to 8, if each limit is 500 or more per window. Default 5. */
  readonly unwrittenPages?: number | undefined;
  /** A source stops sending after this many of its requests in a row fail with the same error. Default: 10. */
  readonly stopAfterFailures?: number | undefined;
  /** Format of the records of topics that set none. All but `json` need a schema registry. Default: `json`. */
  readonly format?: TopicFormat | undefined;
};

/** A defined pipeline. Call it with its options to get the value that `start` takes. */
export interface DefinedPipeline<Options extends z.ZodObject, Request = unknown> {
  /** Returns the pipeline with its options. Throws an {@link InvalidOptionsError} (HEADGATE_INVALID_OPTION) if they don't fit. */
  (options: z.input<Options> & CommonOptions): Pipeline<Request>;
  /** The definition, independent of any options. */
  readonly definition: DefinitionInfo;
  /**
   * Returns the same definition with another name, for another account or environment in the same run. Topics, state and budgets are
   * separate. Throws a {@link PipelineError} (HEADGATE_DEFINITION) for an invalid name.
   */
  named(name: string): DefinedPipeline<Options, Request>;
}

/** The part of a definition that configuration and documentation use. Independent of any options, except with `dependsOnOptions`. */
export interface DefinitionInfo {
  /** Name of the pipeline: the prefix of its topics and its key in a configuration. */
  readonly name: string;
  /** Schema of the options, including those that every pipeline takes. */
  readonly options: z.ZodObject;
  /** Schema of a request, the value of a record in its requests topic. */
  readonly request: z.ZodType;
  /** Parses requests in the same way as `enqueue` and `replay`. */
  readonly requests: PipelineJobs;
  /** The pipeline's topics, by their names within the pipeline. */
  readonly topics: TopicMap;
  /** True if lanes divide the pipeline's credentials. If not, the pipeline has one lane. */
  readonly splitsCredentials: boolean;
  /**
   * True if requests, topics and lanes depend on the options, as in a section with `use: rest`. This definition then lacks them; the one of
   * the configured pipeline has them. Default: false.
   */
  readonly dependsOnOptions?: boolean;
}

/** A request of a configuration's list. */
export interface ListedJob extends KeyedJob {
  /** Identifies the request by its parsed content. */
  readonly identity: string;
  /** Interval after which the request is enqueued again, ms. Undefined: it is enqueued once. */
  readonly everyMs: number | undefined;
}

/** A pipeline with its options. `Request`: the type of a job, before parsing. */
export interface Pipeline<Request = unknown> {
  /** Name of the pipeline: prefix of its topics, unique within a run. */
  readonly name: string;
  /** The definition, independent of these options. */
  readonly definition: DefinitionInfo;
  /** The options as parsed by their schema: with defaults, with durations in ms, and with secrets as functions. */
  readonly options: unknown;
  /** Warnings about options that are valid but unwise. */
  readonly warnings: readonly OptionIssue[];
  /** Reads each secret, and reports those that are missing or invalid. */
  secretIssues(): readonly OptionIssue[];
  /** Name of the pipeline's items, for displays. */
  readonly unit: string;
  /** The pipeline's topics, by their names within the pipeline. */
  readonly topics: TopicMap;
  /** True if the pipeline's records can include further requests of the same pipeline. */
  readonly makesRequests: boolean;
  /** The groups of the pipeline's jobs. Undefined: it has none. */
  readonly groups: JobGroups | undefined;
  /** Interval after which the pipeline's list is enqueued again, ms. Undefined: it is enqueued once. */
  readonly everyMs: number | undefined;
  /** Returns the interval after which a parsed request is enqueued again, ms. Undefined: it is enqueued once. */
  everyOf(request: unknown): number | undefined;
  /** Maximum items of one lane that are requested or in flight and not yet written. */
  readonly maxOutstanding: number;
  /** Maximum pages of one walk that are requested and not yet written, where budgets are ample. */
  readonly unwrittenPages: number;
  /** Maximum items per page of a walk. Undefined if unknown. */
  readonly pageItems: number | undefined;
  /** Usual size of the records of some topics, bytes, by the topics' names within the pipeline. */
  readonly usualBytes: Readonly<Record<string, number | undefined>>;
  /** Names of the credentials that lanes divide. Undefined: there are none to divide, so the pipeline has one lane. */
  readonly credentials: readonly string[] | undefined;
  /** True if one limit applies to all of the pipeline's credentials together. The pipeline then works only with one lane. */
  readonly sharesLimit: boolean;
  /** Settings of this pipeline that the processes of a group must agree on. */
  readonly agreed: Json;
  /** Parses requests in the same way as `enqueue` and `replay`. */
  readonly requests: PipelineJobs<Request>;
  /**
   * Yields the requests that the configuration lists. Throws a {@link PipelineError} (HEADGATE_MALFORMED_REQUEST) with the index of an
   * invalid request.
   */
  listed(): Iterable<ListedJob>;
  /**
   * Opens the sources of a lane with the lane's share of the credentials, and returns the processor of its requests. Doesn't take the lane
   * on the log.
   */
  open(io: SharedIo, lane: LaneShare): Processor<unknown, TopicMap>;
  /** True if the definition has a probe. */
  readonly canProbe: boolean;
  /**
   * Opens the probe, or returns undefined if the definition has none. `credential`: index of the credential in `credentials`, or 0 if lanes
   * divide none. `value`: JSON of the request to send. Throws a {@link PipelineError} (HEADGATE_MALFORMED_REQUEST) if the JSON isn't a
   * valid request.
   */
  probe(io: SharedIo, credential: number, value?: string): Probe | undefined;
  /**
   * Returns how many HTTP requests a parsed request needs, or undefined if unknown. `last`: size of the key's last complete walk. Throws a
   * {@link PipelineError} if the definition's `expect` throws.
   */
  expect(request: unknown, last: CrawlSize | undefined): number | undefined;
}

/** The part of a pipeline's environment that the caller of `open` or `probe` provides. The definition adds the rest. */
export type SharedIo = Omit<PipelineIo, 'credentials' | 'waitOutOutages' | 'retryForMs' | 'stopAfterFailures'>;

/** A lane of a pipeline, by its number. */
export interface LaneShare {
  /** Partition of the pipeline's requests topic, counted from 0. */
  readonly lane: number;
  /** Total lanes of the pipeline. */
  readonly lanes: number;
}
