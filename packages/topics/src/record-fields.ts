import { isUtf8 } from 'node:buffer';
import { type InvalidRecordDetails, InvalidRecordError } from './topic-errors.ts';
import type { NewRecord, RecordPosition, RecordSeries, TopicRecord } from './topic-log.ts';

/** Throws an `InvalidRecordError` if a field of a new record is neither text nor bytes. `fieldValue` checks the values of a series. */
export function assertFields(record: NewRecord | RecordSeries): void {
  const { topic, key, headers, partition = 0 } = record;
  if (typeof partition !== 'number')
    throw new RangeError(`a record of "${topic}": partition must be a number, got a value of type ${typeof partition}`);
  if (key !== null) assertField(topic, 'key', key);
  if (!('valueAt' in record) && record.value !== null) assertField(topic, 'value', record.value);
  if (headers === undefined) return;
  for (const [name, value] of Object.entries(headers)) assertField(topic, headerField(name), value);
}

/** Returns a value of a series, after the same check as in `assertFields`. */
export function fieldValue(topic: string, value: string | Uint8Array): string | Uint8Array {
  if (typeof value !== 'string') assertField(topic, 'value', value);
  return value;
}

/** Checks the type at run time, because callers in JavaScript can pass anything. */
function assertField(topic: string, field: string, value: unknown): void {
  if (typeof value === 'string' || value instanceof Uint8Array) return;
  const what = value instanceof Object ? `a ${value.constructor.name}` : String(value);
  throw new InvalidRecordError({
    topic,
    fields: [field],
    reason: `has a ${field} that is ${what}. Write text or bytes (a Uint8Array); write anything else as JSON.`,
  });
}

/** Decodes UTF-8; undefined if the bytes aren't valid UTF-8. */
export function textOf(bytes: Uint8Array): string | undefined {
  return isUtf8(bytes) ? asBuffer(bytes).toString() : undefined;
}

/** Returns a `Buffer` on the same memory. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Returns a record as text. Throws an `InvalidRecordError` that names topic, partition, offset and fields if a field isn't valid UTF-8. */
export function textRecord(record: TopicRecord<string | Uint8Array>): TopicRecord {
  let wrong: Map<string, Uint8Array> | undefined;
  const text = (field: string, value: string | Uint8Array): string => {
    const found = typeof value === 'string' ? value : textOf(value);
    if (found === undefined && typeof value !== 'string') (wrong ??= new Map()).set(field, value);
    return found ?? '';
  };
  const { topic, partition, offset, key, value, headers, timestampMs } = record;
  const found = {
    topic,
    partition,
    offset,
    key: key === null ? null : text('key', key),
    value: value === null ? null : text('value', value),
    headers: isTextHeaders(headers) ? headers : mapHeaders(headers, (header, name) => text(headerField(name), header)),
    timestampMs,
  };
  if (wrong !== undefined) throw new InvalidRecordError(noText(record, wrong));
  return found;
}

/** Returns a record with its fields as bytes, each a copy. */
export function bytesRecord(record: TopicRecord<string | Uint8Array>): TopicRecord<Uint8Array> {
  const { key, value, headers } = record;
  const bytes = (field: string | Uint8Array): Uint8Array =>
    typeof field === 'string' ? new TextEncoder().encode(field) : new Uint8Array(field);
  return {
    ...record,
    key: key === null ? null : bytes(key),
    value: value === null ? null : bytes(value),
    headers: mapHeaders(headers, bytes),
  };
}

const NO_HEADERS: Readonly<Record<string, never>> = Object.freeze({});

export function isTextHeaders<Other>(headers: Readonly<Record<string, string | Other>>): headers is Readonly<Record<string, string>> {
  return Object.values(headers).every((value) => typeof value === 'string');
}

export function mapHeaders<From, To>(
  headers: Readonly<Record<string, From>>,
  change: (value: From, name: string) => To,
): Readonly<Record<string, To>> {
  const entries = Object.entries(headers);
  return entries.length === 0 ? NO_HEADERS : Object.fromEntries(entries.map(([name, value]) => [name, change(value, name)]));
}

/** Maximum number of bytes of a field that an error shows. */
const SHOWN_BYTES = 8;
const SHOWN_FIELDS = 3;

/** Returns the details of the error for fields that aren't text. `wrong`: the fields' bytes by name. */
export function noText({ topic, partition, offset }: RecordPosition, wrong: ReadonlyMap<string, Uint8Array>): InvalidRecordDetails {
  const shown = [...wrong].slice(0, SHOWN_FIELDS).map(([field, bytes]) => `its ${field} (${bytes.length} bytes: ${beginning(bytes)})`);
  const more = wrong.size > SHOWN_FIELDS ? ` and ${wrong.size - SHOWN_FIELDS} more of its headers` : '';
  const reason = `contains bytes that aren't UTF-8 text in ${shown.join(', ')}${more}. Write text, or read the topic as bytes.`;
  return { topic, position: { partition, offset }, fields: [...wrong.keys()], reason };
}

function beginning(bytes: Uint8Array): string {
  const shown = Array.from(bytes.subarray(0, SHOWN_BYTES), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
  return bytes.length > SHOWN_BYTES ? `${shown} …` : shown;
}

/** Names a header in errors. A long name is cut off, because other clients can write names of any length. */
function headerField(name: string): string {
  return `header ${JSON.stringify(name.length > 60 ? `${name.slice(0, 60)}…` : name)}`;
}
