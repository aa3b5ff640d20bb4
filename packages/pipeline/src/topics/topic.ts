import { cloudEventHeaders } from '@headgate/operators';
import { type NewRecord, type RecordSeries, partitionForKey } from '@headgate/topics';
import type { z } from 'zod';
import { PipelineError, pipelineChecks } from '../settings/pipeline-error.ts';
import { FROM_START, ONCE, RESUME, type JobRecord, rootOf } from './job.ts';
import { isPromise, list, misuse, type Rule, type UserFunction } from './user-function.ts';

/**
 * Serializes a value to text or bytes. Must be synchronous, and return the same result for the same value, because a record can be created
 * again.
 */
export type Serialize<Value> = (value: Value) => string | Uint8Array;

/** Formats of a topic's values. All but `json` need a schema registry. */
export const TOPIC_FORMATS = ['json', 'json-schema', 'avro', 'protobuf'] as const;

/** One of the formats of a topic's values. */
export type TopicFormat = (typeof TOPIC_FORMATS)[number];

/** Options of {@link topic}. */
export interface TopicDefinition<Value> {
  /** Schema of a record's value. Checked only with the option `validate`. */
  readonly value: z.ZodType<Value>;
  /** Schema of a record's key. Checked only with the option `validate`. Default: text, bytes or null. */
  readonly key?: z.ZodType<RecordContent['key']>;
  /**
   * Serializes a record's value. Default: JSON. If an object with `open` is given, `open` is called once per run, before any lane is
   * opened. It can be asynchronous, for example to query a schema registry. If it fails, `start` rejects.
   */
  readonly serialize?: Serialize<Value> | { open(context: SerializeContext): Serialize<Value> | Promise<Serialize<Value>> };
  /**
   * Format of the values in a log with a schema registry. `withRegistry` of `@headgate/registry` serializes them; without it, `start` rejects any
   * other format than `json`. Has no effect with `serialize`. Default: the pipeline's option `format`.
   */
  readonly format?: TopicFormat;
  /** Schema of the values in the language of `format`, as text. Default: derived from `value`. */
  readonly schema?: string;
  /**
   * The header `content-type` of the topic's records, except for those of a series. Default: `application/json`; `application/octet-stream`
   * with a custom serializer.
   */
  readonly contentType?: string;
  /** Number of partitions, of which a record's key selects one. Default: one per lane, written only by that lane; 1 if `compacted`. */
  readonly partitions?: number;
  /** Keeps only the newest record per key. Its records need keys, and its number of partitions can't change. Default: false. */
  readonly compacted?: boolean;
}

/** Context of a serializer's `open`. */
export interface SerializeContext {
  /** The topic's name on the log. */
  readonly topic: string;
  /** Aborts when the run is stopped, even while it starts. */
  readonly signal: AbortSignal;
}

/** Defines a topic of a pipeline. `topics: { records: topic({ value: schema }) }` of the pipeline `issues` becomes `issues.records`. */
export function topic<Value>(definition: TopicDefinition<Value>): TopicDefinition<Value> {
  const { partitions = 1, compacted = false } = definition;
  pipelineChecks('topic', 'HEADGATE_DEFINITION').whole({ partitions }, 1);
  // Lanes can write records of one key, and compaction compares those of one partition.
  return compacted ? { ...definition, partitions } : definition;
}

/** Topics of a pipeline, by their names within it. */
// oxlint-disable-next-line typescript/no-explicit-any -- the values of a map of topics differ from topic to topic.
export type TopicMap = Readonly<Record<string, TopicDefinition<any>>>;

/** The type of a topic's values. */
export type TopicValue<Definition> = Definition extends TopicDefinition<infer Value> ? Value : never;

/** Functions that create the records of each topic, and further requests of the same pipeline. */
export type RecordMakers<Topics extends TopicMap> = { readonly [Name in keyof Topics]: RecordMaker<TopicValue<Topics[Name]>> } & {
  readonly requests: JobMaker;
};

/**
 * Creates a request of the same pipeline. The request is written with the other records, and processed in the same lane. If the request
 * doesn't fit its schema or has no key, it becomes a dead letter when the lane reads it. Throws a {@link PipelineError}
 * (HEADGATE_DEFINITION) if the definition doesn't set `makesRequests`.
 */
export type JobMaker = (request: unknown, options?: JobMakerOptions) => PendingRecord;

/** Options of a {@link JobMaker}. */
export interface JobMakerOptions {
  /**
   * Whether a family processes equal requests once. If so, this request is dropped if an equal one with `once` that wasn't dropped lies
   * between it and the root of its family. A number equals its text. The root is the nearest ancestor without `once`: a request that was
   * listed, enqueued, replayed, or created without `once`. Has no effect in `after` of a walk. Default: false.
   */
  readonly once?: boolean;
}

/** Creates records of one topic. Throws a {@link PipelineError} (HEADGATE_INVALID_RECORD) for an invalid key or value. */
export interface RecordMaker<Value> {
  /** Creates one record. Serializes `value` immediately, so later changes of the value have no effect. */
  (record: RecordContent & { readonly value: Value }): PendingRecord;
  /**
   * Creates many records with one key. The functions of the series are called while the records are written, possibly more than once. The
   * records have no CloudEvents headers. A record's value comes from `valueAt`, or is the JSON text `before + textAt(index) + after`, which a
   * topic with a custom serializer parses.
   */
  series(series: RecordSeriesContent<Value>): PendingRecord;
}

/** The records of `RecordMaker.series`: their key, their number, and a function that creates each of them. */
export type RecordSeriesContent<Value> = Pick<RecordContent, 'key'> & { readonly count: number } & (
    | { readonly valueAt: (index: number) => Value; readonly textAt?: never; readonly before?: never; readonly after?: never }
    | {
        readonly textAt: (index: number) => string;
        /** Text at the start of every record of the series. Default: empty. */
        readonly before?: string;
        /** Text at the end of every record of the series. Default: empty. */
        readonly after?: string;
        readonly valueAt?: never;
      }
  );

/** The content of a record, without its topic. */
export interface RecordContent {
  /** Null: the record has no key. If the topic's definition sets `partitions`, the key selects the partition. */
  readonly key: string | Uint8Array | null;
  /**
   * End of the record's ID. It must be unique within its request, and the same when the record is created again. Default: from the number
   * of the page, or the key that was looked up.
   */
  readonly id?: string;
  /** The name under which `after-written` events count the record in `kinds`. Default: the topic's name in the definition. */
  readonly kind?: string;
  /** Headers in addition to the CloudEvents headers. Default: none. */
  readonly headers?: Readonly<Record<string, string | Uint8Array>>;
}

/** A record of a pipeline before it has its CloudEvents headers. */
export interface PendingRecord {
  /** The topic's name within the pipeline, such as `records`. */
  readonly name: string;
  /** The record in the form of the log, still without its CloudEvents headers. */
  readonly record: NewRecord | RecordSeries;
  /** As in `RecordContent.id`. */
  readonly id: string | undefined;
  /** The name under which `after-written` events count the record in `kinds`. */
  readonly kind: string;
  /** Value of the header `content-type`. Undefined: `application/json`. */
  readonly contentType: string | undefined;
  /** Number of records: 1, or the length of a series. */
  readonly count: number;
  /** As in `JobMakerOptions`. False for a request without a valid key, which becomes a dead letter. */
  readonly once?: boolean;
}

/** The topics that a definition may write: those for which it has record makers. */
export interface OwnTopics {
  readonly names: TopicNames;
  readonly topics: Readonly<Record<string, unknown>>;
}

/** The rule for a function that returns records: the pipeline's record makers created each of them. Others could go to any topic. */
export function recordsOf(own: OwnTopics): Rule {
  return (result, of) => (list(result, of) as PendingRecord[]).map((record) => madeRecord(of, own, record));
}

/**
 * Returns a record that has the shape of those from the pipeline's record makers; throws for any other. Doesn't check the class, because a
 * definition's module can have its own copy of this package.
 */
export function madeRecord(of: UserFunction, { names, topics }: OwnTopics, pending: PendingRecord): PendingRecord {
  const { name, record } = Object(pending) as { readonly name?: unknown; readonly record?: { readonly topic?: unknown } };
  if (typeof name === 'string' && Object.hasOwn(topics, name) && record?.topic === names(`${of.pipeline}.${name}`)) return pending;
  const what = isPromise(pending) ? 'returns a promise as a record' : "returns a record that topics didn't create, or that was changed";
  throw misuse(of, what, 'Create each record with topics.<name>({ key, value }), and return it unchanged');
}

export interface RecordMakersOptions {
  readonly pipeline: string;
  readonly topics: TopicMap;
  readonly names: TopicNames;
  readonly partition: number;
  /** Checks each value and key against the schemas of its topic. */
  readonly validate: boolean;
  readonly serializers: Serializers;
  /** Serializes a request, and determines its key. Default: `topics.requests` throws. */
  readonly keyed?: ((request: unknown) => Pick<NewRecord, 'key' | 'value'>) | undefined;
}

/** Returns the log's name of a topic, given its name within Headgate, such as `issues.records`. */
export type TopicNames = (name: string) => string;

/** Opened serializers, by the log's name of their topic. */
export type Serializers = ReadonlyMap<string, Serialize<unknown>>;

/**
 * Opens the serializers of all topics concurrently. If one fails, throws a `PipelineError` (HEADGATE_USER_FUNCTION) that names the topic.
 */
export async function openSerializers(
  pipelines: readonly { readonly name: string; readonly topics: TopicMap }[],
  names: TopicNames,
  signal: AbortSignal,
): Promise<Serializers> {
  const topics = pipelines.flatMap(({ name, topics: of }) =>
    Object.entries(of).map(([topicName, definition]) => ({ pipeline: name, name: names(`${name}.${topicName}`), ...definition })),
  );
  const opened = topics.map(async ({ pipeline, name, format = 'json', serialize }) => {
    if (serialize === undefined && format !== 'json') {
      const message = `${name}: the format ${format} needs a schema registry. Pass the pipeline through withRegistry of @headgate/registry.`;
      throw new PipelineError({ code: 'HEADGATE_INVALID_OPTION', message, pipeline });
    }
    if (serialize === undefined) return [name, JSON.stringify] as const;
    if (typeof serialize === 'function') return [name, serialize] as const;
    try {
      const given = await serialize.open({ topic: name, signal });
      // A missing serializer would otherwise be replaced by JSON.
      if (typeof given !== 'function') throw new TypeError("open doesn't return a function");
      return [name, given] as const;
    } catch (cause) {
      signal.throwIfAborted();
      const words = cause instanceof Error ? cause.message : "open threw a value that isn't an Error";
      throw new PipelineError({
        code: 'HEADGATE_USER_FUNCTION',
        message: `${name}: opening its serializer failed: ${words}`,
        pipeline,
        cause,
      });
    }
  });
  return new Map(await Promise.all(opened));
}

export function recordMakers(options: RecordMakersOptions): RecordMakers<TopicMap> {
  const makers = Object.entries(options.topics).map(([name, definition]) => [name, recordMaker(options, name, definition)] as const);
  return { ...Object.fromEntries(makers), [REQUESTS]: jobMaker(options) } as RecordMakers<TopicMap>;
}

/** Name of each pipeline's requests topic, within the pipeline. */
export const REQUESTS = 'requests';

function jobMaker({ pipeline, names, partition, keyed }: RecordMakersOptions): JobMaker {
  return (request, { once = false } = {}) => {
    if (keyed === undefined) {
      const message = `${pipeline}: topics.requests needs \`makesRequests: true\` in the definition. Add it, so that the lane can write requests.`;
      throw new PipelineError({ code: 'HEADGATE_DEFINITION', message, pipeline });
    }
    if (isPromise(request)) {
      const message = `${pipeline}: topics.requests got a promise. Await it before you create the request.`;
      throw new PipelineError({ code: 'HEADGATE_INVALID_RECORD', message, pipeline });
    }
    const text: string | undefined = JSON.stringify(request);
    const record = { topic: names(`${pipeline}.${REQUESTS}`), partition, ...keyedOrBare(keyed, request, text ?? 'null') };
    return { name: REQUESTS, record, id: undefined, kind: REQUESTS, contentType: undefined, count: 1, once: once && record.key !== null };
  };
}

/**
 * Returns a request with its key. An invalid request becomes JSON without a key, so that its page is still written. It becomes a dead
 * letter when the lane reads it.
 */
function keyedOrBare(
  keyed: (request: unknown) => Pick<NewRecord, 'key' | 'value'>,
  request: unknown,
  value: string,
): Pick<NewRecord, 'key' | 'value'> {
  try {
    return keyed(request);
  } catch {
    return { key: null, value };
  }
}

function recordMaker(
  { pipeline, names, partition: lane, validate, serializers }: RecordMakersOptions,
  name: string,
  definition: TopicDefinition<unknown>,
): RecordMaker<unknown> {
  const topicName = names(`${pipeline}.${name}`);
  const { partitions, value: schema, key: keySchema } = definition;
  const serializer = serializers.get(topicName) ?? JSON.stringify;
  const serialize = (value: unknown): string | Uint8Array => {
    let isLate = isPromise(value);
    const serialized = isLate ? '' : serializer(value);
    // A promise becomes {} in JSON.
    if (serializer === JSON.stringify && typeof serialized === 'string' && serialized.includes('{}'))
      JSON.stringify(value, (_, part: unknown) => {
        isLate = isPromise(part) || isLate;
        return part;
      });
    if (isLate) throw invalid("a record's value is or contains a promise. Await it before you create the record.");
    return serialized;
  };
  const contentType = definition.contentType ?? (definition.serialize === undefined ? undefined : 'application/octet-stream');
  const partitionOf = (key: RecordContent['key']): number => (partitions === undefined ? lane : partitionForKey(key ?? '', partitions));
  const invalid = (reason: string): PipelineError =>
    new PipelineError({ code: 'HEADGATE_INVALID_RECORD', message: `${topicName}: ${reason}`, pipeline });
  const check = (part: 'key' | 'value', { error }: z.ZodSafeParseResult<unknown>): void => {
    if (error === undefined) return;
    const problems = error.issues.map(({ path, message }) => `${path.join('.') || `the ${part}`}: ${message}`).join('; ');
    throw invalid(`a record doesn't fit the schema of its topic: ${problems}`);
  };
  const checkKey = (key: RecordContent['key']): void => {
    if (validate && keySchema !== undefined) check('key', keySchema.safeParse(key));
  };
  const checkValue = (value: unknown): void => {
    if (validate) check('value', schema.safeParse(value));
  };
  const maker = ({ key, id, kind = name, headers, value }: RecordContent & { readonly value: unknown }): PendingRecord => {
    checkKey(key);
    checkValue(value);
    const serialized = serialize(value);
    if (key !== null) assertField(topicName, 'key', key);
    assertField(topicName, 'value', serialized);
    for (const header of Object.values(headers ?? {})) assertField(topicName, 'header', header);
    const record = { topic: topicName, partition: partitionOf(key), key, value: serialized, ...(headers !== undefined && { headers }) };
    return { name, record, id, kind, contentType, count: 1 };
  };
  const series = ({ key, count, textAt, valueAt, before = '', after = '' }: RecordSeriesContent<unknown>): PendingRecord => {
    if (key !== null) assertField(topicName, 'key', key);
    if (!(Number.isSafeInteger(count) && count >= 0)) throw invalid(`a series has ${count} records. Write a whole number from 0.`);
    checkKey(key);
    const partAt = (i: number): string => {
      const text: unknown = textAt?.(i);
      if (typeof text === 'string') return text;
      assertField(topicName, 'value', text);
      throw invalid('textAt of a series returned bytes. Return text.');
    };
    const contentAt = textAt === undefined ? valueAt : (i: number): unknown => JSON.parse(before + partAt(i) + after);
    const values: Pick<RecordSeries, 'valueAt' | 'parts'> =
      textAt === undefined || definition.serialize !== undefined
        ? { valueAt: (i) => serialize(contentAt(i)) }
        : { valueAt: (i) => before + partAt(i) + after, parts: { before, partAt, after } };
    if (validate) for (let i = 0; i < count; i += 1) checkValue(contentAt(i));
    const record = { topic: topicName, partition: partitionOf(key), key, count, ...values };
    return { name, record, id: undefined, kind: name, contentType, count };
  };
  return Object.assign(maker, { series });
}

/**
 * Throws a `PipelineError` (HEADGATE_INVALID_RECORD) if a part of a record is neither text nor bytes. The compiler can't rule that out,
 * because a service's response can differ from its type.
 */
export function assertField(topicName: string, part: string, field: unknown): void {
  if (typeof field === 'string' || field instanceof Uint8Array) return;
  // Without a handler, a rejection of this promise would end the process.
  if (field instanceof Promise) field.catch(() => undefined);
  const message =
    `${topicName}: a record's ${part} is ${String(field)}, neither text nor bytes. ` +
    'A key must be text, bytes or null. A value must be JSON, or its serializer must return text or bytes synchronously.';
  throw new PipelineError({ code: 'HEADGATE_INVALID_RECORD', message });
}

/**
 * Returns the records with CloudEvents headers (binary mode), and series unchanged. The same arguments give the same IDs. `job`: the ID
 * with which the records' IDs begin. `defaultId`: end of the ID of a record that sets no `id`. From a topic's second such record on, `/1`,
 * `/2` and so on are added. `origin`: the job that the records come of. Without it, `once` has no effect. `headers`: additional ones.
 */
export function logRecords(
  pending: readonly PendingRecord[],
  pipeline: string,
  job: string,
  defaultId: string,
  origin?: Pick<JobRecord, 'offset' | 'root' | 'resume'>,
  headers?: Readonly<Record<string, string>>,
): readonly (NewRecord | RecordSeries)[] {
  const counts = new Map<string, number>();
  return pending.map(({ name, record, id, contentType, once }) => {
    if ('valueAt' in record) return record;
    const nth = counts.get(name) ?? 0;
    if (id === undefined) counts.set(name, nth + 1);
    const suffix = id ?? (nth === 0 ? defaultId : `${defaultId}/${nth}`);
    return {
      ...record,
      headers: {
        ...eventHeaders(pipeline, name, suffix === '' ? job : `${job}/${suffix}`, { contentType }),
        ...headers,
        ...(once === true && origin !== undefined && { [ONCE]: String(rootOf(origin)) }),
        ...(name === REQUESTS && origin?.resume === FROM_START && { [RESUME]: FROM_START }),
        ...record.headers,
      },
    };
  });
}

/** Adds the number of records of each topic to `counts`, and returns `counts`. */
export function countRecords(pending: readonly PendingRecord[], counts: Record<string, number> = {}): Readonly<Record<string, number>> {
  for (const { name, count } of pending) counts[name] = (counts[name] ?? 0) + count;
  return counts;
}

/** `name`: the topic's name within the pipeline. `contentType`: default `application/json`. */
export function eventHeaders(
  pipeline: string,
  name: string,
  id: string,
  { time, contentType }: { readonly time?: string; readonly contentType?: string | undefined },
): Record<string, string> {
  return {
    ...cloudEventHeaders({
      source: `/${pipeline}`,
      type: `headgate.${pipeline}.${name}`,
      id,
      time,
      ...(contentType !== undefined && { dataContentType: contentType }),
    }),
  };
}
