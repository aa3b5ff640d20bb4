import type { Transaction } from 'kafkajs';
import type { NewRecord, OffsetCommit, RecordSeries } from '../../topic-log.ts';
import type { TransactionalProducer } from '../producer/transactional-producer.ts';
import type { ReadYourWrites } from '../consumer/read-your-writes.ts';
import { type RecordSender, type RecordsByPartition, byPartition } from '../producer/record-sender.ts';
import { soon } from '../client/time-limit.ts';

export interface LaneSessionOptions {
  readonly producer: TransactionalProducer;
  readonly sender: RecordSender;
  readonly readYourWrites: ReadYourWrites;
}

/** One producer of a lane, from its fence to its first fault: a kafkajs producer that has failed must never be used again. */
export class LaneSession {
  readonly #producer: TransactionalProducer;
  readonly #sender: RecordSender;
  readonly #readYourWrites: ReadYourWrites;

  /** Its first transaction fences every older producer of the same transactional id; connecting alone does not. */
  constructor({ producer, sender, readYourWrites }: LaneSessionOptions) {
    this.#producer = producer;
    this.#sender = sender;
    this.#readYourWrites = readYourWrites;
  }

  async connect(): Promise<void> {
    await this.#producer.connect();
  }

  /** Writes all or nothing. Any error leaves the outcome unknown. */
  async write(records: readonly (NewRecord | RecordSeries)[], offsets: readonly OffsetCommit[] = []): Promise<void> {
    const partitions = byPartition(records);
    const transaction = await this.#begin(partitions);
    const assertAppended = this.#readYourWrites.appendGuard(partitions.values());
    const sent = await this.#sender.send(transaction, partitions);
    assertAppended(sent);
    // Never first: kafkajs doesn't try again when the last transaction isn't quite over.
    for (const { group, topic, partition, nextOffset } of offsets) {
      await transaction.sendOffsets({
        consumerGroupId: group,
        topics: [{ topic, partitions: [{ partition, offset: String(nextOffset) }] }],
      });
    }
    await transaction.commit();
    this.#readYourWrites.committed(sent, offsets);
  }

  async #begin(partitions: RecordsByPartition): Promise<Transaction> {
    if (this.#producer.isOutdated()) throw new Error('The connection to the coordinator was lost.');
    this.#producer.announce([...partitions.values()]);
    return await this.#producer.transaction();
  }

  /** Doesn't wait for the connection to close. */
  discard(): void {
    this.#producer.disconnect().catch(() => undefined);
  }

  async disconnect(): Promise<void> {
    await soon(this.#producer.disconnect());
  }
}
