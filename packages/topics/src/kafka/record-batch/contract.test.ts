import { randomUUID } from 'node:crypto';
import { kafkaBrokersForTests, whyNoKafkaBroker } from '@headgate/sandbox/kafka-broker';
import {
  type Admin,
  Kafka,
  logLevel,
  Partitioners,
  type KafkaMessage,
  type Message,
  type ProducerRecord,
  type RecordMetadata,
} from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BatchRecord } from './batch-record.ts';
import { pageOfRecords } from './batch-records.fixture.ts';
import { registerCodecs } from './codecs.ts';
import { encodeRecords } from './encode-records.ts';
import { RecordBatches } from './message-batches.ts';
import { plainMessages, recordBatch } from './record-batch.ts';

const reason = await whyNoKafkaBroker();
const at = { partition: 0, timestampMs: 1_795_000_000_000 };
const neverFallBack = (why: string): never => {
  throw new Error(why);
};
const batches = new RecordBatches({ onFallback: neverFallBack });
const compressions = registerCodecs();

describe.skipIf(reason !== undefined)(`record batches on a broker${reason === undefined ? '' : ` (skipped: ${reason})`}`, () => {
  let broker: Awaited<ReturnType<typeof kafkaBrokersForTests>> | undefined;
  let kafka: Kafka;
  beforeAll(async () => {
    broker = await kafkaBrokersForTests();
    kafka = new Kafka({ brokers: [...broker.brokers], logLevel: logLevel.NOTHING, retry: { initialRetryTime: 30 } });
  });
  afterAll(async () => {
    if (broker === undefined) return;
    await withAdmin(async (admin) => admin.deleteTopics({ topics }));
    await broker[Symbol.asyncDispose]();
  });

  const topics: string[] = [];

  async function withAdmin(work: (admin: Admin) => Promise<unknown>): Promise<void> {
    const admin = kafka.admin();
    await admin.connect();
    await work(admin);
    await admin.disconnect();
  }

  async function makeTopic(settings: Readonly<Record<string, string>> = {}): Promise<string> {
    const topic = `record-batch-${randomUUID()}`;
    const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
    await withAdmin(async (admin) => {
      await admin.createTopics({ topics: [{ topic, numPartitions: 1, configEntries }], waitForLeaders: false });
      // kafkajs itself gives up where a busy broker doesn't know the topic yet.
      await expect.poll(async () => admin.fetchTopicMetadata({ topics: [topic] }).catch(() => undefined)).toBeDefined();
    });
    topics.push(topic);
    return topic;
  }

  /** One transaction of one send; aborted where the send fails. */
  async function write(send: ProducerRecord): Promise<RecordMetadata[]> {
    const producer = kafka.producer({
      createPartitioner: Partitioners.DefaultPartitioner,
      transactionalId: randomUUID(),
      idempotent: true,
      maxInFlightRequests: 1,
      retry: { retries: 5, initialRetryTime: 30 },
    });
    await producer.connect();
    try {
      const transaction = await producer.transaction();
      try {
        const answer = await transaction.send(send);
        await transaction.commit();
        return answer;
      } catch (error) {
        await transaction.abort();
        throw error;
      }
    } finally {
      await producer.disconnect();
    }
  }

  async function read(topic: string, count: number): Promise<KafkaMessage[]> {
    const consumer = kafka.consumer({ groupId: randomUUID(), maxWaitTimeInMs: 200 });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    const found: KafkaMessage[] = [];
    const all = Promise.withResolvers<void>();
    await consumer.run({
      eachMessage: async ({ message }) => {
        found.push(message);
        if (found.length === count) all.resolve();
      },
    });
    await all.promise;
    await consumer.disconnect();
    return found;
  }

  /** A record as a reader sees it, with texts as their bytes. */
  function seen({ offset, timestamp, key, value, headers = {} }: KafkaMessage): unknown {
    const texts = Object.entries(headers).map(([name, header]) => [name, String(header)]);
    return { offset, timestamp, key: key?.toString('hex') ?? null, value: value?.toString('hex') ?? null, headers: texts };
  }

  const odd: BatchRecord[] = [
    { key: null, value: '' },
    { key: '', value: null },
    { key: 'é', value: '😀'.repeat(5000), headers: { 1: '', ce_id: 'ü', long: 'x'.repeat(70) } },
  ];
  const records = [...odd, ...pageOfRecords(4994), ...odd];

  it.each(['none', 'gzip', 'zstd'] as const)(
    'reads 5,000 records of one batch as it reads them of the plain way, compression %s',
    async (name) => {
      const compression = compressions[name];
      const [blockTopic, plainTopic] = [await makeTopic(), await makeTopic()];
      const answer = await write({ topic: blockTopic, compression, messages: batches.messages(records, at) });
      expect(answer).toMatchObject([{ partition: 0, errorCode: 0, baseOffset: '0' }]);
      await write({ topic: plainTopic, compression, messages: plainMessages(records, at) });

      const found = (await read(blockTopic, records.length)).map(seen);
      expect(found).toEqual((await read(plainTopic, records.length)).map(seen));
      expect(found[2]).toMatchObject({
        offset: '2',
        timestamp: String(at.timestampMs),
        value: Buffer.from('😀'.repeat(5000)).toString('hex'),
      });
    },
    60_000,
  );

  it('takes several batches in one transaction, in their order', async () => {
    const topic = await makeTopic();
    const producer = kafka.producer({
      createPartitioner: Partitioners.DefaultPartitioner,
      transactionalId: randomUUID(),
      idempotent: true,
    });
    await producer.connect();
    const transaction = await producer.transaction();
    const offsets: (string | undefined)[] = [];
    for (const { messages } of batches.split(pageOfRecords(1000), { ...at, maxBytes: 50_000 })) {
      const [answer] = await transaction.send({ topic, messages });
      offsets.push(answer?.baseOffset);
    }
    await transaction.commit();
    await producer.disconnect();
    const values = (await read(topic, 1000)).map(({ value }) => String(value));
    expect(values).toEqual(pageOfRecords(1000).map(({ value }) => value));
    expect(offsets.length).toBeGreaterThan(1);
  });

  it('counts the bytes of a batch as the broker does', async () => {
    const [{ bytes, messages } = { bytes: 0, messages: [] as Message[] }] = batches.split(pageOfRecords(100), {
      ...at,
      maxBytes: 1_000_000,
    });
    await write({ topic: await makeTopic({ 'max.message.bytes': String(bytes) }), messages });
    const oneLess = write({ topic: await makeTopic({ 'max.message.bytes': String(bytes - 1) }), messages });
    await expect(oneLess).rejects.toMatchObject({ type: 'MESSAGE_TOO_LARGE' });
  });

  it.each([99, 101])('is refused by the broker when it holds 100 records and says %i', async (count) => {
    const topic = await makeTopic();
    const page = pageOfRecords(100);
    const messages = recordBatch({ ...at, records: page, encoded: { ...encodeRecords(page), count }, onMismatch: neverFallBack });
    await expect(write({ topic, messages })).rejects.toMatchObject({ code: 87 });
    await write({ topic, messages: batches.messages(page, at) });
    expect(await read(topic, 100)).toHaveLength(100);
  });
});
