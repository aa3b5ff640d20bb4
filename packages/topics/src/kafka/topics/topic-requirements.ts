import type { TopicMismatch } from '../../topic-errors.ts';
import { fixedPartitionsReason } from '../../fixed-partitions.ts';
import type { NewTopicSpec } from '../../topic-log.ts';
import { messageBytesFor } from '../wire/record-size.ts';

/** Settings of a topic, by Kafka's names. */
export type TopicSettings = Readonly<Record<string, string>>;

export interface FoundTopic {
  /** ID of the topic; undefined on brokers before Kafka 2.8. */
  readonly id?: string | undefined;
  readonly partitions: number;
  /** Number of replicas of the partition that has the fewest. */
  readonly copies: number;
  readonly settings: ReadonlyMap<string, string>;
}

/** Topic settings that limit how far a record's timestamp can be from the broker's clock, ms. */
const TIMESTAMP_LIMITS: readonly string[] = ['message.timestamp.before.max.ms', 'message.timestamp.after.max.ms'];
/** With a lower limit, a busy broker can refuse records, and even its own end markers, so that transactions stay open. */
const MIN_TIMESTAMP_LIMIT_MS = 60_000;

/** Names of the topic settings that `mismatches` and `warnings` check. */
export const READ_SETTINGS: readonly string[] = [
  'cleanup.policy',
  'message.timestamp.type',
  'max.message.bytes',
  'min.insync.replicas',
  'retention.ms',
  'retention.bytes',
  ...TIMESTAMP_LIMITS,
];
/** The `message.max.bytes` of a broker with default settings, used if the brokers report no limit. */
const KAFKA_MAX_MESSAGE_BYTES = 1_048_588;

export function isCompacted({ settings }: FoundTopic): boolean {
  return settings.get('cleanup.policy')?.includes('compact') ?? false;
}

export function maxMessageBytes({ settings }: FoundTopic): number {
  return Number(settings.get('max.message.bytes') ?? KAFKA_MAX_MESSAGE_BYTES);
}

/** Returns the reasons why an existing topic can't become the specified one. */
export function mismatches(
  { name, partitions, compacted = false, minRecordBytes = 0, namesPartitions = false, fixedPartitions = false }: NewTopicSpec,
  found: FoundTopic,
): TopicMismatch[] {
  const { settings } = found;
  const stamps = settings.get('message.timestamp.type') ?? 'LogAppendTime';
  const inSync = Number(settings.get('min.insync.replicas') ?? 1);
  const room = maxMessageBytes(found);
  const policy = settings.get('cleanup.policy') ?? '';
  const all: TopicMismatch[] = [];
  const add = (reason: string, more: Partial<TopicMismatch> = {}): void => void all.push({ topic: name, reason, ...more });
  if (fixedPartitions) {
    if (found.partitions !== partitions) add(fixedPartitionsReason(found.partitions, partitions));
  } else if (found.partitions > partitions && !namesPartitions) {
    const reason = `has ${found.partitions} partitions, and Kafka can't reduce them to ${partitions}. Request ${found.partitions}, or delete and recreate the topic.`;
    add(reason, { partitions: found.partitions });
  }
  if (compacted ? policy !== 'compact' : isCompacted(found)) {
    const reason = `has cleanup.policy=${policy}, but needs ${compacted ? 'compact alone' : 'delete'}. Change it on the topic.`;
    add(reason, { settings: { 'cleanup.policy': compacted ? 'compact' : 'delete' } });
  }
  if (compacted && stamps !== 'LogAppendTime') {
    add(
      `has message.timestamp.type=${stamps}, but needs LogAppendTime, so that record age depends on the brokers' clock. Change it on the topic.`,
      { settings: { 'message.timestamp.type': 'LogAppendTime' } },
    );
  }
  for (const limit of stamps === 'LogAppendTime' ? [] : TIMESTAMP_LIMITS) {
    const limitMs = Number(settings.get(limit) ?? Infinity);
    if (limitMs >= MIN_TIMESTAMP_LIMIT_MS) continue;
    const reason = `has ${limit}=${limitMs}, so brokers may refuse records, and then can't end their transactions. Raise it on the topic to at least ${MIN_TIMESTAMP_LIMIT_MS}; 3600000 suits most uses.`;
    add(reason, { settings: { [limit]: '3600000' } });
  }
  if (inSync > found.copies) {
    const reason = `has min.insync.replicas=${inSync} and ${copies(found.copies)}, so nothing can be written. Lower min.insync.replicas.`;
    add(reason, { settings: { 'min.insync.replicas': String(found.copies) } });
  }
  if (room < messageBytesFor(minRecordBytes)) {
    const reason = `has max.message.bytes=${room}, but needs at least ${messageBytesFor(minRecordBytes)}. Raise it on the topic; 8388608 suits most uses.`;
    add(reason, { settings: { 'max.message.bytes': '8388608' } });
  }
  return all;
}

export interface ClusterFacts {
  /** Intended number of replicas of each partition. */
  readonly replication: number;
  readonly brokers: number;
  /** The first offset of each partition of a compacted topic. */
  readonly starts?: readonly number[] | undefined;
  /** The settings that the topic should have, by Kafka's names. */
  readonly wanted?: TopicSettings | undefined;
}

/** Returns warnings about a topic that works, but less well than intended. The texts continue a sentence that begins with the topic's name. */
export function warnings(
  { partitions, usualRecordBytes = 0, keepsRecords = false }: NewTopicSpec,
  found: FoundTopic,
  { replication, brokers, starts = [], wanted = {} }: ClusterFacts,
): string[] {
  const inSync = Number(found.settings.get('min.insync.replicas') ?? 1);
  const room = maxMessageBytes(found);
  const all: string[] = [];
  if (found.partitions > partitions) {
    const written = partitions === 1 ? 'partition 0' : `partitions 0 to ${partitions - 1}`;
    all.push(
      `has ${found.partitions} partitions, but records go only to ${written}. The others stay empty: nothing is lost, and the order per key stays the same.`,
    );
  }
  if (found.copies < replication)
    all.push(`has ${copies(found.copies)}, but topics.replication is ${replication}. Add replicas, or lower topics.replication.`);
  else if (found.copies === 1 && brokers > 1)
    all.push(
      `has one replica on a cluster of ${brokers} brokers: restarting its broker blocks writes, and brokers from 4.1 may leave a transaction open. Add replicas, and set topics.replication to match.`,
    );
  if (inSync < found.copies - 1)
    all.push(`has min.insync.replicas=${inSync}, so a write is acknowledged before a second broker has it. Set it to ${found.copies - 1}.`);
  if (room < messageBytesFor(usualRecordBytes)) {
    const needed = messageBytesFor(usualRecordBytes);
    all.push(
      `has max.message.bytes=${room}, but its usual records may need ${needed}; records that don't fit become dead letters. Raise it to about 8388608.`,
    );
  }
  for (const setting of ['retention.ms', 'retention.bytes']) {
    const value = found.settings.get(setting) ?? '-1';
    if (keepsRecords && value !== '-1')
      all.push(`has ${setting}=${value}, so the brokers can delete records that are still waiting. Set it to -1.`);
  }
  for (const [setting, value] of Object.entries(wanted)) {
    const now = found.settings.get(setting);
    if (now !== value) all.push(`has ${setting}=${now}, but ${value} is configured. Change it on the topic, or the configuration.`);
  }
  const cut = starts.flatMap((start, partition) => (start > 0 ? [`${start} in partition ${partition}`] : []));
  // Compaction doesn't move the start, so records were deleted in another way, such as by retention.
  if (cut.length > 0)
    all.push(
      `starts at offset ${cut.join(', ')}: brokers have deleted older records, which compaction alone never does. State may be missing, so finished work may run again. Keep cleanup.policy=compact, and restore the topic if you have a backup.`,
    );
  return all;
}

function copies(count: number): string {
  return count === 1 ? 'one replica' : `${count} replicas`;
}
