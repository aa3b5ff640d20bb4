import type { SeriesParts } from '../../topic-log.ts';

/** One record of a batch; its topic and partition are the batch's. */
export interface BatchRecord {
  /** null: a record without a key. */
  readonly key: string | Uint8Array | null;
  /** null: a tombstone. */
  readonly value: string | Uint8Array | null;
  readonly headers?: Readonly<Record<string, string | Uint8Array>>;
}

/** Records by index: an array, or an object that creates each record on demand. */
export interface BatchRecords {
  readonly length: number;
  at(index: number): BatchRecord | undefined;
  /** The values in parts, if the records differ only in the middle of their values. */
  readonly parts?: SeriesParts | undefined;
}

export function recordAt(records: BatchRecords, index: number): BatchRecord {
  const record = records.at(index);
  if (record === undefined) throw new TypeError(`Record ${index} is missing.`);
  return record;
}
