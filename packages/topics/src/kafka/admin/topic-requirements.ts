import type { TopicMismatch } from '../../topic-errors.ts';
import type { NewTopicSpec } from '../../topic-log.ts';
import { messageBytesFor } from '../wire/record-size.ts';

/** A topic as the brokers describe it. */
export interface FoundTopic {
  readonly partitions: number;
  /** Copies of the partition that has the fewest. */
  readonly copies: number;
  readonly settings: ReadonlyMap<string, string>;
}

/** The settings that are checked. */
export const READ_SETTINGS: readonly string[] = [
  'cleanup.policy',
  'message.timestamp.type',
  'max.message.bytes',
  'min.insync.replicas',
  'retention.ms',
  'retention.bytes',
];
/** The `message.max.bytes` of a broker with default settings. */
const KAFKA_MAX_MESSAGE_BYTES = 1_048_588;

export function isCompacted({ settings }: FoundTopic): boolean {
  return settings.get('cleanup.policy')?.includes('compact') ?? false;
}

export function maxMessageBytes({ settings }: FoundTopic): number {
  return Number(settings.get('max.message.bytes') ?? KAFKA_MAX_MESSAGE_BYTES);
}

/** Why a topic that is there can't be worked with. */
export function mismatches({ name, partitions, compacted = false, minRecordBytes = 0 }: NewTopicSpec, found: FoundTopic): TopicMismatch[] {
  const { settings } = found;
  const stamps = settings.get('message.timestamp.type') ?? 'LogAppendTime';
  const inSync = Number(settings.get('min.insync.replicas') ?? 1);
  const room = maxMessageBytes(found);
  const policy = settings.get('cleanup.policy') ?? '';
  const all: TopicMismatch[] = [];
  const add = (reason: string, more: Partial<TopicMismatch> = {}): void => void all.push({ topic: name, reason, ...more });
  if (found.partitions > partitions) {
    const reason = `has ${found.partitions} partitions; it can't shrink to ${partitions}. Request ${found.partitions}, or delete and recreate it.`;
    add(reason, { partitions: found.partitions });
  }
  if (compacted ? policy !== 'compact' : isCompacted(found)) {
    const reason = `has cleanup.policy=${policy}; it needs ${compacted ? 'compact alone' : 'delete'}. Set that on the topic.`;
    add(reason, { settings: { 'cleanup.policy': compacted ? 'compact' : 'delete' } });
  }
  if (compacted && stamps !== 'LogAppendTime') {
    add(
      `has message.timestamp.type=${stamps}; it needs LogAppendTime, so that the brokers' clock decides on the age of its records. Set that on the topic.`,
      { settings: { 'message.timestamp.type': 'LogAppendTime' } },
    );
  }
  if (inSync > found.copies) {
    const reason = `has min.insync.replicas=${inSync} and ${copies(found.copies)}: nothing can be written. Set min.insync.replicas to less.`;
    add(reason, { settings: { 'min.insync.replicas': String(found.copies) } });
  }
  if (room < messageBytesFor(minRecordBytes)) {
    const reason = `has max.message.bytes=${room}; it needs at least ${messageBytesFor(minRecordBytes)}. Set that on the topic, 8388608 as a rule.`;
    add(reason, { settings: { 'max.message.bytes': '8388608' } });
  }
  return all;
}

/** Warnings about settings that work, but less well than the options require, without the topic's name. */
export function warnings(
  { usualRecordBytes = 0, keepsRecords = false }: NewTopicSpec,
  found: FoundTopic,
  { replication, brokers }: { readonly replication: number; readonly brokers: number },
): string[] {
  const inSync = Number(found.settings.get('min.insync.replicas') ?? 1);
  const room = maxMessageBytes(found);
  const all: string[] = [];
  if (found.copies < replication)
    all.push(`has ${copies(found.copies)}, and topics.replication is ${replication}. Add copies, or set topics.replication to less.`);
  else if (found.copies === 1 && brokers > 1)
    all.push(
      `has one copy of its data on a cluster of ${brokers} brokers: a broker that restarts stops its writers, and brokers from 4.1 may forget to end a transaction. Add copies, and set topics.replication to match.`,
    );
  if (inSync < found.copies - 1)
    all.push(`has min.insync.replicas=${inSync}: a write counts before a second broker has it. Set that to ${found.copies - 1}.`);
  if (room < messageBytesFor(usualRecordBytes)) {
    const needed = messageBytesFor(usualRecordBytes);
    all.push(`has max.message.bytes=${room}; its usual records may need ${needed}, and become dead letters. Set that to 8388608 or so.`);
  }
  for (const setting of ['retention.ms', 'retention.bytes']) {
    const value = found.settings.get(setting) ?? '-1';
    if (keepsRecords && value !== '-1')
      all.push(`has ${setting}=${value}: the brokers delete records that wait for longer than this allows. Set that to -1.`);
  }
  return all;
}

function copies(count: number): string {
  return count === 1 ? 'one copy of its data' : `${count} copies of its data`;
}
