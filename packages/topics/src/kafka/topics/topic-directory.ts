import { partitionForKey } from '../../partition-for-key.ts';
import { InvalidRecordError, TopicUnknownError } from '../../topic-errors.ts';
import type { NewRecord, RecordLimit, RecordSeries, TopicPartition } from '../../topic-log.ts';
import type { Client } from '../client/client.ts';
import { chain, isAnswer } from '../client/driver-errors.ts';
import { messageBytesFor, recordBytes } from '../wire/record-size.ts';
import { describeAllTopics, describeTopics } from './describe-topics.ts';
import { certainTopicMetadata, hasPartition, partitionCount } from './topic-metadata.ts';
import { type FoundTopic, isCompacted, maxMessageBytes } from './topic-requirements.ts';

export type WithPartition<Record extends NewRecord | RecordSeries> = Record & { readonly partition: number };

/**
 * The topics of a log: which exist, with which partitions and settings. It keeps the descriptions, and reports a topic or partition that it doesn't
 * have as missing only after another look at the brokers.
 */
export class TopicDirectory {
  readonly #client: Client;
  /** Deleted topics stay with 0 partitions, because appends in flight to them still need the size limit. */
  readonly #topics = new Map<string, FoundTopic>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Throws `TopicUnknownError`. */
  async describe(topic: string, partition = 0): Promise<FoundTopic> {
    await this.assertPartitions([{ topic, partition }]);
    return assertExists(this.#topics, { topic, partition });
  }

  /** Throws `TopicUnknownError`. All topics and partitions that aren't known are looked up at once. */
  async assertPartitions(topicPartitions: readonly TopicPartition[]): Promise<void> {
    const unknown = topicPartitions.filter(({ topic, partition }) => !hasPartition(this.#topics.get(topic)?.partitions ?? 0, partition));
    if (unknown.length > 0) await this.#assertNow(unknown);
  }

  /** The numbers of a topic's partitions at the moment. Throws `TopicUnknownError`. */
  async partitions(topic: string): Promise<readonly number[]> {
    const found = await this.#client.run((cluster) => certainTopicMetadata(cluster, new Map([[topic, 1]])));
    const count = partitionCount(found.get(topic));
    if (count === 0) throw new TopicUnknownError({ topic, partition: null, partitions: null });
    return Array.from({ length: count }, (_, partition) => partition);
  }

  /**
   * Returns the error to report for `fault`, an error of a request: a `TopicUnknownError` if a broker doesn't know a topic or partition, and the
   * cluster doesn't have it; the error of that look if it fails; otherwise `fault`. A broker can lag behind, so its word alone proves nothing.
   */
  async explained(fault: unknown): Promise<unknown> {
    if (fault instanceof TopicUnknownError) return fault;
    const places = [...chain(fault)].flatMap((each) =>
      each.topic !== undefined && isAnswer(each, 'UNKNOWN_TOPIC_OR_PARTITION')
        ? [{ topic: each.topic, partition: each.partition ?? 0 }]
        : [],
    );
    if (places.length === 0) return fault;
    try {
      await this.#assertNow(places);
      return fault;
    } catch (error) {
      return error;
    }
  }

  async #assertNow(places: readonly TopicPartition[]): Promise<void> {
    const found = await this.refresh(places);
    for (const place of places) assertExists(found, place);
  }

  /** Looks which of these topics exist, and with how many partitions. The settings of a topic with the same ID as before can be older. */
  async find(topics: readonly string[]): Promise<ReadonlyMap<string, FoundTopic>> {
    return await this.refresh(topics.map((topic) => ({ topic, partition: 0 })));
  }

  /** Does the same for the topics of these partitions. */
  async refresh(topicPartitions: readonly TopicPartition[]): Promise<ReadonlyMap<string, FoundTopic>> {
    const wanted = new Map<string, number>();
    for (const { topic, partition } of topicPartitions) {
      const known = this.#topics.get(topic)?.partitions ?? 0;
      wanted.set(topic, Math.max(1, known, partition + 1, wanted.get(topic) ?? 0));
    }
    const found = await this.#client.run((cluster) => describeTopics(cluster, wanted, this.#topics));
    for (const topic of wanted.keys()) {
      const known = this.#topics.get(topic);
      const description = found.get(topic) ?? (known && { ...known, partitions: 0 });
      if (description !== undefined) this.#topics.set(topic, description);
    }
    return found;
  }

  /** All topics except the brokers' internal ones. */
  async all(): Promise<ReadonlyMap<string, FoundTopic>> {
    return await this.#client.run((cluster) => describeAllTopics(cluster));
  }

  note(descriptions: ReadonlyMap<string, FoundTopic>): void {
    for (const [topic, description] of descriptions) this.#topics.set(topic, description);
  }

  /** `max.message.bytes` of a topic that was described; 1,000,000 for any other topic. */
  maxMessageBytes(topic: string): number {
    const found = this.#topics.get(topic);
    return found === undefined ? 1_000_000 : maxMessageBytes(found);
  }

  /** Throws `TopicUnknownError`. */
  async recordLimit(topic: string): Promise<RecordLimit> {
    const value = maxMessageBytes(await this.describe(topic));
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
      if (!hasPartition(last.description.partitions, partition)) last = { topic, description: await this.describe(topic, partition) };
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
