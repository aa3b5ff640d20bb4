import type { TopicLog, TopicPartition } from '@headgate/topics';

/** All partitions of the given topics. Topics that don't exist have none. */
export async function topicPartitions(log: TopicLog, topics: readonly string[]): Promise<readonly TopicPartition[]> {
  const found = await log.listTopics(topics, { withOffsets: false });
  return found.flatMap(({ name, partitions }) => Array.from({ length: partitions }, (_, partition) => ({ topic: name, partition })));
}
