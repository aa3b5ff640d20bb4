import { createHash, randomUUID } from 'node:crypto';
import { plainKafka } from './plain-kafka.ts';

/** All that is committed in a topic of one partition. */
export interface WrittenRecords {
  readonly count: number;
  /** Of all keys and values, in their order. */
  readonly digest: string;
}

const WITHIN_MS = 120_000;

/** Reads a topic by kafkajs, from its beginning to a record that is appended now: an open transaction would hold that back, and it rejects. */
export async function writtenRecords(brokers: readonly string[], topic: string): Promise<WrittenRecords> {
  const { kafka } = plainKafka(brokers);
  const end = randomUUID();
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic, messages: [{ key: end, value: '' }] });
  await producer.disconnect();

  const consumer = kafka.consumer({ groupId: `bench-${end}`, maxBytesPerPartition: 8 * 1_024 * 1_024 });
  const hash = createHash('sha256');
  let count = 0;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => reject(new Error(`${topic} could not be read to its end within ${WITHIN_MS / 1_000} s`)), WITHIN_MS);
  await consumer.connect();
  try {
    await consumer.subscribe({ topic, fromBeginning: true });
    const eachBatch: Parameters<typeof consumer.run>[0]['eachBatch'] = async ({ batch: { messages } }) => {
      for (const { key, value } of messages) {
        if (key?.toString() === end) return resolve();
        count += 1;
        hash
          .update(key ?? '')
          .update('\n')
          .update(value ?? '')
          .update('\n');
      }
      await Promise.resolve();
    };
    consumer.run({ eachBatch }).catch(reject);
    await promise;
  } finally {
    clearTimeout(timer);
    await consumer.disconnect();
  }
  return { count, digest: hash.digest('hex') };
}
