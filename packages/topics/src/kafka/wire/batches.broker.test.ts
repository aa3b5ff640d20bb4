import { randomUUID } from 'node:crypto';
import { inspect, promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import kafkajs, {
  type Admin,
  CompressionTypes,
  type InstrumentationEvent,
  Kafka,
  type KafkaConfig,
  type KafkaMessage,
  type ProducerRecord,
  logLevel,
  Partitioners,
} from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it, inject } from 'vitest';
import { createTopics } from '../faults/committed-records.fixture.ts';
import { kafkajsSockets } from '../faults/kafkajs-sockets.fixture.ts';
import { plainCluster } from '../client/plain-cluster.fixture.ts';
import { letQueuesIdle } from '../faults/idle-queues.fixture.ts';
import { TransactionalProducer } from '../producer/transactional-producer.ts';
import { fetchPartition } from '../reader/fetch.ts';
import type { FetchedPartition } from '../requests/fetch.ts';
import { READ_COMMITTED } from '../requests/offsets.ts';
import type { BatchRecord } from './batch-record.ts';
import { pageOfRecords } from './batch-records.fixture.ts';
import { COMPRESSIONS } from './codecs.ts';
import { encodeRecords } from './encode-records.ts';
import type { RecordBatch } from './record-batch.ts';
import { BatchSplitter } from './split-batches.ts';
import { plainMessages } from './wire-bytes.fixture.ts';

const { why: reason, ...broker } = inject('kafkaBroker');
// The broker deletes records that are older than a week, so these are new.
const at = { partition: 0, timestampMs: Date.now() };
const all = { timestampMs: at.timestampMs, maxBytes: 1e9, compression: COMPRESSIONS.none };
const TYPES = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, zstd: CompressionTypes.ZSTD };
/** Far longer than a busy broker takes to write the end marker of a transaction. */
const READS_WITHIN_MS = 240_000;
const splitter = new BatchSplitter();
kafkajs.CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: ({ buffer }: { readonly buffer: Buffer }) => COMPRESSIONS.zstd.compress(buffer),
  decompress: promisify(zstdDecompress),
});
letQueuesIdle();

describe.skipIf(reason !== undefined)(`record batches on a broker${reason === undefined ? '' : ` (skipped: ${reason})`}`, () => {
  let config: KafkaConfig;
  let kafka: Kafka;
  beforeAll(async () => {
    config = {
      brokers: [...broker.brokers],
      logLevel: logLevel.NOTHING,
      retry: { initialRetryTime: 30 },
      requestTimeout: 30_000,
      socketFactory: kafkajsSockets(),
    };
    kafka = new Kafka(config);
    // A new broker needs some time to create its transaction coordinator for the first transaction. This transaction keeps that delay out of the
    // tests.
    const first = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, transactionalId: randomUUID(), idempotent: true });
    await first.connect();
    await (await first.transaction()).abort();
    await first.disconnect();
  });
  afterAll(async () => {
    await withAdmin(async (admin) => admin.deleteTopics({ topics }));
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
      await createTopics(admin, [{ topic, numPartitions: 1, configEntries }]);
    });
    topics.push(topic);
    return topic;
  }

  /** Writes the batches in one transaction, and returns the first offset of each batch. */
  async function write(topic: string, batches: Iterable<RecordBatch | Promise<RecordBatch>>): Promise<number[]> {
    const cluster = plainCluster(broker.brokers);
    const producer = new TransactionalProducer(cluster, randomUUID(), 60_000);
    await producer.fence();
    await producer.begin([{ topic, partition: 0 }]);
    try {
      const offsets: number[] = [];
      for (const batch of batches) offsets.push(...(await producer.produce([{ topic, partition: 0, batch: await batch }])).values());
      await producer.commit();
      return offsets;
    } finally {
      cluster.close();
    }
  }

  function* batchesOf(records: readonly BatchRecord[], options: Partial<typeof all> = {}): Generator<Promise<RecordBatch>> {
    for (const batch of splitter.split(records, { ...all, ...options })) yield batch.packed();
  }

  function* inTurn(pages: readonly (readonly BatchRecord[])[]): Generator<Promise<RecordBatch>> {
    for (const page of pages) yield* batchesOf(page);
  }

  async function writeByKafkajs(send: ProducerRecord): Promise<void> {
    const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
    await producer.connect();
    await producer.send(send);
    await producer.disconnect();
  }

  async function firstFetched(topic: string): Promise<FetchedPartition> {
    const cluster = plainCluster(broker.brokers);
    try {
      return await fetchPartition(cluster, { topic, partition: 0, offset: 0, maxWaitMs: 0, isolationLevel: READ_COMMITTED });
    } finally {
      cluster.close();
    }
  }

  /** Rejects with the topic's ends and with what kafkajs's consumer did if it hasn't read the records in time. */
  async function read(topic: string, count: number): Promise<KafkaMessage[]> {
    const consumer = kafka.consumer({ groupId: randomUUID(), maxWaitTimeInMs: 200 });
    const found: KafkaMessage[] = [];
    const all = Promise.withResolvers<void>();
    const did: string[] = [];
    for (const event of Object.values(consumer.events)) {
      consumer.on(event, ({ payload }: InstrumentationEvent<unknown>) => {
        did.push(`${event} ${inspect(payload, { breakLength: Infinity })}`);
      });
    }
    const late = async (): Promise<void> => {
      const { highWatermark, lastStable } = await firstFetched(topic);
      const read = `kafkajs read ${found.length} of ${count} records of ${topic}. ${highWatermark} are replicated, ${lastStable} committed.`;
      all.reject(new Error(`${read} It did:\n${did.slice(-30).join('\n')}`));
    };
    const timer = setTimeout(() => void late().catch(all.reject), READS_WITHIN_MS);
    try {
      await consumer.connect();
      await consumer.subscribe({ topic, fromBeginning: true });
      await consumer.run({
        eachMessage: async ({ message }) => {
          found.push(message);
          if (found.length === count) all.resolve();
        },
      });
      await all.promise;
    } finally {
      clearTimeout(timer);
      await consumer.disconnect();
    }
    return found;
  }

  /** The fields that a reader sees, with key and value in hexadecimal. */
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
    'are read like those that kafkajs writes: 5,000 records in one batch, compression %s',
    async (name) => {
      const [batchTopic, plainTopic] = [await makeTopic(), await makeTopic()];
      expect(await write(batchTopic, batchesOf(records, { compression: COMPRESSIONS[name] }))).toEqual([0]);
      await writeByKafkajs({ topic: plainTopic, compression: TYPES[name], messages: plainMessages(records, at) });

      const found = (await read(batchTopic, records.length)).map(seen);
      expect(found).toEqual((await read(plainTopic, records.length)).map(seen));
      expect(found[2]).toMatchObject({
        offset: '2',
        timestamp: String(at.timestampMs),
        value: Buffer.from('😀'.repeat(5000)).toString('hex'),
      });
    },
  );

  it('arrive in order if one transaction has several', async () => {
    const topic = await makeTopic();
    const offsets = await write(topic, batchesOf(pageOfRecords(1000), { maxBytes: 50_000 }));
    const values = (await read(topic, 1000)).map(({ value }) => String(value));
    expect(values).toEqual(pageOfRecords(1000).map(({ value }) => value));
    expect(offsets.length).toBeGreaterThan(1);
  });

  it('have as many bytes as the broker counts', async () => {
    const page = pageOfRecords(100);
    const [{ bytes } = { bytes: 0 }] = splitter.split(page, all);
    await write(await makeTopic({ 'max.message.bytes': String(bytes) }), batchesOf(page));
    const oneLess = write(await makeTopic({ 'max.message.bytes': String(bytes - 1) }), batchesOf(page));
    await expect(oneLess).rejects.toMatchObject({ type: 'MESSAGE_TOO_LARGE' });
  });

  it.each([99, 101])('are refused by the broker if one holds 100 records and declares %i', async (count) => {
    const topic = await makeTopic();
    const page = pageOfRecords(100);
    const wrong = { records: encodeRecords(page).bytes, count, timestampMs: at.timestampMs, codec: 0 };
    await expect(write(topic, [wrong])).rejects.toMatchObject({ code: 87 });
    await write(topic, batchesOf(page));
    expect(await read(topic, 100)).toHaveLength(100);
  });

  it('aren’t mistaken for the previous one of the same size: the sequence of a partition continues', async () => {
    const topic = await makeTopic();
    const pages = ['a', 'b', 'c'].map((name) => Array.from({ length: 10 }, (_, index) => ({ key: null, value: `${name}${index}` })));
    await write(topic, inTurn(pages));
    expect((await read(topic, 30)).map(({ value }) => String(value))).toEqual(pages.flat().map(({ value }) => value));
  });
});
