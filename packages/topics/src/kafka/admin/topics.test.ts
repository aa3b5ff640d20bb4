import { expect, test } from 'vitest';
import type { Broker, Cluster } from '../client/broker.ts';
import type { ClusterAdmin } from '../client/kafkajs-cluster.ts';
import { warnings } from './topic-requirements.ts';
import { createTopics } from './topics.ts';

const PARTITION = { partitionId: 0, leader: 1, replicas: [1] };

test('a new topic is described by a broker that knows it, however the brokers take turns', async () => {
  const { admin, made } = laggingCluster();
  const topics = [{ name: 'records', partitions: 1 }];
  const { created, descriptions } = await createTopics({ admin, topics, replication: 1, validateOnly: false });
  expect({ made, created, descriptions: [...descriptions] }).toEqual({
    made: ['records'],
    created: ['records'],
    descriptions: [['records', { partitions: 1, compacted: false, maxMessageBytes: 8_388_608 }]],
  });
});

test.for([
  { keepsRecords: true, retention: { 'retention.ms': '-1', 'retention.bytes': '-1' } },
  { keepsRecords: false, retention: {} },
])(
  'a topic that keeps its records is created so, whatever the brokers do by default: $keepsRecords',
  async ({ keepsRecords, retention }) => {
    const { admin, settings } = laggingCluster();
    const topics = [{ name: 'records', partitions: 1, keepsRecords }];
    await createTopics({ admin, topics, replication: 1, validateOnly: false });
    expect(settings).toEqual({ 'max.message.bytes': '8388608', ...retention });
  },
);

test('a topic that is there is warned about where it deletes what it should keep', () => {
  const found = (settings: Readonly<Record<string, string>>) => ({ partitions: 1, copies: 1, settings: new Map(Object.entries(settings)) });
  const warningsOf = (keepsRecords: boolean, settings: Readonly<Record<string, string>>) =>
    warnings({ name: 'requests', partitions: 1, keepsRecords }, found(settings), { replication: 1, brokers: 1 });
  const week = { 'retention.ms': '604800000', 'retention.bytes': '-1' };
  expect(warningsOf(true, week)).toEqual([
    'has retention.ms=604800000: the brokers delete records that wait for longer than this allows. Set that to -1.',
  ]);
  expect(warningsOf(false, week)).toEqual([]);
  expect(warningsOf(true, { 'retention.ms': '-1' })).toEqual([]);
});

test.for([
  { copies: 1, brokers: 3, replication: 1, says: [expect.stringMatching(/^has one copy of its data on a cluster of 3 brokers/u)] },
  { copies: 1, brokers: 1, replication: 1, says: [] },
  { copies: 2, brokers: 3, replication: 2, says: [] },
])('$copies copies on $brokers brokers', ({ copies, brokers, replication, says }) => {
  const found = { partitions: 1, copies, settings: new Map<string, string>() };
  expect(warnings({ name: 'pages', partitions: 1 }, found, { replication, brokers })).toEqual(says);
});

/** Two brokers that take turns; the first never hears of a topic. */
function laggingCluster(): { readonly admin: ClusterAdmin; readonly made: string[]; readonly settings: Record<string, string> } {
  const made: string[] = [];
  const settings: Record<string, string> = {};
  const brokerOf = (knows: () => boolean): Broker => {
    const answer = () => ({
      topicMetadata: [{ topic: 'records', topicErrorCode: knows() ? 0 : 3, partitionMetadata: knows() ? [PARTITION] : [] }],
    });
    return {
      lookupRequest: () => () => ({ request: {}, response: {} }),
      connectionPool: { send: async () => await Promise.resolve(answer()) },
      async describeConfigs() {
        if (!knows()) throw Object.assign(new Error('unknown'), { type: 'UNKNOWN_TOPIC_OR_PARTITION' });
        const configEntries = [{ configName: 'max.message.bytes', configValue: '8388608' }];
        return await Promise.resolve({ resources: [{ resourceName: 'records', configEntries }] });
      },
    } as object as Broker;
  };
  const [lagging, knowing] = [brokerOf(() => false), brokerOf(() => made.length > 0)];
  let turn = 0;
  const findConnectedBroker = async (): Promise<Broker> => await Promise.resolve(turn++ % 2 === 0 ? lagging : knowing);
  const cluster = { brokerPool: { findConnectedBroker, brokers: {}, metadata: null } } as object as Cluster;
  const admin = {
    cluster,
    async createTopics({ topics }: { readonly topics: readonly NewTopic[] }) {
      made.push(...topics.map(({ topic }) => topic));
      for (const { configEntries } of topics) for (const { name, value } of configEntries) settings[name] = value;
      return await Promise.resolve(true);
    },
  } as object as ClusterAdmin;
  return { admin, made, settings };
}

interface NewTopic {
  readonly topic: string;
  readonly configEntries: readonly { readonly name: string; readonly value: string }[];
}
