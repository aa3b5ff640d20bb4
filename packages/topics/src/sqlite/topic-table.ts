import { WorkerFailure } from './worker-protocol.ts';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { TopicInfo, TopicSpec } from '../topic-log.ts';
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

interface Writes {
  readonly insertTopic: StatementSync;
  readonly insertPartition: StatementSync;
  readonly setNextOffset: StatementSync;
  readonly setStartOffset: StatementSync;
}

/** The characters and length that Kafka allows, so that a topic can move to Kafka. */
const TOPIC_NAME = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/;
const MAX_PARTITIONS = 10_000;

/** The topics and their partitions. Nothing is cached between calls, because other processes can create topics and append records, too. */
export class TopicTable {
  readonly #topic: StatementSync;
  readonly #topics: StatementSync;
  readonly #db: DatabaseSync;
  #writes: Writes | undefined;
  readonly #earliest: StatementSync;

  constructor(db: DatabaseSync) {
    const columns =
      'SELECT t.name, t.compacted, p.id, p.partition, p.next_offset, p.start_offset FROM topics t JOIN partitions p ON p.topic_id = t.id';
    this.#topic = db.prepare(`${columns} WHERE t.name = ? ORDER BY p.partition`);
    this.#topics = db.prepare(`${columns} ORDER BY t.name, p.partition`);
    this.#db = db;
    this.#earliest = db.prepare('SELECT min(base_offset) AS earliest FROM batches WHERE partition_id = ?');
  }

  /** The statements that write. They are prepared on demand, because a read-only log may have views instead of tables. */
  get #write(): Writes {
    const db = this.#db;
    this.#writes ??= {
      insertTopic: db.prepare('INSERT INTO topics (name, compacted) VALUES (?, ?)'),
      insertPartition: db.prepare(
        'INSERT INTO partitions (topic_id, partition, next_offset) VALUES ((SELECT id FROM topics WHERE name = ?), ?, 0)',
      ),
      setNextOffset: db.prepare('UPDATE partitions SET next_offset = ? WHERE id = ?'),
      setStartOffset: db.prepare('UPDATE partitions SET start_offset = max(start_offset, ?) WHERE id = ?'),
    };
    return this.#writes;
  }

  find(name: string): StoredTopic | null {
    return group(this.#topic.all(name))[0] ?? null;
  }

  get(name: string): StoredTopic {
    const topic = this.find(name);
    if (topic === null) throw new WorkerFailure({ kind: 'topic-unknown', topic: name, partition: null, partitions: null });
    return topic;
  }

  list(names: readonly string[] | null): readonly TopicInfo[] {
    const topics = names === null ? group(this.#topics.all()) : [...new Set(names)].toSorted().flatMap((name) => this.find(name) ?? []);
    return topics.map((topic) => ({
      name: topic.name,
      partitions: topic.partitions.length,
      compacted: topic.compacted,
      offsets: topic.partitions.map(({ id, nextOffset }) => {
        const earliest = this.#earliest.get(id)?.['earliest'];
        return { earliest: earliest === null ? nextOffset : integer(earliest), end: nextOffset };
      }),
    }));
  }

  /** Creates a topic, or adds partitions to it. Returns the earlier number of partitions; 0 if the topic was missing. Call within a transaction. */
  create(spec: TopicSpec): number {
    const { name, partitions, compacted = false } = spec;
    if (!TOPIC_NAME.test(name)) {
      throw new WorkerFailure({
        kind: 'range',
        reason: `"${name}" isn't a topic name: write 1 to 249 of the characters A-Z a-z 0-9 . _ -, but not . or ..`,
      });
    }
    if (!Number.isInteger(partitions) || partitions < 1 || partitions > MAX_PARTITIONS) {
      throw new WorkerFailure({
        kind: 'range',
        reason: `Topic "${name}" can't have ${partitions} partitions; the limit is ${MAX_PARTITIONS}`,
      });
    }
    const existing = this.find(name);
    if (existing === null) this.#write.insertTopic.run(name, compacted ? 1 : 0);
    else if (existing.compacted !== compacted) {
      const reason = `is ${existing.compacted ? '' : 'not '}compacted and can't be changed. Use another topic name or another log.`;
      throw new WorkerFailure({ kind: 'topic-mismatch', topic: name, reason });
    } else if (existing.partitions.length > partitions) {
      const reason = `has ${existing.partitions.length} partitions and can't shrink to ${partitions}. Request ${existing.partitions.length} or more.`;
      throw new WorkerFailure({ kind: 'topic-mismatch', topic: name, reason, partitions: existing.partitions.length });
    }
    for (let partition = existing?.partitions.length ?? 0; partition < partitions; partition++)
      this.#write.insertPartition.run(name, partition);
    return existing?.partitions.length ?? 0;
  }

  setNextOffset(partitionId: number, nextOffset: number): void {
    this.#write.setNextOffset.run(nextOffset, partitionId);
  }

  setStartOffset(partitionId: number, startOffset: number): void {
    this.#write.setStartOffset.run(startOffset, partitionId);
  }
}

export function partitionOf(topic: StoredTopic, partition: number): StoredPartition {
  const found = topic.partitions[partition];
  if (found === undefined) {
    throw new WorkerFailure({ kind: 'topic-unknown', topic: topic.name, partition, partitions: topic.partitions.length });
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
