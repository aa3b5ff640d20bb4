import { mapHeaders } from '../../record-fields.ts';
import { TopicUnknownError } from '../../topic-errors.ts';
import type { TopicPartition, TopicRecord } from '../../topic-log.ts';
import { partitionKey } from '../../topic-partition.ts';
import type { Cluster } from '../client/cluster.ts';
import { isAnswer } from '../client/driver-errors.ts';
import { isTopicUnknown } from '../client/error-kinds.ts';
import { fetch } from '../client/kafkajs-fetch.ts';
import type { FetchedMessage, FetchedPartition } from '../client/kafkajs-internals.ts';
import { certainTopicMetadata, hasPartition, partitionCount } from '../client/topic-metadata.ts';
import { READ_COMMITTED, type WhichOffset, listOffsets } from '../requests/offsets.ts';
import { describeConfigs } from '../requests/topics.ts';

/** Maximum bytes that a fetch requests: the limits of `nextMaxBytes` and its initial value. */
const BYTES = { least: 64 * 1024, first: 128 * 1024, most: 4 * 1024 * 1024 };
/** After a response with more records, the next fetch requests fewer bytes, because even a small record takes about half a kilobyte when decoded. */
const RECORDS_AT_ONCE = 10_000;
/** How long a broker can wait for its remote storage in each retry, ms. */
const PATIENCE_MS = 1_000;
const RETRIES = 3;
/** Maximum number of offsets without a record that one call of `fetchMessages` skips. */
const MAX_STEPS = 1_000;

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
  /** How long the broker can wait for records if there are none. */
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

/** The numbers of a topic's partitions, ascending. Throws a `TopicUnknownError` if the cluster doesn't have the topic. */
export async function partitionsOf(cluster: Cluster, topic: string): Promise<readonly number[]> {
  try {
    await cluster.addMultipleTargetTopics([topic]);
  } catch (error) {
    if (!isTopicUnknown(error)) throw error;
    throw await whyUnknown(cluster, { topic, partition: 0 }, { cause: error });
  }
  return cluster
    .findTopicPartitionMetadata(topic)
    .map(({ partitionId }) => partitionId)
    .sort((a, b) => a - b);
}

/** Throws the error of `whyUnknown` if a partition is missing even from fresh metadata. */
export async function assertPartitions(cluster: Cluster, topic: string, partitions: readonly number[]): Promise<void> {
  let known = await partitionsOf(cluster, topic);
  if (partitions.every((partition) => known.includes(partition))) return;
  await cluster.refreshMetadata();
  known = await partitionsOf(cluster, topic);
  const missing = partitions.filter((partition) => !known.includes(partition));
  if (missing.length > 0) throw await whyUnknown(cluster, { topic, partition: Math.max(...missing) });
}

/**
 * Returns the error to throw for a partition that a broker doesn't know: a `TopicUnknownError` if the cluster doesn't know the partition, either;
 * otherwise a retryable error, because the broker can lag, or another topic of the same kafkajs request can be missing.
 */
async function whyUnknown(cluster: Cluster, { topic, partition }: TopicPartition, options?: ErrorOptions): Promise<Error> {
  const found = (await certainTopicMetadata(cluster, new Map([[topic, partition + 1]]))).get(topic);
  if (found === undefined) return new TopicUnknownError({ topic, partition: null, partitions: null }, options);
  const partitions = partitionCount(found);
  if (!hasPartition(partitions, partition)) return new TopicUnknownError({ topic, partition, partitions }, options);
  return new Error(`A broker didn't recognize all topics of a request, although "${topic}" exists.`, options);
}

/** Fetches one offset of each partition, such as its earliest or its last stable one. Resolves to the offsets by partition. */
export async function partitionOffsets(
  cluster: Cluster,
  topic: string,
  partitions: readonly number[],
  which: WhichOffset,
): Promise<ReadonlyMap<number, number>> {
  const offsets = await cluster.ask(listOffsets, { topicPartitions: partitions.map((partition) => ({ topic, partition })), which });
  return new Map(partitions.map((partition) => [partition, offsets.get(partitionKey({ topic, partition })) ?? 0]));
}

export async function fetchRecords(cluster: Cluster, options: FetchOptions): Promise<FetchedRecords> {
  const { topic, partition } = options;
  const { offset, data } = await fetchMessages(cluster, options);
  const records: TopicRecord<Uint8Array>[] = [];
  const aborted: TopicRecord<Uint8Array>[] = [];
  for (const { message, isAborted } of decidedMessages(offset, data))
    (isAborted ? aborted : records).push(topicRecord(topic, partition, message));
  return { records, aborted, next: nextOffset(data, offset), lastStable: Number(data.lastStableOffset) };
}

/** Messages of a partition from an offset on, with transaction markers and aborted records. */
export interface FetchedMessages {
  /** The requested offset, or a later one if compaction has removed the records in between. */
  readonly offset: number;
  readonly data: FetchedPartition;
}

/**
 * Fetches the next messages of one partition, with transaction markers and aborted records. Resolves without messages only at or after the last
 * stable offset (if uncommitted, the replicated end), or after `MAX_STEPS` offsets without any. A broker that can't read its remote storage in time
 * responds without messages, so the fetch is retried. Only compaction leaves a real gap, and compacted topics have no remote storage.
 */
export async function fetchMessages(cluster: Cluster, options: FetchOptions): Promise<FetchedMessages> {
  const { topic, isolationLevel = READ_COMMITTED } = options;
  const ask = (at: number, maxWaitMs: number, maxBytes = options.maxBytes): Promise<FetchedPartition> =>
    fetchPartition(cluster, {
      ...options,
      offset: at,
      maxWaitMs,
      ...(maxBytes !== undefined && { maxBytes }),
      isolationLevel,
    });
  const endOf = (data: FetchedPartition): number => Number(isolationLevel === READ_COMMITTED ? data.lastStableOffset : data.highWatermark);
  const lacksMessages = (data: FetchedPartition, at: number): boolean => data.messages.length === 0 && at < endOf(data);
  let { offset } = options;
  let data = await ask(offset, options.maxWaitMs);
  if (!lacksMessages(data, offset)) return { offset, data };
  if (await isCompacted(cluster, topic)) {
    // With fewer bytes, the response might end within the batch that follows a batch without records.
    data = await ask(offset, 0, BYTES.most);
    // kafkajs doesn't report how far a batch without records reaches, so try one offset after another.
    for (let steps = 0; steps < MAX_STEPS && lacksMessages(data, offset); steps += 1) {
      offset += 1;
      if (offset < endOf(data)) data = await ask(offset, 0, BYTES.most);
    }
    return { offset, data };
  }
  for (let retry = 0; retry < RETRIES; retry += 1) {
    data = await ask(offset, PATIENCE_MS);
    if (!lacksMessages(data, offset)) return { offset, data };
  }
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
  const data = (await cluster.ask(fetch, { ...options, topicPartitions: [place], maxBytes })).get(partitionKey(place));
  if (data === undefined) throw new TypeError('The broker sent an empty response to a fetch.');
  return data;
}

async function isCompacted(cluster: Cluster, topic: string): Promise<boolean> {
  const settings = (await cluster.ask(describeConfigs, { of: 'topic', names: [topic], settings: ['cleanup.policy'] })).get(topic);
  return settings?.get('cleanup.policy')?.includes('compact') ?? false;
}

/** Returns the offset after the last fetched batch, even if compaction has removed its last record; `offset` if nothing was fetched. */
export function nextOffset({ messages }: FetchedPartition, offset: number): number {
  const batch = messages.at(-1)?.batchContext;
  return batch === undefined ? offset : Math.max(offset, Number(batch.firstOffset) + batch.lastOffsetDelta + 1);
}

/** A record of a transaction that has ended, or of none. */
interface DecidedMessage {
  readonly message: FetchedMessage;
  readonly isAborted: boolean;
}

/**
 * The records of a fetched partition, from `offset` on. If transactions overlap, kafkajs's own filter can let aborted records through: it assumes
 * that the aborted transactions are sorted by first offset, and that at most one of them begins per record.
 */
function decidedMessages(offset: number, { messages, abortedTransactions }: FetchedPartition): readonly DecidedMessage[] {
  const coming = (abortedTransactions ?? []).toSorted((a, b) => Number(b.firstOffset) - Number(a.firstOffset));
  const aborted = new Set<string>();
  const decided: DecidedMessage[] = [];
  for (const message of messages) {
    const { producerId, inTransaction } = message.batchContext;
    for (let next = coming.at(-1); next !== undefined && Number(next.firstOffset) <= Number(message.offset); next = coming.at(-1)) {
      aborted.add(next.producerId);
      coming.pop();
    }
    if (message.isControlRecord) aborted.delete(producerId);
    else if (Number(message.offset) >= offset) decided.push({ message, isAborted: inTransaction && aborted.has(producerId) });
  }
  return decided;
}

export function topicRecord(
  topic: string,
  partition: number,
  { offset, timestamp, key, value, headers = {} }: FetchedMessage,
): TopicRecord<Uint8Array> {
  return { topic, partition, offset: Number(offset), key, value, headers: mapHeaders(headers, lastValue), timestampMs: Number(timestamp) };
}

/** Returns the last value of a header, because Kafka allows duplicates; empty if the header has no value. */
function lastValue(values: NonNullable<FetchedMessage['headers']>[string]): Uint8Array {
  return (Array.isArray(values) ? values.at(-1) : values) ?? NOTHING;
}

const NOTHING = new Uint8Array();

/** True when a partition doesn't have the offset: retention has deleted it, or the partition ends before it. */
export function isOutOfRange(error: unknown): boolean {
  return isAnswer(error, 'OFFSET_OUT_OF_RANGE');
}
