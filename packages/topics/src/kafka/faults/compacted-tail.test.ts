import { type KafkaBroker, startKafkaBroker, whyNoKafkaBroker } from '@headgate/sandbox/kafka-broker';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { kafkaTopicLog } from '../index.ts';
import { committedRecords, plainKafka } from './committed-records.fixture.ts';

const why = await whyNoKafkaBroker();
const because = why === undefined ? '' : ` (skipped: ${why})`;

describe.skipIf(why !== undefined)(`a batch whose last records compaction has taken${because}`, () => {
  let broker: KafkaBroker;
  beforeAll(async () => {
    broker = await startKafkaBroker({ settings: { 'log.cleaner.backoff.ms': '100' } });
  });
  afterAll(() => broker.close());

  it('is read past, also where an answer has room for that batch alone', async ({ expect }) => {
    const topic = 'tail';
    const settings = {
      'cleanup.policy': 'compact',
      'max.message.bytes': '6000000',
      'segment.ms': '100',
      'min.cleanable.dirty.ratio': '0.001',
      'delete.retention.ms': '0',
    };
    const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
    const kafka = plainKafka(broker.brokers);
    const [admin, producer] = [kafka.admin(), kafka.producer()];
    await Promise.all([admin.connect(), producer.connect()]);
    await admin.createTopics({ topics: [{ topic, numPartitions: 1, configEntries }], waitForLeaders: true });
    const batch = ['first', 'second', 'third'].map((key) => ({ key, value: 'old' }));
    await producer.send({ topic, messages: batch });
    for (const key of ['second', 'third']) {
      await sleep(150);
      await producer.send({ topic, messages: [{ key, value: 'x'.repeat(5_000_000) }] });
    }
    const keys = async (): Promise<(string | null)[]> => (await committedRecords(broker.brokers, topic)).map(({ key }) => key);
    await expect.poll(keys, { interval: 200 }).toEqual(['first', 'second', 'third']);
    await using log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    const read: (string | null)[] = [];
    for await (const { key } of log.read({ topic })) if (key !== '$end') read.push(key);
    expect(read).toEqual(['first', 'second', 'third']);
    await Promise.all([admin.disconnect(), producer.disconnect()]);
  });
});
