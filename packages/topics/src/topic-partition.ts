import type { TopicPartition } from './topic-log.ts';

/** A partition's name, as Kafka writes it: `pages-0`. */
export function partitionKey({ topic, partition }: TopicPartition): string {
  return `${topic}-${partition}`;
}
