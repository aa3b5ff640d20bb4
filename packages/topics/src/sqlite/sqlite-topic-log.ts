import { resolve } from 'node:path';
import { type Availability, type AvailabilityChange, availability } from '../availability.ts';
import type { FieldsOf } from '../pull-reader.ts';
import { OpenLog } from '../open-log.ts';
import { assertFields } from '../record-fields.ts';
import { LiveState } from '../state-reading.ts';
import { MAX_INT32, assertTopics, assertWhole } from '../whole-options.ts';
import type {
  CreatedTopics,
  GroupMember,
  JoinGroupOptions,
  LaneSpec,
  LaneWriter,
  NewRecord,
  NewTopicSpec,
  ReadOptions,
  RecordPosition,
  RecordLimit,
  StateReading,
  TopicInfo,
  TopicLog,
  TopicPartition,
  TopicReader,
} from '../topic-log.ts';
import { assertTopic } from './argument-checks.ts';
import { CommitWatch } from './commit-watch.ts';
import { type SqliteRetention, deleteOldRecords } from './delete-old-records.ts';
import { SqliteLaneWriter } from './lane-writer.ts';
import { SqliteTopicReader } from './topic-reader.ts';
import { WorkerLink } from './worker-link.ts';
import type { StateEntries } from './worker-protocol.ts';
import { WrittenRecords } from './written-records.ts';

/** Options of {@link sqliteTopicLog}. */
export interface SqliteTopicLogOptions {
  /**
   * Path of the file. If the file is missing, it is created with its folder. A relative path starts at the working directory. The log also uses
   * `<file>-wal`, `<file>-shm` and `<file>-lanes/`.
   */
  readonly file: string;
  /**
   * How long a write waits for a write of another process, milliseconds, before it throws a `TopicLogError` (HEADGATE_TOPIC_LOG_BUSY). Default
   * 5000.
   */
  readonly busyTimeoutMs?: number;
  /**
   * How often a waiting reader checks for commits of other processes, in milliseconds; up to five times as long if nothing has arrived for
   * a while. Default 50.
   */
  readonly pollMs?: number;
  /** Minimum time for which a tombstone of a compacted topic stays readable, milliseconds. Default 86,400,000 (a day). */
  readonly tombstoneRetentionMs?: number;
  /** Maximum size of the file, bytes. A write beyond it throws a `TopicLogError` (HEADGATE_TOPIC_LOG_FULL). Default 0: the disk is the limit. */
  readonly maxFileBytes?: number;
  /**
   * True to open the file only for reading: it is neither created nor changed, writes are refused, and this user doesn't need write
   * permission. While another process writes, this user needs read permission on `<file>-wal` and `<file>-shm`. Default false.
   */
  readonly readOnly?: boolean;
  /** Deletes old records while the log is open. Default: all are kept. */
  readonly retention?: SqliteRetention;
  /**
   * Called when lanes can't be written, and when they can again. With this option, their transactions wait for space or a lock. Without it, they
   * throw.
   */
  readonly onAvailability?: (change: AvailabilityChange) => void;
  /** The clock for the records' timestamps, in milliseconds since the epoch, rounded down. Default `Date.now`. */
  readonly now?: () => number;
  /**
   * The module of the log's thread, for a bundle: `@headgate/topics/sqlite/worker`, bundled as its own entry. Default: `worker.js` next to
   * this module.
   */
  readonly worker?: URL;
}

/** SQLite accepts a billion bytes in a value, but a JavaScript string has at most about half a billion characters. */
const MAX_RECORD_BYTES = 500_000_000;

/**
 * Opens a topic log in one SQLite file: synced at each commit, usable by several processes of one machine at once (not over a network drive). SQLite
 * runs in its own thread. A lane that has a holder is refused with `LaneHeldError`. A record with neither key nor partition goes to partition 0.
 * Throws a `TopicLogError`: HEADGATE_TOPIC_LOG_OPEN, _VERSION, _CORRUPT, _FULL or _BUSY. Later calls can throw the same errors. Throws a `RangeError`
 * for an invalid number.
 */
export async function sqliteTopicLog(options: SqliteTopicLogOptions): Promise<TopicLog> {
  const { busyTimeoutMs = 5_000, pollMs = 50, tombstoneRetentionMs = 86_400_000, maxFileBytes = 0, readOnly = false, retention } = options;
  // SQLite takes an integer of 32 bits.
  assertWhole('sqliteTopicLog', { busyTimeoutMs, pollMs }, 0, MAX_INT32);
  assertWhole(
    'sqliteTopicLog',
    { tombstoneRetentionMs, maxFileBytes, ...(retention && { 'retention.maxAgeMs': retention.maxAgeMs }) },
    0,
    Infinity,
  );
  const file = resolve(options.file);
  const link = new WorkerLink({ file, busyTimeoutMs, tombstoneRetentionMs, maxFileBytes, readOnly }, options.worker);
  try {
    await link.call('dataVersion');
  } catch (error) {
    await link.close();
    throw error;
  }
  return new SqliteTopicLog(link, { ...options, file, pollMs });
}

class SqliteTopicLog extends OpenLog implements TopicLog {
  readonly #link: WorkerLink;
  readonly #file: string;
  readonly #now: () => number;
  readonly #commits: CommitWatch;
  readonly #stopDeletion: (() => void) | undefined;
  readonly #availability: Availability | undefined;
  readonly #lanes = new Set<SqliteLaneWriter>();
  readonly #readers = new Set<{ close(): Promise<void> }>();

  constructor(link: WorkerLink, options: SqliteTopicLogOptions & { readonly pollMs: number }) {
    const { file, pollMs, now = Date.now, retention, onAvailability } = options;
    super(`The topic log ${file}`);
    this.#link = link;
    this.#file = file;
    this.#now = () => Math.floor(now());
    this.#commits = new CommitWatch(() => link.call('dataVersion'), pollMs);
    this.#stopDeletion = retention && deleteOldRecords(link, retention, this.#now);
    this.#availability = onAvailability && availability(onAvailability);
  }

  async createTopics(
    topics: readonly NewTopicSpec[],
    { validateOnly = false }: { readonly validateOnly?: boolean } = {},
  ): Promise<CreatedTopics> {
    this.assertOpen();
    assertTopics(topics);
    for (const topic of topics) assertTopic(topic);
    const changes = await this.#link.call('createTopics', topics, validateOnly);
    this.#commits.committed();
    return { ...changes, warnings: [] };
  }

  async listTopics(names?: readonly string[]): Promise<readonly TopicInfo[]> {
    this.assertOpen();
    return await this.#link.call('listTopics', names);
  }

  async offsets(topicPartitions: readonly TopicPartition[], which: 'earliest' | 'end' | 'written'): Promise<readonly number[]> {
    this.assertOpen();
    return await this.#link.call('offsets', topicPartitions, which === 'earliest');
  }

  async openLane(lane: LaneSpec, signal?: AbortSignal): Promise<LaneWriter> {
    this.assertOpen();
    signal?.throwIfAborted();
    const { epoch, state } = await this.#link.call('openLane', lane, this.#now());
    this.assertOpen();
    const writer = new SqliteLaneWriter({
      link: this.#link,
      commits: this.#commits,
      lane,
      epoch,
      state: this.#reading(state),
      now: this.#now,
      availability: this.#availability?.watcher(),
      file: this.#file,
      onClose: (closed) => this.#lanes.delete(closed),
    });
    this.#lanes.add(writer);
    // The log's thread can't be interrupted, for example while it waits for another process's write.
    if (signal?.aborted) await writer.close();
    signal?.throwIfAborted();
    return writer;
  }

  async append(records: readonly NewRecord[]): Promise<readonly RecordPosition[]> {
    this.assertOpen();
    for (const record of records) assertFields(record);
    const written = new WrittenRecords(records);
    const pairs = await this.#link.call('write', null, written.entries, [], this.#now());
    this.#commits.committed(written.topics);
    return written.positions(pairs);
  }

  protected override reader<Field extends string | Uint8Array>(options: ReadOptions, fieldsOf: FieldsOf<Field>): TopicReader<Field> {
    this.assertOpen();
    const reader = new SqliteTopicReader(this.#link, this.#commits, options, fieldsOf, (closed) => this.#readers.delete(closed));
    if (options.signal?.aborted !== true) this.#readers.add(reader);
    return reader;
  }

  /** Always undefined, because readers never see an uncommitted transaction in the file. */
  async openTransaction(_: TopicPartition, signal?: AbortSignal): Promise<undefined> {
    signal?.throwIfAborted();
    await Promise.resolve();
  }

  async readState(topic: string, partition: number): Promise<StateReading> {
    this.assertOpen();
    return this.#reading(await this.#link.call('readState', topic, partition));
  }

  /** Assigns all partitions to every process, because the locks of the lanes keep other processes out. */
  async joinGroup({ topics, onAssigned }: JoinGroupOptions): Promise<GroupMember> {
    const existing = await this.listTopics(topics);
    onAssigned(
      existing.flatMap(({ name, partitions }) => Array.from({ length: partitions }, (_, partition) => ({ topic: name, partition }))),
    );
    return { leave: () => Promise.resolve() };
  }

  async groupOffset({ group, ...place }: TopicPartition & { readonly group: string }): Promise<number | undefined> {
    this.assertOpen();
    return (await this.#link.call('groupOffset', place, group)) ?? undefined;
  }

  async offsetSince(topicPartition: TopicPartition, sinceMs: number): Promise<number | undefined> {
    this.assertOpen();
    return (await this.#link.call('offsetSince', topicPartition, sinceMs)) ?? undefined;
  }

  recordLimit(): Promise<RecordLimit> {
    return Promise.resolve({ bytes: MAX_RECORD_BYTES });
  }

  protected override async end(): Promise<void> {
    await Promise.allSettled([...this.#readers].map((reader) => reader.close()));
    await Promise.allSettled([...this.#lanes].map((lane) => lane.close()));
    this.#stopDeletion?.();
    this.#availability?.close();
    await this.#link.close();
  }

  #reading({ keys, values, timestampsMs }: StateEntries): LiveState {
    const now = this.#now();
    return new LiveState(keys.map((key, i) => [key, { value: values[i] ?? '', ageMs: now - (timestampsMs[i] ?? now) }]));
  }
}
