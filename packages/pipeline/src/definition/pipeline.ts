import type { Json } from '@headgate/throttle';
import type * as z from 'zod';
import type { OptionIssue } from './parse-options.ts';
import type { PipelineIo, Probe } from './pipeline-definition.ts';
import type { KeyedRequest, PipelineRequests } from './pipeline-requests.ts';
import type { TopicMap } from './topic.ts';
import type { CrawlSize, Processor } from '../engine/processor.ts';

/** Options that every pipeline has in addition to its own. */
export type CommonOptions = {
  /** Interval after which the pipeline's list is requested again: `24h`, or ms. Default: the list is requested once. */
  readonly every?: string | number | undefined;
  /** Maximum items of a lane that are requested or in flight and not yet written. Default: the definition's. */
  readonly maxOutstanding?: number | undefined;
  /** Stops a lane after this many requests in a row that fail alike, without a success. Default: 10. */
  readonly stopAfterFailures?: number | undefined;
};

/** A defined pipeline: called with its options it returns what `start` and `defineConfig` take. */
export interface DefinedPipeline<Options extends z.ZodObject, Request = unknown> {
  /** Returns the pipeline with its options. Throws an {@link InvalidOptionsError} (HEADGATE_INVALID_OPTION) if they don't fit. */
  (options: z.input<Options> & CommonOptions): Pipeline<Request>;
  /** The definition, independent of any options. */
  readonly definition: DefinitionInfo;
  /**
   * The same definition under another name, for another account or environment in the same run: topics, state and budgets are separate.
   * Throws a {@link PipelineError} (HEADGATE_DEFINITION) for a name that no pipeline can have.
   */
  named(name: string): DefinedPipeline<Options, Request>;
}

/** The part of a definition that configuration and documentation use. */
export interface DefinitionInfo {
  /** Name of the pipeline: the prefix of its topics and its key in a configuration. */
  readonly name: string;
  /** Schema of the options, including those that every pipeline takes. */
  readonly options: z.ZodObject;
  /** The schema of a request's value. */
  readonly request: z.ZodType;
  /** Reads requests, as `enqueue` and `replay` do. */
  readonly requests: PipelineRequests;
  /** Its topics by their names within the pipeline. */
  readonly topics: TopicMap;
  /** True if lanes divide its credentials; otherwise it has one lane. */
  readonly splitsCredentials: boolean;
}

/** A request of a configuration's list. */
export interface ListedRequest extends KeyedRequest {
  /** Returns the same text for requests that are equal after parsing, and only for those: the list has such a request once. */
  readonly identity: string;
  /** Interval after which the request is enqueued again, ms; undefined: enqueued once. */
  readonly everyMs: number | undefined;
}

/** A pipeline with its options. `Request`: the value of its requests topic. */
export interface Pipeline<Request = unknown> {
  /** Name of the pipeline: prefix of its topics, unique within a run. */
  readonly name: string;
  /** The definition, independent of these options. */
  readonly definition: DefinitionInfo;
  /** The options as parsed by their schema: defaults filled in, durations in ms, secrets behind functions. */
  readonly options: unknown;
  /** Options that are valid but unwise. */
  readonly warnings: readonly OptionIssue[];
  /** Reads each secret, and reports those that return nothing a request could carry. */
  secretIssues(): readonly OptionIssue[];
  /** Name of the pipeline's items, for displays. */
  readonly unit: string;
  /** Its topics by their names within the pipeline. */
  readonly topics: TopicMap;
  /** True if its records may be further requests of the same pipeline. */
  readonly makesRequests: boolean;
  /** The interval after which its list is requested again, ms; undefined: once. */
  readonly everyMs: number | undefined;
  /** The interval after which a parsed request is requested again, ms; undefined: once. */
  everyOf(request: unknown): number | undefined;
  /** Maximum items of one lane that may be requested or in flight and not yet written. */
  readonly maxOutstanding: number;
  /** Maximum items of a page of a walk. */
  readonly pageItems: number | undefined;
  /** Bytes that the records of some topics usually have, by the topics' names within the pipeline. */
  readonly usualBytes: Readonly<Record<string, number | undefined>>;
  /** Names of the credentials that lanes split. Undefined: they split none, so the pipeline has one lane. */
  readonly credentials: readonly string[] | undefined;
  /** True if a limit is over all of the pipeline's credentials. The pipeline then works only with one lane. */
  readonly sharesLimit: boolean;
  /** Everything that the processes of one group must agree on. */
  readonly agreed: Json;
  /** Reads requests, as `enqueue` and `replay` do. */
  readonly requests: PipelineRequests<Request>;
  /**
   * Its configuration's own requests, one after the other. Throws a {@link PipelineError} (HEADGATE_MALFORMED_REQUEST) with the index of an
   * invalid one.
   */
  listed(): Iterable<ListedRequest>;
  /**
   * Opens the sources for one lane, which has its share of the credentials, and returns what processes its requests. Takes no lane of the
   * log.
   */
  open(io: SharedIo, lane: LaneShare): Processor<unknown, TopicMap>;
  /** True when the definition has a probe. */
  readonly canProbe: boolean;
  /**
   * The probe with the credential at that index of `credentials` (0 if lanes divide none). `value`: of the request to create; throws a
   * {@link PipelineError} (HEADGATE_MALFORMED_REQUEST) for an invalid one. Undefined: the definition has no probe.
   */
  probe(io: SharedIo, credential: number, value?: string): Probe | undefined;
  /**
   * HTTP requests that a request that was read takes; undefined where that isn't known. `last`: of the key's last whole walk. Throws what the
   * definition's `expect` throws.
   */
  expect(request: unknown, last: CrawlSize | undefined): number | undefined;
}

/** The part of a pipeline's environment that the caller provides; the definition has the rest. */
export type SharedIo = Omit<PipelineIo, 'credentials' | 'waitOutOutages' | 'retryForMs' | 'stopAfterFailures'>;

/** A lane of a pipeline. */
export interface LaneShare {
  /** Partition of the pipeline's requests topic, counted from 0. */
  readonly lane: number;
  /** Total lanes of the pipeline. */
  readonly lanes: number;
}
