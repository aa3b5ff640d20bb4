import { InvalidRecordError } from './topic-errors.ts';
import type { NewRecord, RecordSeries } from './topic-log.ts';

/** Throws an `InvalidRecordError` for a record to be written with a field that isn't text. The values of a series are judged one by one, by `textValue`. */
export function assertText(record: NewRecord | RecordSeries): void {
  const { topic, key, headers = {} } = record;
  if (key !== null) assertString(topic, 'key', key);
  if ('value' in record && record.value !== null) assertString(topic, 'value', record.value);
  for (const [name, text] of Object.entries(headers)) assertString(topic, headerField(name), text);
}

/** A value of a series; throws as `assertText` does. */
export function textValue(topic: string, value: string): string {
  if (typeof value !== 'string') assertString(topic, 'value', value);
  return value;
}

/** How errors name a header: its name is anybody's choice, of any length. */
export function headerField(name: string): string {
  return `header ${JSON.stringify(name.length > 60 ? `${name.slice(0, 60)}…` : name)}`;
}

/** Callers in JavaScript give anything. */
function assertString(topic: string, field: string, value: unknown): void {
  if (typeof value === 'string') return;
  const what = value instanceof Object ? `a ${value.constructor.name}` : String(value);
  throw new InvalidRecordError({
    topic,
    fields: [field],
    reason: `has a ${field} that is ${what}, not a string. A log takes text only: write bytes as base64, and anything else as JSON.`,
  });
}
