import { cloudEventHeaders } from '@headgate/operators';
import { type NewRecord, type RecordSeries, partitionForKey } from '@headgate/topics';
import type { z } from 'zod';
import { PipelineError } from './pipeline-error.ts';
import { ONCE } from './request.ts';
import { isPromise, type UserFunction, callUserList, misuse } from './user-function.ts';

/**
 * Turns a value into a record's value: text, or bytes. Synchronous, and the same for the same value, because a record may be created again.
 */
export type Serialize<Value> = (value: Value) => string | Uint8Array;

/** Options of {@link topic}. */
export interface TopicDefinition<Value> {
  /** The schema of a record's value: checked in tests and with `validate`, published as JSON Schema. */
  readonly value: z.ZodType<Value>;
  /** The schema of a record's key: checked in tests and with `validate`. Default: text, bytes or null. */
  readonly key?: z.ZodType<RecordContent['key']>;
  /**
   * How a value becomes a record's value. Default: JSON. The form with `open` is opened once per run, before any lane is taken, and may
   * wait: query a schema registry there, and never per record. If it fails, `start` rejects.
   */
  readonly serialize?: Serialize<Value> | { open(context: SerializeContext): Serialize<Value> | Promise<Serialize<Value>> };
  /** The header `content-type` of the topic's records. Default: `application/json`; `application/octet-stream` with a custom serializer. */
  readonly contentType?: string;
  /** Number of partitions; a record's key selects one. Default: one per lane, written only by that lane. */
  readonly partitions?: number;
  /** Keep only the newest record per key. Default false. */
  readonly compacted?: boolean;
}

/** Passed to `open` of a topic's serializer. */
export interface SerializeContext {
  /** The topic's name on the log. */
  readonly topic: string;
  /** Aborts when the run is stopped, also while it starts. */
  readonly signal: AbortSignal;
}

/** A topic of a pipeline: `topics: { records: topic({ value: schema }) }` of pipeline `issues` is `issues.records`. */
export function topic<Value>(definition: TopicDefinition<Value>): TopicDefinition<Value> {
  const { partitions } = definition;
  if (partitions !== undefined && !(Number.isSafeInteger(partitions) && partitions > 0)) {
    throw new PipelineError({
      code: 'HEADGATE_DEFINITION',
      message: `topic: partitions must be a whole number above 0, got ${partitions}`,
    });
  }
  return definition;
}

/** Topics of a pipeline, by their names within it. */
// oxlint-disable-next-line typescript/no-explicit-any -- the values of a map of topics differ from topic to topic.
export type TopicMap = Readonly<Record<string, TopicDefinition<any>>>;

/** The type of a topic's values. */
export type TopicValue<Definition> = Definition extends TopicDefinition<infer Value> ? Value : never;

/** Makes the records of each topic, and the pipeline's own further requests. */
export type RecordMakers<Topics extends TopicMap> = { readonly [Name in keyof Topics]: RecordMaker<TopicValue<Topics[Name]>> } & {
  readonly requests: RequestMaker;
};

/**
 * Creates a request of the same pipeline, in the form of its topic. It is written with the other records, and worked in the same lane. If
 * its schema refuses it, or it has no key, it becomes a dead letter when its turn comes. Throws a {@link PipelineError}
 * (HEADGATE_DEFINITION) if the definition doesn't set `makesRequests`.
 */
export type RequestMaker = (request: unknown, options?: RequestMakerOptions) => PendingRecord;

/** Options of a {@link RequestMaker}. */
export interface RequestMakerOptions {
  /**
   * Work equal requests once: this one is dropped if the lane's topic has an equal one with `once`, added after the root of this one's
   * family. The root is the nearest ancestor without `once`: listed, enqueued, replayed or created. Without effect in `after` of a walk. Default false.
   */
  readonly once?: boolean;
}

/** Makes records of one topic. Throws a {@link PipelineError} (HEADGATE_INVALID_RECORD) for a key or value that can't be one. */
export interface RecordMaker<Value> {
  /** One record. `value` is serialized at once: later changes to it change nothing. */
  (record: RecordContent & { readonly value: Value }): PendingRecord;
  /**
   * Thousands of records with one key, created while they are written, possibly more than once. They have no CloudEvents headers. Each is a
   * value, or for a topic of JSON a text: `before`, `textAt(index)` and `after`, concatenated. A text throws a `PipelineError`
   * (HEADGATE_INVALID_RECORD) for a topic with a custom serializer.
   */
  series(series: RecordSeriesContent<Value>): PendingRecord;
}

/** Records of `RecordMaker.series`: their key, their number, and how to create each. */
export type RecordSeriesContent<Value> = Pick<RecordContent, 'key'> & { readonly count: number } & (
    | { readonly valueAt: (index: number) => Value; readonly textAt?: never; readonly before?: never; readonly after?: never }
    | {
        readonly textAt: (index: number) => string;
        /** The text that every record of the series begins with; it is encoded once. Default: empty. */
        readonly before?: string;
        /** The text that every record of the series ends with; it is encoded once. Default: empty. */
        readonly after?: string;
        readonly valueAt?: never;
      }
  );

/** A record before it has its topic. */
export interface RecordContent {
  /** null: the record has no key. If the topic's definition sets `partitions`, the key selects the partition. */
  readonly key: string | Uint8Array | null;
  /** Unique within its request, and the same when the record is created again. Default: the page's number or the key of the lookup. */
  readonly id?: string;
  /** The name under which `after-written` events count the record in `kinds`. Default: the topic's name in the definition. */
  readonly kind?: string;
  /** Headers in addition to the CloudEvents headers. Default: none. */
  readonly headers?: Readonly<Record<string, string | Uint8Array>>;
}

/** A record of a pipeline before it has its CloudEvents ID. */
export interface PendingRecord {
  /** The topic's name within the pipeline, such as `records`. */
  readonly name: string;
  /** The record as the lane writes it to the log, still without its CloudEvents headers. */
  readonly record: NewRecord | RecordSeries;
  /** As in `RecordContent.id`. */
  readonly id: string | undefined;
  /** The name under which `after-written` events count the record in `kinds`. */
  readonly kind: string;
  /** The record's header `content-type`. Undefined means `application/json`. */
  readonly contentType: string | undefined;
  /** Number of records: 1, or the length of a series. */
  readonly count: number;
  /** As in `RequestMakerOptions`. False for invalid requests, each of which becomes a dead letter. */
  readonly once?: boolean;
}

/** The topics that a definition may write: those of its record makers. */
export interface OwnTopics {
  readonly names: TopicNames;
  readonly topics: Readonly<Record<string, unknown>>;
}

/**
 * The records of a list that a function of a definition returns. Throws for a record that no maker created, because it could go to any
 * topic.
 */
export function pendingRecords(of: UserFunction, own: OwnTopics, call: () => Iterable<PendingRecord> | undefined): PendingRecord[] {
  return callUserList(of, call).map((record) => madeRecord(of, own, record));
}

/**
 * Returns the record if a record maker of the pipeline created it, else throws. Compares the shape and not the class, because a
 * definition's module may have its own copy of this package.
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
  /** The lane's partition. */
  readonly partition: number;
  /** Check each value against its topic's schema. */
  readonly validate: boolean;
  readonly serializers: Serializers;
  /** Serializes a request, and determines its key. Default: `topics.requests` throws. */
  readonly keyed?: ((request: unknown) => Pick<NewRecord, 'key' | 'value'>) | undefined;
}

/** A topic's name on the log, by its name within Headgate: `issues.records`. */
export type TopicNames = (name: string) => string;

/** Opened serializers by the name of their topic on the log. */
export type Serializers = ReadonlyMap<string, Serialize<unknown>>;

export interface OpenSerializersOptions {
  readonly pipelines: readonly { readonly name: string; readonly topics: TopicMap }[];
  readonly names: TopicNames;
  readonly signal: AbortSignal;
}

/** Opens the serializers of all topics at once. Throws a `PipelineError` (HEADGATE_USER_FUNCTION) with the topic if one fails. */
export async function openSerializers({ pipelines, names, signal }: OpenSerializersOptions): Promise<Serializers> {
  const topics = pipelines.flatMap(({ name, topics: of }) =>
    Object.entries(of).map(([topicName, { serialize }]) => ({ pipeline: name, name: names(`${name}.${topicName}`), serialize })),
  );
  const opened = topics.map(async ({ pipeline, name, serialize = JSON.stringify }) => {
    if (typeof serialize === 'function') return [name, serialize] as const;
    try {
      const given = await serialize.open({ topic: name, signal });
      // Without this check, each record would be written as JSON.
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
  return { ...Object.fromEntries(makers), [REQUESTS]: requestMaker(options) } as RecordMakers<TopicMap>;
}

/** The name of each pipeline's topic of requests, within the pipeline. */
export const REQUESTS = 'requests';

function requestMaker({ pipeline, names, partition, keyed }: RecordMakersOptions): RequestMaker {
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

/** The request with its key. An invalid request keeps its JSON without a key: it becomes a dead letter later, and its page is written. */
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
    const serialized = isPromise(value) ? undefined : serializer(value);
    // A promise is {} in JSON. Searching every value for one would take longer than writing it.
    if (serialized === undefined ? isPromise(value) : typeof serialized === 'string' && serialized.includes('{}') && holdsPromise(value))
      throw invalid("a record's value is or contains a promise. Await it before you create the record.");
    return serialized as string;
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
    if (textAt !== undefined && definition.serialize !== undefined)
      throw invalid('its records have a custom serializer, but a series has textAt. Use valueAt instead.');
    if (key !== null) assertField(topicName, 'key', key);
    if (!(Number.isSafeInteger(count) && count >= 0)) throw invalid(`a series has ${count} records. Write a whole number from 0.`);
    checkKey(key);
    const partAt = (i: number): string => {
      const text: unknown = textAt?.(i);
      if (typeof text === 'string') return text;
      assertField(topicName, 'value', text);
      throw invalid('textAt of a series returned bytes. Return text.');
    };
    const values: Pick<RecordSeries, 'valueAt' | 'parts'> =
      textAt === undefined
        ? { valueAt: (i) => serialize(valueAt(i)) }
        : { valueAt: (i) => before + partAt(i) + after, parts: { before, partAt, after } };
    if (validate) for (let i = 0; i < count; i += 1) checkValue(textAt === undefined ? valueAt(i) : JSON.parse(before + partAt(i) + after));
    const record = { topic: topicName, partition: partitionOf(key), key, count, ...values };
    return { name, record, id: undefined, kind: name, contentType, count };
  };
  return Object.assign(maker, { series });
}

/** True if a value contains a promise. The recursion ends for JSON, because `JSON.stringify` has already refused a value with a cycle. */
function holdsPromise(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  let isAny = isPromise(value);
  for (const part of Object.values(value)) isAny = holdsPromise(part) || isAny;
  return isAny;
}

/**
 * Throws a `PipelineError` (HEADGATE_INVALID_RECORD) for a part of a record that is neither text nor bytes: a service's response may differ
 * from its type.
 */
export function assertField(topicName: string, part: string, field: unknown): void {
  if (typeof field === 'string' || field instanceof Uint8Array) return;
  // If the promise rejected without a handler, the process would end.
  if (field instanceof Promise) field.catch(() => undefined);
  const message =
    `${topicName}: a record's ${part} is ${String(field)}, neither text nor bytes. ` +
    'A key must be text, bytes or null. A value must be JSON, or its serializer must return text or bytes synchronously.';
  throw new PipelineError({ code: 'HEADGATE_INVALID_RECORD', message });
}

export interface LogRecordsOptions {
  readonly pipeline: string;
  /** The request's ID, which the records' IDs begin with. */
  readonly request: string;
  /** The end of the ID of a record without `id`. For the second such record of a topic, `/1` is added, then `/2`, and so on. */
  readonly defaultId: string;
  /** Offset of the root of its family, for the requests that it makes once. Default: they are made each time. */
  readonly root?: number;
  /** Headers in addition to the CloudEvents headers. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Adds CloudEvents headers (binary mode) to records, with IDs that are the same when the records are created again. */
export function logRecords(
  pending: readonly PendingRecord[],
  { pipeline, request, defaultId, root, headers }: LogRecordsOptions,
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
        ...eventHeaders({ pipeline, name, contentType, id: suffix === '' ? request : `${request}/${suffix}` }),
        ...headers,
        ...(once === true && root !== undefined && { [ONCE]: String(root) }),
        ...record.headers,
      },
    };
  });
}

/** Adds the number of records of each topic to `counts`, and returns it. */
export function countRecords(pending: readonly PendingRecord[], counts: Record<string, number> = {}): Readonly<Record<string, number>> {
  for (const { name, count } of pending) counts[name] = (counts[name] ?? 0) + count;
  return counts;
}

export interface EventHeadersOptions {
  readonly pipeline: string;
  /** The topic's name within the pipeline. */
  readonly name: string;
  readonly id: string;
  readonly time?: string;
  /** Default `application/json`. */
  readonly contentType?: string | undefined;
}

export function eventHeaders({ pipeline, name, id, time, contentType }: EventHeadersOptions): Record<string, string> {
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
