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
import { laneName } from '../definition/names.ts';
import { type LaneState, type LaneValue, STATE_KEYS, laneState } from './lane-state.ts';
import { type OffsetRangesSnapshot, offsetRanges } from './offset-ranges.ts';

/** A key of a lane's state, without the group's prefix, and its new value; null removes it. */
export type StateChange = readonly [key: string, value: unknown];

/** What one piece of work adds to the log, atomically. */
export interface Contribution {
  readonly records: readonly (NewRecord | RecordSeries)[];
  readonly state?: readonly StateChange[];
  /** Offsets of the requests that this contribution finishes. */
  readonly finished?: readonly number[];
  /** Identifies the request that the contribution belongs to, for traces. */
  readonly work?: object;
}

/** One partition of a requests topic, held by this process. */
export interface Lane {
  readonly topic: string;
  readonly partition: number;
  /** The first offset that isn't known to be finished. */
  readonly next: number;
  /** True when an earlier holder has committed a state. */
  readonly hasState: boolean;
  /** The requests topic that an earlier holder's state belongs to. */
  readonly stateOf: string | undefined;
  /** The ID of the topic in `stateOf`; undefined if the state doesn't contain one. */
  readonly stateOfId: string | undefined;
  /** Writes the ID of the requests topic into the state, with the next transaction. Default: the state keeps the one it has. */
  noteTopic(id: string | undefined): void;
  isFinished(this: void, offset: number): boolean;
  /** There are no requests between these two offsets: a log has its own markers between records, and deletes old ones. */
  skip(from: number, before: number): void;
  /** The current state in the lane's state partition, including that of other groups. */
  readonly state: StateReading;
  /** The lane's state under a prefix, as of its opening. */
  stateUnder(this: void, prefix: string): readonly LaneValue[];
  /** Resolves when the contribution is durable. Contributions that come while a transaction is in flight share the next one. */
  commit(contribution: Contribution): Promise<void>;
  /** The maximum bytes of a record's key, value and headers in a topic, if this record exceeds them; otherwise undefined. */
  tooLarge(record: NewRecord): number | undefined;
  /** The record in which the lane writes a change of its state. Use it with `tooLarge`. */
  stateRecord(change: StateChange): NewRecord;
  /** The maximum record size of a topic that the lane writes, as of its opening. */
  recordLimit(topic: string): RecordLimit | undefined;
  /** Adds the current result of `more` to every transaction's state. */
  beforeCommit(more: () => readonly StateChange[]): void;
  /** Calls back when a commit has failed: no later one will succeed. */
  onFailure(callback: (error: unknown) => void): void;
  /** Duration of the slowest of the last 50 commits, ms. */
  readonly slowestCommitMs: number;
  /** Writes pending changes, then releases the lane. */
  close(): Promise<void>;
}

export interface OpenLaneOptions {
  readonly log: TopicLog;
  readonly group: string;
  /** The requests topic. */
  readonly topic: string;
  readonly partition: number;
  /** The lane's own partition of a compacted topic. */
  readonly state: TopicPartition;
  /** Every other partition that the lane writes. */
  readonly writes: readonly TopicPartition[];
  readonly clock: Clock;
  /** Aborts before the lane is taken. */
  readonly signal?: AbortSignal | undefined;
  /** As in `LaneSpec`. Default false. */
  readonly onlyIfFree?: boolean;
  /** Called with the duration of each durable transaction, ms, and its requests. Default: none. */
  readonly onCommit?: ((ms: number, works: readonly object[]) => void) | undefined;
}

/** Takes a lane and reads its progress. Throws the errors of `TopicLog.openLane`. */
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
  const finished = offsetRanges(finishedBefore);
  /** The first transaction records that there is a state, so that its deletion is noticed. */
  let isKept = finishedBefore !== undefined;
  const stateOfId = kept.get(STATE_KEYS.requestsId) as string | undefined;
  let newId: string | undefined;
  const hooks: (() => readonly StateChange[])[] = [];
  const set = (tx: LaneTransaction, [key, value]: StateChange): void =>
    tx.checkpoint(kept.prefix + key, value === null ? null : JSON.stringify(value));
  const write = (tx: LaneTransaction, contributions: readonly Contribution[]): void => {
    const before = finished.next;
    let moved = false;
    for (const contribution of contributions) {
      if (contribution.records.length > 0) tx.append(contribution.records);
      for (const change of contribution.state ?? []) set(tx, change);
      for (const offset of contribution.finished ?? []) {
        finished.add(offset);
        moved = true;
      }
    }
    for (const more of hooks) for (const change of more()) set(tx, change);
    if (newId !== undefined) set(tx, [STATE_KEYS.requestsId, newId]);
    newId = undefined;
    if (isKept && !moved) return;
    tx.checkpoint(kept.prefix + STATE_KEYS.finished, JSON.stringify(finished.snapshot()));
    if (!isKept) set(tx, [STATE_KEYS.requests, topic]);
    if (!isKept || finished.next > before) tx.commitOffset({ group, topic, partition, nextOffset: finished.next });
    isKept = true;
  };
  const committer = groupCommitter({ writer, clock, write, onCommit });
  return {
    topic,
    partition,
    hasState: finishedBefore !== undefined,
    stateOf: kept.get(STATE_KEYS.requests) as string | undefined,
    stateOfId,
    noteTopic(id) {
      if (id !== stateOfId) newId = id;
    },
    get next() {
      return finished.next;
    },
    isFinished: (offset) => finished.has(offset),
    skip: (from, before) => finished.addRange(from, before - 1),
    state: writer.state,
    stateUnder: kept.under,
    commit: (contribution) => committer.commit(contribution),
    tooLarge(record) {
      const { bytes = Infinity } = limits.get(record.topic) ?? {};
      // Counting the exact bytes of a page takes longer than writing them, so compare the upper limit first.
      return mostBytes(record) > bytes && recordBytes(record) > bytes ? bytes : undefined;
    },
    stateRecord: ([key, value]) => ({ topic: state.topic, key: kept.prefix + key, value: JSON.stringify(value) }),
    recordLimit: (of) => limits.get(of),
    beforeCommit: (more) => void hooks.push(more),
    onFailure: (callback) => committer.onFailure(callback),
    get slowestCommitMs() {
      return committer.slowestMs;
    },
    async close() {
      // A lane is released even if it can no longer be written.
      await committer.commit({ records: [] }).catch(() => undefined);
      await writer.close();
    },
  };
}

/** Size of a record: the bytes of its key, value and headers. */
export function recordBytes(record: NewRecord): number {
  return fieldsOf(record).reduce((sum, field) => sum + Buffer.byteLength(field), 0);
}

/** An upper limit of `recordBytes` that is fast to compute: a UTF-16 unit takes at most three bytes of UTF-8. */
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

/** One transaction at a time; contributions that have come in the meantime share the next, and none waits for another to come. */
function groupCommitter({ writer, clock, write, onCommit }: GroupCommitterOptions) {
  const took: number[] = [];
  let waiting: Contribution[] = [];
  let next: Promise<void> | undefined;
  let last: Promise<void> = Promise.resolve();
  const listeners: ((error: unknown) => void)[] = [];

  const start = async (after: Promise<void>): Promise<void> => {
    await after;
    const contributions = waiting;
    waiting = [];
    next = undefined;
    const startedMs = clock.monotonicMs();
    await writer.transaction((tx) => write(tx, contributions));
    const ms = clock.monotonicMs() - startedMs;
    took.push(ms);
    if (took.length > 50) took.shift();
    const works = contributions.map(({ work }) => work);
    onCommit(
      ms,
      works.filter((work) => work !== undefined),
    );
  };

  return {
    commit(contribution: Contribution): Promise<void> {
      waiting.push(contribution);
      // A commit waits for the previous one and fails if that fails: memory has marked the requests of the failed one as finished, and a
      // later transaction would write that, although their records are missing.
      if (next === undefined) {
        last = next = start(last);
        next.catch((error: unknown) => {
          for (const listener of listeners.splice(0)) listener(error);
        });
      }
      return next;
    },
    onFailure: (callback: (error: unknown) => void): void => void listeners.push(callback),
    get slowestMs() {
      return Math.max(0, ...took);
    },
  };
}
