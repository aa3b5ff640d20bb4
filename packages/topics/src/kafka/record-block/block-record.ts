/** One record of a block; its topic and partition are the block's. */
export interface BlockRecord {
  /** null: a record without a key. */
  readonly key: string | null;
  /** null: a tombstone. */
  readonly value: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What all records of a block have in common. */
export interface BlockOptions {
  /** The partition every record goes to. */
  readonly partition: number;
  /** The time every record carries, whole milliseconds since the epoch. */
  readonly timestampMs: number;
}
