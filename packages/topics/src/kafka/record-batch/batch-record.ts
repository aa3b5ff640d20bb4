/** One record of a batch; its topic and partition are the batch's. */
export interface BatchRecord {
  /** null: a record without a key. */
  readonly key: string | Uint8Array | null;
  /** null: a tombstone. */
  readonly value: string | Uint8Array | null;
  readonly headers?: Readonly<Record<string, string | Uint8Array>>;
}

/** Records by index: an array, or an object that makes each on demand. */
export interface BatchRecords {
  readonly length: number;
  at(index: number): BatchRecord | undefined;
}

/** Throws a `TypeError` where there is none. */
export function recordAt(records: BatchRecords, index: number): BatchRecord {
  const record = records.at(index);
  if (record === undefined) throw new TypeError(`Record ${index} is missing.`);
  return record;
}

/** `count` of the records, from the one at `from`; not a copy. */
export function part(records: BatchRecords, from: number, count: number): BatchRecords {
  return { length: count, at: (index) => records.at(from + index) };
}

/** Options that all records of a batch share. */
export interface BatchOptions {
  /** The partition every record goes to. */
  readonly partition: number;
  /** The time every record carries, whole milliseconds since the epoch. */
  readonly timestampMs: number;
}
