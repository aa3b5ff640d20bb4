import { partitionForKey } from '../../partition-for-key.ts';
import { InvalidRecordError, TopicUnknownError } from '../../topic-errors.ts';
import type { NewRecord, RecordLimit, RecordSeries, TopicPartition } from '../../topic-log.ts';
import { isTopicUnknown } from '../client/error-kinds.ts';
import { type FoundTopic, isCompacted, maxMessageBytes } from './topic-requirements.ts';
import { describeTopics } from './topics.ts';
import type { Client } from '../client/retry.ts';
import { hasPartition } from '../client/topic-metadata.ts';
import { messageBytesFor, recordBytes } from '../wire/record-size.ts';

export type WithPartition<Record extends NewRecord | RecordSeries> = Record & { readonly partition: number };

/** Caches descriptions of topics. A topic or partition that isn't in the cache is reported as missing only after another request to the brokers. */
export class MetadataCache {
  readonly #client: Client;
  /** Deleted topics stay with 0 partitions, because appends in flight to them still need the size limit. */
  readonly #topics = new Map<string, FoundTopic>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Throws `TopicUnknownError`. */
  async describe(topic: string): Promise<FoundTopic> {
    return await this.assertPartition(topic, 0);
  }

  /** Throws `TopicUnknownError`. */
  async assertPartition(topic: string, partition: number): Promise<FoundTopic> {
    const known = this.#topics.get(topic);
    if (known !== undefined && hasPartition(known.partitions, partition)) return known;
    return assertExists(await this.refresh([{ topic, partition }]), { topic, partition });
  }

  /** Like `assertPartition` for several partitions, but fetches fresh metadata of all their topics in one request. */
  async assertAllExist(topicPartitions: readonly TopicPartition[]): Promise<void> {
    const found = await this.refresh(topicPartitions);
    for (const topicPartition of topicPartitions) assertExists(found, topicPartition);
  }

  /**
   * Returns the error to report for `fault`, an error of a request about these partitions. A broker that has just started may call an existing topic
   * unknown, so this method then fetches the metadata again. It returns the broker's error if the partitions exist, otherwise the error of that
   * check.
   */
  async explained(fault: unknown, topicPartitions: readonly TopicPartition[]): Promise<unknown> {
    if (!isTopicUnknown(fault)) return fault;
    try {
      await this.assertAllExist(topicPartitions);
    } catch (error) {
      return error;
    }
    return fault instanceof TopicUnknownError ? fault.cause : fault;
  }

  /** Fetches fresh metadata of the topics of these partitions. Resolves to the topics that exist. */
  async refresh(topicPartitions: readonly TopicPartition[]): Promise<ReadonlyMap<string, FoundTopic>> {
    const wanted = new Map<string, number>();
    for (const { topic, partition } of topicPartitions) {
      const known = this.#topics.get(topic)?.partitions ?? 0;
      wanted.set(topic, Math.max(1, known, partition + 1, wanted.get(topic) ?? 0));
    }
    const found = await this.#client.run((cluster) => describeTopics(cluster, wanted));
    for (const topic of wanted.keys()) {
      const known = this.#topics.get(topic);
      const description = found.get(topic) ?? (known && { ...known, partitions: 0 });
      if (description !== undefined) this.#topics.set(topic, description);
    }
    return found;
  }

  note(descriptions: ReadonlyMap<string, FoundTopic>): void {
    for (const [topic, description] of descriptions) this.#topics.set(topic, description);
  }

  /** `max.message.bytes` of a topic in the cache; 1,000,000 for any other topic. */
  maxMessageBytes(topic: string): number {
    const found = this.#topics.get(topic);
    return found === undefined ? 1_000_000 : maxMessageBytes(found);
  }

  /** Fetches the limit again, because it can be changed at any time. Throws `TopicUnknownError`. */
  async recordLimit(topic: string): Promise<RecordLimit> {
    const place = { topic, partition: 0 };
    const value = maxMessageBytes(assertExists(await this.refresh([place]), place));
    return { bytes: recordBytes(value), setting: { name: 'max.message.bytes', value, neededFor: messageBytesFor } };
  }

  /** Adds a partition to each record that has none. Throws `TopicUnknownError` and `InvalidRecordError`. */
  async withPartitions<Record extends NewRecord | RecordSeries>(records: readonly Record[]): Promise<readonly WithPartition<Record>[]> {
    const placed: WithPartition<Record>[] = [];
    let last: { readonly topic: string; readonly description: FoundTopic } | undefined;
    for (const record of records) {
      const { topic, key } = record;
      // Look a topic up once for all consecutive records of it, because there can be thousands.
      if (last?.topic !== topic) last = { topic, description: await this.describe(topic) };
      const partition = record.partition ?? (key === null ? 0 : partitionForKey(key, last.description.partitions));
      if (!hasPartition(last.description.partitions, partition))
        last = { topic, description: await this.assertPartition(topic, partition) };
      if (isCompacted(last.description) && key === null) {
        throw new InvalidRecordError({ topic, reason: 'has no key; a compacted topic keeps the newest record per key.' });
      }
      placed.push({ ...record, partition });
    }
    return placed;
  }
}

function assertExists(found: ReadonlyMap<string, FoundTopic>, { topic, partition }: TopicPartition): FoundTopic {
  const description = found.get(topic);
  if (description === undefined) throw new TopicUnknownError({ topic, partition: null, partitions: null });
  if (!hasPartition(description.partitions, partition))
    throw new TopicUnknownError({ topic, partition, partitions: description.partitions });
  return description;
}
