import { cloudEventHeaders } from '@headgate/operators';
import { type NewRecord, type RecordSeries, partitionForKey } from '@headgate/topics';
import type { z } from 'zod';
import { PipelineError } from './pipeline-error.ts';

/** Turns a value into the text of a record's value. */
export type Serialize<Value> = (value: Value) => string;

export interface TopicDefinition<Value> {
  /** The schema of a record's value: checked in tests and with `validate`, published as JSON Schema. */
  readonly value: z.ZodType<Value>;
  /**
   * How a value becomes a record's value. Default: JSON. The form with `open` is asked once per lane, before the first record: a schema
   * registry, say, is asked there and never per record.
   */
  readonly serialize?: Serialize<Value> | { open(context: SerializeContext): Serialize<Value> | Promise<Serialize<Value>> };
  /** Partitions of its own, chosen by key. Default: one per lane, which is written by that lane alone. */
  readonly partitions?: number;
  /** Keep only the newest record per key. Default false. */
  readonly compacted?: boolean;
}

export interface SerializeContext {
  /** The topic's name on the log. */
  readonly topic: string;
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

// oxlint-disable-next-line typescript/no-explicit-any -- the values of a map of topics differ from topic to topic.
export type TopicMap = Readonly<Record<string, TopicDefinition<any>>>;

export type ValueOf<Definition> = Definition extends TopicDefinition<infer Value> ? Value : never;

/** Makes the records of each topic. */
export type RecordMakers<Topics extends TopicMap> = { readonly [Name in keyof Topics]: RecordMaker<ValueOf<Topics[Name]>> };

export interface RecordMaker<Value> {
  (record: RecordContent & { readonly value: Value }): PendingRecord;
  /** A record whose value is serialized already. */
  serialized(record: RecordContent & { readonly text: string }): PendingRecord;
  /** Thousands of records with one key that are made as they are written. They carry no CloudEvents headers. */
  series(series: { readonly key: string | null; readonly count: number; readonly textAt: (index: number) => string }): PendingRecord;
}

export interface RecordContent {
  readonly key: string | null;
  /** Unique within its request, and the same when the record is made again. Default: the page's number or the key that was looked up. */
  readonly id?: string;
  /** What it counts as in events and displays. Default: its topic. */
  readonly kind?: string;
  /** Beside those of a CloudEvent. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A record of a pipeline before it has its CloudEvents id. */
export interface PendingRecord {
  /** Within the pipeline: `records`. */
  readonly name: string;
  readonly record: NewRecord | RecordSeries;
  readonly id: string | undefined;
  readonly kind: string;
  readonly count: number;
}

export interface RecordMakersOptions {
  readonly pipeline: string;
  readonly topics: TopicMap;
  readonly names: TopicNames;
  /** The lane's partition. */
  readonly partition: number;
  /** Check each value against its topic's schema. */
  readonly validate: boolean;
  readonly signal: AbortSignal;
}

/** A topic's name on the log, by its name within Headgate: `issues.records`. */
export type TopicNames = (name: string) => string;

export async function recordMakers(options: RecordMakersOptions): Promise<RecordMakers<TopicMap>> {
  const makers = Object.entries(options.topics).map(async ([name, definition]) => [name, await recordMaker(options, name, definition)]);
  return Object.fromEntries(await Promise.all(makers)) as RecordMakers<TopicMap>;
}

async function recordMaker(
  { pipeline, names, partition: lane, validate, signal }: RecordMakersOptions,
  name: string,
  definition: TopicDefinition<unknown>,
): Promise<RecordMaker<unknown>> {
  const topicName = names(`${pipeline}.${name}`);
  const { serialize = JSON.stringify, partitions, value: schema } = definition;
  const toText = typeof serialize === 'function' ? serialize : await serialize.open({ topic: topicName, signal });
  /** A serializer of the topic's own may write anything. */
  const isJson = definition.serialize === undefined;
  const partitionOf = (key: string | null): number => (partitions === undefined ? lane : partitionForKey(key ?? '', partitions));
  const check = (value: unknown): void => {
    const result = schema.safeParse(value);
    if (result.success) return;
    const problems = result.error.issues.map(({ path, message }) => `${path.join('.') || 'the value'}: ${message}`).join('; ');
    const message = `${topicName}: a record does not fit the schema of its topic: ${problems}`;
    throw new PipelineError({ code: 'HEADGATE_INVALID_RECORD', message, pipeline });
  };
  const pending = (content: RecordContent, text: string): PendingRecord => {
    const { key, id, kind = name, headers } = content;
    if (key !== null) assertText(topicName, 'key', key);
    assertText(topicName, 'value', text);
    for (const header of Object.values(headers ?? {})) assertText(topicName, 'header', header);
    const record = { topic: topicName, partition: partitionOf(key), key, value: text, ...(headers !== undefined && { headers }) };
    return { name, record, id, kind, count: 1 };
  };
  const maker = (content: RecordContent & { readonly value: unknown }): PendingRecord => {
    if (validate) check(content.value);
    return pending(content, toText(content.value));
  };
  return Object.assign(maker, {
    serialized(content: RecordContent & { readonly text: string }): PendingRecord {
      if (validate && isJson) check(JSON.parse(content.text));
      return pending(content, content.text);
    },
    series({ key, count, textAt }: { key: string | null; count: number; textAt: (index: number) => string }): PendingRecord {
      if (validate && isJson) for (let i = 0; i < count; i += 1) check(JSON.parse(textAt(i)));
      return {
        name,
        record: { topic: topicName, partition: partitionOf(key), key, count, valueAt: textAt },
        id: undefined,
        kind: name,
        count,
      };
    },
  });
}

/** Throws a `PipelineError` (HEADGATE_INVALID_RECORD) for a part of a record that is no text: a service's answer need not be what its type says. */
export function assertText(topicName: string, part: string, text: unknown): void {
  if (typeof text === 'string') return;
  const message = `${topicName}: a record's ${part} is ${String(text)}, not text. Give each record a key that is text or null, and a value that JSON can hold.`;
  throw new PipelineError({ code: 'HEADGATE_INVALID_RECORD', message });
}

export interface LogRecordsOptions {
  readonly pipeline: string;
  /** The request's id, which the records' ids begin with. */
  readonly request: string;
  /** The rest of a record's id where it has none of its own; a second record of a topic adds `/1`, and so on. */
  readonly defaultId: string;
}

/** Gives records their CloudEvents headers (binary mode), with ids that are the same when the records are made again. */
export function logRecords(
  pending: readonly PendingRecord[],
  { pipeline, request, defaultId }: LogRecordsOptions,
): readonly (NewRecord | RecordSeries)[] {
  const counts = new Map<string, number>();
  return pending.map(({ name, record, id }) => {
    if ('valueAt' in record) return record;
    const nth = counts.get(name) ?? 0;
    if (id === undefined) counts.set(name, nth + 1);
    const suffix = id ?? (nth === 0 ? defaultId : `${defaultId}/${nth}`);
    return {
      ...record,
      headers: { ...eventHeaders({ pipeline, name, id: suffix === '' ? request : `${request}/${suffix}` }), ...record.headers },
    };
  });
}

export interface EventHeadersOptions {
  readonly pipeline: string;
  /** Of the topic, within the pipeline. */
  readonly name: string;
  readonly id: string;
  readonly time?: string;
}

export function eventHeaders({ pipeline, name, id, time }: EventHeadersOptions): Record<string, string> {
  return { ...cloudEventHeaders({ source: `/${pipeline}`, type: `headgate.${pipeline}.${name}`, id, time }) };
}
