import { setTimeout as sleep } from 'node:timers/promises';
import { TopicLostError } from '../../topic-errors.ts';
import type { OffsetCommit, TopicPartition } from '../../topic-log.ts';
import { partitionKey } from '../../topic-partition.ts';
import type { Cluster } from '../client/cluster.ts';
import { partitionOffsets } from './fetch.ts';

/** The offsets of sent records by `partitionKey`, in order. Other clients' records can lie between two batches. */
export type SentRecords = ReadonlyMap<string, readonly SentBatch[]>;

/** Records at consecutive offsets. */
export interface SentBatch {
  readonly first: number;
  readonly count: number;
}

/** The offsets from a transaction's first to its last record in a partition. Other producers' records can lie between them. */
interface OffsetRange {
  readonly first: number;
  /** The offset after the last record. */
  readonly end: number;
}

const POLL_MS = 5;
/** Maximum waits for the end of a transaction, ms: another producer's, which can stay open for a long time, or this log's own. */
const WAITS_MS = { foreign: 1_000, own: 10_000 };

/**
 * The offsets that this log has committed. Readers wait for them, because a broker can report a commit before the partitions know of it. A reader
 * that starts at once could miss the new records.
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
   * Call before sending. The returned function throws a `TopicLostError` if a broker has appended below an offset that this log has committed: the
   * topic was recreated.
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
   * Resolves to the last stable offsets. First waits until they reach the end of what this log has committed: for about 10 s at most, or about 1 s if
   * only other producers' transactions hold them back.
   */
  async stableOffsets(cluster: Cluster, topic: string, partitions: readonly number[]): Promise<ReadonlyMap<number, number>> {
    for (const startedMs = performance.now(); ;) {
      const stable = await partitionOffsets(cluster, topic, partitions, 'stable');
      let waitMs = 0;
      for (const [partition, offset] of stable) {
        const key = partitionKey({ topic, partition });
        this.#highestStable.set(key, Math.max(offset, this.#highestStable.get(key) ?? 0));
        const { first, end } = this.#newestOf(key);
        // The earliest open transaction begins at the last stable offset. Before `first`, it is another producer's.
        if (offset < end) waitMs = Math.max(waitMs, offset >= first ? WAITS_MS.own : WAITS_MS.foreign);
      }
      if (performance.now() - startedMs >= waitMs) return stable;
      await sleep(POLL_MS);
    }
  }

  /** The highest last stable offset of a partition that this log has seen; 0 if none. */
  highestStable(topic: string, partition: number): number {
    return this.#highestStable.get(partitionKey({ topic, partition })) ?? 0;
  }

  #newestOf(key: string): OffsetRange {
    return this.#newest.get(key) ?? { first: 0, end: 0 };
  }

  /** The offset that a group reads next: the one that its coordinator reports, or the one that this log has committed if that is later. */
  groupOffset({ group, topic, partition }: Omit<OffsetCommit, 'nextOffset'>, committed: number | undefined): number | undefined {
    const own = this.#offsets.get(`${group} ${partitionKey({ topic, partition })}`);
    return own === undefined || (committed ?? -1) > own ? committed : own;
  }
}
