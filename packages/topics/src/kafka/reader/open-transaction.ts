import type { OpenTransaction, TopicPartition } from '../../topic-log.ts';
import type { Cluster } from '../client/cluster.ts';
import { READ_UNCOMMITTED } from '../requests/offsets.ts';
import { readBatches } from '../wire/read-batches.ts';
import { fetchPartition, isOutOfRange, partitionOffsets } from './fetch.ts';

/**
 * Finds the earliest open transaction of a partition, which begins at the partition's last stable offset. Undefined if every transaction has ended.
 */
export async function findOpenTransaction(cluster: Cluster, { topic, partition }: TopicPartition): Promise<OpenTransaction | undefined> {
  const offset = (await partitionOffsets(cluster, topic, [partition], 'stable')).get(partition) ?? 0;
  const request = { topic, partition, offset, maxWaitMs: 0, maxBytes: 1, isolationLevel: READ_UNCOMMITTED };
  const batches = await fetchPartition(cluster, request).then(
    (data) => readBatches(data.batches, { topic, partition }),
    (error: unknown) => (isOutOfRange(error) ? [] : Promise.reject(error)),
  );
  // A batch at this offset that belongs to no transaction was appended after the last stable offset was fetched.
  const [first] = batches;
  if (first === undefined || first.isControl || !first.isTransactional) return undefined;
  const record = first.records.find((each) => each.offset >= offset);
  return record && { offset: record.offset, sinceMs: record.timestampMs };
}
