import { expect, test } from 'vitest';
import { unknownTopicError } from '../client/answered-error.ts';
import type { Cluster } from '../client/cluster.ts';
import type { TopicToCreate } from '../requests/topics.ts';
import { mismatches, warnings } from './topic-requirements.ts';
import { createTopics } from './create-topics.ts';

const PARTITION = { partitionId: 0, leader: 1, replicas: [1] };

test('a broker that knows a new topic describes it, in whatever order the brokers are asked', async () => {
  const { cluster, made } = laggingCluster();
  const topics = [{ name: 'records', partitions: 1 }];
  const { created, descriptions } = await createTopics({ cluster, topics, replication: 1, settings: {}, validateOnly: false });
  expect({ made, created, descriptions: [...descriptions] }).toEqual({
    made: ['records'],
    created: ['records'],
    descriptions: [['records', { partitions: 1, copies: 1, settings: new Map([['max.message.bytes', '8388608']]) }]],
  });
});

test.for([
  { keepsRecords: true, retention: { 'retention.ms': '-1', 'retention.bytes': '-1' } },
  { keepsRecords: false, retention: {} },
])(
  'a topic that keeps its records is created with unlimited retention, another with the default of the brokers (keepsRecords: $keepsRecords)',
  async ({ keepsRecords, retention }) => {
    const { cluster, settings } = laggingCluster();
    const topics = [{ name: 'records', partitions: 1, keepsRecords }];
    await createTopics({ cluster, topics, replication: 1, settings: {}, validateOnly: false });
    expect(settings).toEqual({
      'max.message.bytes': '8388608',
      'message.timestamp.type': 'LogAppendTime',
      'min.insync.replicas': '1',
      ...retention,
    });
  },
);

test('an existing topic causes a warning if it deletes what it should keep', () => {
  const found = (settings: Readonly<Record<string, string>>) => ({ partitions: 1, copies: 1, settings: new Map(Object.entries(settings)) });
  const warningsOf = (keepsRecords: boolean, settings: Readonly<Record<string, string>>) =>
    warnings({ name: 'requests', partitions: 1, keepsRecords }, found(settings), { replication: 1, brokers: 1 });
  const week = { 'retention.ms': '604800000', 'retention.bytes': '-1' };
  expect(warningsOf(true, week)).toEqual([
    'has retention.ms=604800000, so the brokers can delete records that are still waiting. Set it to -1.',
  ]);
  expect(warningsOf(false, week)).toEqual([]);
  expect(warningsOf(true, { 'retention.ms': '-1' })).toEqual([]);
});

test.for([
  { copies: 1, brokers: 3, replication: 1, says: [expect.stringMatching(/^has one replica on a cluster of 3 brokers/u)] },
  { copies: 1, brokers: 1, replication: 1, says: [] },
  { copies: 2, brokers: 3, replication: 2, says: [] },
])('a topic gets $copies copies on $brokers brokers', ({ copies, brokers, replication, says }) => {
  const found = { partitions: 1, copies, settings: new Map<string, string>() };
  expect(warnings({ name: 'pages', partitions: 1 }, found, { replication, brokers })).toEqual(says);
});

test('a topic with one replica causes a warning even if the metadata, which lists the brokers, was not loaded yet', async () => {
  let nodes = new Map<number, string>();
  const cluster = {
    ask: async () => await Promise.resolve(new Map([['records', new Map([['cleanup.policy', 'delete']])]])),
    anyBroker: async () => await Promise.resolve('any'),
    metadata: async () => {
      nodes = new Map([1, 2, 3].map((nodeId) => [nodeId, `broker-${nodeId}`]));
      return await Promise.resolve({ topicMetadata: [{ topic: 'records', topicErrorCode: 0, partitionMetadata: [PARTITION] }] });
    },
    get nodes() {
      return nodes;
    },
  } as object as Cluster;
  const topics = [{ name: 'records', partitions: 1 }];
  const { warnings: told } = await createTopics({ cluster, topics, replication: 1, settings: {}, validateOnly: true });
  expect(told).toEqual([expect.stringMatching(/^Topic "records" has one replica on a cluster of 3 brokers/u)]);
});

test('a compacted topic causes a warning that names its partitions that start after offset 0', () => {
  const found = { partitions: 3, copies: 1, settings: new Map<string, string>() };
  const warningsOf = (starts: readonly number[]) =>
    warnings({ name: 'a.state', partitions: 3 }, found, { replication: 1, brokers: 1, starts });
  expect(warningsOf([0, 0, 0])).toEqual([]);
  expect(warningsOf([0, 111, 7])).toEqual([
    expect.stringMatching(/^starts at offset 111 in partition 1, 7 in partition 2: .* restore the topic if you have a backup\.$/u),
  ]);
});

test.for([
  { type: 'CreateTime', before: '1', refused: true },
  { type: 'CreateTime', before: '60000', refused: false },
  { type: 'CreateTime', before: '9223372036854775807', refused: false },
  { type: 'LogAppendTime', before: '1', refused: false },
])('a topic with $type and a limit of $before ms on timestamps is refused: $refused', ({ type, before, refused }) => {
  const settings = new Map(Object.entries({ 'message.timestamp.type': type, 'message.timestamp.before.max.ms': before }));
  const found = mismatches({ name: 'pages', partitions: 1 }, { partitions: 1, copies: 1, settings });
  const wanted = [{ settings: { 'message.timestamp.before.max.ms': '3600000' } }];
  expect(found).toMatchObject(refused ? wanted : []);
});

/** A cluster of two brokers that are used in turn. The first never learns of a new topic. */
function laggingCluster(): { readonly cluster: Cluster; readonly made: string[]; readonly settings: Record<string, string> } {
  const made: string[] = [];
  const settings: Record<string, string> = {};
  const knows: Readonly<Record<string, () => boolean>> = { lagging: () => false, knowing: () => made.length > 0 };
  let turn = 0;
  const anyBroker = async () => await Promise.resolve(turn++ % 2 === 0 ? 'lagging' : 'knowing');
  const metadata = async (_: unknown, broker = '') => {
    const isKnown = knows[broker]?.() ?? true;
    return await Promise.resolve({
      topicMetadata: [{ topic: 'records', topicErrorCode: isKnown ? 0 : 3, partitionMetadata: isKnown ? [PARTITION] : [] }],
    });
  };
  const answers = {
    DescribeConfigs(isKnown: boolean) {
      if (!isKnown) throw unknownTopicError('records');
      return new Map([['records', new Map([['max.message.bytes', '8388608']])]]);
    },
    CreateTopics(_: boolean, topics: readonly TopicToCreate[]) {
      made.push(...topics.map(({ topic }) => topic));
      for (const topic of topics) Object.assign(settings, topic.settings);
      return undefined;
    },
  };
  const ask = async (
    { api }: { readonly api: keyof typeof answers },
    { topics }: { readonly topics: readonly TopicToCreate[] },
    { broker = '' }: { readonly broker?: string } = {},
  ) => await Promise.resolve(answers[api](knows[broker]?.() ?? true, topics));
  const nodes = new Map([1, 2].map((nodeId) => [nodeId, `broker-${nodeId}`]));
  const cluster = { ask, anyBroker, metadata, nodes } as object as Cluster;
  return { cluster, made, settings };
}
