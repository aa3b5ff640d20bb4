import { TopicUnknownError } from '../../topic-errors.ts';
import type { TopicRecord } from '../../topic-log.ts';
import { type InnerCluster, type InnerMessage, type InnerPartitionData, READ_COMMITTED, committedMessages } from '../inner-cluster.ts';

const MAX_BYTES = 4 * 1024 * 1024;
const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

/** A part of a partition's committed records, and where the next part begins. */
export interface FetchedRecords {
  readonly records: readonly TopicRecord[];
  readonly next: number;
  /** Everything below has been decided: committed or aborted. */
  readonly lastStable: number;
}

export interface FetchOptions {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** How long the broker may wait for records, where there are none. */
  readonly maxWaitMs: number;
}

/** The partitions of a topic. Throws `TopicUnknownError`. */
export async function partitionsOf(cluster: InnerCluster, topic: string): Promise<readonly number[]> {
  try {
    await cluster.addMultipleTargetTopics([topic]);
  } catch (error) {
    if ((error as { type?: string }).type !== 'UNKNOWN_TOPIC_OR_PARTITION') throw error;
    throw new TopicUnknownError({ topic, partition: null, partitions: null }, { cause: error });
  }
  return cluster
    .findTopicPartitionMetadata(topic)
    .map(({ partitionId }) => partitionId)
    .sort((a, b) => a - b);
}

/** Throws `TopicUnknownError` for what isn't there, also after a second look: partitions may have been added. */
export async function assertPartitions(cluster: InnerCluster, topic: string, partitions: readonly number[]): Promise<void> {
  let there = await partitionsOf(cluster, topic);
  if (partitions.every((partition) => there.includes(partition))) return;
  await cluster.refreshMetadata();
  there = await partitionsOf(cluster, topic);
  const missing = partitions.find((partition) => !there.includes(partition));
  if (missing !== undefined) throw new TopicUnknownError({ topic, partition: missing, partitions: there.length });
}

/** Per partition the first offset kept, or the last stable one: everything before it is decided. */
export async function partitionOffsets(
  cluster: InnerCluster,
  topic: string,
  partitions: readonly number[],
  which: 'earliest' | 'stable',
): Promise<ReadonlyMap<number, number>> {
  const asked = partitions.map((partition) => ({ partition }));
  const answers = await cluster.fetchTopicsOffset([{ topic, partitions: asked, fromBeginning: which === 'earliest' }]);
  return new Map(answers.flatMap((answer) => answer.partitions.map(({ partition, offset }) => [partition, Number(offset)] as const)));
}

/**
 * Fetches what comes next of one partition. One partition a request: an answer over several may leave some out, which would
 * look like a stretch without committed records.
 */
export async function fetchRecords(cluster: InnerCluster, { topic, partition, offset, maxWaitMs }: FetchOptions): Promise<FetchedRecords> {
  const data = await fetchPartition(cluster, { topic, partition, offset, maxWaitMs, maxBytes: MAX_BYTES, isolationLevel: READ_COMMITTED });
  const records = committedMessages(offset, data).map((message) => topicRecord(topic, partition, message));
  const lastStable = Number(data.lastStableOffset);
  return { records, next: nextOffset(data, offset, lastStable), lastStable };
}

export interface FetchPartitionOptions extends FetchOptions {
  /** A first batch that is larger comes all the same. */
  readonly maxBytes: number;
  readonly isolationLevel: number;
}

/** What the leader of a partition has there. Its place must be known to the cluster (`partitionsOf`). */
export async function fetchPartition(
  cluster: InnerCluster,
  { topic, partition, offset, maxWaitMs, maxBytes, isolationLevel }: FetchPartitionOptions,
): Promise<InnerPartitionData> {
  const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]));
  if (nodeId === undefined) throw new TopicUnknownError({ topic, partition, partitions: null });
  const broker = await cluster.findBroker({ nodeId });
  const { responses } = await broker.fetch({
    isolationLevel,
    maxWaitTime: maxWaitMs,
    minBytes: 1,
    maxBytes,
    topics: [{ topic, partitions: [{ partition, fetchOffset: String(offset), maxBytes }] }],
  });
  const data = responses[0]?.partitions[0];
  if (data === undefined) throw new Error(`The broker's answer to a fetch of ${topic}-${partition} is empty.`);
  return data;
}

/** Behind everything fetched, the records of aborted transactions and markers, too. */
function nextOffset({ messages }: InnerPartitionData, offset: number, lastStable: number): number {
  const last = messages.at(-1);
  if (last !== undefined) return Math.max(offset, Number(last.offset) + 1);
  // Compaction leaves batches without records; kafkajs doesn't tell how far they reach.
  return offset < lastStable ? offset + 1 : offset;
}

function topicRecord(topic: string, partition: number, { offset, timestamp, key, value, headers }: InnerMessage): TopicRecord {
  return {
    topic,
    partition,
    offset: Number(offset),
    key: key?.toString() ?? null,
    value: value?.toString() ?? null,
    headers: headerTexts(headers),
    timestampMs: Number(timestamp),
  };
}

function headerTexts(headers: InnerMessage['headers']): Readonly<Record<string, string>> {
  const entries = Object.entries(headers ?? {});
  if (entries.length === 0) return NO_HEADERS;
  // Kafka allows a header several times; the last one counts.
  return Object.fromEntries(entries.map(([name, value]) => [name, String((Array.isArray(value) ? value.at(-1) : value) ?? '')]));
}

/** Whether retention has taken what was to be fetched. */
export function isOutOfRange(error: unknown): boolean {
  return (error as { type?: unknown }).type === 'OFFSET_OUT_OF_RANGE';
}
