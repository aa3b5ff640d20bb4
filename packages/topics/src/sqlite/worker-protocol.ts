import type { CreatedTopics, LaneSpec, OffsetCommit, ReadOptions, TopicInfo, TopicPartition, TopicSpec } from '../topic-log.ts';
import type { InvalidRecordDetails } from '../topic-errors.ts';
import type { SeriesValues } from './series-values.ts';

export interface WorkerOptions {
  readonly file: string;
  readonly busyTimeoutMs: number;
  readonly pollMs: number;
  readonly tombstoneRetentionMs: number;
  /** 0 for no limit except the disk. */
  readonly maxFileBytes: number;
  /** True to neither create nor migrate the file. Default false. */
  readonly readOnly?: boolean;
}

/** The calls that the worker answers. It answers in order, except that `next-chunk` of a following reader can wait. */
export interface WorkerCalls {
  open: { args: null; result: null };
  'create-topics': {
    args: { readonly topics: readonly TopicSpec[]; readonly validateOnly: boolean };
    result: Omit<CreatedTopics, 'warnings'>;
  };
  'list-topics': { args: readonly string[] | null; result: readonly TopicInfo[] };
  'open-lane': {
    args: { readonly lane: LaneSpec; readonly nowMs: number };
    result: { readonly epoch: number; readonly state: StateEntries };
  };
  'close-lane': { args: LaneHold; result: null };
  write: { args: WriteArgs; result: Float64Array | null };
  'read-state': { args: { readonly topic: string; readonly partition: number }; result: StateEntries };
  'open-reader': { args: ReaderArgs; result: null };
  'next-chunk': { args: { readonly reader: number }; result: RecordChunk | null };
  'close-reader': { args: { readonly reader: number }; result: null };
  'commit-read': { args: OffsetCommit; result: null };
  'group-offset': { args: TopicPartition & { readonly group: string }; result: number | null };
  'offset-since': { args: TopicPartition & { readonly sinceMs: number }; result: number | null };
  /** Returns whether there may be more to delete. */
  'delete-old': { args: DeleteOldArgs; result: boolean };
  backup: { args: { readonly to: string }; result: null };
  close: { args: null; result: null };
}

export type CallKind = keyof WorkerCalls;

export type WorkerRequest<K extends CallKind = CallKind> = {
  [P in K]: { readonly id: number; readonly kind: P; readonly args: WorkerCalls[P]['args'] };
}[K];

/** The response to the call with this ID. `result` has the type `never`, so that it fits the callback of every call. */
export type WorkerReply =
  | { readonly id: number; readonly ok: true; readonly result: never }
  | { readonly id: number; readonly ok: false; readonly failure: Failure };

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

/** Records of one topic, in order, as lists. An entry whose value is `SeriesValues` represents `count` records. */
export interface AppendBatch {
  readonly topic: string;
  /** Null if the record's key selects the partition. */
  readonly partitions: (number | null)[];
  readonly keys: (string | Uint8Array | null)[];
  readonly values: (string | Uint8Array | SeriesValues | null)[];
  /** JSON, or null for none; created by `headersJson`. */
  readonly headers: (string | null)[];
}

export interface WriteArgs {
  /** Null for a write outside of any lane. */
  readonly lane: LaneHold | null;
  readonly batches: readonly AppendBatch[];
  readonly offsets: readonly OffsetCommit[];
  readonly nowMs: number;
  /** True: `write` returns two numbers for each entry, its partition and its first offset, batch by batch. False: it returns null. */
  readonly positions: boolean;
}

export interface ReaderArgs {
  readonly reader: number;
  readonly topic: string;
  readonly partitions: readonly number[] | null;
  readonly group: string | null;
  readonly from: NonNullable<ReadOptions['from']>;
  readonly follow: boolean;
}

export interface DeleteOldArgs {
  readonly topic: string;
  /** Records written before this time are old, milliseconds since the epoch. */
  readonly beforeMs: number;
  /** True to delete only records before the lowest offset that any group has committed. */
  readonly untilCommitted: boolean;
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

/** Why a call was refused, in a form that crosses threads; `detail` is the message of SQLite or the system. */
export type Failure =
  | { readonly kind: 'lane-held'; readonly lane: string; readonly pid: number | null; readonly sinceMs: number | null }
  | { readonly kind: 'lane-lost'; readonly lane: string }
  | { readonly kind: 'topic-mismatch'; readonly topic: string; readonly reason: string; readonly partitions?: number }
  | { readonly kind: 'topic-unknown'; readonly topic: string; readonly partition: number | null; readonly partitions: number | null }
  | ({ readonly kind: 'invalid-record' } & InvalidRecordDetails)
  | { readonly kind: 'range'; readonly reason: string }
  | { readonly kind: 'version'; readonly file: string; readonly version: number; readonly known: number }
  | { readonly kind: 'open'; readonly file: string; readonly reason: string; readonly detail: string }
  | { readonly kind: 'full'; readonly file: string; readonly detail: string }
  | { readonly kind: 'corrupt'; readonly file: string; readonly detail: string }
  /** `path`: the file, such as the `-wal`, that is missing or was replaced. */
  | { readonly kind: 'gone'; readonly file: string; readonly path: string; readonly replaced: boolean }
  | { readonly kind: 'busy'; readonly file: string; readonly busyTimeoutMs: number; readonly detail: string }
  | { readonly kind: 'closed'; readonly what: string }
  | { readonly kind: 'failed'; readonly file: string; readonly detail: string };

/** A `Failure` as an exception within the worker. The worker sends only the failure to the other thread, not this error. */
export class WorkerFailure extends Error {
  override readonly name = 'WorkerFailure';
  readonly failure: Failure;

  constructor(failure: Failure, options?: ErrorOptions) {
    super(failure.kind, options);
    this.failure = failure;
  }
}
