import type { MissingRight } from './missing-right-error.ts';

/** The port of a log of topics; its drivers are an embedded file and Kafka. */
export interface TopicLog extends AsyncDisposable {
  /**
   * Creates the topics that are missing; an existing one with fewer partitions grows; all or nothing. Throws `TopicMismatchError` for a
   * topic that can't become the specified one. With `validateOnly` (default false) it returns and throws the same, and changes nothing.
   */
  createTopics(topics: readonly NewTopicSpec[], options?: { readonly validateOnly?: boolean }): Promise<CreatedTopics>;
  /**
   * The existing topics, or those among `names`; sorted by name. `withOffsets: false` spares the requests for `offsets`, which may be empty
   * then; default true.
   */
  listTopics(names?: readonly string[], options?: { readonly withOffsets?: boolean }): Promise<readonly TopicInfo[]>;
  /**
   * Becomes the only writer of a lane, then reads the state its predecessors committed.
   * Throws `LaneHeldError` if the driver refuses a second holder while the first one lives, and `signal.reason` if that aborts before
   * the lane is taken.
   */
  openLane(lane: LaneSpec, signal?: AbortSignal): Promise<LaneWriter>;
  /**
   * Appends records outside of any lane, all or nothing, e.g. requests. Resolves to their positions, in order. Throws `TopicUnknownError`
   * and `InvalidRecordError`.
   */
  append(records: readonly NewRecord[]): Promise<readonly RecordPosition[]>;
  /**
   * Reads committed records in order per partition, as text. The read starts at this call, not at the first `next`. A key, value or header
   * that isn't UTF-8 ends the reader with an `InvalidRecordError` that names topic, partition, offset and fields.
   */
  read(options: ReadOptions): TopicReader;
  /** As `read`, with keys, values and headers as bytes, each a copy; text is UTF-8. */
  readBytes(options: ReadOptions): TopicReader<Uint8Array>;
  /**
   * The first open transaction in a partition: readers can't pass it. Undefined if there is none. Throws `signal.reason` when `signal`
   * aborts.
   */
  openTransaction(topicPartition: TopicPartition, signal?: AbortSignal): Promise<OpenTransaction | undefined>;
  /** The newest committed value per key of one partition of a compacted topic, without holding any lane. */
  readState(topic: string, partition: number): Promise<StateReading>;
  /**
   * Shares the partitions of topics among the members of a group: each partition is one member's at a time, as far as the group knows. Only
   * the lane keeps two processes from writing. Resolves at the first assignment.
   */
  joinGroup(options: JoinGroupOptions): Promise<GroupMember>;
  /** The offset that a group reads next in a partition; undefined if it has committed none. */
  groupOffset(topicPartition: TopicPartition & { readonly group: string }): Promise<number | undefined>;
  /**
   * The offset of the first record of a partition that was appended at this time or later, milliseconds since the epoch; undefined if
   * there is none. Absent if times ascend within a partition, so that a search by time finds it.
   */
  offsetSince?(topicPartition: TopicPartition, sinceMs: number): Promise<number | undefined>;
  /**
   * The rights that this log's user lacks for `use`; none if the log has no users. Changes nothing. `createTopics` reports missing rights
   * to create topics.
   */
  missingRights(use: RequiredAccess): Promise<readonly MissingRight[]>;
  /** Bytes of key, value and headers that a record of `topic` may have, with the setting that decides on it. */
  recordLimit(topic: string): Promise<RecordLimit>;
  /** Ends every reader, finishes the transactions already called, releases every lane and closes the log. Idempotent. */
  close(): Promise<void>;
}

/** The access to a log that a program needs, for `missingRights`. */
export interface RequiredAccess {
  /** Topics to look up, existing or not. `reads` and `writes` default to false. */
  readonly topics?: readonly { readonly name: string; readonly reads?: boolean; readonly writes?: boolean }[];
  /** Groups to join, or to read and commit the offsets of. */
  readonly groups?: readonly string[];
  /** Names of lanes to be opened. */
  readonly lanes?: readonly string[];
  /** Records are appended outside of lanes. Default false. */
  readonly appends?: boolean;
}

/** How large a record of a topic may be. */
export interface RecordLimit {
  /** Bytes of key, value and headers. */
  readonly bytes: number;
  /** The topic setting that decides it, if there is one. */
  readonly setting?: {
    readonly name: string;
    readonly value: number;
    /** The lowest value at which a record of this size fits. */
    readonly neededFor: (bytes: number) => number;
  };
}

/** The newest committed value per key of a state partition. */
export interface StateReading extends ReadonlyMap<string, string> {
  /** How long before the read the key's value was committed, ms on the log's own clock: a lower bound. 0 for a value written since. */
  ageMs(key: string): number;
}

/** An open transaction: records committed after its first record can't be read before it ends. */
export interface OpenTransaction {
  /** The offset of its first record. */
  readonly offset: number;
  /** When this record was appended, milliseconds since the epoch, on the log's or its writer's clock. */
  readonly sinceMs: number;
}

/** Options of `TopicLog.joinGroup`. */
export interface JoinGroupOptions {
  /** Name of the group. Members of the same name share the partitions. */
  readonly group: string;
  /** Topics whose partitions are shared, all in one assignment. */
  readonly topics: readonly string[];
  /** A text that all members have in common; a member with another is refused. */
  readonly agreement: string;
  /** Called with all partitions of this member, whenever these have changed. */
  readonly onAssigned: (partitions: readonly TopicPartition[]) => void;
  /**
   * Called when the group hasn't responded for so long that it may have assigned the partitions to others. Open lanes may continue: a new
   * holder fences the old one. Don't open lanes until `onAssigned` is called again.
   */
  readonly onUncertain: () => void;
  /** Called when the membership has ended for good. */
  readonly onFailed: (error: Error) => void;
}

/** This process's membership of a group. */
export interface GroupMember {
  /** Leaves the group: its partitions go to others at once. Idempotent. */
  leave(): Promise<void>;
}

/** One partition of a topic. */
export interface TopicPartition {
  /** Name of the topic, as the log knows it. */
  readonly topic: string;
  /** Counted from 0. */
  readonly partition: number;
}

/** Settings of a topic. */
export interface TopicSpec {
  /** On Kafka, at most 249 letters, digits, `.`, `_` and `-`. */
  readonly name: string;
  /** At least 1. */
  readonly partitions: number;
  /** Keep only the newest record per key. Default false. */
  readonly compacted?: boolean;
}

/** A topic that `TopicLog.createTopics` creates if it is missing. */
export interface NewTopicSpec extends TopicSpec {
  /** Bytes of key, value and headers: a topic that takes smaller records only is refused. Default 0. */
  readonly minRecordBytes?: number;
  /** As `minRecordBytes`, but a smaller limit only warns. Default 0. */
  readonly usualRecordBytes?: number;
  /**
   * Records are kept however old they are; an existing topic that deletes them causes a warning. Default false: as configured in the log.
   */
  readonly keepsRecords?: boolean;
}

/** The changes that `createTopics` made, or would make. */
export interface CreatedTopics {
  /** The topics that were missing. */
  readonly created: readonly string[];
  /** The topics that had fewer partitions. */
  readonly grown: readonly TopicGrowth[];
  /** Settings that work, but less well than the specified ones: a sentence each. */
  readonly warnings: readonly string[];
}

/** Partitions are added to a topic: keys may belong to others than before. */
export interface TopicGrowth {
  /** Name of the topic. */
  readonly topic: string;
  /** Partitions before. */
  readonly from: number;
  /** Partitions afterwards. */
  readonly to: number;
}

/** An existing topic. */
export interface TopicInfo extends TopicSpec {
  /** Per partition: the first offset kept, and the offset the next committed record will have. */
  readonly offsets: readonly { readonly earliest: number; readonly end: number }[];
  /** A topic that is deleted and created again has another one. Absent on the embedded log, and on brokers before Kafka 2.8. */
  readonly id?: string;
}

/** A record to be written. Text is stored as UTF-8; bytes must not change before the call that writes them resolves. */
export interface NewRecord {
  /** An existing topic, under the name that the log knows it by. */
  readonly topic: string;
  /** Chosen from the key when absent: the same key always goes to the same partition (murmur2, as Kafka's default partitioner does). */
  readonly partition?: number;
  /** null: none. A compacted topic accepts no record without a key. */
  readonly key: string | Uint8Array | null;
  /** null is a tombstone: on a compacted topic it removes the key. */
  readonly value: string | Uint8Array | null;
  /** Default: none. */
  readonly headers?: Readonly<Record<string, string | Uint8Array>>;
}

/**
 * Records that differ only in their values, each created when it is written, so that thousands of them need no memory. They go to one
 * partition, in order.
 */
export interface RecordSeries extends Omit<NewRecord, 'value'> {
  /** Number of records. */
  readonly count: number;
  /** Returns the value of the record at `index`, counted from 0; the same at every call. */
  readonly valueAt: (index: number) => string | Uint8Array;
  /** The same values, if all begin and end alike: a driver may encode the common text once. */
  readonly parts?: SeriesParts;
}

/** The values of a series, each of which is `before`, its own part, and `after`. */
export interface SeriesParts {
  /** Common beginning of all values. */
  readonly before: string;
  /** Returns the part that only the record at `index` has; the same at every call. */
  readonly partAt: (index: number) => string;
  /** Common end of all values. */
  readonly after: string;
}

/** The place of a record in the log. */
export interface RecordPosition extends TopicPartition {
  /** Counted from 0 in each partition. Readers may see gaps: transactions take offsets too. */
  readonly offset: number;
}

/** A record as read: with text, or with bytes. */
export interface TopicRecord<Field extends string | Uint8Array = string> extends RecordPosition {
  /** null if the record has none. */
  readonly key: Field | null;
  /** null for a tombstone. */
  readonly value: Field | null;
  /** Headers by name; empty if the record has none. */
  readonly headers: Readonly<Record<string, Field>>;
  /** When it was appended, milliseconds since the epoch, on the log's clock. */
  readonly timestampMs: number;
}

/** The lane that `TopicLog.openLane` takes. */
export interface LaneSpec {
  /** Unique per lane; the transactional ID if the driver has one. */
  readonly name: string;
  /** The compacted topic and partition that hold this lane's state; no other lane writes its keys. */
  readonly state: TopicPartition;
  /** The other partitions the lane writes: a driver ends there what a dead predecessor has left open. */
  readonly writes?: readonly TopicPartition[];
  /** The offsets of groups that the lane commits: likewise. */
  readonly commits?: readonly OffsetPlace[];
  /**
   * Throws `LaneHeldError` if the holder is, or may be, a living member of a group, even in a driver whose new holders fence the old one.
   * Default false.
   */
  readonly onlyIfFree?: boolean;
}

/** The one writer of a lane. Transactions run one after another in call order. */
export interface LaneWriter extends AsyncDisposable {
  /** The newest committed value per key of the lane's state, as read after the lane was taken, and kept up to date by its own commits. */
  readonly state: StateReading;
  /**
   * Runs `work` to collect the writes, then commits all or none; resolves after the commit is durable. `work` is synchronous: no
   * transaction stays open over a wait.
   * Throws `LaneLostError` when another holder has taken the lane: nothing was written, and nothing will be.
   */
  transaction(work: (tx: LaneTransaction) => void): Promise<void>;
  /** Releases the lane. Idempotent. */
  close(): Promise<void>;
}

/** Collects what one transaction writes. Later calls than from within `work` throw a {@link TopicLogError} (HEADGATE_TOPIC_LOG_CLOSED). */
export interface LaneTransaction {
  /** A record of the lane's own state must have a key and a value of text. */
  append(records: readonly (NewRecord | RecordSeries)[]): void;
  /** Sets one key of the lane's state; null removes it. */
  checkpoint(key: string, state: string | null): void;
  /** Moves a group's offset in the same transaction: it counts only if the records are written. */
  commitOffset(commit: OffsetCommit): void;
}

/** The offset of a group in a partition. */
export interface OffsetPlace extends TopicPartition {
  /** Name of the group. */
  readonly group: string;
}

/** How far a group has come in a partition. */
export interface OffsetCommit extends OffsetPlace {
  /** The offset that the group reads next: after the last processed record. */
  readonly nextOffset: number;
}

/** Options of `TopicLog.read` and `TopicLog.readBytes`. */
export interface ReadOptions {
  /** An existing topic, under the name that the log knows it by. */
  readonly topic: string;
  /** Default: every partition; a reader that follows takes those that are added later too, some seconds later and from their start. */
  readonly partitions?: readonly number[];
  /** Start at this group's committed offsets; without any, at `from`. */
  readonly group?: string;
  /** Start of every partition. Default 'earliest'. */
  readonly from?: 'earliest' | 'latest' | number | undefined;
  /** Waits for further records after the end. Default false: the reader ends at the end as of the start of the reading. */
  readonly follow?: boolean;
  /** Ends the reader as if it had come to its end; records it has handed over stay valid. */
  readonly signal?: AbortSignal | undefined;
}

/** Ends when the end is reached, `signal` aborts or `close` is called; backpressure is the consumer's pace. */
export interface TopicReader<Field extends string | Uint8Array = string> extends AsyncIterable<TopicRecord<Field>>, AsyncDisposable {
  /**
   * Commits `record` and all earlier records of its partition for the reader's group. It never reverts a later commit of this reader, even
   * if several are in flight. Throws without a group, and throws a `TopicLogError` (HEADGATE_GROUP_IN_USE) if the driver accepts offsets of
   * a joined group only from its members.
   */
  commit(record: RecordPosition): Promise<void>;
  /** Ends the reader. A `next` that waits is answered as at the end. Idempotent. */
  close(): Promise<void>;
}
