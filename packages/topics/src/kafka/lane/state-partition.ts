import { type AgedValue, LiveState } from '../../state-reading.ts';
import { textOf, textRecord } from '../../record-fields.ts';
import { TopicLostError } from '../../topic-errors.ts';
import type { LaneSpec, TopicRecord } from '../../topic-log.ts';
import type { Cluster } from '../client/cluster.ts';
import { type FetchedRecords, fetchRecords, isOutOfRange, nextMaxBytes, partitionOffsets } from '../reader/fetch.ts';

/** Prefix of the keys that the driver itself keeps in a lane's state. */
export const OWN_KEYS = '$lane/';

/** A value of a compacted partition, and when it was appended, ms since the epoch, on the broker's clock. */
export interface StateEntry {
  readonly value: string;
  readonly timestampMs: number;
}

/** A record whose key is text. Its value is text, or null for a tombstone. */
export type StateRecord = Pick<TopicRecord, 'value'> & { readonly key: string; readonly isAborted: boolean };

/** Maximum time of `readUntil`. Reading the state of a lane takes far less. */
const LONGEST_READ_MS = 60_000;
const WAIT_MS = 100;
/** A read to the end throws `TopicLostError` after this time without progress. A new leader takes a moment to learn its last stable offset. */
const LOST_AFTER_MS = 3_000;

/** The newest value per key of one compacted partition, as far as it was read. Another read continues where the last one stopped. */
export class StatePartition {
  readonly topicPartition: LaneSpec['state'];
  readonly entries: Map<string, StateEntry> = new Map();
  /** Records whose values aren't text, by key. */
  readonly #unreadable = new Map<string, TopicRecord<Uint8Array>>();
  #next: number | undefined;
  #maxBytes = nextMaxBytes();

  constructor(topicPartition: LaneSpec['state']) {
    this.topicPartition = topicPartition;
  }

  /**
   * The values read so far, without the driver's own keys, and their ages at `nowMs`. Throws an `InvalidRecordError` if a key's newest value isn't
   * text.
   */
  reading(nowMs: number): LiveState {
    for (const record of this.#unreadable.values()) textRecord(record);
    return new LiveState(
      [...this.entries]
        .filter(([key]) => !key.startsWith(OWN_KEYS))
        .map(([key, { value, timestampMs }]): [string, AgedValue] => [key, { value, ageMs: nowMs - timestampMs }]),
    );
  }

  /** Reads to the current last stable offset. Throws a `TopicLostError` if the partition has lost records. */
  async readToEnd(cluster: Cluster, onRecord: (record: StateRecord) => void = () => undefined): Promise<void> {
    const { topic, partition } = this.topicPartition;
    let movedMs = performance.now();
    // A new leader answers a Fetch before it knows all that its predecessor committed. ListOffsets waits until it does.
    const [ends] = await Promise.all([partitionOffsets(cluster, topic, [partition], 'stable'), this.#read(cluster, 0, onRecord)]);
    const end = ends.get(partition) ?? 0;
    for (let at = this.#next ?? 0, waitMs = 0; at < end;) {
      await this.#read(cluster, waitMs, onRecord);
      const next = this.#next ?? 0;
      if (next !== at) movedMs = performance.now();
      else if (performance.now() - movedMs > LOST_AFTER_MS) throw new TopicLostError({ topic });
      waitMs = next === at ? WAIT_MS : 0;
      at = next;
    }
  }

  /**
   * Reads until `isLast` returns true; throws after 60 s. It doesn't end at the current last stable offset, which any open transaction holds back.
   */
  async readUntil(cluster: Cluster, isLast: (record: StateRecord) => boolean): Promise<void> {
    const deadline = performance.now() + LONGEST_READ_MS;
    let seen = false;
    for (let waitMs = 0; !seen; waitMs = WAIT_MS) {
      // Compaction may have removed the awaited record after another write of its key.
      if (performance.now() > deadline)
        throw new Error(`Records just written to ${this.topicPartition.topic}-${this.topicPartition.partition} can't be read back.`);
      await this.#read(cluster, waitMs, (record) => {
        seen ||= isLast(record);
      });
    }
  }

  /** Reads the next records, if there are any. */
  async #read(cluster: Cluster, maxWaitMs: number, onRecord: (record: StateRecord) => void): Promise<void> {
    const maxBytes = this.#maxBytes;
    const fetched = await this.#fetch(cluster, maxBytes, maxWaitMs);
    if (fetched === undefined) return;
    const { records, aborted, next } = fetched;
    this.#maxBytes = nextMaxBytes({ maxBytes, records: records.length });
    const dropped = new Set(aborted);
    const all = aborted.length === 0 ? records : [...records, ...aborted].toSorted((a, b) => a.offset - b.offset);
    for (const record of all) {
      const key = record.key === null ? undefined : textOf(record.key);
      if (key === undefined) continue;
      const value = record.value === null ? null : textOf(record.value);
      const isAborted = dropped.has(record);
      if (!isAborted) this.#set(key, value, record);
      if (value !== undefined) onRecord({ key, value, isAborted });
    }
    this.#next = next;
  }

  /** Fetches the next records. Undefined if the partition's first offset isn't 0, and the next read begins there. */
  async #fetch(cluster: Cluster, maxBytes: number, maxWaitMs: number): Promise<FetchedRecords | undefined> {
    const { topic, partition } = this.topicPartition;
    try {
      return await fetchRecords(cluster, { topic, partition, offset: this.#next ?? 0, maxWaitMs, maxBytes });
    } catch (error) {
      if (!isOutOfRange(error)) throw error;
      if (this.#next !== undefined) throw new TopicLostError({ topic }, { cause: error });
      // Compaction doesn't move the first offset, so it is usually 0.
      this.#next = (await partitionOffsets(cluster, topic, [partition], 'earliest')).get(partition) ?? 0;
      return undefined;
    }
  }

  #set(key: string, value: string | null | undefined, record: TopicRecord<Uint8Array>): void {
    this.#unreadable.delete(key);
    this.entries.delete(key);
    // Copy the value, because the original would keep the whole response in memory.
    if (value === undefined)
      this.#unreadable.set(key, { ...record, key: null, value: record.value && new Uint8Array(record.value), headers: {} });
    else if (value !== null) this.entries.set(key, { value, timestampMs: record.timestampMs });
  }
}
