import { setTimeout as sleep } from 'node:timers/promises';
import { TopicLostError } from '../../topic-errors.ts';
import type { OffsetCommit, TopicPartition } from '../../topic-log.ts';
import { partitionKey } from '../../topic-partition.ts';
import type { Cluster } from '../client/cluster.ts';
import { partitionOffsets } from './fetch.ts';

/** By topic and partition (`partitionKey`): the offsets of the records, in order. Other clients' records may lie between two batches. */
export type SentRecords = ReadonlyMap<string, readonly SentBatch[]>;

/** Records at consecutive offsets. */
export interface SentBatch {
  /** The offset of the first one. */
  readonly first: number;
  readonly count: number;
}

/** The records of a transaction in a partition; other producers' may lie between them. */
interface OffsetRange {
  readonly first: number;
  /** The offset after the last one. */
  readonly end: number;
}

const POLL_MS = 5;
/** How long to wait for the end of a transaction: another producer's may last as long as it likes, ours is ended again if it doesn't end. */
const WAITS_MS = { foreign: 1_000, own: 10_000 };

/**
 * The offsets that this log has committed. A broker reports a commit before its partitions know of it: a reader that starts at once would
 * miss the new records.
 */
export class ReadYourWrites {
  readonly #newest = new Map<string, OffsetRange>();
  readonly #offsets = new Map<string, number>();
  readonly #highestStable = new Map<string, number>();
  readonly #lost = new Set<string>();

  committed(sent: SentRecords, offsets: readonly OffsetCommit[] = []): void {
    for (const [key, batches] of sent) {
      const [{ first } = { first: 0 }] = batches;
      const { first: last, count } = batches.at(-1) ?? { first: 0, count: 0 };
      if (last + count > this.#newestOf(key).end) this.#newest.set(key, { first, end: last + count });
    }
    for (const { group, topic, partition, nextOffset } of offsets)
      this.#offsets.set(`${group} ${partitionKey({ topic, partition })}`, nextOffset);
  }

  /**
   * Call before sending. The returned function throws `TopicLostError` if the broker appended below an offset that this log has committed:
   * the topic was recreated.
   */
  appendGuard(topicPartitions: Iterable<TopicPartition>): (sent: SentRecords) => void {
    const ends = Array.from(topicPartitions, ({ topic, partition }) => {
      const key = partitionKey({ topic, partition });
      return { topic, key, end: this.#newestOf(key).end };
    });
    return (sent) => {
      for (const { topic, key, end } of ends) {
        const first = sent.get(key)?.[0]?.first ?? Infinity;
        if (first < end) this.#lost.add(key);
        if (this.#lost.has(key)) throw new TopicLostError({ topic });
      }
    };
  }

  /**
   * The last stable offsets, once they are after everything we have committed, unless another producer's open transaction keeps them lower.
   */
  async stableOffsets(cluster: Cluster, topic: string, partitions: readonly number[]): Promise<ReadonlyMap<number, number>> {
    for (const startedMs = performance.now(); ;) {
      const stable = await partitionOffsets(cluster, topic, partitions, 'stable');
      let waitMs = 0;
      for (const [partition, offset] of stable) {
        const key = partitionKey({ topic, partition });
        this.#highestStable.set(key, Math.max(offset, this.#highestStable.get(key) ?? 0));
        const { first, end } = this.#newestOf(key);
        // The first open transaction begins at the last stable offset.
        if (offset < end) waitMs = Math.max(waitMs, offset >= first ? WAITS_MS.own : WAITS_MS.foreign);
      }
      if (performance.now() - startedMs >= waitMs) return stable;
      await sleep(POLL_MS);
    }
  }

  /** The highest last stable offset that this log has seen of a partition. */
  highestStable(topic: string, partition: number): number {
    return this.#highestStable.get(partitionKey({ topic, partition })) ?? 0;
  }

  #newestOf(key: string): OffsetRange {
    return this.#newest.get(key) ?? { first: 0, end: 0 };
  }

  /** The offset that a group reads next: its coordinator's committed offset, or ours where we have committed a later one. */
  groupOffset({ group, topic, partition }: Omit<OffsetCommit, 'nextOffset'>, committed: number | undefined): number | undefined {
    const own = this.#offsets.get(`${group} ${partitionKey({ topic, partition })}`);
    return own === undefined || (committed ?? -1) > own ? committed : own;
  }
}
