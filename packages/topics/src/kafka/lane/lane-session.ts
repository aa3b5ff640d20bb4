import type { NewRecord, OffsetCommit, RecordSeries } from '../../topic-log.ts';
import type { TransactionalProducer } from '../producer/transactional-producer.ts';
import type { ReadYourWrites } from '../consumer/read-your-writes.ts';
import { type RecordSender, byPartition } from '../producer/record-sender.ts';
import { soon } from '../client/time-limit.ts';

export interface LaneSessionOptions {
  readonly producer: TransactionalProducer;
  readonly sender: RecordSender;
  readonly readYourWrites: ReadYourWrites;
}

/** One producer of a lane, from its fence to its first error. */
export class LaneSession {
  readonly #producer: TransactionalProducer;
  readonly #sender: RecordSender;
  readonly #readYourWrites: ReadYourWrites;

  constructor({ producer, sender, readYourWrites }: LaneSessionOptions) {
    this.#producer = producer;
    this.#sender = sender;
    this.#readYourWrites = readYourWrites;
  }

  /** Fences no older session yet. */
  async connect(): Promise<void> {
    await this.#producer.connect();
  }

  /** Fences every older session of the lane. */
  async fence(): Promise<void> {
    await this.#producer.fence();
  }

  /** Writes all or nothing. Any error leaves the outcome unknown. */
  async write(records: readonly (NewRecord | RecordSeries)[], offsets: readonly OffsetCommit[] = []): Promise<void> {
    const partitions = byPartition(records);
    const assertAppended = this.#readYourWrites.appendGuard(partitions.values());
    await this.#producer.begin([...partitions.values()]);
    const sent = await this.#sender.send(this.#producer, partitions);
    assertAppended(sent);
    await this.#producer.sendOffsets(offsets);
    await this.#producer.commit();
    this.#readYourWrites.committed(sent, offsets);
  }

  /** Doesn't wait for the connection to close. */
  discard(): void {
    this.#producer.disconnect().catch(() => undefined);
  }

  async disconnect(): Promise<void> {
    await soon(this.#producer.disconnect());
  }
}
