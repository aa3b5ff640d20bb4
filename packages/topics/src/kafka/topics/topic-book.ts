import type { Admin } from 'kafkajs';
import { partitionForKey } from '../../partition-for-key.ts';
import { InvalidRecordError, TopicUnknownError } from '../../topic-errors.ts';
import type { NewRecord, RecordSeries, TopicPartition } from '../../topic-log.ts';
import { type TopicFacts, topicFacts } from './kafka-topics.ts';
import type { Link } from '../connection/link.ts';
import { batchBytes, recordBytes } from './record-room.ts';

export type Placed<Record extends NewRecord | RecordSeries> = Record & { readonly partition: number };

/** What is known of topics, looked up once, and again where it doesn't fit. */
export class TopicBook {
  readonly #link: Link<Admin>;
  readonly #facts = new Map<string, TopicFacts>();

  constructor(link: Link<Admin>) {
    this.#link = link;
  }

  /** Looks topics up that have been made or have grown: all at once, where one by one would cost each lane its requests. */
  async learn(topics: readonly string[]): Promise<void> {
    const found = await this.#link.run((admin) => topicFacts(admin, topics));
    for (const [topic, facts] of found) this.#facts.set(topic, facts);
  }

  /** Throws `TopicUnknownError`. */
  async facts(topic: string): Promise<TopicFacts> {
    const known = this.#facts.get(topic);
    if (known !== undefined) return known;
    await this.learn([topic]);
    const found = this.#facts.get(topic);
    if (found === undefined) throw new TopicUnknownError({ topic, partition: null, partitions: null });
    return found;
  }

  /** Throws `TopicUnknownError`. */
  async assertPartition(topic: string, partition: number): Promise<TopicFacts> {
    if (partition >= (await this.facts(topic)).partitions) this.#facts.delete(topic);
    const facts = await this.facts(topic);
    if (partition < 0 || partition >= facts.partitions) throw new TopicUnknownError({ topic, partition, partitions: facts.partitions });
    return facts;
  }

  /** As `assertPartition`, looked up anew. */
  async assertStillThere(places: readonly TopicPartition[]): Promise<void> {
    for (const { topic } of places) this.#facts.delete(topic);
    for (const { topic, partition } of places) await this.assertPartition(topic, partition);
  }

  /** Bytes of the largest batch that is sent to a topic whose facts are known. */
  maxBatchBytes(topic: string): number {
    return batchBytes(this.#facts.get(topic)?.maxMessageBytes ?? 1_000_000);
  }

  /** Bytes of key, value and headers. */
  async maxRecordBytes(topic: string): Promise<number> {
    return recordBytes((await this.facts(topic)).maxMessageBytes);
  }

  /** Chooses partitions where that is left to us. Throws `TopicUnknownError` and `InvalidRecordError`. */
  async place<Record extends NewRecord | RecordSeries>(records: readonly Record[]): Promise<readonly Placed<Record>[]> {
    const placed: Placed<Record>[] = [];
    let last: { readonly topic: string; readonly facts: TopicFacts } | undefined;
    for (const record of records) {
      const { topic, key } = record;
      // Thousands of records in a row are of one topic.
      if (last?.topic !== topic) last = { topic, facts: await this.facts(topic) };
      const partition = record.partition ?? (key === null ? 0 : partitionForKey(key, last.facts.partitions));
      if (partition >= last.facts.partitions || partition < 0) last = { topic, facts: await this.assertPartition(topic, partition) };
      if (last.facts.compacted && key === null) {
        throw new InvalidRecordError({ topic, reason: 'has no key; a compacted topic keeps the newest record per key.' });
      }
      placed.push({ ...record, partition });
    }
    return placed;
  }
}
