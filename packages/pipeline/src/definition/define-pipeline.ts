import type { RequestAllowance } from '@headgate/sources';
import type { Clock, CreditPool, Journal, Json } from '@headgate/throttle';
import * as z from 'zod';
import { duration } from './duration.ts';
import type { RunEvent } from '../view/events.ts';
import { type OptionIssue, parseOptions } from './parse-options.ts';
import { InvalidOptionsError, PipelineError } from './pipeline-error.ts';
import { DEAD_LETTERS } from '../dead-letters/dead-letter.ts';
import { type RequestRecord, parseRequest } from './request.ts';
import { requestIdentity } from './request-identity.ts';
import { secretIssues } from './secret.ts';
import { REQUESTS, type RecordMakers, type TopicMap } from './topic.ts';
import { textOf } from './thrown.ts';
import { type UserFunction, answered, callUser, callUserList, misuse } from './user-function.ts';
import type { CrawlSize, Left, SourceControls, StateOfLane, Work, Worker, WorkerContext } from '../engine/worker.ts';

/**
 * A service's way into topics, for {@link definePipeline}. A function about a request that throws ends that request as a dead letter, with
 * the function's name and place; one about the options throws a {@link PipelineError} (HEADGATE_USER_FUNCTION) where it is called.
 */
export interface PipelineDefinition<
  Options extends z.ZodObject,
  RequestSchema extends z.ZodType,
  Topics extends TopicMap,
  Credential extends NamedCredential,
> {
  /** Prefix of its topics and its key in a configuration: lower-case letters, digits and hyphens. */
  readonly name: string;
  /** Its section of a configuration. `every`, `maxOutstanding` and `stopAfterFailures` are added to it. */
  readonly options: Options;
  /** The value of `<name>.requests`: enqueue, replay and other clients' requests are read with it. */
  readonly request: RequestSchema;
  /** `topics: { records: topic({ value: schema }) }` becomes `<name>.records`. */
  readonly topics: Topics;
  /** True where its records may be further requests of its own: `topics.requests(request)`. Its lanes then write to its requests topic. Default false. */
  readonly makesRequests?: boolean;
  /** Name of its items, for displays. Default `records`. */
  readonly unit?: string;
  /** Most items of a page of a walk: forecasts say with it how much a first walk may bring. Default: not said. */
  pageItems?(options: z.output<Options>): number;
  /** Bytes that the records of some topics usually have: a log that takes smaller ones only is warned about. Default: not said. */
  usualBytes?(options: z.output<Options>): { readonly [Name in keyof Topics]?: number };
  /** The key of a request: of its records, its partition and its line on a display. */
  keyOf(request: z.output<RequestSchema>): string;
  /** Parses a line of `enqueue` into a request. A line that begins with `{` is a request in the form of its topic. Default: no other line is taken. */
  parse?(line: string): z.input<RequestSchema>;
  /** Throws for a request that becomes a dead letter before any HTTP request: `replay` leaves it where it is. Default: never throws. */
  check?(request: z.output<RequestSchema>): void;
  /** The configuration's own list: each is requested once, and again after `every`. */
  listed?(options: z.output<Options>): Iterable<z.input<RequestSchema>>;
  /** After how many ms a listed request is requested again, in place of the option `every`. Default: that option. */
  every?(request: z.output<RequestSchema>): number | undefined;
  /**
   * Its credentials, which lanes split among them: `io.credentials` are those of one lane. Default: none that could be split; then it has
   * one lane, for two lanes that share a credential overrun its budget.
   */
  credentials?(options: z.output<Options>): readonly Credential[];
  /** Default of the option of that name, in items. Default 20,000. */
  readonly maxOutstanding?: number;
  /** Names options that are not wrong but unwise: `headgate check` and a run say so. Default: none. */
  warnings?(options: z.output<Options>): Iterable<OptionIssue>;
  /**
   * Makes one cheap request with the credential of `io`, by which `headgate check --online` checks that the service accepts it. Opens the
   * source only. `request`: the one to make, for `headgate try`. Default: no request.
   */
  probe?(options: z.output<Options>, io: ProbeIo<Credential>, request?: z.output<RequestSchema>): Probe;
  /** All that the processes of one group have to agree on, beside credentials' names: budgets above all. */
  agreed?(options: z.output<Options>): Json;
  /** How its requests are worked: `walk`, `lookup` or `route`. Called once for each lane. */
  open(options: z.output<Options>, io: PipelineIo<Credential>): Work<z.output<RequestSchema>, Topics>;
  /** HTTP requests that a request takes; `last`: of the key's last whole walk. Default: as many as last time. */
  expect?(request: z.output<RequestSchema>, last: CrawlSize | undefined): number | undefined;
}

/** A request that is made to find out about a credential. */
export interface Probe {
  /** Is closed after the request. */
  readonly source: SourceControls;
  /** Sends the request. Rejects as the source does. */
  query(): Promise<unknown>;
}

/** A credential that lanes can split among them: anything that has a name. */
export interface NamedCredential {
  /** Unique within the pipeline; budgets are kept under it over restarts. Never a secret. */
  readonly name: string;
}

/** The world of a pipeline's lane. Source options take it as it is: `issuesSource({ ...options, ...io })`. */
export interface PipelineIo<Credential extends NamedCredential = NamedCredential> {
  /** The run's clock. */
  readonly clock: Clock;
  /** Budgets that survive a crash and move with the lane. */
  readonly journal: Journal;
  /** Room for items that are not yet durable, shared by all of the lane. */
  readonly credits: CreditPool;
  /** Aborts when the lane is given up. */
  readonly signal: AbortSignal;
  /** Environment variables of the run. Sources read those of proxies. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Call it after every attempt. */
  readonly onAttempt: (event: AttemptEvent) => void;
  /** `true` for a lane: its requests wait as long as the service is down, and none becomes a dead letter for it. */
  readonly waitOutOutages: boolean;
  /** After this many equal failures in a row, without a success, a source sends nothing more: the option of that name. */
  readonly stopAfterFailures?: number;
  /** Maximum number of requests of the run, which its sources share. Default: no maximum. */
  readonly allowance?: RequestAllowance;
  /** The lane's share of the definition's credentials. */
  readonly credentials: readonly Credential[];
}

/** As `PipelineIo`, for a probe: the source sends its request once, without retries. */
export interface ProbeIo<Credential extends NamedCredential = NamedCredential> extends PipelineIo<Credential> {
  /** For the source's option of that name: 0, no retry. */
  readonly retryForMs: 0;
  /** As well: the probe fails while the service is down. */
  readonly waitOutOutages: false;
}

/** An attempt of a source, as `SourceOptions.onAttempt` gets it. */
export type AttemptEvent = Omit<Extract<RunEvent, { type: 'attempt' }>, 'type' | 'pipeline'> & {
  /** Identifies the request that it was for, where its query's `walk` did. */
  readonly walk?: object;
};

/** Options that every pipeline takes. */
function commonOptions(maxOutstanding: number) {
  return {
    every: duration()
      .optional()
      .describe('Interval after which the list is requested again. Default: the list is requested once.')
      .meta({ examples: ['24h'] }),
    maxOutstanding: z
      .int()
      .positive()
      .default(maxOutstanding)
      .describe('Maximum items that are requested or in flight and not yet written.'),
    stopAfterFailures: z
      .int()
      .positive()
      .default(10)
      .describe('Stop after this many jobs in a row fail with the same error. The other jobs wait for the next run.'),
  };
}

/** Options that every pipeline takes beside its own. */
export type CommonOptions = {
  /** After how long its list is requested again: `24h`, or ms. Default: it is requested once. */
  readonly every?: string | number | undefined;
  /** Most items of a lane that are requested or in flight and not yet written. Default: the definition's. */
  readonly maxOutstanding?: number | undefined;
  /** Stops a lane after this many requests in a row that fail alike, without a success. Default: 10. */
  readonly stopAfterFailures?: number | undefined;
};

/** A defined pipeline: called with its options it gives what `start` and `defineConfig` take. */
export interface DefinedPipeline<Options extends z.ZodObject, Request = unknown> {
  /** Gives the pipeline with its options. Throws an {@link InvalidOptionsError} (HEADGATE_INVALID_OPTION) where they don't fit. */
  (options: z.input<Options> & CommonOptions): Pipeline<Request>;
  /** The definition, independent of any options. */
  readonly definition: DefinitionInfo;
}

/** The part of a definition that configuration and documentation are made of. */
export interface DefinitionInfo {
  /** Name of the pipeline: the prefix of its topics and its key in a configuration. */
  readonly name: string;
  /** With the options that every pipeline takes. */
  readonly options: z.ZodObject;
  /** The schema of a request's value. */
  readonly request: z.ZodType;
  /** Reads requests, as `enqueue` and `replay` do. */
  readonly requests: PipelineRequests;
  /** Its topics by their names within the pipeline. */
  readonly topics: TopicMap;
  /** True when lanes split its credentials; else it has one lane. */
  readonly splitsCredentials: boolean;
}

/** The requests of a pipeline, independent of its options. */
export interface PipelineRequests<Request = unknown> {
  /** The pipeline's name. */
  readonly name: string;
  /** A request as its topic takes it. Throws a `PipelineError` (HEADGATE_MALFORMED_REQUEST). */
  keyed(request: Request): KeyedRequest;
  /** Reads a record's value. Throws a `PipelineError` (HEADGATE_MALFORMED_REQUEST). */
  parse(value: string | null): KeyedRequest;
  /** The request of a line, JSON or text. Throws a `PipelineError` (HEADGATE_MALFORMED_REQUEST). */
  parseLine(line: string): KeyedRequest;
  /** Throws for a request that becomes a dead letter before any HTTP request. */
  check(value: string): void;
}

/** A pipeline with its options. `Request`: the value of its requests topic. */
export interface Pipeline<Request = unknown> {
  /** The definition's: the prefix of its topics, unique within a run. */
  readonly name: string;
  /** The definition that it was made of. */
  readonly definition: DefinitionInfo;
  /** As its schema gives them: defaults filled in, durations in ms, secrets behind functions. */
  readonly options: unknown;
  /** Options that are not wrong but unwise. */
  readonly warnings: readonly OptionIssue[];
  /** Reads each secret, and tells of those that give nothing a request could carry. */
  secretIssues(): readonly OptionIssue[];
  /** Name of its items, for displays. */
  readonly unit: string;
  /** Its topics by their names within the pipeline. */
  readonly topics: TopicMap;
  /** True where its records may be further requests of its own. */
  readonly makesRequests: boolean;
  /** After how many ms its list is requested again; undefined: once. */
  readonly everyMs: number | undefined;
  /**
   * After how many ms a request is requested again; undefined: once. `value`: of its record. Throws a {@link PipelineError}
   * (HEADGATE_MALFORMED_REQUEST) for one that is none.
   */
  everyOf(value: string | null): number | undefined;
  /** Most items of one lane that may be requested or in flight and not yet written. */
  readonly maxOutstanding: number;
  /** Most items of a page of a walk. */
  readonly pageItems: number | undefined;
  /** Bytes that the records of some topics usually have, by the topics' names within the pipeline. */
  readonly usualBytes: Readonly<Record<string, number | undefined>>;
  /** Names of the credentials that lanes split; undefined: it has one lane. */
  readonly credentials: readonly string[] | undefined;
  /** All that the processes of one group have to agree on. */
  readonly agreed: Json;
  /** Reads requests, as `enqueue` and `replay` do. */
  readonly requests: PipelineRequests<Request>;
  /**
   * Its configuration's own requests, one after the other. Throws a {@link PipelineError} (HEADGATE_MALFORMED_REQUEST) for one that is none,
   * by its index.
   */
  listed(): Iterable<ListedRequest>;
  /** Opens the sources for one lane. Takes nothing of the log. */
  open(io: LaneIo): OpenedPipeline;
  /** True when the definition has a probe. */
  readonly canProbe: boolean;
  /**
   * The probe with the credential at that index of `credentials` (0 where lanes split none). `value`: of the request to make; throws a
   * {@link PipelineError} (HEADGATE_MALFORMED_REQUEST) for one that is none. Undefined: the definition has no probe.
   */
  probe(io: SharedIo, credential: number, value?: string): Probe | undefined;
  /**
   * HTTP requests that `request` takes; undefined where that isn't known. `last`: of the key's last whole walk. Throws what the
   * definition's `expect` throws.
   */
  expect(request: KeyedRequest, last: CrawlSize | undefined): number | undefined;
}

/** A request, as its topic takes it. */
export interface KeyedRequest {
  /** Key of its record, and by it the partition and the lane. */
  readonly key: string;
  /** JSON. */
  readonly value: string;
}

/** A request of a configuration's list. */
export interface ListedRequest extends KeyedRequest {
  /** The same for requests that are the same once their schema has read them, and no others: the list has such a request once. */
  readonly identity: string;
  /** After how many ms it is requested again; undefined: once. */
  readonly everyMs: number | undefined;
}

/** The part of a pipeline's world that its caller gives; the definition has the rest. */
export type SharedIo = Omit<PipelineIo, 'credentials' | 'waitOutOutages' | 'stopAfterFailures'>;

/** The world of one lane, for `Pipeline.open`. */
export interface LaneIo extends SharedIo {
  /** Partition of the pipeline's requests topic, counted from 0. */
  readonly lane: number;
  /** Lanes that the pipeline has in all: they split its credentials. */
  readonly lanes: number;
}

/** The part of a request's record that tells how much work it is. */
export type SizedRecord = Pick<RequestRecord, 'offset' | 'value' | 'resume'>;

/** A pipeline's sources opened for one lane, and its work. */
export interface OpenedPipeline {
  /** Sources that requests go to; whoever opened the pipeline closes them. */
  readonly sources: Work<unknown, TopicMap>['sources'];
  /** Makes the lane's worker, which reads requests by the definition's schema. */
  worker(context: Omit<WorkerContext<unknown, TopicMap>, 'parse' | 'keyOf' | 'kind'>): LaneWorker;
  /**
   * As `Work.left`, for a record's value. The function it gives throws a {@link PipelineError} (HEADGATE_MALFORMED_REQUEST) for a value
   * that is no request.
   */
  left(state: StateOfLane): (record: SizedRecord) => Left;
  /** As `Work.lastCrawl`, for a record's value. */
  lastCrawl(state: StateOfLane): (value: string | null, key: string) => CrawlSize | undefined;
}

/** A worker that reads requests itself. */
export type LaneWorker = Omit<Worker<unknown>, 'take' | 'lastCrawl'> & {
  /** Starts the work on a request. Throws a `PipelineError` for a record that is none. */
  take(record: Parameters<Worker<unknown>['take']>[0]): void;
  /** As `Worker.lastCrawl`, for a record's value. */
  lastCrawl(value: string | null, key: string): CrawlSize | undefined;
};

const RESERVED = [REQUESTS, DEAD_LETTERS, 'state'];

/**
 * Defines a pipeline from an HTTP service to topics: `definePipeline(definition)(options)` is what `start` takes.
 * Throws a `PipelineError`: `HEADGATE_DEFINITION` for a definition that can't be, and the function it returns `HEADGATE_INVALID_OPTION`.
 */
export function definePipeline<
  Options extends z.ZodObject,
  RequestSchema extends z.ZodType,
  Topics extends TopicMap,
  Credential extends NamedCredential = NamedCredential,
>(definition: PipelineDefinition<Options, RequestSchema, Topics, Credential>): DefinedPipeline<Options, z.input<RequestSchema>> {
  check(definition);
  const { name, request, topics, unit = 'records' } = definition;
  const options = definition.options.safeExtend(commonOptions(definition.maxOutstanding ?? 20_000));
  const read = requestReader<RequestSchema>(request);
  const readAgain = lastRead(read);
  const requests = requestsOf(definition, readAgain);
  const info: DefinitionInfo = { name, options, request, requests, topics, splitsCredentials: definition.credentials !== undefined };

  const configured = (given: z.input<Options> & CommonOptions): Pipeline<z.input<RequestSchema>> => {
    const parsed = parseOptions(options, given);
    if (parsed.issues !== undefined) throw new InvalidOptionsError(name, parsed.issues, options);
    const value = parsed.value as z.output<Options> & { every?: number; maxOutstanding: number; stopAfterFailures: number };
    const called = <Result>(of: string, call: () => Result): Result => callUser({ pipeline: name, name: of }, call);
    const list = <Item>(of: string, call: () => Iterable<Item> | undefined): Item[] => callUserList({ pipeline: name, name: of }, call);
    const everyOf = (of: string | null): number | undefined => {
      const request = readAgain(of);
      return called('every', () => definition.every?.(request)) ?? value.every;
    };
    const credentials = definition.credentials && list('credentials', () => definition.credentials?.(value));
    for (const credential of credentials ?? []) assertNamed({ pipeline: name, name: 'credentials' }, credential);
    return {
      name,
      definition: info,
      options: value,
      warnings: list('warnings', () => definition.warnings?.(value)),
      secretIssues: () => secretIssues(value),
      unit,
      topics,
      makesRequests: definition.makesRequests === true,
      everyMs: value.every,
      everyOf,
      maxOutstanding: value.maxOutstanding,
      pageItems: called('pageItems', () => definition.pageItems?.(value)),
      usualBytes: called('usualBytes', () => definition.usualBytes?.(value)) ?? {},
      credentials: credentials?.map((credential) => credential.name),
      agreed: {
        credentials: credentials?.map((credential) => credential.name),
        ...objectOf(called('agreed', () => jsonOf(definition.agreed?.(value)))),
      },
      requests,
      *listed() {
        const all = list('listed', () => definition.listed?.(value));
        for (const [i, one] of all.entries()) {
          const keyed = listedRequest(requests, one, i);
          const of = readAgain(keyed.value);
          yield { ...keyed, identity: requestIdentity(of, keyed.value), everyMs: everyOf(keyed.value) };
        }
      },
      open({ lane, lanes, ...io }) {
        const own = (credentials ?? []).filter((_, i) => i % lanes === lane);
        const work = called('open', () =>
          definition.open(value, { ...io, waitOutOutages: true, stopAfterFailures: value.stopAfterFailures, credentials: own }),
        );
        if (typeof work?.open !== 'function')
          throw misuse({ pipeline: name, name: 'open' }, `returns ${textOf(work)}`, 'It must return the result of walk, lookup or route');
        return opened(definition, work, { read, readAgain });
      },
      canProbe: definition.probe !== undefined,
      probe(io, credential, of) {
        const request = of === undefined ? undefined : read(of);
        const own = credentials?.slice(credential, credential + 1) ?? [];
        return called('probe', () => definition.probe?.(value, { ...io, retryForMs: 0, waitOutOutages: false, credentials: own }, request));
      },
      expect: (of, last) =>
        definition.expect === undefined ? last?.pages : called('expect', () => definition.expect?.(readAgain(of.value), last)),
    };
  };
  return Object.assign(configured, { definition: info });
}

/** Reads a request from a record's value. Throws a `PipelineError` (HEADGATE_MALFORMED_REQUEST). */
type RequestReader<RequestSchema extends z.ZodType> = (value: string | null) => z.output<RequestSchema>;

function requestReader<RequestSchema extends z.ZodType>(schema: z.ZodType): RequestReader<RequestSchema> {
  return (value) => parseRequest(schema as z.ZodType<z.output<RequestSchema>>, value);
}

/** Gives the last request once more where the value is the same: its key, its work and its size are asked for one after the other. */
function lastRead<RequestSchema extends z.ZodType>(read: RequestReader<RequestSchema>): RequestReader<RequestSchema> {
  let last: { readonly value: string | null; readonly request: z.output<RequestSchema> } | undefined;
  return (value) => {
    if (last === undefined || last.value !== value) last = { value, request: read(value) };
    return last.request;
  };
}

function requestsOf<
  Options extends z.ZodObject,
  RequestSchema extends z.ZodType,
  Topics extends TopicMap,
  Credential extends NamedCredential,
>(definition: PipelineDefinition<Options, RequestSchema, Topics, Credential>, read: RequestReader<RequestSchema>): PipelineRequests {
  const { name } = definition;
  const parse = (value: string | null): KeyedRequest => ({ key: keyOf(definition, read(value)), value: value ?? 'null' });
  const keyed = (input: unknown): KeyedRequest => {
    const text: string | undefined = JSON.stringify(input);
    return parse(text ?? null);
  };
  return {
    name,
    keyed,
    parse,
    parseLine(line) {
      if (/^\s*\{/.test(line)) return parse(line);
      if (definition.parse !== undefined) return keyed(answered({ pipeline: name, name: 'parse' }, definition.parse(line)));
      const message = `${name} takes only JSON objects as jobs.`;
      throw new PipelineError({ code: 'HEADGATE_MALFORMED_REQUEST', message, pipeline: name });
    },
    check: (value) => answered({ pipeline: name, name: 'check' }, definition.check?.(read(value))),
  };
}

/** The key of a request. `recordKey`: of its record. */
function keyOf<Request>(
  definition: { readonly name: string; keyOf(request: Request): string },
  request: Request,
  recordKey?: string,
): string {
  const of: UserFunction = { pipeline: definition.name, name: 'keyOf', ...(recordKey !== undefined && { key: recordKey }) };
  const key: unknown = callUser(of, () => definition.keyOf(request));
  if (typeof key !== 'string') throw misuse(of, `returns ${textOf(key)}`, 'It must return text');
  return key;
}

function assertNamed(of: UserFunction, credential: unknown): void {
  const name: unknown = typeof credential === 'object' && credential !== null && 'name' in credential ? credential.name : undefined;
  if (typeof name !== 'string') throw misuse(of, 'returns a credential without a name', 'It must return a list of { name, … }');
}

/** Throws for what JSON can't hold. */
function jsonOf(value: Json | undefined): Json | undefined {
  JSON.stringify(value);
  return value;
}

function listedRequest(requests: PipelineRequests, input: unknown, index: number): KeyedRequest {
  try {
    return requests.keyed(input);
  } catch (cause) {
    const { name } = requests;
    const words = cause instanceof Error ? cause.message : String(cause);
    const message = `${name}: job ${index} of its list is invalid: ${words}`;
    throw new PipelineError({ code: 'HEADGATE_MALFORMED_REQUEST', message, pipeline: name, cause });
  }
}

function opened<Options extends z.ZodObject, RequestSchema extends z.ZodType, Topics extends TopicMap, Credential extends NamedCredential>(
  definition: PipelineDefinition<Options, RequestSchema, Topics, Credential>,
  work: Work<z.output<RequestSchema>, Topics>,
  { read: parse, readAgain }: { readonly read: RequestReader<RequestSchema>; readonly readAgain: RequestReader<RequestSchema> },
): OpenedPipeline {
  return {
    sources: work.sources,
    worker(context) {
      const worker = work.open({
        ...context,
        kind: '',
        topics: context.topics as RecordMakers<Topics>,
        parse,
        keyOf: (request, key) => keyOf(definition, request, key),
      });
      return {
        get load() {
          return worker.load;
        },
        get isBusy() {
          return worker.isBusy;
        },
        backlog: worker.backlog,
        take: (record) => worker.take(record, parse(record.value)),
        flush: () => worker.flush(),
        stop: () => worker.stop(),
        abandon: () => worker.abandon(),
        inWork: () => worker.inWork(),
        lastCrawl: (value, key) => worker.lastCrawl(readAgain(value), key),
      };
    },
    left(state) {
      const left = work.left(state, definition.name);
      return (record) => left(record, readAgain(record.value));
    },
    lastCrawl(state) {
      const lastCrawl = work.lastCrawl(state, { pipeline: definition.name, kind: '' });
      return (value, key) => lastCrawl(readAgain(value), key);
    },
  };
}

function objectOf(agreed: Json | undefined): { readonly agreed?: Json } {
  return agreed === undefined ? {} : { agreed };
}

/** Its parts in the order of their docs, each with its kind; `?`: it may be left out. */
const PARTS = {
  name: 'text',
  options: 'schema',
  request: 'schema',
  topics: 'mapping',
  makesRequests: 'boolean?',
  unit: 'text?',
  pageItems: 'function?',
  usualBytes: 'function?',
  keyOf: 'function',
  parse: 'function?',
  check: 'function?',
  listed: 'function?',
  every: 'function?',
  credentials: 'function?',
  maxOutstanding: 'number?',
  warnings: 'function?',
  probe: 'function?',
  agreed: 'function?',
  open: 'function',
  expect: 'function?',
} as const satisfies Record<keyof PipelineDefinition<z.ZodObject, z.ZodType, TopicMap, NamedCredential>, string>;

const KINDS = {
  text: { words: 'text', test: (part: unknown) => typeof part === 'string' },
  boolean: { words: 'true or false', test: (part: unknown) => typeof part === 'boolean' },
  number: { words: 'a number', test: (part: unknown) => typeof part === 'number' },
  function: { words: 'a function', test: (part: unknown) => typeof part === 'function' },
  mapping: { words: 'an object', test: (part: unknown) => typeof part === 'object' && part !== null },
  // By its methods: a user's folder may have a zod of its own.
  schema: { words: 'a zod schema, such as z.strictObject({ … })', test: (part: unknown) => typeof Object(part).safeParse === 'function' },
};

/** No compiler has read the definition of a module that runs with its types stripped. */
function check(definition: {
  readonly name: string;
  readonly topics: TopicMap;
  readonly options: { readonly safeExtend: unknown; readonly shape: object };
  readonly maxOutstanding?: number;
}): void {
  const { name, topics, options, maxOutstanding } = definition;
  const refuse = (message: string): never => {
    throw new PipelineError({
      code: 'HEADGATE_DEFINITION',
      message: `definePipeline: ${message}`,
      ...(typeof name === 'string' && { pipeline: name }),
    });
  };
  const parts = Object.keys(PARTS);
  for (const key of Object.keys(definition)) {
    if (!parts.includes(key))
      refuse(`${key} isn't part of a definition. Its parts are ${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}.`);
  }
  for (const [key, kind] of Object.entries(PARTS)) {
    const part = (definition as Readonly<Record<string, unknown>>)[key];
    const { words, test } = KINDS[kind.replace('?', '') as keyof typeof KINDS];
    if (part === undefined && !kind.endsWith('?')) refuse(`${key} is missing.`);
    if (part !== undefined && !test(part)) refuse(`${key} must be ${words}.`);
  }
  if (typeof options.safeExtend !== 'function') refuse(`options must be ${KINDS.schema.words}.`);
  const taken = ['use', 'every', 'maxOutstanding', 'stopAfterFailures'].find((key) => Object.hasOwn(options.shape, key));
  if (taken !== undefined) refuse(`every pipeline has ${taken} in its section. Give the option ${taken} another name.`);
  if (!(maxOutstanding === undefined || (Number.isSafeInteger(maxOutstanding) && maxOutstanding > 0))) {
    refuse(`maxOutstanding must be a whole number above 0, got ${maxOutstanding}.`);
  }
  if (!/^[a-z][a-z0-9-]{0,49}$/.test(name)) {
    refuse(`"${name}" isn't a valid pipeline name. Write up to 50 lowercase letters, digits and hyphens, starting with a letter.`);
  }
  if (['headgate', 'topics', 'status'].includes(name)) refuse(`the name ${name} is reserved. Take another.`);
  for (const topic of Object.keys(topics)) {
    if (RESERVED.includes(topic)) refuse(`every pipeline has its own topic ${name}.${topic}. Rename topics.${topic}.`);
    if (!/^[a-zA-Z0-9][a-zA-Z0-9-]{0,49}$/.test(topic)) {
      refuse(`topics.${topic}: a topic name has up to 50 letters, digits and hyphens.`);
    }
  }
}
