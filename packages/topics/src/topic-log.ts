/** A topic log. There are two drivers: the embedded log in a SQLite file, and Kafka. */
export interface TopicLog extends AsyncDisposable {
  /**
   * Creates missing topics, and adds partitions to existing ones with fewer. Throws a `TopicMismatchError` if an existing topic can't become the
   * specified one. With `validateOnly` (default false), it checks the topics and returns the changes that it would make, but makes none.
   */
  createTopics(topics: readonly NewTopicSpec[], options?: { readonly validateOnly?: boolean }): Promise<CreatedTopics>;
  /**
   * The existing topics, or those among `names`; sorted by name. With `withOffsets: false` (default true), a driver can skip the requests for offsets
   * and leave `offsets` empty.
   */
  listTopics(names?: readonly string[], options?: { readonly withOffsets?: boolean }): Promise<readonly TopicInfo[]>;
  /**
   * One offset of each of these partitions, in their order. Throws a `TopicUnknownError` for a missing topic or partition. `earliest`: the first offset
   * that is kept. `end`: the offset at which a reader ends now. `written`: the offset after the last record, which is above `end` while a transaction is
   * open.
   */
  offsets(topicPartitions: readonly TopicPartition[], which: 'earliest' | 'end' | 'written'): Promise<readonly number[]>;
  /**
   * Becomes the only writer of a lane, then reads the state that earlier holders committed. Throws a `LaneHeldError` if the driver doesn't take the
   * lane from its holder, and `signal.reason` if the signal ends the attempt.
   */
  openLane(lane: LaneSpec, signal?: AbortSignal): Promise<LaneWriter>;
  /**
   * Appends records outside of any lane, all or nothing. Resolves to their positions, in order. Throws a `TopicUnknownError` for a missing topic or
   * partition, and an `InvalidRecordError` for a record that can't be written.
   */
  append(records: readonly NewRecord[]): Promise<readonly RecordPosition[]>;
  /**
   * Reads committed records in order per partition, as text. The read starts at this call, not at the first `next`. A key, value or header
   * that isn't UTF-8 ends the reader with an `InvalidRecordError` that names topic, partition, offset and fields.
   */
  read(options: ReadOptions): TopicReader;
  /** Like `read`, with keys, values and headers as bytes, each a copy; text is UTF-8. */
  readBytes(options: ReadOptions): TopicReader<Uint8Array>;
  /**
   * The first open transaction in a partition, which readers can't pass. Undefined if there is none. Throws `signal.reason` when `signal`
   * aborts.
   */
  openTransaction(topicPartition: TopicPartition, signal?: AbortSignal): Promise<OpenTransaction | undefined>;
  /** The newest committed value per key of one partition of a compacted topic, without holding any lane. */
  readState(topic: string, partition: number): Promise<StateReading>;
  /**
   * Assigns the partitions of topics to the members of a group. The embedded log assigns all of them to each member. Assignments can overlap, so
   * write through a lane, which has one holder. Resolves at the first assignment.
   */
  joinGroup(options: JoinGroupOptions): Promise<GroupMember>;
  /** The offset that a group reads next in a partition; undefined if it has committed none. */
  groupOffset(topicPartition: TopicPartition & { readonly group: string }): Promise<number | undefined>;
  /**
   * An offset before which every record of a partition was appended earlier than this time, milliseconds since the epoch; undefined if all records
   * were.
   */
  offsetSince(topicPartition: TopicPartition, sinceMs: number): Promise<number | undefined>;
  /** Maximum bytes of key, value and headers of a record in `topic`, and the setting that limits them. */
  recordLimit(topic: string): Promise<RecordLimit>;
  /**
   * Ends all readers, releases all lanes after their transactions in flight, and closes the log. A driver can give up transactions that take too
   * long. Idempotent.
   */
  close(): Promise<void>;
}

/** Maximum size of a record in a topic. */
export interface RecordLimit {
  /** Maximum bytes of key, value and headers. */
  readonly bytes: number;
  /** The topic setting that limits the size, if there is one. */
  readonly setting?: {
    readonly name: string;
    readonly value: number;
    /** Returns the lowest value of the setting at which a record of this size fits. */
    readonly neededFor: (bytes: number) => number;
  };
}

/** The newest committed value per key of a state partition. */
export interface StateReading extends ReadonlyMap<string, string> {
  /** Minimum age of the key's value at the time of the read, ms. 0 if the value was written after the read, or if there is none. */
  ageMs(key: string): number;
}

/** An open transaction. Until it ends, committed records after its first record can't be read. */
export interface OpenTransaction {
  /** The offset of the transaction's first record. */
  readonly offset: number;
  /** When the first record was appended, milliseconds since the epoch, on the log's or its writer's clock. */
  readonly sinceMs: number;
}

/** Options of `TopicLog.joinGroup`. */
export interface JoinGroupOptions {
  /** Name of the group whose members share the partitions. */
  readonly group: string;
  /** Topics whose partitions the members share, all in one assignment. */
  readonly topics: readonly string[];
  /** A text that all members must have in common. A driver can refuse a member with another text. */
  readonly agreement: string;
  /** Called with all partitions of this member after each assignment, even if they are the same as before. */
  readonly onAssigned: (partitions: readonly TopicPartition[]) => void;
  /**
   * Called when the group hasn't responded for so long that it may have assigned the partitions to others. Open lanes can continue, because a new
   * holder fences the old one. Don't open lanes until `onAssigned` is called again.
   */
  readonly onUncertain: () => void;
  /** Called when the membership has ended for good. */
  readonly onFailed: (error: Error) => void;
}

/** This process's membership of a group. */
export interface GroupMember {
  /** Leaves the group, which then divides the partitions of this member among the others. Idempotent. */
  leave(): Promise<void>;
}

/** One partition of a topic. */
export interface TopicPartition {
  /** Name of the topic in the log. */
  readonly topic: string;
  /** Number of the partition, counted from 0. */
  readonly partition: number;
}

/** Settings of a topic. */
export interface TopicSpec {
  /** Name of the topic, 1 to 249 characters: letters (A to Z, a to z), digits, `.`, `_` and `-`. */
  readonly name: string;
  /** Number of partitions, at least 1. */
  readonly partitions: number;
  /** True to keep only the newest record per key. Default false. */
  readonly compacted?: boolean;
}

/** A topic that `TopicLog.createTopics` creates if it is missing. */
export interface NewTopicSpec extends TopicSpec {
  /** Bytes of key, value and headers that a record must be able to have. An existing topic with a smaller limit is refused. Default 0. */
  readonly minRecordBytes?: number;
  /** Like `minRecordBytes`, but a smaller limit only causes a warning. Default 0. */
  readonly usualRecordBytes?: number;
  /**
   * True if the topic should keep all records, however old they are. An existing topic that deletes old records causes a warning. Default false: as
   * configured in the log. The embedded log ignores this, because its `retention` decides.
   */
  readonly keepsRecords?: boolean;
  /**
   * True if every record names its partition. Additional partitions of an existing topic then stay empty, so a driver can accept them with a
   * warning. Default false: they are refused, because a key can belong to one of them.
   */
  readonly namesPartitions?: boolean;
  /**
   * True if a record's key selects its partition, and the topic is compacted: an existing topic with more or fewer partitions is refused, because it
   * would keep a newest record of one key in two partitions. Default false: partitions are added.
   */
  readonly fixedPartitions?: boolean;
}

/** The changes that `createTopics` made, or would make. */
export interface CreatedTopics {
  /** The topics that were missing. */
  readonly created: readonly string[];
  /** The topics that had fewer partitions. */
  readonly grown: readonly TopicGrowth[];
  /** Sentences for the user about topics that work, but not as specified. */
  readonly warnings: readonly string[];
}

/** A topic to which partitions are added. A key can then belong to another partition than before. */
export interface TopicGrowth {
  /** Name of the topic. */
  readonly topic: string;
  /** Number of partitions before. */
  readonly from: number;
  /** Number of partitions afterwards. */
  readonly to: number;
}

/** An existing topic. */
export interface TopicInfo extends TopicSpec {
  /**
   * By partition: the first offset that is kept, and the offset at which a reader ends now. Records that become readable later are at `end` or after
   * it. Can be empty if the offsets were not requested.
   */
  readonly offsets: readonly { readonly earliest: number; readonly end: number }[];
  /** ID of the topic, a new one if the topic is recreated. Absent on the embedded log. */
  readonly id?: string;
}

/** A record to write. Text is stored as UTF-8. Bytes must not change before the call that writes them resolves. */
export interface NewRecord {
  /** Name of an existing topic. */
  readonly topic: string;
  /** Default: the key's partition, as in Kafka's default partitioner (murmur2), or partition 0 without a key. */
  readonly partition?: number;
  /** null for a record without a key, which a compacted topic refuses. */
  readonly key: string | Uint8Array | null;
  /** null for a tombstone, which removes the key in a compacted topic. */
  readonly value: string | Uint8Array | null;
  /** Default: none. */
  readonly headers?: Readonly<Record<string, string | Uint8Array>>;
}

/**
 * Records that differ only in their values. Each is created when it is written, so thousands of them take little memory. They go to one partition,
 * in order.
 */
export interface RecordSeries extends Omit<NewRecord, 'value'> {
  /** Number of records. */
  readonly count: number;
  /** Returns the value of the record at `index`, counted from 0; the same at every call. */
  readonly valueAt: (index: number) => string | Uint8Array;
  /** The same values in parts, if all begin and end alike. A driver can then encode the common text once. */
  readonly parts?: SeriesParts;
}

/** The values of a series in parts. Each value is `before`, its own part, and `after`. */
export interface SeriesParts {
  /** Common beginning of all values. */
  readonly before: string;
  /** Returns the part that only the record at `index` has; the same at every call. */
  readonly partAt: (index: number) => string;
  /** Common end of all values. */
  readonly after: string;
}

/** The position of a record in the log. */
export interface RecordPosition extends TopicPartition {
  /** Counted from 0 in each partition. Readers can see gaps, for example because the ends of transactions take offsets, too. */
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
  /** When the record was appended, milliseconds since the epoch, on the clock of the log or of the record's writer. */
  readonly timestampMs: number;
}

/** The lane that `TopicLog.openLane` takes. */
export interface LaneSpec {
  /** Name of the lane, unique in the log. It is the transactional ID if the driver has one. */
  readonly name: string;
  /** The compacted topic and partition that hold this lane's state. No other lane may write the keys of this lane. */
  readonly state: TopicPartition;
  /** The other partitions that the lane writes to. A driver ends transactions there that a dead predecessor left open. */
  readonly writes?: readonly TopicPartition[];
  /** The groups and partitions whose offsets the lane commits. A driver also ends a dead predecessor's transactions that commit them. */
  readonly commits?: readonly OffsetPlace[];
  /**
   * True to throw `LaneHeldError` if the holder is, or may be, a living member of a group, even in a driver whose new holders fence the old one.
   * Default false.
   */
  readonly onlyIfFree?: boolean;
}

/** The only writer of a lane. Transactions run one after another in call order. */
export interface LaneWriter extends AsyncDisposable {
  /** The newest committed value per key of the lane's state, as read after the lane was taken, and kept up to date by its own commits. */
  readonly state: StateReading;
  /**
   * Runs `work` to collect the writes, then commits all or none. Resolves when the commit is durable. `work` must be synchronous, so that no
   * transaction stays open while it waits. Throws a `LaneLostError` if another holder has taken the lane.
   */
  transaction(work: (tx: LaneTransaction) => void): Promise<void>;
  /** Releases the lane. Idempotent. */
  close(): Promise<void>;
}

/** Collects the writes of one transaction. After `work` has returned, calls throw a {@link TopicLogError} (HEADGATE_TOPIC_LOG_CLOSED). */
export interface LaneTransaction {
  /** Adds records. A record for the lane's own state can't have bytes as its key or value. */
  append(records: readonly (NewRecord | RecordSeries)[]): void;
  /** Sets one key of the lane's state; null removes it. */
  checkpoint(key: string, state: string | null): void;
  /** Commits a group's offset in the same transaction, so that it takes effect only if the records are written. */
  commitOffset(commit: OffsetCommit): void;
}

/** A partition, and a group that commits offsets in it. */
export interface OffsetPlace extends TopicPartition {
  /** Name of the group. */
  readonly group: string;
}

/** The offset that a group commits in a partition. */
export interface OffsetCommit extends OffsetPlace {
  /** The offset that the group reads next: one after the last processed record. */
  readonly nextOffset: number;
}

/** Options of `TopicLog.read` and `TopicLog.readBytes`. */
export interface ReadOptions {
  /** Name of an existing topic. */
  readonly topic: string;
  /** Default: all partitions; if the reader follows, also those that are added later. */
  readonly partitions?: readonly number[];
  /** Start at this group's committed offsets, and at `from` in a partition for which it has committed none. */
  readonly group?: string;
  /**
   * Start in each partition: its beginning, its end, or an offset. A list has the offset of each partition; a partition beyond the list starts at its
   * beginning. The reader rejects other numbers with a `RangeError`. Default 'earliest'.
   */
  readonly from?: 'earliest' | 'latest' | number | readonly number[] | undefined;
  /** True to wait for further records at the end. Default false: the reader ends where the topic ended when the read started. */
  readonly follow?: boolean;
  /** Ends the reader when it aborts. */
  readonly signal?: AbortSignal | undefined;
}

/** Reads at the consumer's pace. Ends at the end of the topic unless it follows, when `signal` aborts, or when `close` is called. */
export interface TopicReader<Field extends string | Uint8Array = string> extends AsyncIterable<TopicRecord<Field>>, AsyncDisposable {
  /**
   * Commits `record` and all earlier records of its partition for the reader's group, even after the reader has ended. Overlapping commits are safe:
   * none of them reverts a later offset that this reader has committed. Throws without a group, and throws a `TopicLogError`
   * (HEADGATE_GROUP_IN_USE) if the driver accepts offsets of a joined group only from its members.
   */
  commit(record: RecordPosition): Promise<void>;
  /** Ends the reader. A `next` that waits resolves as at the end. Idempotent. */
  close(): Promise<void>;
}
