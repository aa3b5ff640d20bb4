import type { NewRecord, ReadOptions, TopicLog, TopicRecord } from '../topic-log.ts';

/**
 * Opens the same storage at each call. A check can have several logs open at once, and closes each of them. Checks give their topics unique
 * names, so they can share storage.
 */
export type OpenTopicLog = () => Promise<TopicLog>;

/** One guarantee of `TopicLog`. `run` rejects if a driver breaks it: with an `AssertionError` that says how, or with the driver's error. */
export interface DriverCheck {
  /** The guarantee as a sentence, for the test's title. */
  readonly name: string;
  /** Opens the log, checks it and closes it. */
  run(open: OpenTopicLog): Promise<void>;
}

/** Returns a name that no other run on the same storage uses. */
export function uniqueName(label: string): string {
  return `${label}-${crypto.randomUUID()}`;
}

export async function collect(log: TopicLog, options: ReadOptions, max: number = Number.POSITIVE_INFINITY): Promise<TopicRecord[]> {
  const records: TopicRecord[] = [];
  await using reader = log.read(options);
  for await (const record of reader) {
    records.push(record);
    if (records.length >= max) break;
  }
  return records;
}

export function values<Value>(records: readonly { readonly value: Value }[]): Value[] {
  return records.map((record) => record.value);
}

/** Returns records with the values `<label>0`, `<label>1`, … in one partition. */
export function numbered(topic: string, count: number, label = '', partition = 0): NewRecord[] {
  return Array.from({ length: count }, (_, index) => ({ topic, partition, key: 'k', value: `${label}${index}` }));
}
