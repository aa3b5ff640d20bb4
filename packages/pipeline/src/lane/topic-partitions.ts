import type { TopicLog, TopicPartition } from '@headgate/topics';

/** Returns all partitions of some topics. A missing topic has none. */
export async function topicPartitions(log: Pick<TopicLog, 'listTopics'>, topics: readonly string[]): Promise<readonly TopicPartition[]> {
  const found = await log.listTopics(topics, { withOffsets: false });
  return found.flatMap(({ name, partitions }) => Array.from({ length: partitions }, (_, partition) => ({ topic: name, partition })));
}
