import type { AttemptEvent, RequestAllowance } from '@headgate/sources';
import type { Clock, CreditPool, Journal, Json } from '@headgate/throttle';
import type * as z from 'zod';
import type { OptionIssue } from './parse-options.ts';
import type { TopicMap } from './topic.ts';
import type { CrawlSize, Processor, SourceControls } from '../engine/processor.ts';

/**
 * A pipeline from a service to topics, for {@link definePipeline}. If a function throws for a request, that request becomes a dead letter
 * with the function's name and place. If one throws for the options, its caller gets a {@link PipelineError} (HEADGATE_USER_FUNCTION).
 */
export interface PipelineDefinition<
  Options extends z.ZodObject,
  RequestSchema extends z.ZodType,
  Topics extends TopicMap,
  Credential extends NamedCredential,
> {
  /** Name of the pipeline: prefix of its topics, and its key in a configuration. Lowercase letters, digits and hyphens. */
  readonly name: string;
  /** Schema of the pipeline's section of a configuration. Headgate adds `every`, `maxOutstanding` and `stopAfterFailures`. */
  readonly options: Options;
  /** The value of `<name>.requests`: enqueue, replay and other clients' requests are read with it. */
  readonly request: RequestSchema;
  /** `topics: { records: topic({ value: schema }) }` becomes `<name>.records`. */
  readonly topics: Topics;
  /**
   * True if its records may be further requests of the same pipeline: `topics.requests(request)`. Its lanes then write to its requests
   * topic. Default false.
   */
  readonly makesRequests?: boolean;
  /** Name of the pipeline's items, for displays. Default `records`. */
  readonly unit?: string;
  /** Maximum items per page of a walk: forecasts use it to estimate the size of a first walk. Default: no estimate. */
  pageItems?(options: z.output<Options>): number;
  /** Usual bytes of records in some topics: a run warns about a log that accepts only smaller ones. Default: no warning. */
  usualBytes?(options: z.output<Options>): { readonly [Name in keyof Topics]?: number };
  /** The key of a request: it sets the key of its records, its partition and its line on a display. */
  keyOf(request: z.output<RequestSchema>): string;
  /**
   * Parses a line of `enqueue` into a request. A line that begins with `{` is a request in the form of its topic. Default: only such lines
   * are accepted.
   */
  parse?(line: string): z.input<RequestSchema>;
  /** Throws for a request that becomes a dead letter before any HTTP request; `replay` skips it. Default: never throws. */
  check?(request: z.output<RequestSchema>): void;
  /** The configuration's own list: each request is made once, and again after `every`. */
  listed?(options: z.output<Options>): Iterable<z.input<RequestSchema>>;
  /** After how many ms a listed request is requested again, instead of the option `every`. Default: that option. */
  every?(request: z.output<RequestSchema>): number | undefined;
  /**
   * Its credentials, which lanes split among them: `io.credentials` are those of one lane. Default: none to split, so it has one lane,
   * because two lanes that share a credential would overrun its budget.
   */
  credentials?(options: z.output<Options>): readonly Credential[];
  /** True if a limit is over all of its credentials. Lanes can't share it, so there may be only one. Default: false. */
  sharesLimit?(options: z.output<Options>): boolean;
  /** Default of the option `maxOutstanding`, in items. If unset: 20,000. */
  readonly maxOutstanding?: number;
  /** Describes options that are valid but unwise: `headgate check` and a run report them. Default: none. */
  warnings?(options: z.output<Options>): Iterable<OptionIssue>;
  /**
   * Makes one cheap request with the credential of `io`, by which `headgate check --online` checks that the service accepts it. Opens the
   * source only. `request`: the one to make, for `headgate try`. Default: no request.
   */
  probe?(options: z.output<Options>, io: PipelineIo<Credential>, request?: z.output<RequestSchema>): Probe;
  /** Everything that the processes of one group must agree on in addition to credentials' names: above all, budgets. */
  agreed?(options: z.output<Options>): Json;
  /** Returns how a lane processes its requests: `walk`, `lookup` or `route`. Called once for each lane that is opened. */
  open(options: z.output<Options>, io: PipelineIo<Credential>): Processor<z.output<RequestSchema>, Topics>;
  /** Number of HTTP requests that a job needs. `last`: size of the key's last complete walk. Default: as many as that walk. */
  expect?(request: z.output<RequestSchema>, last: CrawlSize | undefined): number | undefined;
}

/** A request that only checks a credential. */
export interface Probe {
  /** The source that sends the request. Headgate closes it afterward. */
  readonly source: SourceControls;
  /** Sends the request. Rejects as the source does. */
  query(): Promise<unknown>;
}

/** A credential that lanes can split among them: anything that has a name. */
export interface NamedCredential {
  /** Unique within the pipeline; restarts find its budgets by it. Never a secret. */
  readonly name: string;
}

/** The environment of a pipeline's lane. Pass it on to the source: `issuesSource({ ...options, ...io })`. */
export interface PipelineIo<Credential extends NamedCredential = NamedCredential> {
  /** The run's clock. */
  readonly clock: Clock;
  /** Budgets that survive a crash and move with the lane. */
  readonly journal: Journal;
  /** Capacity for items that aren't yet durable, shared by the whole lane. */
  readonly credits: CreditPool;
  /** Aborts when the lane is released. */
  readonly signal: AbortSignal;
  /** Environment variables of the run. Sources read the proxy variables. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Call it after every attempt. */
  readonly onAttempt: (event: AttemptEvent) => void;
  /**
   * `true` for a lane: its requests wait while the service is down, and an outage makes none of them a dead letter. `false` for a probe.
   */
  readonly waitOutOutages: boolean;
  /** 0 for a probe: its source sends the request once. Default: the source's own. */
  readonly retryForMs?: 0;
  /** A source stops sending after this many equal failures in a row, without a success: the option of that name. */
  readonly stopAfterFailures?: number;
  /** Maximum number of requests of the run, shared by its sources. Default: no maximum. */
  readonly allowance?: RequestAllowance;
  /** The lane's share of the definition's credentials. */
  readonly credentials: readonly Credential[];
}
