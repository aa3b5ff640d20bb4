import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { TopicMismatchError, TopicUnknownError } from '../topic-errors.ts';
import { fixedPartitionsReason } from '../fixed-partitions.ts';
import type { NewTopicSpec, TopicInfo } from '../topic-log.ts';
import { integer, text } from './column.ts';

export interface StoredPartition {
  readonly id: number;
  readonly partition: number;
  readonly nextOffset: number;
  /** Records before this offset were deleted because of their age. */
  readonly startOffset: number;
  /** True if the topic is compacted. Otherwise, the offsets of the partition have no gaps. */
  readonly compacted: boolean;
}

export interface StoredTopic {
  readonly name: string;
  readonly compacted: boolean;
  readonly partitions: readonly StoredPartition[];
}

/** The topics and their partitions. Nothing is cached between calls, because other processes can create topics and append records, too. */
export class TopicTable {
  readonly #topic: StatementSync;
  readonly #topics: StatementSync;
  readonly #earliest: StatementSync;
  readonly #insertTopic: StatementSync;
  readonly #insertPartition: StatementSync;
  readonly #setNextOffset: StatementSync;
  readonly #setStartOffset: StatementSync;

  constructor(db: DatabaseSync) {
    const columns =
      'SELECT t.name, t.compacted, p.id, p.partition, p.next_offset, p.start_offset FROM topics t JOIN partitions p ON p.topic_id = t.id';
    this.#topic = db.prepare(`${columns} WHERE t.name = ? ORDER BY p.partition`);
    this.#topics = db.prepare(`${columns} ORDER BY t.name, p.partition`);
    this.#earliest = db.prepare('SELECT min(base_offset) AS earliest FROM batches WHERE partition_id = ?');
    this.#insertTopic = db.prepare('INSERT INTO topics (name, compacted) VALUES (?, ?)');
    this.#insertPartition = db.prepare(
      'INSERT INTO partitions (topic_id, partition, next_offset) VALUES ((SELECT id FROM topics WHERE name = ?), ?, 0)',
    );
    this.#setNextOffset = db.prepare('UPDATE partitions SET next_offset = ? WHERE id = ?');
    this.#setStartOffset = db.prepare('UPDATE partitions SET start_offset = max(start_offset, ?) WHERE id = ?');
  }

  find(name: string): StoredTopic | null {
    return group(this.#topic.all(name))[0] ?? null;
  }

  get(name: string): StoredTopic {
    const topic = this.find(name);
    if (topic === null) throw new TopicUnknownError({ topic: name, partition: null, partitions: null });
    return topic;
  }

  list(names: readonly string[] | undefined): readonly TopicInfo[] {
    const topics =
      names === undefined ? group(this.#topics.all()) : [...new Set(names)].toSorted().flatMap((name) => this.find(name) ?? []);
    return topics.map((topic) => ({
      name: topic.name,
      partitions: topic.partitions.length,
      compacted: topic.compacted,
      offsets: topic.partitions.map((partition) => ({ earliest: this.earliest(partition), end: partition.nextOffset })),
    }));
  }

  earliest({ id, nextOffset }: StoredPartition): number {
    const earliest = this.#earliest.get(id)?.['earliest'];
    return earliest === null ? nextOffset : integer(earliest);
  }

  /** Returns a topic's present number of partitions; 0 if it is missing. Throws if it can't become the specified one. */
  fit({ name, partitions, compacted = false, fixedPartitions = false }: NewTopicSpec): number {
    const existing = this.find(name);
    if (existing === null) return 0;
    if (existing.compacted !== compacted) {
      const reason = `is ${existing.compacted ? '' : 'not '}compacted and can't be changed. Use another topic name or another log.`;
      throw new TopicMismatchError({ topic: name, reason });
    }
    const found = existing.partitions.length;
    if (fixedPartitions && found !== partitions)
      throw new TopicMismatchError({ topic: name, reason: fixedPartitionsReason(found, partitions) });
    if (found > partitions) {
      const reason = `has ${found} partitions and can't shrink to ${partitions}. Request ${found} or more.`;
      throw new TopicMismatchError({ topic: name, reason, partitions: found });
    }
    return found;
  }

  /** Creates a topic, or adds partitions to the `from` ones that it has. Call within a transaction. */
  create({ name, partitions, compacted = false }: NewTopicSpec, from: number): void {
    if (from === 0) this.#insertTopic.run(name, compacted ? 1 : 0);
    for (let partition = from; partition < partitions; partition++) this.#insertPartition.run(name, partition);
  }

  setNextOffset(partitionId: number, nextOffset: number): void {
    this.#setNextOffset.run(nextOffset, partitionId);
  }

  setStartOffset(partitionId: number, startOffset: number): void {
    this.#setStartOffset.run(startOffset, partitionId);
  }
}

export function partitionOf(topic: StoredTopic, partition: number): StoredPartition {
  const found = topic.partitions[partition];
  if (found === undefined) {
    throw new TopicUnknownError({ topic: topic.name, partition, partitions: topic.partitions.length });
  }
  return found;
}

function group(rows: ReturnType<StatementSync['all']>): readonly StoredTopic[] {
  const topics = new Map<string, { name: string; compacted: boolean; partitions: StoredPartition[] }>();
  for (const row of rows) {
    const name = text(row['name']);
    let topic = topics.get(name);
    if (topic === undefined) topics.set(name, (topic = { name, compacted: integer(row['compacted']) === 1, partitions: [] }));
    topic.partitions.push({
      id: integer(row['id']),
      partition: integer(row['partition']),
      nextOffset: integer(row['next_offset']),
      startOffset: integer(row['start_offset']),
      compacted: topic.compacted,
    });
  }
  return [...topics.values()];
}
