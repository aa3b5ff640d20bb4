import { type KafkaBroker, startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import kafkajs, { type Admin } from 'kafkajs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { TopicLog } from '../../topic-log.ts';
import { kafkaTopicLog } from '../index.ts';
import { committedRecords, plainKafka } from './committed-records.fixture.ts';
import { newPages } from './pages.fixture.ts';

const why = await whyNoKafkaBroker();
const because = why === undefined ? '' : ` (skipped: ${why})`;

describe.skipIf(why !== undefined).concurrent(`records that a broker deletes${because}`, () => {
  let broker: KafkaBroker;
  let log: TopicLog;
  let admin: Admin;
  beforeAll(async () => {
    broker = await startKafkaBroker({ settings: { 'log.cleaner.backoff.ms': '100' } });
    log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    admin = plainKafka(broker.brokers).admin();
    await admin.connect();
  });
  afterAll(async () => {
    await Promise.allSettled([admin.disconnect(), log.close()]);
    await broker.close();
  });

  it('are older states: a lane and its readers get the newest one, even after batches that are now empty', async ({ expect }) => {
    const pages = await newPages(log);
    const { topic } = pages.lane.state;
    const kept = { 'cleanup.policy': 'compact', 'message.timestamp.type': 'LogAppendTime' };
    const quick = { ...kept, 'segment.ms': '100', 'min.cleanable.dirty.ratio': '0.001', 'delete.retention.ms': '0' };
    const configEntries = Object.entries(quick).map(([name, value]) => ({ name, value }));
    await admin.alterConfigs({ validateOnly: false, resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configEntries }] });
    const writer = await log.openLane(pages.lane);
    await writer.transaction((tx) => {
      tx.checkpoint('kept', 'yes');
      tx.checkpoint('removed', 'soon');
    });
    await writer.transaction((tx) => tx.checkpoint('removed', null));
    await pages.write(writer, 20);
    // A broker keeps the header of an idempotent producer's last batch, for its sequence number, even without records.
    const other = plainKafka(broker.brokers).producer({ idempotent: true, maxInFlightRequests: 1 });
    await other.connect();
    await other.send({ topic, messages: Array.from({ length: 300 }, () => ({ key: 'many', value: 'of one batch' })) });
    await other.disconnect();
    const again = plainKafka(broker.brokers).producer({ idempotent: true, maxInFlightRequests: 1 });
    await again.connect();
    for (let roll = 0; roll < 3; roll += 1) {
      await sleep(150);
      await again.send({ topic, messages: [{ key: 'many', value: 'newest' }] });
    }
    await again.disconnect();
    const states = async (): Promise<number> => (await committedRecords(broker.brokers, topic)).filter(({ key }) => key === 'page').length;
    await expect.poll(states, { interval: 500 }).toBe(1);

    await using another = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    expect((await another.createTopics([{ name: topic, partitions: 1, compacted: true }])).warnings).toEqual([]);
    const newest = { kept: 'yes', page: '19', many: 'newest' };
    const onlyOurs = (state: ReadonlyMap<string, string>): object => Object.fromEntries([...state].filter(([key]) => key !== '$end'));
    expect(onlyOurs(await another.readState(topic, 0))).toEqual(newest);
    const newcomer = await another.openLane(pages.lane);
    expect(onlyOurs(newcomer.state)).toEqual(newest);
    const read: (string | null)[] = [];
    for await (const record of another.read({ topic })) if (record.key === 'page') read.push(record.value);
    expect(read).toEqual(['19']);
    await pages.write(newcomer);
    expect((await another.readState(topic, 0)).get('page')).toBe('20');
  });

  it.for([true, false])(
    'records that a reader has not read yet: it continues at the first that is kept (follow: %s)',
    async (follow, { expect }) => {
      const topic = `deleted-${String(follow)}`;
      await using plain = await kafkaTopicLog({ brokers: broker.brokers, replication: 1, compression: 'none' });
      await plain.createTopics([{ name: topic, partitions: 1 }]);
      const offsets: number[] = [];
      for (const name of ['first', 'second', 'third', 'fourth']) {
        // The records are so large that a response to a fetch has space for only one.
        const [position] = await plain.append([{ topic, partition: 0, key: name, value: 'x'.repeat(3_000_000) }]);
        offsets.push(position?.offset ?? -1);
      }
      await using reader = plain.read({ topic, follow });
      const records = reader[Symbol.asyncIterator]();
      const take = async (): Promise<string | null> => (await records.next()).value?.key ?? null;
      expect(await take()).toBe('first');
      const offset = String(offsets[2]);
      // The deletion fails until the last commit has reached the partition.
      const remove = (): Promise<boolean> =>
        admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset }] }).then(
          () => true,
          () => false,
        );
      // kafkajs deletes no records from a topic whose metadata it hasn't requested.
      await admin.fetchTopicOffsets(topic);
      await expect.poll(remove).toBe(true);
      expect([await take(), await take()]).toEqual(['third', 'fourth']);
      if (!follow) expect(await take()).toBe(null);
    },
  );
});
