import { type KafkaBroker, type KafkaNode, startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import type { Admin } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kafkaTopicLog } from '../index.ts';
import { createTopics, plainKafka } from './committed-records.fixture.ts';
import { newPages } from './pages.fixture.ts';

const why = await whyNoKafkaBroker();
const because = why === undefined ? '' : ` (skipped: ${why})`;
const LONE = [1, 2, 3];

describe.skipIf(why !== undefined)(`three brokers of which one is down${because}`, () => {
  let broker: KafkaBroker;
  let admin: Admin;
  let down: KafkaNode;
  beforeAll(async () => {
    broker = await startKafkaBroker({ nodes: 3 });
    admin = plainKafka(broker.brokers).admin();
    await admin.connect();
    // Each node has one partition of each topic, without other replicas.
    const replicaAssignment = LONE.map((id, partition) => ({ partition, replicas: [id] }));
    const configEntries = [{ name: 'min.insync.replicas', value: '1' }];
    const topics = ['of-others', 'ours'].map((topic) => ({ topic, replicaAssignment, configEntries }));
    await createTopics(admin, topics);
    down = broker.nodes[2] as KafkaNode;
    await down.kill();
  });
  afterAll(async () => {
    await admin.disconnect();
    await broker.close();
  });

  it('ignore an offline partition of another topic, and create topics with three copies', async () => {
    await isOffline();
    await using log = await kafkaTopicLog({ brokers: broker.brokers });
    const pages = await newPages(log);
    const writer = await log.openLane(pages.lane);
    await pages.write(writer, 2);
    await writer.close();
    await log.append([{ topic: pages.topic, partition: 0, key: 'page', value: 'v' }]);
    const read: unknown[] = [];
    for await (const { key } of log.read({ topic: pages.topic, partitions: [0], group: 'readers' })) read.push(key);
    expect(read).toHaveLength(7);
    expect(await log.groupOffset({ group: pages.group, topic: `${pages.lane.name}.requests`, partition: 0 })).toBe(2);
    expect((await log.readState(pages.lane.state.topic, 0)).get('page')).toBe('1');
    expect(await log.listTopics([pages.topic])).toMatchObject([{ partitions: 2 }]);
  });

  it('let a topic with an offline partition grow, and accept records for all other partitions', async () => {
    await isOffline();
    await using log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    expect((await log.createTopics([{ name: 'ours', partitions: 4 }])).grown).toEqual([{ topic: 'ours', from: 3, to: 4 }]);
    await log.append([{ topic: 'ours', partition: 0, key: 'k', value: 'v' }]);
    await log.append([{ topic: 'ours', partition: 3, key: 'k', value: 'v' }]);
  });

  it('list a topic with an offline partition, and records for that partition wait', async () => {
    await isOffline();
    await using log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    expect((await log.createTopics([{ name: 'ours', partitions: 4 }])).created).toEqual([]);
    let isWritten = false;
    const writing = log.append([{ topic: 'ours', partition: 2, key: 'k', value: 'v' }]).then(() => (isWritten = true));
    const listing = log.listTopics(['ours']);
    expect(isWritten).toBe(false);
    await down.start();
    await writing;
    expect((await listing)[0]?.offsets).toHaveLength(4);
  });

  /** Waits until the cluster has noticed that the node is down. */
  async function isOffline(): Promise<void> {
    const offline = async (): Promise<string> =>
      await admin.fetchTopicMetadata({ topics: ['of-others'] }).then(
        () => 'online',
        () => 'offline',
      );
    await expect.poll(offline).toBe('offline');
  }
});
