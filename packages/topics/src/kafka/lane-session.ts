import type { Transaction } from 'kafkajs';
import type { NewRecord, TopicPartition } from '../topic-log.ts';
import type { OffsetCommit } from '../transaction-content.ts';
import type { LaneProducer } from './lane-producer.ts';
import type { OwnWrites } from './own-writes.ts';
import { type RecordSender, placeOf } from './record-sender.ts';
import { withinTime } from './time-limit.ts';

/** kafkajs waits for what it has asked, and a broker may not answer. */
const CLOSE_WITHIN_MS = 1_000;

export interface LaneSessionOptions {
  readonly producer: LaneProducer;
  readonly sender: RecordSender;
  readonly ownWrites: OwnWrites;
}

/** One producer of a lane, from its fence to its first fault: a kafkajs producer that has failed must never be used again. */
export class LaneSession {
  readonly #producer: LaneProducer;
  readonly #sender: RecordSender;
  readonly #ownWrites: OwnWrites;

  /** Its first transaction fences every older producer of the same transactional id; connecting alone does not. */
  constructor({ producer, sender, ownWrites }: LaneSessionOptions) {
    this.#producer = producer;
    this.#sender = sender;
    this.#ownWrites = ownWrites;
  }

  async connect(): Promise<void> {
    await this.#producer.connect();
  }

  /** Writes all or nothing. Any error leaves the outcome unknown. */
  async write(records: readonly NewRecord[], offsets: readonly OffsetCommit[] = []): Promise<void> {
    this.#announce(records);
    const transaction = await this.#producer.transaction();
    const sent = await this.#sender.send(transaction, records);
    // Never first: kafkajs doesn't try again when the last transaction isn't quite over.
    for (const { group, topic, partition, next } of offsets) {
      await transaction.sendOffsets({ consumerGroupId: group, topics: [{ topic, partitions: [{ partition, offset: String(next) }] }] });
    }
    await transaction.commit();
    this.#ownWrites.committed(sent, offsets);
  }

  /** Begins, and gives up: what is sent is never read, but the partitions get a mark that ends whatever came before. */
  async writeInVain(records: readonly NewRecord[]): Promise<void> {
    this.#announce(records);
    const transaction: Transaction = await this.#producer.transaction();
    await this.#sender.send(transaction, records);
    await transaction.abort();
  }

  #announce(records: readonly NewRecord[]): void {
    const places = new Map<string, TopicPartition>();
    let last: TopicPartition | undefined;
    for (const { topic, partition = 0 } of records) {
      if (last?.topic === topic && last.partition === partition) continue;
      last = { topic, partition };
      places.set(placeOf(topic, partition), last);
    }
    this.#producer.announce([...places.values()]);
  }

  /** Doesn't wait for the connection to close. */
  discard(): void {
    this.#producer.disconnect().catch(() => undefined);
  }

  async disconnect(): Promise<void> {
    await withinTime(CLOSE_WITHIN_MS, this.#producer.disconnect()).catch(() => undefined);
  }
}
