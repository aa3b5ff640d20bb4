import { kindOf, scalarOf } from './json-value.ts';
import { type Fields, valuesOf } from './request.ts';
import type { Stream } from './streams.ts';
import { timeFlaw, timeOf } from './time.ts';

/** The record with the members of `add`. If the record isn't an object, it becomes the member `value` of a new one. */
export function withFields({ add }: Pick<Stream, 'add'>, record: unknown, fields: Fields): unknown {
  if (add === undefined) return record;
  const valueOf = valuesOf(fields, {});
  const added = Object.fromEntries(Object.entries(add).map(([name, template]) => [name, template.value(valueOf)]));
  const isObject = typeof record === 'object' && record !== null && !Array.isArray(record) && scalarOf(record) === undefined;
  return { ...(isObject ? record : { value: record }), ...added };
}

/** A record's key: the value at its path, or a JSON list of the values at several paths. Undefined if a value is missing. */
export function keyOf({ keys }: Pick<Stream, 'keys'>, record: unknown): string | undefined {
  const parts = keys.map((path) => scalarOf(path.first(record)));
  if (!parts.every(isKeyPart)) return undefined;
  return parts.length > 1 ? JSON.stringify(parts.map(String)) : parts[0]?.toString();
}

function isKeyPart(value: unknown): value is string | number {
  return typeof value === 'number' || (typeof value === 'string' && value !== '');
}

/** The reason why a record can't be written; undefined if it can. The reason contains no value of the record. */
export function flawOf(stream: Stream, record: unknown, fields: Fields): string | undefined {
  const { keys, since, schema } = stream;
  const whole = withFields(stream, record, fields);
  const lacking = keys.find((path) => !isKeyPart(scalarOf(path.first(whole))));
  if (lacking !== undefined) return `key: ${lacking.text} is ${kindOf(lacking.first(whole))}, and must be text or a number`;
  const time = since?.from.first(record);
  if (since !== undefined && timeOf(scalarOf(time), since.zone) === undefined) return `since.from: ${since.from.text} ${timeFlaw(time)}`;
  // A JSON Schema describes what the service sends, and the other languages what is written.
  const flaw = schema?.flaw(schema.format === 'json-schema' ? record : whole);
  return flaw === undefined ? undefined : `schema: ${flaw}`;
}
