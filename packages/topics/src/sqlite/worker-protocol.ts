import type { SeriesValues } from './series-values.ts';

export interface WorkerOptions {
  readonly file: string;
  readonly busyTimeoutMs: number;
  readonly tombstoneRetentionMs: number;
  /** 0 for no limit except the disk. */
  readonly maxFileBytes: number;
  /** True to neither create nor change the file. Default false. */
  readonly readOnly?: boolean;
}

/** Keys, values and times as lists, which are cheap to pass between threads. */
export interface StateEntries {
  readonly keys: readonly string[];
  readonly values: readonly string[];
  readonly timestampsMs: readonly number[];
}

export interface LaneHold {
  readonly name: string;
  readonly epoch: number;
}

/**
 * Records to write, in order, as lists, which are far cheaper to pass between threads than objects. An entry whose value is `SeriesValues`
 * represents `count` records.
 */
export interface NewEntries {
  readonly topics: string[];
  /** Null if the record's key selects the partition. */
  readonly partitions: (number | null)[];
  readonly keys: (string | Uint8Array | null)[];
  readonly values: (string | Uint8Array | SeriesValues | null)[];
  /** JSON, or null for none; created by `headersJson`. */
  readonly headers: (string | null)[];
}

/** What a reader reads. */
export interface ReadScope {
  readonly topic: string;
  /** Undefined: all partitions. */
  readonly partitions: readonly number[] | undefined;
  /** Undefined: the reader starts at no committed offsets. */
  readonly group: string | undefined;
}

/** The place of a reader in a partition. */
export interface Cursor {
  readonly partition: number;
  /** The offset that it reads next. */
  readonly next: number;
  /** The offset at which it ends, unless it follows. */
  readonly end: number;
}

/** Records of one partition, in order, as lists. An entry whose value is `SeriesValues` represents `count` records. */
export interface RecordChunk {
  readonly partition: number;
  /** Offset of the first record to return, possibly within the first entry. */
  readonly from: number;
  /** Offset from which the next chunk is read. */
  next: number;
  /** For each entry, the offset of its first record. */
  readonly offsets: number[];
  readonly timestampsMs: number[];
  readonly keys: (string | Uint8Array | null)[];
  readonly values: (string | Uint8Array | SeriesValues | null)[];
  readonly headers: (string | null)[];
}
