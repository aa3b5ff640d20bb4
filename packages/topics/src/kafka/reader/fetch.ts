import type { TopicRecord } from '../../topic-log.ts';
import { partitionKey } from '../../topic-partition.ts';
import type { Cluster } from '../client/cluster.ts';
import { isAnswer } from '../client/driver-errors.ts';
import { type FetchedPartition, fetch } from '../requests/fetch.ts';
import { READ_COMMITTED, type WhichOffset, listOffsets } from '../requests/offsets.ts';
import { describeConfigs } from '../requests/topics.ts';
import { type FetchedBatch, readBatches } from '../wire/read-batches.ts';

/** Maximum bytes that a fetch requests: the limits of `nextMaxBytes` and its initial value. */
const BYTES = { least: 64 * 1024, first: 128 * 1024, most: 4 * 1024 * 1024 };
/** After a response with more records, the next fetch requests fewer bytes, because even a small record takes about half a kilobyte when decoded. */
const RECORDS_AT_ONCE = 10_000;

export interface FetchedRecords {
  /** Committed records. Their bytes are views of larger buffers. */
  readonly records: readonly TopicRecord<Uint8Array>[];
  /** Records of aborted transactions in the same range. */
  readonly aborted: readonly TopicRecord<Uint8Array>[];
  readonly next: number;
  /** The last stable offset: no open transaction begins below it. */
  readonly lastStable: number;
}

export interface FetchOptions {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** How long the broker can wait for records if there are none, or for its remote storage, ms. */
  readonly maxWaitMs: number;
  /** Maximum bytes of the response, although a larger first batch still arrives. Default 4 MiB. */
  readonly maxBytes?: number;
  /** Default `READ_COMMITTED`, up to the last stable offset. `READ_UNCOMMITTED` reads everything that is replicated. */
  readonly isolationLevel?: number;
}

/**
 * Returns how many bytes of a partition to request next. `before`: the previous request, and how many records it returned. Without it, returns
 * the initial number.
 */
export function nextMaxBytes(before?: { readonly maxBytes: number; readonly records: number }): number {
  const { maxBytes = BYTES.first, records = 0 } = before ?? {};
  if (records > RECORDS_AT_ONCE) return Math.max(BYTES.least, maxBytes / 2);
  return records > 0 && records < RECORDS_AT_ONCE / 4 ? Math.min(BYTES.most, 2 * maxBytes) : maxBytes;
}

/** Fetches one offset of each partition (`ListOffsetsOptions.which`). Resolves to the offsets by partition. */
export async function partitionOffsets(
  cluster: Cluster,
  topic: string,
  partitions: readonly number[],
  which: WhichOffset | number,
): Promise<ReadonlyMap<number, number>> {
  const offsets = await cluster.ask(listOffsets, { topicPartitions: partitions.map((partition) => ({ topic, partition })), which });
  return new Map(partitions.map((partition) => [partition, offsets.get(partitionKey({ topic, partition })) ?? 0]));
}

export async function fetchRecords(cluster: Cluster, options: FetchOptions): Promise<FetchedRecords> {
  const { batches, aborted: transactions, next, lastStable } = await fetchBatches(cluster, options);
  const coming = transactions.toSorted((a, b) => b.firstOffset - a.firstOffset);
  /** The producers of aborted transactions that begin before the current batch and end after it. */
  const producers = new Set<string>();
  const records: TopicRecord<Uint8Array>[] = [];
  const aborted: TopicRecord<Uint8Array>[] = [];
  for (const batch of batches) {
    for (let begun = coming.at(-1); begun !== undefined && begun.firstOffset <= batch.lastOffset; begun = coming.at(-1)) {
      producers.add(begun.producerId);
      coming.pop();
    }
    if (batch.isControl) {
      producers.delete(batch.producerId);
      continue;
    }
    const kept = producers.has(batch.producerId) ? aborted : records;
    for (const record of batch.records) if (record.offset >= options.offset) kept.push(record);
  }
  return { records, aborted, next, lastStable };
}

/** Batches of a partition from an offset on, with end markers and batches of aborted transactions. */
export interface FetchedBatches extends Omit<FetchedPartition, 'batches'> {
  /** The first one can begin before the requested offset. */
  readonly batches: readonly FetchedBatch[];
  /** The offset after the last batch, even if compaction has removed its last record; the requested offset if nothing was fetched. */
  readonly next: number;
}

/**
 * Fetches the next batches of one partition. Resolves without batches only at or after the last stable offset (if uncommitted, the replicated end),
 * or if compaction has removed all of them up to there. A broker that can't read its remote storage in time responds without batches, which throws an
 * error that passes. Only compaction leaves a real gap, and compacted topics have no remote storage.
 */
export async function fetchBatches(cluster: Cluster, options: FetchOptions): Promise<FetchedBatches> {
  const { topic, partition, offset, isolationLevel = READ_COMMITTED } = options;
  const data = await fetchPartition(cluster, { ...options, isolationLevel });
  const batches = await readBatches(data.batches, { topic, partition });
  const end = isolationLevel === READ_COMMITTED ? data.lastStable : data.highWatermark;
  const last = batches.at(-1);
  if (last !== undefined || offset >= end) return { ...data, batches, next: Math.max(offset, (last?.lastOffset ?? -1) + 1) };
  if (await isCompacted(cluster, topic)) return { ...data, batches, next: end };
  const position = `${partitionKey(options)}:${offset}`;
  throw new Error(
    `The broker did not return the committed records at ${position}. Check whether its remote storage is slow, or whether the topic was compacted earlier.`,
  );
}

export type FetchPartitionOptions = FetchOptions & Required<Pick<FetchOptions, 'isolationLevel'>>;

export async function fetchPartition(
  cluster: Cluster,
  { topic, partition, maxBytes = BYTES.most, ...options }: FetchPartitionOptions,
): Promise<FetchedPartition> {
  const place = { topic, partition };
  for (;;) {
    const data = (await cluster.ask(fetch, { ...options, topicPartitions: [place], maxBytes })).get(partitionKey(place));
    // The user's quota is used up. The connection delays the next request accordingly.
    if (data !== undefined) return data;
  }
}

async function isCompacted(cluster: Cluster, topic: string): Promise<boolean> {
  const settings = (await cluster.ask(describeConfigs, { of: 'topic', names: [topic], settings: ['cleanup.policy'] })).get(topic);
  return settings?.get('cleanup.policy')?.includes('compact') ?? false;
}

/** True when a partition doesn't have the offset: retention has deleted it, or the partition ends before it. */
export function isOutOfRange(error: unknown): boolean {
  return isAnswer(error, 'OFFSET_OUT_OF_RANGE');
}
