import type { TopicPartition } from './topic-log.ts';

/** A partition's name. */
export function placeOf(topic: string, partition: number): string {
  return `${topic}-${partition}`;
}

export interface Partitions {
  readonly topic: string;
  readonly partitions: readonly number[];
}

/** As requests name partitions. */
export function byTopic(places: readonly TopicPartition[]): Partitions[] {
  const topics = new Map<string, Set<number>>();
  for (const { topic, partition } of places) topics.set(topic, (topics.get(topic) ?? new Set()).add(partition));
  return [...topics].map(([topic, partitions]) => ({ topic, partitions: [...partitions] }));
}
