import type { Clock } from '@headgate/throttle';
import type {
  LaneTransaction,
  LaneWriter,
  NewRecord,
  RecordLimit,
  RecordSeries,
  StateReading,
  TopicLog,
  TopicPartition,
} from '@headgate/topics';
import { laneName } from '../topics/names.ts';
import { type LaneState, type LaneValue, STATE_KEYS, laneState } from './lane-state.ts';
import { OffsetRanges, type OffsetRangesSnapshot } from './offset-ranges.ts';

/** A key of a lane's state, without the group's prefix, and its new value; null removes it. */
export type StateChange = readonly [key: string, value: unknown];

/** Records and state changes that the lane writes in one transaction. */
export interface Contribution {
  readonly records: readonly (NewRecord | RecordSeries)[];
  readonly state?: readonly StateChange[];
  /** Offsets of the requests that this contribution finishes. The rows of these jobs are removed. */
  readonly finished?: readonly number[];
  /** Identifies the walk, or the batch of keys, that the contribution belongs to, for traces. */
  readonly work?: object;
}

/** A partition of a requests topic that this process holds. */
export interface Lane {
  readonly topic: string;
  readonly partition: number;
  /** First offset that isn't finished. */
  readonly next: number;
  /** True if the lane's state had progress when the lane was opened. */
  readonly hasState: boolean;
  /** Writes the ID of the requests topic into the state with the next transaction. Undefined: the state keeps the ID that it has. */
  noteTopic(id: string | undefined): void;
  isFinished(this: void, offset: number): boolean;
  /** Marks the offsets from `from` to before `before` as finished, because they contain no requests that can be read. */
  skip(from: number, before: number): void;
  /** The current state in the lane's state partition, including that of other groups. */
  readonly state: StateReading;
  /** Reads the entries of the lane's current state whose keys start with a prefix. */
  stateUnder(this: void, prefix: string): readonly LaneValue[];
  /** Returns the current value of a key of the lane's state. Undefined if there is none. */
  stateAt(this: void, key: string): unknown;
  /** Resolves when the contribution is durable. Contributions that come during a transaction share the next one. */
  commit(contribution: Contribution): Promise<void>;
  /**
   * Returns the maximum size of a record in its topic, bytes, if this record exceeds it; otherwise undefined. Keys, values and headers
   * count.
   */
  tooLarge(this: void, record: NewRecord): number | undefined;
  /** Returns the record that a state change becomes, so that `tooLarge` can check its size. */
  stateRecord(change: StateChange): NewRecord;
  /** Returns the maximum record size of a topic that the lane writes, as it was when the lane was opened. */
  recordLimit(topic: string): RecordLimit | undefined;
  /** Adds the changes that `more` returns to every transaction. `durable` is called when that transaction is durable, before the next one. */
  beforeCommit(more: () => readonly StateChange[], durable?: () => void): void;
  /** Registers a callback for the first commit that fails. No commit after that one succeeds. */
  onFailure(callback: (error: unknown) => void): void;
  /** Duration of the slowest of the last 50 commits, ms. */
  readonly slowestCommitMs: number;
  /** Writes pending changes, then releases the lane. */
  close(): Promise<void>;
  /** Releases the lane without writing anything to its state. */
  abandon(): Promise<void>;
}

export interface OpenLaneOptions {
  readonly log: TopicLog;
  readonly group: string;
  /** The requests topic. */
  readonly topic: string;
  readonly partition: number;
  /** The lane's partition of the state topic, which is compacted. */
  readonly state: TopicPartition;
  /** All other partitions that the lane writes. */
  readonly writes: readonly TopicPartition[];
  readonly clock: Clock;
  /** Aborts the opening. Without effect after the lane is taken. */
  readonly signal?: AbortSignal | undefined;
  /** True to throw `LaneHeldError` if another process holds the lane, or may hold it. Default false. */
  readonly onlyIfFree?: boolean;
  /** Called after each durable transaction with its duration, ms, and the `work` of its contributions. Default: none. */
  readonly onCommit?: ((ms: number, works: readonly object[]) => void) | undefined;
}

/** Takes a lane and reads its state. Throws the errors of `TopicLog.openLane`. */
export async function openLane({
  log,
  group,
  topic,
  partition,
  state,
  writes,
  clock,
  signal,
  onlyIfFree = false,
  onCommit = () => undefined,
}: OpenLaneOptions): Promise<Lane> {
  const limits = new Map(
    await Promise.all([...writes, state].map(async ({ topic: name }) => [name, await log.recordLimit(name)] as const)),
  );
  const commits = [{ group, topic, partition }];
  const writer = await log.openLane({ name: laneName(group, topic, partition), state, writes, commits, onlyIfFree }, signal);
  const kept: LaneState = laneState(group, writer.state);
  const finishedBefore = kept.get(STATE_KEYS.finished) as OffsetRangesSnapshot | undefined;
  const finished = new OffsetRanges(finishedBefore);
  /**
   * False until a transaction has written the finished offsets. The first transaction of a new lane writes them in any case, so that a
   * later loss of the state is noticed.
   */
  let isKept = finishedBefore !== undefined;
  let newId: string | undefined;
  const hooks: { readonly more: () => readonly StateChange[]; readonly durable: (() => void) | undefined }[] = [];
  /** The rows of jobs in the state. */
  const rows = new Set(kept.under(STATE_KEYS.job).map(({ key }) => STATE_KEYS.job + key));
  const changes = (): readonly StateChange[] => hooks.flatMap(({ more }) => more());
  const set = (tx: LaneTransaction, [key, value]: StateChange): void => {
    if (value !== null && key.startsWith(STATE_KEYS.job)) rows.add(key);
    tx.checkpoint(kept.prefix + key, value === null ? null : JSON.stringify(value));
  };
  const write = (tx: LaneTransaction, contributions: readonly Contribution[]): void => {
    const before = finished.next;
    let moved = false;
    for (const contribution of contributions) {
      if (contribution.records.length > 0) tx.append(contribution.records);
      for (const change of contribution.state ?? []) set(tx, change);
      for (const offset of contribution.finished ?? []) {
        finished.add(offset);
        moved = true;
        const row = STATE_KEYS.job + String(offset);
        if (rows.delete(row)) set(tx, [row, null]);
      }
    }
    for (const change of changes()) set(tx, change);
    if (newId !== undefined) set(tx, [STATE_KEYS.requestsId, newId]);
    newId = undefined;
    if (isKept && !moved) return;
    tx.checkpoint(kept.prefix + STATE_KEYS.finished, JSON.stringify(finished.snapshot()));
    if (!isKept) set(tx, [STATE_KEYS.requests, topic]);
    if (!isKept || finished.next > before) tx.commitOffset({ group, topic, partition, nextOffset: finished.next });
    isKept = true;
  };
  const committer = groupCommitter({
    writer,
    clock,
    write,
    onCommit(ms, works) {
      for (const { durable } of hooks) durable?.();
      onCommit(ms, works);
    },
  });
  return {
    topic,
    partition,
    hasState: finishedBefore !== undefined,
    noteTopic(id) {
      if (id !== kept.get(STATE_KEYS.requestsId)) newId = id;
    },
    get next() {
      return finished.next;
    },
    isFinished: (offset) => finished.has(offset),
    skip: (from, before) => finished.addRange(from, before - 1),
    state: writer.state,
    stateUnder: kept.under,
    stateAt: kept.get,
    commit: (contribution) => committer.commit(contribution),
    tooLarge(record) {
      const { bytes = Infinity } = limits.get(record.topic) ?? {};
      // Counting bytes is slow, so compare an upper limit first.
      return mostBytes(record) > bytes && recordBytes(record) > bytes ? bytes : undefined;
    },
    stateRecord: ([key, value]) => ({ topic: state.topic, key: kept.prefix + key, value: JSON.stringify(value) }),
    recordLimit: (of) => limits.get(of),
    beforeCommit: (more, durable) => void hooks.push({ more, durable }),
    onFailure: (callback) => committer.onFailure(callback),
    get slowestCommitMs() {
      return committer.slowestMs;
    },
    async close() {
      await committer.idle();
      try {
        const state = changes();
        if (!isKept || newId !== undefined || state.length > 0) await committer.commit({ records: [], state });
      } catch {
        // Release the lane even if its last transaction fails.
      }
      await writer.close();
    },
    abandon: () => writer.close(),
  };
}

/** Returns the size of a record: the bytes of its key, value and headers. */
export function recordBytes(record: NewRecord): number {
  return fieldsOf(record).reduce((sum, field) => sum + Buffer.byteLength(field), 0);
}

/** Returns an upper limit of `recordBytes` that is fast to compute: a UTF-16 code unit takes at most three bytes of UTF-8. */
function mostBytes(record: NewRecord): number {
  return 3 * fieldsOf(record).reduce((sum, { length }) => sum + length, 0);
}

function fieldsOf({ key, value, headers = {} }: NewRecord): readonly (string | Uint8Array)[] {
  return [key ?? '', value ?? '', ...Object.entries(headers).flat()];
}

interface GroupCommitterOptions {
  readonly writer: LaneWriter;
  readonly clock: Clock;
  readonly write: (tx: LaneTransaction, contributions: readonly Contribution[]) => void;
  readonly onCommit: (ms: number, works: readonly object[]) => void;
}

/**
 * Runs one transaction at a time. Contributions that come during a transaction share the next one, which starts as soon as the writer can
 * begin it.
 */
function groupCommitter({ writer, clock, write, onCommit }: GroupCommitterOptions) {
  const took: number[] = [];
  let waiting: Contribution[] = [];
  let next: Promise<void> | undefined;
  let last: Promise<void> = Promise.resolve();
  const listeners: ((error: unknown) => void)[] = [];

  const start = async (after: Promise<void>): Promise<void> => {
    await after;
    let works: readonly object[] = [];
    const startedMs = clock.monotonicMs();
    // The writer may first wait until the previous transaction has ended for all readers. Contributions that come meanwhile join this one.
    await writer.transaction((tx) => {
      works = waiting.map(({ work }) => work).filter((work) => work !== undefined);
      const contributions = waiting;
      waiting = [];
      next = undefined;
      write(tx, contributions);
    });
    const ms = clock.monotonicMs() - startedMs;
    took.push(ms);
    if (took.length > 50) took.shift();
    onCommit(ms, works);
  };

  return {
    commit(contribution: Contribution): Promise<void> {
      waiting.push(contribution);
      // A commit waits for the previous one, and fails if that one fails. `finished` in memory already includes the requests of the failed
      // transaction, so a later transaction would write them as finished although their records are missing.
      if (next === undefined) {
        last = next = start(last);
        next.catch((error: unknown) => {
          for (const listener of listeners.splice(0)) listener(error);
        });
      }
      return next;
    },
    /** Resolves when all commits that were called earlier are durable, or have failed. */
    idle: (): Promise<void> => last.catch(() => undefined),
    onFailure: (callback: (error: unknown) => void): void => void listeners.push(callback),
    get slowestMs() {
      return Math.max(0, ...took);
    },
  };
}
