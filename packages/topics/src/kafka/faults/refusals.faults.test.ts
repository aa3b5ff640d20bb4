import { type KafkaBroker, startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { InvalidRecordError, TopicMismatchError, TopicUnknownError } from '../../topic-errors.ts';
import type { NewRecord, TopicLog } from '../../topic-log.ts';
import { kafkaTopicLog } from '../index.ts';
import { createTopics, plainKafka } from './committed-records.fixture.ts';
import { newPages } from './pages.fixture.ts';

const why = await whyNoKafkaBroker();
const because = why === undefined ? '' : ` (skipped: ${why})`;

describe.skipIf(why !== undefined).concurrent(`what a broker refuses${because}`, () => {
  let broker: KafkaBroker;
  let log: TopicLog;
  beforeAll(async () => {
    broker = await startKafkaBroker({ settings: { 'transaction.max.timeout.ms': '10000' } });
    log = await open();
  });
  afterAll(async () => {
    await log.close();
    await broker.close();
  });

  function open(): Promise<TopicLog> {
    return kafkaTopicLog({ brokers: broker.brokers, replication: 1, compression: 'none', transactionTimeoutMs: 10_000 });
  }

  const large: Partial<NewRecord> = { value: 'x'.repeat(9_000_000) };
  const keyless: Partial<NewRecord> = { key: null };

  it.for([
    {
      what: 'a record larger than its topic takes',
      where: 'records',
      record: large,
      error: InvalidRecordError,
      says: /max\.message\.bytes/u,
    },
    { what: 'a state larger than its topic takes', where: 'state', record: large, error: InvalidRecordError, says: /max\.message\.bytes/u },
    { what: 'a record without a key for a compacted topic', where: 'state', record: keyless, error: InvalidRecordError, says: /no key/u },
    { what: 'a record for a topic there is not', where: 'nowhere', record: {}, error: TopicUnknownError, says: /createTopics/u },
    {
      what: 'a record for a partition there is not',
      where: 'records',
      record: { partition: 7 },
      error: TopicUnknownError,
      says: /no partition 7/u,
    },
  ])('$what: nothing of its transaction is written, and the lane continues at once', async ({ where, record, error, says }, { expect }) => {
    const pages = await newPages(log);
    const topics: Record<string, string> = { records: pages.topic, state: pages.lane.state.topic };
    const topic = topics[where] ?? where;
    const writer = await log.openLane(pages.lane);
    await pages.write(writer);
    const refused = writer.transaction((tx) => {
      pages.content(1_000)(tx);
      tx.append([{ topic, partition: 0, key: 'k', value: 'v', ...record }]);
    });
    await expect(refused).rejects.toThrow(error);
    await expect(refused).rejects.toThrow(says);
    await expect(refused).rejects.toThrow(`"${topic}"`);
    await expect(refused).rejects.toMatchObject({ topic });
    expect(writer.state.get('page')).toBe('0');
    await pages.write(writer);
    const appended = log.append([{ topic, partition: 0, key: 'k', value: 'v', ...record }]);
    await expect(appended).rejects.toThrow(error);
    await pages.verify(broker.brokers, log);
  });

  it('transactions of the usual time-out: lanes and other writers say so', async ({ expect }) => {
    await using asking = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    const pages = await newPages(asking);
    const says =
      /\(INVALID_TRANSACTION_TIMEOUT\)\. Raise transaction\.max\.timeout\.ms on the brokers to at least that timeout \(60000 by default\)\./u;
    await expect(asking.openLane(pages.lane)).rejects.toThrow(says);
    await expect(asking.append([{ topic: pages.topic, partition: 0, key: null, value: 'v' }])).rejects.toThrow(says);
  });

  it('batches as large as before: a log that is opened again writes smaller ones, and reports what a record needs', async ({ expect }) => {
    const pages = await newPages(log);
    const writer = await log.openLane(pages.lane);
    await pages.write(writer);
    const admin = plainKafka(broker.brokers).admin();
    await admin.connect();
    const configEntries = [{ name: 'max.message.bytes', value: '20000' }];
    await admin.alterConfigs({
      validateOnly: false,
      resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: pages.topic, configEntries }],
    });
    await admin.disconnect();
    const series = (count: number, bytes: number) => ({
      topic: pages.topic,
      partition: 0,
      key: 'k',
      count,
      valueAt: (index: number) => String(index).padEnd(bytes, 'x'),
    });
    await expect(writer.transaction((tx) => tx.append([series(1_000, 100)]))).rejects.toThrow(
      /max\.message\.bytes was \d+, and is lower now: raise it, or start again\.$/u,
    );
    await writer.close();
    await using again = await open();
    const lane = await again.openLane(pages.lane);
    await lane.transaction((tx) => tx.append([series(1_000, 100)]));
    await expect(again.append([{ topic: pages.topic, partition: 1, key: 'k', value: 'x'.repeat(15_000) }])).resolves.toHaveLength(1);
    const refused = lane.transaction((tx) => tx.append([series(1, 30_000)]));
    await expect(refused).rejects.toThrow(
      /exceeds the topic's max\.message\.bytes of 20000\. Raise it on the topic to at least 303\d\d\./u,
    );
    await pages.write(lane);
    const values: (string | null)[] = [];
    for await (const { value } of log.read({ topic: pages.topic, partitions: [0] })) values.push(value);
    expect(values.filter((value) => value?.length === 100)).toHaveLength(1_000);
    expect(values.filter((value) => (value?.length ?? 0) > 100)).toEqual([]);
  });

  it('more replicas than brokers: nothing is created', async ({ expect }) => {
    await using demanding = await kafkaTopicLog({ brokers: broker.brokers });
    const made = demanding.createTopics([{ name: 'copied', partitions: 2 }]);
    await expect(made).rejects.toThrow(TopicMismatchError);
    await expect(made).rejects.toThrow(/"copied" can't have 3 replicas: only one broker is reachable\. .* lower topics\.replication to 1/u);
    expect((await log.listTopics()).map(({ name }) => name)).not.toContain('copied');
  });

  it('an invalid name: it is reported at once', async ({ expect }) => {
    await expect(log.createTopics([{ name: 'no good', partitions: 1 }])).rejects.toThrow(/can't be created: .*INVALID_TOPIC_EXCEPTION/u);
  });

  it.for([
    {
      what: "state stamped by its writers' clocks",
      settings: { 'cleanup.policy': 'compact', 'message.timestamp.type': 'CreateTime' },
      says: /LogAppendTime/u,
    },
    { what: 'state that is not compacted', settings: { 'cleanup.policy': 'delete' }, says: /cleanup\.policy=delete, but needs compact/u },
  ])('$what, together with a new topic: nothing is created', async ({ settings, says }, { expect }) => {
    const name = `there-${Object.keys(settings).length}`;
    const admin = plainKafka(broker.brokers).admin();
    await admin.connect();
    const configEntries = Object.entries(settings).map(([key, value]) => ({ name: key, value }));
    await createTopics(admin, [{ topic: name, numPartitions: 1, configEntries }]);
    await admin.disconnect();
    const made = log.createTopics([
      { name: `${name}-new`, partitions: 1 },
      { name, partitions: 1, compacted: true },
    ]);
    await expect(made).rejects.toThrow(TopicMismatchError);
    await expect(made).rejects.toThrow(says);
    expect((await log.listTopics()).map((topic) => topic.name)).not.toContain(`${name}-new`);
  });

  it('a topic that several clients create and enlarge at once: it exists with the requested partitions', async ({ expect }) => {
    await log.createTopics([{ name: 'common-0', partitions: 1 }]);
    const logs = await Promise.all(Array.from({ length: 4 }, open));
    for (const partitions of [2, 3, 5]) {
      const topics = Array.from({ length: 6 }, (_, index) => ({ name: `common-${index}`, partitions, compacted: false }));
      await Promise.all(logs.map((each, index) => each.createTopics([...topics.slice(index), ...topics.slice(0, index)])));
      const found = (await log.listTopics()).filter(({ name }) => name.startsWith('common-'));
      expect(found.map(({ name, partitions: count }) => `${name} ${count}`)).toEqual(topics.map(({ name }) => `${name} ${partitions}`));
    }
    await Promise.all(logs.map((each) => each.close()));
  });
});
