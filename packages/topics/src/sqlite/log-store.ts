import { truncateSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { partitionForKey } from '../partition-for-key.ts';
import type { CreatedTopics, LaneSpec, OffsetCommit, TopicInfo, TopicPartition, TopicSpec } from '../topic-log.ts';
import { openDatabase } from './database.ts';
import { GroupOffsetTable } from './group-offset-table.ts';
import { type LaneLock, takeLaneLock } from './lane-lock.ts';
import { LaneTable } from './lane-table.ts';
import type { LogFiles } from './log-files.ts';
import { type NewRow, RecordTable } from './record-table.ts';
import { isSeriesValues, recordCount, unpacked } from './series-values.ts';
import { sqliteFailure } from './sqlite-failure.ts';
import { type StoredTopic, TopicTable, partitionOf } from './topic-table.ts';
import {
  type AppendBatch,
  type DeleteOldArgs,
  type LaneHold,
  type RecordChunk,
  type StateEntries,
  type WorkerOptions,
  type WriteArgs,
  WorkerFailure,
} from './worker-protocol.ts';

/** The open file, with the statements that are prepared on it. */
class OpenFile {
  readonly db: DatabaseSync;
  readonly files: LogFiles;
  readonly topics: TopicTable;
  readonly records: RecordTable;
  readonly groups: GroupOffsetTable;
  readonly lanes: LaneTable;
  readonly dataVersion: StatementSync;

  constructor(options: WorkerOptions) {
    const { db, files } = openDatabase(options);
    this.db = db;
    this.files = files;
    this.topics = new TopicTable(db);
    this.records = new RecordTable(db, files.file);
    this.groups = new GroupOffsetTable(db, files.file);
    this.lanes = new LaneTable(db);
    this.dataVersion = db.prepare('PRAGMA data_version');
  }
}

/** The worker's synchronous access to the log's file. Each write is one transaction. */
export class LogStore {
  readonly #options: WorkerOptions;
  readonly #locks = new Map<string, LaneLock>();
  #open: OpenFile;
  #reopened = 0;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#open = new OpenFile(options);
  }

  get topics(): TopicTable {
    return this.#open.topics;
  }

  get records(): RecordTable {
    return this.#open.records;
  }

  get groups(): GroupOffsetTable {
    return this.#open.groups;
  }

  /** Returns the topics that it created or enlarged; with `validateOnly`, those that it would, and the file stays unchanged. */
  createTopics(specs: readonly TopicSpec[], validateOnly: boolean): Omit<CreatedTopics, 'warnings'> {
    const end = validateOnly ? 'ROLLBACK' : 'COMMIT';
    const create = () => specs.map((spec) => ({ topic: spec.name, from: this.topics.create(spec), to: spec.partitions }));
    const made = this.#read(() => this.#transaction(create, end));
    return {
      created: made.filter(({ from }) => from === 0).map(({ topic }) => topic),
      grown: made.filter(({ from, to }) => from > 0 && from < to),
    };
  }

  listTopics(names: readonly string[] | null): readonly TopicInfo[] {
    return this.#read(() => this.topics.list(names));
  }

  topic(name: string): StoredTopic {
    return this.#read(() => this.topics.get(name));
  }

  openLane(lane: LaneSpec, nowMs: number): { readonly epoch: number; readonly state: StateEntries } {
    this.#assertWritable();
    const lock = takeLaneLock({ file: this.#open.files.file, lane: lane.name });
    if (lock === null) throw this.#open.lanes.heldFailure(lane.name);
    try {
      const opened = this.#transaction(() => {
        const partitionId = this.#statePartition(lane.state.topic, lane.state.partition);
        return { epoch: this.#open.lanes.take(lane.name, process.pid, nowMs), state: this.records.state(partitionId, lane.state) };
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
    const { db } = this.#open;
    try {
      db.exec('PRAGMA busy_timeout = 0');
      this.#transaction(() => this.#open.lanes.leave(hold));
    } catch {
      // Ignore an error, and don't wait: the table only describes the holder. Releasing the lock frees the lane, even if the disk is full.
    }
    db.exec(`PRAGMA busy_timeout = ${this.#options.busyTimeoutMs}`);
    lock.release();
  }

  readState(topic: string, partition: number): StateEntries {
    return this.#read(() => this.records.state(this.#statePartition(topic, partition), { topic, partition }));
  }

  /** Returns the next records of a partition, from `from` to before `end`; an empty chunk if none are left in that range. */
  chunk({ topic, partition }: TopicPartition, from: number, end: number): RecordChunk {
    return this.#read(() => {
      const { db } = this.#open;
      // Read in one transaction, because another process may delete old records between two queries.
      db.exec('BEGIN');
      try {
        return this.records.chunk(partitionOf(this.topics.get(topic), partition), from, end);
      } finally {
        if (db.isTransaction) db.exec('ROLLBACK');
      }
    });
  }

  offsetSince({ topic, partition, sinceMs }: TopicPartition & { readonly sinceMs: number }): number | null {
    return this.#read(() => this.records.since(partitionOf(this.topics.get(topic), partition).id, sinceMs));
  }

  /** Deletes some of a topic's old records. Returns whether there may be more to delete. */
  deleteOld({ topic, beforeMs, untilCommitted }: DeleteOldArgs): boolean {
    this.#open.files.assertExists();
    const { partitions, compacted } = this.topics.get(topic);
    if (compacted) return false;
    const found = partitions.flatMap(({ id, nextOffset }) => {
      const end = untilCommitted ? (this.groups.least(id) ?? 0) : nextOffset;
      const behind = this.records.behindOld(id, beforeMs, end);
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
        this.#open.db.prepare('VACUUM INTO ?').run(to);
      } catch (error) {
        throw sqliteFailure(error, { file: to, busyTimeoutMs: this.#options.busyTimeoutMs });
      }
    });
  }

  write(args: WriteArgs): Float64Array | null {
    return this.#transaction(() => {
      if (args.lane !== null) this.#open.lanes.verify(args.lane);
      const positions = args.positions ? new Float64Array(2 * args.batches.reduce((sum, batch) => sum + batch.keys.length, 0)) : null;
      let done = 0;
      for (const batch of args.batches) {
        this.#append(batch, args.nowMs, positions?.subarray(done * 2) ?? null);
        done += batch.keys.length;
      }
      for (const offset of args.offsets) this.groups.set(offset.group, this.#committed(offset), offset.nextOffset);
      return positions;
    });
  }

  commitRead(offset: OffsetCommit): void {
    this.#transaction(() => this.groups.advance(offset.group, this.#committed(offset), offset.nextOffset));
  }

  groupOffset({ group, topic, partition }: TopicPartition & { readonly group: string }): number | null {
    return this.#read(() => {
      const found = this.topics.find(topic)?.partitions[partition];
      return found === undefined ? null : this.groups.get(group, found.id);
    });
  }

  /** Returns a value that changes when another process has committed. */
  dataVersion(): unknown {
    return this.#read(() => `${this.#reopened}/${String(this.#open.dataVersion.get()?.['data_version'])}`);
  }

  close(): void {
    for (const lock of this.#locks.values()) lock.release();
    this.#locks.clear();
    if (this.#open.files.areGone) this.#finishMovedFile();
    this.#open.db.close();
  }

  /** Adds the commits in the `-wal` to the file, in case the file was moved without it. Closing alone would leave them in the `-wal`. */
  #finishMovedFile(): void {
    try {
      this.#open.db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // Ignored, because `assertExists` has already thrown the failure that matters.
    }
  }

  #append(batch: AppendBatch, timestampMs: number, positions: Float64Array | null): void {
    const topic = this.topics.get(batch.topic);
    const nextOffsets = new Map<number, number>();
    const rows: NewRow[] = [];
    for (const [index, key] of batch.keys.entries()) {
      const byKey = (): number => (key === null ? 0 : partitionForKey(key, topic.partitions.length));
      const partition = partitionOf(topic, batch.partitions[index] ?? byKey());
      if (topic.compacted && key === null) {
        throw new WorkerFailure({
          kind: 'invalid-record',
          topic: topic.name,
          reason: 'has no key; a compacted topic keeps the newest record per key.',
        });
      }
      const offset = nextOffsets.get(partition.id) ?? partition.nextOffset;
      const value = batch.values[index] ?? null;
      const next = offset + recordCount(value);
      nextOffsets.set(partition.id, next);
      const common = { partitionId: partition.id, timestampMs, key, headers: batch.headers[index] ?? null };
      // The records of a series have the same key, so the last one replaces the others.
      if (topic.compacted && isSeriesValues(value)) rows.push({ ...common, offset: next - 1, value: unpacked(value).at(-1) ?? null });
      else rows.push({ ...common, offset, value });
      positions?.set([partition.partition, offset], index * 2);
    }
    this.records.insert(rows, topic.compacted);
    for (const [partitionId, nextOffset] of nextOffsets) this.topics.setNextOffset(partitionId, nextOffset);
    if (topic.compacted && batch.values.includes(null)) this.#purgeTombstones(nextOffsets.keys(), timestampMs);
  }

  #purgeTombstones(partitionIds: Iterable<number>, nowMs: number): void {
    for (const partitionId of partitionIds) this.records.purgeTombstones(partitionId, nowMs - this.#options.tombstoneRetentionMs);
  }

  #statePartition(name: string, partition: number): number {
    const topic: StoredTopic = this.topics.get(name);
    if (!topic.compacted) {
      throw new WorkerFailure({ kind: 'topic-mismatch', topic: name, reason: 'is not compacted. State needs a compacted topic.' });
    }
    return partitionOf(topic, partition).id;
  }

  #committed(offset: OffsetCommit): number {
    if (!Number.isSafeInteger(offset.nextOffset) || offset.nextOffset < 0) {
      throw new WorkerFailure({ kind: 'range', reason: `${offset.nextOffset} isn't an offset to commit for group "${offset.group}".` });
    }
    return partitionOf(this.topics.get(offset.topic), offset.partition).id;
  }

  /** SQLite itself doesn't refuse writes here, because the file is opened for writing to be read beside writers. */
  #assertWritable(): void {
    if (this.#options.readOnly !== true) return;
    const reason = 'it was opened with readOnly. Open it without readOnly to write.';
    throw new WorkerFailure({ kind: 'open', file: this.#open.files.file, reason, detail: 'read-only' });
  }

  /** Reads again, from the reopened file, if another process has changed a file that SQLite reads as immutable. */
  #read<T>(work: () => T): T {
    for (;;) {
      this.#open.files.assertExists();
      if (this.#open.files.haveChanged) this.#reopen();
      try {
        const result = work();
        if (!this.#open.files.haveChanged) return result;
      } catch (error) {
        if (!this.#open.files.haveChanged) throw error;
      }
    }
  }

  #reopen(): void {
    const { db } = this.#open;
    this.#open = new OpenFile(this.#options);
    this.#reopened++;
    db.close();
  }

  #transaction<T>(work: () => T, end: 'COMMIT' | 'ROLLBACK' = 'COMMIT'): T {
    if (end === 'COMMIT') this.#assertWritable();
    try {
      this.#open.db.exec(this.#options.readOnly === true ? 'BEGIN' : 'BEGIN IMMEDIATE');
      this.#open.files.assertExists();
      const result = work();
      this.#open.db.exec(end);
      // Check again after the commit: if the file was replaced meanwhile, later readers may not find the records.
      this.#open.files.assertExists();
      return result;
    } catch (error) {
      if (this.#open.db.isTransaction) this.#open.db.exec('ROLLBACK');
      throw sqliteFailure(error, { file: this.#open.files.file, busyTimeoutMs: this.#options.busyTimeoutMs });
    }
  }
}

/** Key of a lane's lock. It includes the epoch, because a lane that this process lost and reopened has two locks until the lost one closes. */
function lockName(hold: LaneHold): string {
  return `${hold.epoch}/${hold.name}`;
}
