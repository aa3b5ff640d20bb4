import { expect, test } from 'vitest';
import type { Broker, Cluster } from '../client/broker.ts';
import type { ClusterAdmin } from '../client/kafkajs-cluster.ts';
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

/** Two brokers that take turns; the first never hears of a topic. */
function laggingCluster(): { readonly admin: ClusterAdmin; readonly made: string[] } {
  const made: string[] = [];
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
    async createTopics({ topics }: { readonly topics: readonly { readonly topic: string }[] }) {
      made.push(...topics.map(({ topic }) => topic));
      return await Promise.resolve(true);
    },
  } as object as ClusterAdmin;
  return { admin, made };
}
