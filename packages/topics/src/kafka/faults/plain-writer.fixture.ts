import { randomUUID } from 'node:crypto';
import { Kafka, type ProducerConfig, logLevel } from 'kafkajs';
import { letQueuesIdle } from './idle-queues.fixture.ts';

export interface PlainWriterOptions {
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly topic: string;
  /** How often and how soon kafkajs retries a send. Default: kafkajs's own default. */
  readonly retry?: ProducerConfig['retry'];
}

/** A producer of kafkajs, used as kafkajs's documentation says. */
export interface PlainWriter extends AsyncDisposable {
  /**
   * Writes a page to every partition with one send, in a separate transaction. Resolves to the page's offset in each acknowledged partition. If a
   * call fails, it aborts the transaction and rejects with the error.
   */
  write(page: number, partitions: number): Promise<readonly number[]>;
}

export async function plainWriter({ brokers, clientId, topic, retry }: PlainWriterOptions): Promise<PlainWriter> {
  letQueuesIdle();
  const kafka = new Kafka({ clientId, brokers: [...brokers], logLevel: logLevel.NOTHING });
  const retries = retry === undefined ? {} : { retry };
  const producer = kafka.producer({ transactionalId: randomUUID(), idempotent: true, maxInFlightRequests: 1, ...retries });
  await producer.connect();
  return {
    async write(page, partitions) {
      const transaction = await producer.transaction();
      try {
        const messages = Array.from({ length: partitions }, (_, partition) => ({ partition, key: 'page', value: String(page) }));
        const answers = await transaction.send({ topic, messages, acks: -1 });
        await transaction.commit();
        return answers.map(({ baseOffset }) => Number(baseOffset));
      } catch (error) {
        await transaction.abort();
        throw error;
      }
    },
    [Symbol.asyncDispose]: () => producer.disconnect(),
  };
}
