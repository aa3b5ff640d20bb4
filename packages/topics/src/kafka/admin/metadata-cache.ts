import { partitionForKey } from '../../partition-for-key.ts';
import { InvalidRecordError, TopicUnknownError } from '../../topic-errors.ts';
import type { NewRecord, RecordRoom, RecordSeries, TopicPartition } from '../../topic-log.ts';
import type { InnerAdmin } from '../client/kafkajs-cluster.ts';
import { type TopicFacts, certainTopicFacts } from './topics.ts';
import type { Link } from '../client/reconnecting-client.ts';
import { messageBytesFor, recordBytes } from './record-size.ts';

export type Placed<Record extends NewRecord | RecordSeries> = Record & { readonly partition: number };

/** What is known of topics, looked up once, and again where it doesn't fit. That one is missing is believed only when it is certain. */
export class TopicBook {
  readonly #link: Link<InnerAdmin>;
  /** Of those that are gone, without partitions: what is under way to them still asks how large it may be. */
  readonly #facts = new Map<string, TopicFacts>();

  constructor(link: Link<InnerAdmin>) {
    this.#link = link;
  }

  /** Throws `TopicUnknownError`. */
  async facts(topic: string): Promise<TopicFacts> {
    return await this.assertPartition(topic, 0);
  }

  /** Throws `TopicUnknownError`. */
  async assertPartition(topic: string, partition: number): Promise<TopicFacts> {
    const known = this.#facts.get(topic);
    if (known !== undefined && partition >= 0 && partition < known.partitions) return known;
    return assertThere(await this.learn([{ topic, partition }]), { topic, partition });
  }

  /** As `assertPartition`, looked up anew, all at once. */
  async assertStillThere(places: readonly TopicPartition[]): Promise<void> {
    const found = await this.learn(places);
    for (const place of places) assertThere(found, place);
  }

  /** Looks topics up anew, all at once, where one by one would cost each lane its requests. Answers those that are there. */
  async learn(places: readonly TopicPartition[]): Promise<ReadonlyMap<string, TopicFacts>> {
    const wanted = new Map<string, number>();
    for (const { topic, partition } of places) {
      const known = this.#facts.get(topic)?.partitions ?? 0;
      wanted.set(topic, Math.max(1, known, partition + 1, wanted.get(topic) ?? 0));
    }
    const found = await this.#link.run((admin) => certainTopicFacts(admin, wanted));
    for (const topic of wanted.keys()) {
      const known = this.#facts.get(topic);
      const facts = found.get(topic) ?? (known && { ...known, partitions: 0 });
      if (facts !== undefined) this.#facts.set(topic, facts);
    }
    return found;
  }

  /** `max.message.bytes` of a topic whose facts are known. */
  maxMessageBytes(topic: string): number {
    return this.#facts.get(topic)?.maxMessageBytes ?? 1_000_000;
  }

  async recordRoom(topic: string): Promise<RecordRoom> {
    const { maxMessageBytes: value } = await this.facts(topic);
    return { bytes: recordBytes(value), setting: { name: 'max.message.bytes', value, neededFor: messageBytesFor } };
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

function assertThere(found: ReadonlyMap<string, TopicFacts>, { topic, partition }: TopicPartition): TopicFacts {
  const facts = found.get(topic);
  if (facts === undefined) throw new TopicUnknownError({ topic, partition: null, partitions: null });
  if (partition < 0 || partition >= facts.partitions) throw new TopicUnknownError({ topic, partition, partitions: facts.partitions });
  return facts;
}
