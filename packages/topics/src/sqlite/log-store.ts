import { truncateSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { partitionForKey } from '../partition-for-key.ts';
import { startOf } from '../read-start.ts';
import { InvalidRecordError, TopicMismatchError } from '../topic-errors.ts';
import type { CreatedTopics, LaneSpec, NewTopicSpec, OffsetCommit, ReadOptions, TopicInfo, TopicPartition } from '../topic-log.ts';
import { openDatabase } from './database.ts';
import { fileError } from './file-errors.ts';
import { GroupOffsetTable } from './group-offset-table.ts';
import { type LaneLock, takeLaneLock } from './lane-lock.ts';
import { LaneTable } from './lane-table.ts';
import type { LogFiles } from './log-files.ts';
import { type NewRow, RecordTable } from './record-table.ts';
import { isSeriesValues, recordCount, unpacked } from './series-values.ts';
import { type StoredPartition, type StoredTopic, TopicTable, partitionOf } from './topic-table.ts';
import type { Cursor, LaneHold, NewEntries, ReadScope, RecordChunk, StateEntries, WorkerOptions } from './worker-protocol.ts';

/** Synchronous access to the log's file. Each write is one transaction. The log's thread runs the methods for the other threads. */
export class LogStore {
  readonly topics: TopicTable;
  readonly records: RecordTable;
  readonly groups: GroupOffsetTable;
  readonly #options: WorkerOptions;
  readonly #db: DatabaseSync;
  readonly #files: LogFiles;
  readonly #lanes: LaneTable;
  readonly #dataVersion: StatementSync;
  readonly #locks = new Map<string, LaneLock>();

  constructor(options: WorkerOptions) {
    const { db, files } = openDatabase(options);
    this.#options = options;
    this.#db = db;
    this.#files = files;
    this.topics = new TopicTable(db);
    this.records = new RecordTable(db, files.file);
    this.groups = new GroupOffsetTable(db, files.file);
    this.#lanes = new LaneTable(db);
    this.#dataVersion = db.prepare('PRAGMA data_version');
  }

  /** Returns the topics that it created or enlarged; with `validateOnly`, those that it would, and the file stays unchanged. */
  createTopics(specs: readonly NewTopicSpec[], validateOnly: boolean): Omit<CreatedTopics, 'warnings'> {
    const create = (spec: NewTopicSpec): { readonly topic: string; readonly from: number; readonly to: number } => {
      const from = this.topics.fit(spec);
      if (!validateOnly) this.topics.create(spec, from);
      return { topic: spec.name, from, to: spec.partitions };
    };
    const made = validateOnly ? this.#read(() => specs.map(create)) : this.#transaction(() => specs.map(create));
    return {
      created: made.filter(({ from }) => from === 0).map(({ topic }) => topic),
      grown: made.filter(({ from, to }) => from > 0 && from < to),
    };
  }

  listTopics(names?: readonly string[]): readonly TopicInfo[] {
    return this.#read(() => this.topics.list(names));
  }

  offsets(topicPartitions: readonly TopicPartition[], isEarliest: boolean): readonly number[] {
    return this.#read(() => {
      const topics = new Map<string, StoredTopic>();
      return topicPartitions.map(({ topic, partition }) => {
        const stored = topics.get(topic) ?? this.topics.get(topic);
        topics.set(topic, stored);
        const found = partitionOf(stored, partition);
        return isEarliest ? this.topics.earliest(found) : found.nextOffset;
      });
    });
  }

  openLane(lane: LaneSpec, nowMs: number): { readonly epoch: number; readonly state: StateEntries } {
    // Before a lock is created next to the file.
    if (this.#options.readOnly === true) this.#transaction(() => undefined);
    const lock = takeLaneLock(this.#files.file, lane.name);
    if (lock === null) throw this.#lanes.heldError(lane.name);
    try {
      const opened = this.#transaction(() => {
        const partitionId = this.#statePartition(lane.state.topic, lane.state.partition);
        return { epoch: this.#lanes.take(lane.name, process.pid, nowMs), state: this.records.state(partitionId, lane.state) };
      });
      this.#locks.set(lockName({ name: lane.name, epoch: opened.epoch }), lock);
      return opened;
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  closeLane(hold: LaneHold): void {
    const lock = this.#locks.get(lockName(hold));
    if (lock === undefined) return;
    this.#locks.delete(lockName(hold));
    try {
      this.#db.exec('PRAGMA busy_timeout = 0');
      this.#transaction(() => this.#lanes.leave(hold));
    } catch {
      // Ignore an error, and don't wait: the table only describes the holder. Releasing the lock frees the lane, even if the disk is full.
    }
    this.#db.exec(`PRAGMA busy_timeout = ${this.#options.busyTimeoutMs}`);
    lock.release();
  }

  readState(topic: string, partition: number): StateEntries {
    return this.#read(() => this.records.state(this.#statePartition(topic, partition), { topic, partition }));
  }

  /** Returns where a reader starts in each partition. */
  startReading({ topic, partitions, group }: ReadScope, from: NonNullable<ReadOptions['from']>): readonly Cursor[] {
    return this.#read(() => {
      const stored = this.topics.get(topic);
      return (partitions ?? numbersOf(stored)).map((partition) => {
        const { id, nextOffset: end } = partitionOf(stored, partition);
        const committed = group === undefined ? null : this.groups.get(group, id);
        return { partition, next: committed ?? startOf(from, { partition, earliest: 0, end }), end };
      });
    });
  }

  /**
   * Returns the next records at the first cursor that has some, or null. A reader that follows ends nowhere, and starts at the beginning of
   * partitions for which it has no cursor yet.
   */
  nextChunk(scope: ReadScope, cursors: readonly Cursor[], follow: boolean): RecordChunk | null {
    return this.#read(() => {
      // Read in one transaction, because another process may delete old records between two queries.
      this.#db.exec('BEGIN');
      try {
        const topic = this.topics.get(scope.topic);
        const known = new Set(cursors.map(({ partition }) => partition));
        const added = follow ? (scope.partitions ?? numbersOf(topic)).filter((partition) => !known.has(partition)) : [];
        const started = added.length === 0 ? [] : this.startReading({ ...scope, partitions: added }, 'earliest');
        for (const { partition, next, end } of [...cursors, ...started]) {
          const stored = partitionOf(topic, partition);
          const chunk = this.records.chunk(stored, next, follow ? stored.nextOffset : end);
          if (chunk.offsets.length > 0) return chunk;
        }
        return null;
      } finally {
        if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      }
    });
  }

  offsetSince({ topic, partition }: TopicPartition, sinceMs: number): number | null {
    return this.#read(() => this.records.since(this.#partition({ topic, partition }).id, sinceMs));
  }

  /** Deletes some of a topic's records that were written before `beforeMs`. Returns whether there may be more to delete. */
  deleteOld(topic: string, beforeMs: number): boolean {
    this.#files.assertUnchanged();
    const { partitions, compacted } = this.topics.get(topic);
    if (compacted) return false;
    const found = partitions.flatMap(({ id }) => {
      const behind = this.records.behindOld(id, beforeMs);
      return behind === undefined ? [] : [{ id, behind }];
    });
    if (found.length === 0) return false;
    this.#transaction(() => {
      for (const { id, behind } of found) {
        this.records.deleteBefore(id, behind);
        this.topics.setStartOffset(id, behind);
      }
    });
    return true;
  }

  /** Replaces the content of the file `to` by a copy, as of now. Other processes can write meanwhile. */
  backup(to: string): void {
    this.#read(() => {
      try {
        truncateSync(to);
        // SQLite would refuse to write the copy, too.
        this.#db.exec('PRAGMA query_only = OFF');
        this.#db.prepare('VACUUM INTO ?').run(to);
      } catch (error) {
        throw fileError(error, to, this.#options.busyTimeoutMs);
      }
    });
  }

  /** `lane`: null for a write outside of any lane. Returns two numbers for each entry: its partition and its first offset. */
  write(lane: LaneHold | null, entries: NewEntries, offsets: readonly OffsetCommit[], nowMs: number): Float64Array {
    return this.#transaction(() => {
      if (lane !== null) this.#lanes.verify(lane);
      const positions = new Float64Array(2 * entries.topics.length);
      const appends = new Map<string, TopicAppend>();
      for (const [index, name] of entries.topics.entries()) {
        let append = appends.get(name);
        if (append === undefined) appends.set(name, (append = new TopicAppend(this.topics.get(name), nowMs)));
        positions.set(append.add(entries, index), 2 * index);
      }
      for (const append of appends.values()) this.#append(append, nowMs);
      for (const offset of offsets) this.groups.set(offset.group, this.#partition(offset).id, offset.nextOffset);
      return positions;
    });
  }

  commitRead(offset: OffsetCommit): void {
    this.#transaction(() => this.groups.advance(offset.group, this.#partition(offset).id, offset.nextOffset));
  }

  groupOffset({ topic, partition }: TopicPartition, group: string): number | null {
    return this.#read(() => {
      const found = this.topics.find(topic)?.partitions[partition];
      return found === undefined ? null : this.groups.get(group, found.id);
    });
  }

  /** Returns a value that changes when another process has committed. */
  dataVersion(): unknown {
    return this.#read(() => this.#dataVersion.get()?.['data_version']);
  }

  close(): void {
    for (const lock of this.#locks.values()) lock.release();
    this.#locks.clear();
    if (this.#files.areGone) this.#finishMovedFile();
    this.#db.close();
  }

  /** Adds the commits in the `-wal` to the file, in case the file was moved without it. Closing alone would leave them in the `-wal`. */
  #finishMovedFile(): void {
    try {
      this.#db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // Ignored, because `assertUnchanged` has already thrown the failure that matters.
    }
  }

  #append({ topic, rows, nextOffsets }: TopicAppend, nowMs: number): void {
    this.records.insert(rows, topic.compacted);
    for (const [partitionId, nextOffset] of nextOffsets) this.topics.setNextOffset(partitionId, nextOffset);
    if (!topic.compacted || rows.every(({ value }) => value !== null)) return;
    for (const partitionId of nextOffsets.keys()) this.records.purgeTombstones(partitionId, nowMs - this.#options.tombstoneRetentionMs);
  }

  #statePartition(name: string, partition: number): number {
    const { id, compacted } = this.#partition({ topic: name, partition });
    if (!compacted) throw new TopicMismatchError({ topic: name, reason: 'is not compacted. State needs a compacted topic.' });
    return id;
  }

  #partition({ topic, partition }: TopicPartition): StoredPartition {
    return partitionOf(this.topics.get(topic), partition);
  }

  /** Checks the files again afterwards, because a change meanwhile explains what `work` found or threw. */
  #read<T>(work: () => T): T {
    this.#files.assertUnchanged();
    try {
      return work();
    } finally {
      this.#files.assertUnchanged();
    }
  }

  #transaction<T>(work: () => T): T {
    try {
      this.#db.exec('BEGIN IMMEDIATE');
      this.#files.assertUnchanged();
      const result = work();
      this.#db.exec('COMMIT');
      // Check again after the commit: if the file was replaced meanwhile, later readers may not find the records.
      this.#files.assertUnchanged();
      return result;
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw fileError(error, this.#files.file, this.#options.busyTimeoutMs);
    }
  }
}

/** The rows that a write appends to one topic. */
class TopicAppend {
  readonly topic: StoredTopic;
  readonly rows: NewRow[] = [];
  /** By partition ID. */
  readonly nextOffsets = new Map<number, number>();
  readonly #timestampMs: number;

  constructor(topic: StoredTopic, timestampMs: number) {
    this.topic = topic;
    this.#timestampMs = timestampMs;
  }

  /** Returns the partition and the first offset of the entry. */
  add(entries: NewEntries, index: number): readonly [partition: number, offset: number] {
    const { name, partitions, compacted } = this.topic;
    const key = entries.keys[index] ?? null;
    if (compacted && key === null) {
      throw new InvalidRecordError({ topic: name, reason: 'has no key; a compacted topic keeps the newest record per key.' });
    }
    const byKey = (): number => (key === null ? 0 : partitionForKey(key, partitions.length));
    const { id, partition, nextOffset } = partitionOf(this.topic, entries.partitions[index] ?? byKey());
    const offset = this.nextOffsets.get(id) ?? nextOffset;
    const value = entries.values[index] ?? null;
    const next = offset + recordCount(value);
    this.nextOffsets.set(id, next);
    const common = { partitionId: id, timestampMs: this.#timestampMs, key, headers: entries.headers[index] ?? null };
    // The records of a series have the same key, so the last one replaces the others.
    if (compacted && isSeriesValues(value)) this.rows.push({ ...common, offset: next - 1, value: unpacked(value).at(-1) ?? null });
    else this.rows.push({ ...common, offset, value });
    return [partition, offset];
  }
}

function numbersOf({ partitions }: StoredTopic): readonly number[] {
  return partitions.map(({ partition }) => partition);
}

/** Key of a lane's lock. It includes the epoch, because a lane that this process lost and reopened has two locks until the lost one closes. */
function lockName(hold: LaneHold): string {
  return `${hold.epoch}/${hold.name}`;
}
