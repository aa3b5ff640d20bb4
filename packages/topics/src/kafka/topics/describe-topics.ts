import type { TopicInfo } from '../../topic-log.ts';
import { partitionKey } from '../../topic-partition.ts';
import type { Cluster } from '../client/cluster.ts';
import { type WhichOffset, listOffsets } from '../requests/offsets.ts';
import { describeConfigs } from '../requests/topics.ts';
import { type FoundTopics, certainTopicMetadata, topicMetadata } from './topic-metadata.ts';
import { type FoundTopic, READ_SETTINGS } from './topic-requirements.ts';

/** All topics except those whose names begin with `__`, such as the brokers' internal ones. */
export async function describeAllTopics(cluster: Cluster): Promise<ReadonlyMap<string, FoundTopic>> {
  const broker = await cluster.anyBroker();
  const all = [...(await topicMetadata(cluster, null, broker))].filter(([name]) => !name.startsWith('__'));
  return await withSettings(cluster, broker, new Map(all));
}

/** Describes the topics that exist. A topic counts as missing, or as having fewer partitions than `wanted`, as in `certainTopicMetadata`. */
export async function describeTopics(cluster: Cluster, wanted: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, FoundTopic>> {
  const found = await certainTopicMetadata(cluster, wanted);
  return await withSettings(cluster, await cluster.anyBroker(), found);
}

/** Adds the settings of each topic, among them those in `more`. The result is sorted by name. `broker` must know these topics already; other brokers may not. */
export async function withSettings(
  cluster: Cluster,
  broker: string,
  topics: FoundTopics,
  more: readonly string[] = [],
): Promise<ReadonlyMap<string, FoundTopic>> {
  if (topics.size === 0) return new Map();
  const names = [...topics.keys()].toSorted();
  const settings = await cluster.ask(describeConfigs, { of: 'topic', names, settings: [...READ_SETTINGS, ...more] }, { broker });
  return new Map(
    names.map((name) => {
      const { topicId: id, partitionMetadata: partitions = [] } = topics.get(name) ?? {};
      const copies = Math.min(...partitions.map(({ replicas }) => replicas.length));
      return [name, { id, partitions: partitions.length, copies, settings: settings.get(name) ?? new Map<string, string>() }];
    }),
  );
}

/** A topic's current offsets by partition. */
export async function topicOffsets(cluster: Cluster, topic: string, count: number): Promise<TopicInfo['offsets']> {
  const topicPartitions = Array.from({ length: count }, (_, partition) => ({ topic, partition }));
  const fetched = (which: WhichOffset) => cluster.ask(listOffsets, { topicPartitions, which });
  const [earliest, stable] = await Promise.all([fetched('earliest'), fetched('stable')]);
  return topicPartitions.map((place) => ({ earliest: earliest.get(partitionKey(place)) ?? 0, end: stable.get(partitionKey(place)) ?? 0 }));
}
