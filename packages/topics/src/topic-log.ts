/** The port behind which a log of topics stands: an embedded file or Kafka. */
export interface TopicLog extends AsyncDisposable {
  /** Creates the topics that are missing; an existing one with fewer partitions grows; all or nothing. Throws `TopicMismatchError` where that can't be. */
  createTopics(topics: readonly TopicSpec[]): Promise<void>;
  /** The topics there are, sorted by name. */
  listTopics(): Promise<readonly TopicInfo[]>;
  /**
   * Becomes the only writer of a lane, then reads the state its predecessors committed.
   * Throws `LaneHeldError` where the driver refuses a newcomer while the older holder lives.
   */
  openLane(lane: LaneSpec): Promise<LaneWriter>;
  /** Appends records outside of any lane, all or nothing: wishes that anyone may make. Returns where they went, in order. Throws `TopicUnknownError`. */
  append(records: readonly NewRecord[]): Promise<readonly RecordPosition[]>;
  /** Reads committed records in order per partition. The reading begins now, not with the first record asked for. */
  read(options: ReadOptions): TopicReader;
  /** The newest committed value per key of one partition of a compacted topic, without holding any lane. */
  readState(topic: string, partition: number): Promise<ReadonlyMap<string, string>>;
  /** Ends every reader, finishes the transactions asked for, releases every lane and closes the log. Idempotent. */
  close(): Promise<void>;
}

export interface TopicSpec {
  readonly name: string;
  /** At least 1. */
  readonly partitions: number;
  /** Keep only the newest record per key. Default false. */
  readonly compacted?: boolean;
}

export interface TopicInfo extends TopicSpec {
  /** Per partition: the first offset kept, and the offset the next committed record will have. */
  readonly offsets: readonly { readonly earliest: number; readonly end: number }[];
}

export interface NewRecord {
  readonly topic: string;
  /** Chosen from the key when absent: the same key always goes to the same partition (murmur2, as Kafka's default partitioner does). */
  readonly partition?: number;
  readonly key: string | null;
  /** null is a tombstone: on a compacted topic it removes the key. */
  readonly value: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface RecordPosition {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

export interface TopicRecord extends RecordPosition {
  readonly key: string | null;
  readonly value: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** When it was appended, milliseconds since the epoch, on the log's clock. */
  readonly timestampMs: number;
}

export interface LaneSpec {
  /** Unique per lane; the transactional id where the driver has one. */
  readonly name: string;
  /** The compacted topic and partition that hold this lane's state; no other lane writes there. */
  readonly state: { readonly topic: string; readonly partition: number };
}

/** The one writer of a lane. Transactions run one after another in the order they were asked for. */
export interface LaneWriter extends AsyncDisposable {
  /** The newest committed value per key of the lane's state, as read after the lane was taken, and kept up to date by its own commits. */
  readonly state: ReadonlyMap<string, string>;
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
  append(records: readonly NewRecord[]): void;
  /** Sets one key of the lane's state; null removes it. */
  checkpoint(key: string, state: string | null): void;
  /** Commits `offset` as the one that `group` reads next in that partition. */
  commitOffset(position: RecordPosition & { readonly group: string }): void;
}

export interface ReadOptions {
  readonly topic: string;
  /** Default: every partition. */
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
export interface TopicReader extends AsyncIterable<TopicRecord>, AsyncDisposable {
  /** Commits `record` and all before it in its partition for the reader's group; never takes a later commit back. Throws without a group. */
  commit(record: RecordPosition): Promise<void>;
  close(): Promise<void>;
}
