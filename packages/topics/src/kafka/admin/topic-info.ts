import { TopicUnknownError } from '../../topic-errors.ts';
import type { TopicInfo } from '../../topic-log.ts';
import type { Cluster } from '../client/broker.ts';
import { assertPartitions, partitionOffsets } from '../consumer/fetch.ts';
import type { TopicDescription } from './topics.ts';

/** With its offsets as they are now; undefined where it has been deleted since, as anybody's topic may be. */
export async function topicInfo(
  cluster: Cluster,
  name: string,
  { partitions: count, compacted }: TopicDescription,
): Promise<TopicInfo | undefined> {
  const partitions = Array.from({ length: count }, (_, partition) => partition);
  try {
    await assertPartitions(cluster, name, partitions);
  } catch (error) {
    if (error instanceof TopicUnknownError) return undefined;
    throw error;
  }
  const earliest = await partitionOffsets(cluster, name, partitions, 'earliest');
  const stable = await partitionOffsets(cluster, name, partitions, 'stable');
  const offsets = partitions.map((partition) => ({ earliest: earliest.get(partition) ?? 0, end: stable.get(partition) ?? 0 }));
  return { name, partitions: count, compacted, offsets };
}
