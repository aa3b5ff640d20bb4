import type { AttemptEvent, RequestAllowance } from '@headgate/sources';
import type { Clock, CreditPool, Journal, Json } from '@headgate/throttle';
import type * as z from 'zod';
import type { OptionIssue } from '../settings/parse-options.ts';
import type { TopicMap } from '../topics/topic.ts';
import type { CrawlSize, Processor, SourceControls } from './processor.ts';

/** A pipeline from a service to topics, for {@link definePipeline}. */
export interface PipelineDefinition<
  Options extends z.ZodObject,
  JobSchema extends z.ZodType,
  Topics extends TopicMap,
  Credential extends NamedCredential,
> {
  /**
   * Name of the pipeline: the prefix of its topics and its key in a configuration. A letter, then up to 49 lowercase letters, digits and
   * hyphens.
   */
  readonly name: string;
  /** Schema of the pipeline's section of a configuration. Headgate adds `every`, `maxOutstanding`, `unwrittenPages` and `stopAfterFailures`. */
  readonly options: Options;
  /**
   * Schema of a request, the value of a record in `<name>.requests`. Headgate parses each request with it, including those that other
   * clients added.
   */
  readonly request: JobSchema;
  /** Topics for the pipeline's records. `topics: { records: topic({ value: schema }) }` becomes `<name>.records`. */
  readonly topics: Topics;
  /**
   * True if the pipeline's records can include further requests of the same pipeline, from `topics.requests(request)`. Its lanes then also
   * write to its requests topic. Default: false.
   */
  readonly makesRequests?: boolean;
  /** Groups of jobs, such as the streams of a service. Displays show one row per group instead of one per job. Default: no groups. */
  readonly groups?: JobGroups;
  /** Name of the pipeline's items, for displays. Default `records`. */
  readonly unit?: string;
  /** Returns the maximum number of items per page of a walk, with which displays show a limit in items. Default: displays show requests. */
  pageItems?(options: z.output<Options>): number;
  /** Returns the usual size of records in some topics, in bytes. A run warns if the log accepts only smaller ones. Default: no warning. */
  usualBytes?(options: z.output<Options>): { readonly [Name in keyof Topics]?: number };
  /** Returns the key of a request. It selects the partition of an enqueued request, and names the request on displays and in errors. */
  keyOf(request: z.output<JobSchema>): string;
  /**
   * Converts a line of `headgate enqueue` into a request. Lines that start with `{` are parsed as JSON instead. Default: only such lines
   * are accepted.
   */
  parse?(line: string): z.input<JobSchema>;
  /**
   * Throws if a run would dead-letter the request without sending anything. `enqueue` and `replay` don't enqueue such requests. Default:
   * never throws.
   */
  check?(request: z.output<JobSchema>): void;
  /** Returns the requests that the configuration lists. Headgate enqueues each of them once, and again after `every`. */
  listed?(options: z.output<Options>): Iterable<z.input<JobSchema>>;
  /** Returns the interval after which a listed request is enqueued again, ms above 0. Default, or if undefined: the option `every`. */
  every?(request: z.output<JobSchema>): number | undefined;
  /**
   * Returns the credentials, which Headgate divides among the lanes: `io.credentials` has those of one lane. Default: none to divide. The
   * pipeline then has one lane, because two lanes with one credential could exceed its budget.
   */
  credentials?(options: z.output<Options>): readonly Credential[];
  /**
   * Returns true if one limit applies to all credentials together. Such a pipeline fails with several lanes, because lanes can't share a
   * limit. Default: false.
   */
  sharesLimit?(options: z.output<Options>): boolean;
  /** Default of the option `maxOutstanding`, in items. If unset: 20,000. */
  readonly maxOutstanding?: number;
  /** Returns warnings about options that are valid but unwise. `headgate check` reports them. Default: none. */
  warnings?(options: z.output<Options>): Iterable<OptionIssue>;
  /**
   * Opens a source for `io`, and returns one cheap request of that source. `headgate check --online` sends the request to check that the
   * service accepts the credential. `request`: the request to send, for `headgate try`. Default: no probe.
   */
  probe?(options: z.output<Options>, io: PipelineIo<Credential>, request?: z.output<JobSchema>): Probe;
  /**
   * Returns settings, such as budgets, that the processes of a group must agree on in addition to the credentials' names. Default: none.
   */
  agreed?(options: z.output<Options>): Json;
  /**
   * Opens the sources of a lane, and returns the result of `walk`, `lookup` or `route`. Can be called several times, for runs and
   * forecasts.
   */
  open(options: z.output<Options>, io: PipelineIo<Credential>): Processor<z.output<JobSchema>, Topics>;
  /**
   * Returns how many HTTP requests a job needs, or undefined if unknown. `last`: size of the key's last complete walk. Default: as many as
   * that walk had pages.
   */
  expect?(request: z.output<JobSchema>, last: CrawlSize | undefined): number | undefined;
}

/** The groups of a pipeline's jobs. */
export interface JobGroups {
  /** Returns the name of a job's group, from the job's key. Must not throw. */
  of(key: string): string;
  /**
   * Every group by name, each with the names of the groups whose jobs its records create. While such a job is left, the number of requests that
   * are left is a minimum.
   */
  readonly makes: Readonly<Record<string, readonly string[]>>;
}

/** One request, which checks a credential, or which `headgate try` shows. */
export interface Probe {
  /** The source that sends the request. Headgate closes it afterward. */
  readonly source: SourceControls;
  /** Sends the request. Rejects with the errors of the source. */
  query(): Promise<unknown>;
}

/** A credential that Headgate can assign to a lane: any object with a name. */
export interface NamedCredential {
  /** Unique within the pipeline, and not a secret. A restarted run finds the credential's budgets by this name. */
  readonly name: string;
}

/** The environment of a lane's source, or of a probe's. Pass it on to the source: `issuesSource({ ...options, ...io })`. */
export interface PipelineIo<Credential extends NamedCredential = NamedCredential> {
  /** The run's clock. */
  readonly clock: Clock;
  /** Keeps the state of the budgets. A lane's journal is on the log, so that the budgets survive a crash and move with the lane. */
  readonly journal: Journal;
  /** Capacity for items that aren't yet durable, shared by the whole lane. */
  readonly credits: CreditPool;
  /** Aborts when the source is no longer needed. */
  readonly signal: AbortSignal;
  /** Environment variables of the run. Sources read the proxy variables. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called by the source after each attempt. */
  readonly onAttempt: (event: AttemptEvent) => void;
  /** True for a lane, whose requests wait while the service is down. False for a probe. */
  readonly waitOutOutages: boolean;
  /** 0 for a probe, whose source doesn't retry. Default: the source's own default. */
  readonly retryForMs?: 0;
  /** The pipeline's option of this name: a source stops sending after this many of its requests in a row fail with the same error. */
  readonly stopAfterFailures?: number;
  /** Maximum number of HTTP requests of the run, shared by its sources. Default: no maximum. */
  readonly allowance?: RequestAllowance;
  /** The lane's share of the definition's credentials. For a probe: the credential to check. */
  readonly credentials: readonly Credential[];
}
