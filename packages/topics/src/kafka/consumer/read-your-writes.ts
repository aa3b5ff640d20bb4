import { setTimeout as sleep } from 'node:timers/promises';
import { TopicLostError } from '../../topic-errors.ts';
import type { OffsetCommit, TopicPartition } from '../../topic-log.ts';
import { byTopic, placeOf } from '../../topic-partition.ts';
import type { InnerCluster } from '../client/kafkajs-cluster.ts';
import { partitionOffsets, partitionsOf } from './fetch.ts';
import type { SentRecords } from '../producer/record-sender.ts';

const LOOK_AGAIN_MS = 5;
const WAIT_MS = 1_000;

/**
 * What this log has committed. A broker says that a transaction is committed before its partitions know: whoever reads at once would not
 * see what it has just written.
 */
export class OwnWrites {
  readonly #ends = new Map<string, number>();
  readonly #offsets = new Map<string, number>();
  readonly #reached = new Map<string, number>();
  readonly #lost = new Set<string>();

  committed(sent: SentRecords, offsets: readonly OffsetCommit[] = []): void {
    for (const [place, { next }] of sent) this.#ends.set(place, Math.max(next, this.#ends.get(place) ?? 0));
    for (const { group, topic, partition, nextOffset } of offsets) this.#offsets.set(`${group} ${placeOf(topic, partition)}`, nextOffset);
  }

  /**
   * To be asked before something is sent there: what it answers throws `TopicLostError` where that stands before what we had committed by
   * then, for it went into another log, and all that follows will.
   */
  behind(places: Iterable<TopicPartition>): (sent: SentRecords) => void {
    const ends = Array.from(places, ({ topic, partition }) => {
      const place = placeOf(topic, partition);
      return { topic, place, end: this.#ends.get(place) ?? 0 };
    });
    return (sent) => {
      for (const { topic, place, end } of ends) {
        const { first = Infinity } = sent.get(place) ?? {};
        if (first < end) this.#lost.add(place);
        if (this.#lost.has(place)) throw new TopicLostError({ topic });
      }
    };
  }

  /** The last stable offsets, once they are behind everything we have committed, unless somebody's open transaction holds them back. */
  async stableOffsets(cluster: InnerCluster, topic: string, partitions: readonly number[]): Promise<ReadonlyMap<number, number>> {
    for (const deadline = performance.now() + WAIT_MS; ;) {
      const stable = await partitionOffsets(cluster, topic, partitions, 'stable');
      for (const [partition, offset] of stable) {
        const place = placeOf(topic, partition);
        this.#reached.set(place, Math.max(offset, this.#reached.get(place) ?? 0));
      }
      const all = partitions.every((partition) => this.#isBehindUs(stable, topic, partition));
      if (all || performance.now() >= deadline) return stable;
      await sleep(LOOK_AGAIN_MS);
    }
  }

  /** The last stable offset that a partition has had by what was asked here. */
  reached(topic: string, partition: number): number {
    return this.#reached.get(placeOf(topic, partition)) ?? 0;
  }

  #isBehindUs(stable: ReadonlyMap<number, number>, topic: string, partition: number): boolean {
    return (stable.get(partition) ?? 0) >= (this.#ends.get(placeOf(topic, partition)) ?? 0);
  }

  /** Whether all that we have committed to those partitions can be read, or can within a second. */
  async areReadable(cluster: InnerCluster, places: readonly TopicPartition[]): Promise<boolean> {
    for (const { topic, partitions } of byTopic(places)) {
      await partitionsOf(cluster, topic);
      const stable = await this.stableOffsets(cluster, topic, partitions);
      if (!partitions.every((partition) => this.#isBehindUs(stable, topic, partition))) return false;
    }
    return true;
  }

  /** What a group reads next: what its coordinator says is committed, or what we have committed beyond that. */
  groupOffset({ group, topic, partition }: Omit<OffsetCommit, 'nextOffset'>, committed: number | undefined): number | undefined {
    const own = this.#offsets.get(`${group} ${placeOf(topic, partition)}`);
    return own === undefined || (committed ?? -1) > own ? committed : own;
  }
}
