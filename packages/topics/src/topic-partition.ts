import type { TopicPartition } from './topic-log.ts';

/** A topic-partition's name, as Kafka writes it: `pages-0`. */
export function partitionKey({ topic, partition }: TopicPartition): string {
  return `${topic}-${partition}`;
}

export interface Partitions {
  readonly topic: string;
  readonly partitions: readonly number[];
}

/** As requests name partitions. */
export function byTopic(all: readonly TopicPartition[]): Partitions[] {
  const topics = new Map<string, Set<number>>();
  for (const { topic, partition } of all) topics.set(topic, (topics.get(topic) ?? new Set()).add(partition));
  return [...topics].map(([topic, partitions]) => ({ topic, partitions: [...partitions] }));
}
