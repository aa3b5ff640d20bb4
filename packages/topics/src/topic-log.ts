import type { MissingRight } from './missing-right-error.ts';

/** The port behind which a log of topics stands: an embedded file or Kafka. */
export interface TopicLog extends AsyncDisposable {
  /**
   * Creates the topics that are missing; an existing one with fewer partitions grows; all or nothing. Throws `TopicMismatchError` where that
   * can't be. With `validateOnly` (default false) it says and throws the same, and changes nothing.
   */
  createTopics(topics: readonly NewTopicSpec[], options?: { readonly validateOnly?: boolean }): Promise<CreatedTopics>;
  /** The topics there are, or those of `names` that are there; sorted by name. */
  listTopics(names?: readonly string[]): Promise<readonly TopicInfo[]>;
  /**
   * Becomes the only writer of a lane, then reads the state its predecessors committed.
   * Throws `LaneHeldError` where the driver refuses a newcomer while the older holder lives, and `signal.reason` where that aborts before
   * the lane is taken.
   */
  openLane(lane: LaneSpec, signal?: AbortSignal): Promise<LaneWriter>;
  /** Appends records outside of any lane, all or nothing: requests that anyone may make. Returns where they went, in order. Throws `TopicUnknownError` and `InvalidRecordError`. */
  append(records: readonly NewRecord[]): Promise<readonly RecordPosition[]>;
  /**
   * Reads committed records in order per partition, as text. The reading begins now, not with the first record asked for. A key, value or
   * header that is no UTF-8 text ends the reader with an `InvalidRecordError` that names topic, partition, offset and fields.
   */
  read(options: ReadOptions): TopicReader;
  /** As `read`, with keys, values and headers as the bytes they are; text as UTF-8. Each is a copy of its own. */
  readBytes(options: ReadOptions): TopicReader<Uint8Array>;
  /**
   * The first transaction that has written to a partition and hasn't ended: readers can't pass it. Undefined where there is none. Throws
   * `signal.reason` where that aborts.
   */
  openTransaction(topicPartition: TopicPartition, signal?: AbortSignal): Promise<OpenTransaction | undefined>;
  /** The newest committed value per key of one partition of a compacted topic, without holding any lane. */
  readState(topic: string, partition: number): Promise<StateReading>;
  /**
   * Shares the partitions of topics among all who join the same group: each partition is one member's at a time, as far as the group knows.
   * What keeps two from writing is the lane, not this. Resolves when the first assignment is there.
   */
  joinGroup(options: JoinGroupOptions): Promise<GroupMember>;
  /** The offset a group reads next in a partition; undefined where it has committed none. */
  groupOffset(topicPartition: TopicPartition & { readonly group: string }): Promise<number | undefined>;
  /**
   * The rights that this log's user lacks for what it intends; none where the log knows no users. Changes nothing. Those to make topics are
   * told by `createTopics`.
   */
  missingRights(use: IntendedUse): Promise<readonly MissingRight[]>;
  /** Bytes of key, value and headers that a record of `topic` may have. */
  maxRecordBytes(topic: string): Promise<number>;
  /** As `maxRecordBytes`, with what decides on it. */
  recordRoom(topic: string): Promise<RecordRoom>;
  /** Ends every reader, finishes the transactions asked for, releases every lane and closes the log. Idempotent. */
  close(): Promise<void>;
}

/** What is to be done with a log. */
export interface IntendedUse {
  /** Whether they are there or not; all are looked up. `reads` and `writes` default to false. */
  readonly topics?: readonly { readonly name: string; readonly reads?: boolean; readonly writes?: boolean }[];
  /** To be joined, or to have their offsets read and committed. */
  readonly groups?: readonly string[];
  /** Names of lanes to be opened. */
  readonly lanes?: readonly string[];
  /** Records are appended outside of lanes. Default false. */
  readonly appends?: boolean;
}

/** How large a record of a topic may be. */
export interface RecordRoom {
  /** Of key, value and headers. */
  readonly bytes: number;
  /** The setting of the topic that decides on it, where there is one. */
  readonly setting?: {
    readonly name: string;
    readonly value: number;
    /** The least value with which a record of so many bytes fits. */
    readonly neededFor: (bytes: number) => number;
  };
}

/** The newest committed value per key of a state partition. */
export interface StateReading extends ReadonlyMap<string, string> {
  /** How long before the reading the key's value was committed, ms on the log's own clock; never more than that. 0 for what was written since. */
  ageMs(key: string): number;
}

/** An open transaction: what has been committed behind its first record can't be read before it ends. */
export interface OpenTransaction {
  /** Of its first record. */
  readonly offset: number;
  /** When that was appended, milliseconds since the epoch, on the log's or its writer's clock. */
  readonly sinceMs: number;
}

export interface JoinGroupOptions {
  readonly group: string;
  readonly topics: readonly string[];
  /** What all members have to agree on; one with another is refused. */
  readonly agreement: string;
  /** Called with all partitions that are this member's, whenever that has changed. */
  readonly onAssigned: (partitions: readonly TopicPartition[]) => void;
  /**
   * The group hasn't answered for so long that it may have given the partitions to others. Lanes that are held may go on: who takes one away
   * fences its holder. None is to be taken until `onAssigned` is called again.
   */
  readonly onUncertain: () => void;
  /** The membership has ended and won't come back. */
  readonly onFailed: (error: Error) => void;
}

export interface GroupMember {
  /** Leaves the group: its partitions go to others at once. Idempotent. */
  leave(): Promise<void>;
}

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

export interface TopicSpec {
  readonly name: string;
  /** At least 1. */
  readonly partitions: number;
  /** Keep only the newest record per key. Default false. */
  readonly compacted?: boolean;
}

export interface NewTopicSpec extends TopicSpec {
  /** Bytes of key, value and headers: a topic that takes smaller records only is refused. Default 0. */
  readonly minRecordBytes?: number;
  /** As `minRecordBytes`, but warned about only. Default 0. */
  readonly usualRecordBytes?: number;
}

/** What `createTopics` has done, or would do. */
export interface CreatedTopics {
  /** The topics that were missing. */
  readonly created: readonly string[];
  /** The topics that had fewer partitions. */
  readonly grown: readonly TopicGrowth[];
  /** What works, but less well than was asked for: a sentence each. */
  readonly warnings: readonly string[];
}

/** Partitions are added to a topic: keys may belong to others than before. */
export interface TopicGrowth {
  readonly topic: string;
  readonly from: number;
  readonly to: number;
}

export interface TopicInfo extends TopicSpec {
  /** Per partition: the first offset kept, and the offset the next committed record will have. */
  readonly offsets: readonly { readonly earliest: number; readonly end: number }[];
}

/** A record to be written. Text is stored as UTF-8; bytes must not change before the call that writes them resolves. */
export interface NewRecord {
  readonly topic: string;
  /** Chosen from the key when absent: the same key always goes to the same partition (murmur2, as Kafka's default partitioner does). */
  readonly partition?: number;
  readonly key: string | Uint8Array | null;
  /** null is a tombstone: on a compacted topic it removes the key. */
  readonly value: string | Uint8Array | null;
  readonly headers?: Readonly<Record<string, string | Uint8Array>>;
}

/**
 * Records that differ in their values only, each made when it is written: thousands of them need no memory of their own. They go to one
 * partition, in their order.
 */
export interface RecordSeries extends Omit<NewRecord, 'value'> {
  readonly count: number;
  /** The value of the record at `index`, which begins at 0; the same whenever it is asked for. */
  readonly valueAt: (index: number) => string | Uint8Array;
}

export interface RecordPosition extends TopicPartition {
  readonly offset: number;
}

/** A record as it is read: with text, or with bytes. */
export interface TopicRecord<Field extends string | Uint8Array = string> extends RecordPosition {
  readonly key: Field | null;
  readonly value: Field | null;
  readonly headers: Readonly<Record<string, Field>>;
  /** When it was appended, milliseconds since the epoch, on the log's clock. */
  readonly timestampMs: number;
}

export interface LaneSpec {
  /** Unique per lane; the transactional id where the driver has one. */
  readonly name: string;
  /** The compacted topic and partition that hold this lane's state; no other lane writes its keys. */
  readonly state: TopicPartition;
  /** The other partitions the lane writes: a driver may have to settle what a predecessor that died has left there. */
  readonly writes?: readonly TopicPartition[];
  /**
   * Disturb nobody: where a member of a group holds the lane and lives, or that can't be told, `LaneHeldError` is thrown by drivers, too, that would
   * take the lane away. Default false.
   */
  readonly onlyIfFree?: boolean;
}

/** The one writer of a lane. Transactions run one after another in the order they were asked for. */
export interface LaneWriter extends AsyncDisposable {
  /** The newest committed value per key of the lane's state, as read after the lane was taken, and kept up to date by its own commits. */
  readonly state: StateReading;
  /**
   * Runs `work` to collect what is to be written, then writes it all or nothing; resolves after the commit is durable.
   * `work` is synchronous: a transaction is never held open over a wait.
   * Throws `LaneLostError` when another holder has taken the lane: nothing was written, and nothing will be.
   */
  transaction(work: (tx: LaneTransaction) => void): Promise<void>;
  /** Gives the lane up. Idempotent. */
  close(): Promise<void>;
}

export interface LaneTransaction {
  /** A record of the lane's own state must have a key and a value of text. */
  append(records: readonly (NewRecord | RecordSeries)[]): void;
  /** Sets one key of the lane's state; null removes it. */
  checkpoint(key: string, state: string | null): void;
  commitOffset(commit: OffsetCommit): void;
}

/** How far a group has come in a partition. */
export interface OffsetCommit extends TopicPartition {
  readonly group: string;
  /** The one it reads next: behind the last record that is done. */
  readonly nextOffset: number;
}

export interface ReadOptions {
  readonly topic: string;
  /** Default: every partition; a reader that follows takes those that are added later too, some seconds later and from their start. */
  readonly partitions?: readonly number[];
  /** Start at this group's committed offsets; where there are none, at `from`. */
  readonly group?: string;
  /** Where to start in every partition. Default 'earliest'. */
  readonly from?: 'earliest' | 'latest' | number;
  /** Wait for further records after the end. Default false: the reader ends at the end as it was when the reading began. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

/** Ends when the end is reached, `signal` aborts or `close` is called; backpressure is the consumer's pace. */
export interface TopicReader<Field extends string | Uint8Array = string> extends AsyncIterable<TopicRecord<Field>>, AsyncDisposable {
  /**
   * Commits `record` and all before it in its partition for the reader's group; never takes a later commit of this reader back, also where
   * several are under way. Throws without a group, and a `TopicLogError` (HEADGATE_GROUP_IN_USE) where the driver takes offsets of a joined group from its members alone.
   */
  commit(record: RecordPosition): Promise<void>;
  close(): Promise<void>;
}
