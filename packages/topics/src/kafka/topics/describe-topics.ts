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

/**
 * Describes the topics that exist. A topic counts as missing, or as having fewer partitions than `wanted`, as in `certainTopicMetadata`.
 * `known`: as in `withSettings`.
 */
export async function describeTopics(
  cluster: Cluster,
  wanted: ReadonlyMap<string, number>,
  known: ReadonlyMap<string, FoundTopic>,
): Promise<ReadonlyMap<string, FoundTopic>> {
  const found = await certainTopicMetadata(cluster, wanted);
  return await withSettings(cluster, await cluster.anyBroker(), found, [], known);
}

/**
 * Adds the settings of each topic, among them those in `more`. A topic with the ID that it has in `known` keeps the settings from there. The result is
 * sorted by name. `broker` must know these topics already; other brokers may not.
 */
export async function withSettings(
  cluster: Cluster,
  broker: string,
  topics: FoundTopics,
  more: readonly string[] = [],
  known: ReadonlyMap<string, FoundTopic> = new Map(),
): Promise<ReadonlyMap<string, FoundTopic>> {
  const sorted = [...topics].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const isKnown = ([name, { topicId }]: (typeof sorted)[number]): boolean => topicId !== undefined && topicId === known.get(name)?.id;
  const names = sorted.filter((topic) => !isKnown(topic)).map(([name]) => name);
  const asked = { of: 'topic', names, settings: [...READ_SETTINGS, ...more] } as const;
  const settings = names.length === 0 ? undefined : await cluster.ask(describeConfigs, asked, { broker });
  return new Map(
    sorted.map(([name, { topicId: id, partitionMetadata: partitions }]) => {
      const copies = Math.min(...partitions.map(({ replicas }) => replicas.length));
      const own = settings?.get(name) ?? known.get(name)?.settings ?? new Map<string, string>();
      return [name, { id, partitions: partitions.length, copies, settings: own }];
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
