import { type KafkaBroker, startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { kafkaTopicLog } from '../index.ts';
import { Cluster } from '../client/cluster.ts';
import { committedRecords, createTopics, plainKafka } from './committed-records.fixture.ts';

const why = await whyNoKafkaBroker();
const because = why === undefined ? '' : ` (skipped: ${why})`;

const exchange = Reflect.get(Cluster.prototype, 'exchange');

describe.skipIf(why !== undefined)(`a batch from which compaction has removed${because}`, () => {
  let broker: KafkaBroker;
  beforeAll(async () => {
    broker = await startKafkaBroker({ settings: { 'log.cleaner.backoff.ms': '100' } });
  });
  afterEach(() => {
    Cluster.prototype.exchange = exchange;
  });
  afterAll(() => broker.close());

  /** Creates a topic that is compacted quickly, with each batch in a separate segment, and waits until only the keys in `left` remain. */
  const compacted = async (
    topic: string,
    batches: readonly (readonly (readonly [key: string, value: string])[])[],
    left: readonly string[],
  ) => {
    const settings = {
      'cleanup.policy': 'compact',
      'max.message.bytes': '6000000',
      'segment.ms': '100',
      'min.cleanable.dirty.ratio': '0.001',
      'delete.retention.ms': '0',
    };
    const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
    const kafka = plainKafka(broker.brokers);
    const admin = kafka.admin();
    await admin.connect();
    await createTopics(admin, [{ topic, numPartitions: 1, configEntries }]);
    for (const [i, batch] of batches.entries()) {
      // The first batch comes from an idempotent producer. A broker keeps the header of such a producer's last batch, for its sequence number.
      const producer = kafka.producer({ idempotent: i === 0, maxInFlightRequests: 1 });
      await producer.connect();
      await producer.send({ topic, messages: batch.map(([key, value]) => ({ key, value })) });
      await producer.disconnect();
      await sleep(150);
    }
    await admin.disconnect();
    const keys = async (): Promise<(string | null)[]> => (await committedRecords(broker.brokers, topic)).map(({ key }) => key);
    await expect.poll(keys, { interval: 200 }).toEqual(left);
  };
  const keysOf = async (topic: string): Promise<(string | null)[]> => {
    await using log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    const read: (string | null)[] = [];
    for await (const { key } of log.read({ topic })) if (key !== '$end') read.push(key);
    return read;
  };

  it('the last records is read past, even if a response has room for that batch only', async () => {
    const batch = ['first', 'second', 'third'].map((key) => [key, 'old'] as const);
    const newer = ['second', 'third'].map((key) => [[key, 'x'.repeat(5_000_000)] as const]);
    await compacted('tail', [batch, ...newer], ['first', 'second', 'third']);
    expect(await keysOf('tail')).toEqual(['first', 'second', 'third']);
  });

  it('all records is passed at once, even if a small response ends within the next batch', async () => {
    const many = Array.from({ length: 2_000 }, () => ['many', 'old'] as const);
    await compacted('frame', [many, [['large', 'x'.repeat(1_000_000)]], [['many', 'new']], [['last', '']]], ['large', 'many', 'last']);
    let fetches = 0;
    Cluster.prototype.exchange = async function (this: Cluster, broker, request, options) {
      if (request.api === 'Fetch') fetches += 1;
      return (await exchange.call(this, broker, request as never, options)) as never;
    };
    expect(await keysOf('frame')).toEqual(['large', 'many', 'last']);
    // One response can contain all batches, those without records, too.
    expect(fetches).toBeLessThan(6);
  });
});
