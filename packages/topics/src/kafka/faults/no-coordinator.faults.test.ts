import { type KafkaBroker, startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { TopicLog } from '../../topic-log.ts';
import { kafkaTopicLog } from '../index.ts';
import { plainKafka } from './committed-records.fixture.ts';

const why = await whyNoKafkaBroker();
const because = why === undefined ? '' : ` (skipped: ${why})`;

describe.skipIf(why !== undefined)(`a broker whose defaults suit a larger cluster${because}`, () => {
  let broker: KafkaBroker;
  let log: TopicLog;
  beforeAll(async () => {
    const settings = {
      'transaction.state.log.replication.factor': '3',
      'offsets.topic.replication.factor': '3',
    };
    broker = await startKafkaBroker({ settings });
    log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
  });
  afterAll(async () => {
    await log.close();
    await broker.close();
  });

  it.for([true, false])(
    'has no coordinator: it is refused with the setting to change (validateOnly: %s)',
    async (validateOnly, { expect }) => {
      await expect(log.createTopics([{ name: 'pages', partitions: 1 }], { validateOnly })).rejects.toThrow(
        'Topic "__transaction_state" can\'t be created: the brokers have transaction.state.log.replication.factor=3, but only one broker is ' +
          'reachable. Start more brokers, or set it to 1 on the brokers and restart them.',
      );
      expect(await log.listTopics()).toEqual([]);
    },
  );
});

describe.skipIf(why !== undefined)(`a broker with unusual defaults${because}`, () => {
  it('still creates topics that one replica is enough for, with its own timestamps', async ({ expect }) => {
    await using broker = await startKafkaBroker({ settings: { 'min.insync.replicas': '2', 'log.message.timestamp.type': 'CreateTime' } });
    await using log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    const specs = [{ name: 'pages', partitions: 1 }];
    await log.createTopics(specs);
    // Another check would refuse a topic that needs more replicas than it has.
    expect(await log.createTopics(specs)).toMatchObject({ created: [], warnings: [] });
    await log.append([{ topic: 'pages', partition: 0, key: 'k', value: 'v' }]);
    const admin = plainKafka(broker.brokers).admin();
    await admin.connect();
    const resources = [
      { type: kafkajs.ConfigResourceTypes.TOPIC, name: 'pages', configNames: ['message.timestamp.type', 'min.insync.replicas'] },
    ];
    const described = await admin.describeConfigs({ resources, includeSynonyms: false });
    await admin.disconnect();
    expect(described.resources[0]?.configEntries.map(({ configName, configValue }) => `${configName}=${configValue}`).toSorted()).toEqual([
      'message.timestamp.type=LogAppendTime',
      'min.insync.replicas=1',
    ]);
  });

  it('refuses a session timeout with the number to set', async ({ expect }) => {
    await using broker = await startKafkaBroker({ settings: { 'group.min.session.timeout.ms': '10000' } });
    await using log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    await log.createTopics([{ name: 'pages', partitions: 1 }]);
    const ignored = (): void => undefined;
    const joining = log.joinGroup({
      group: 'group',
      topics: ['pages'],
      agreement: '',
      onAssigned: ignored,
      onUncertain: ignored,
      onFailed: ignored,
    });
    await expect(joining).rejects.toThrow(
      /\(INVALID_SESSION_TIMEOUT\)\. .* group\.min\.session\.timeout\.ms to at most the session timeout \(6000 by default\)/u,
    );
  });
});
