import type { Clock } from '@headgate/throttle';
import type { LaneTransaction, LaneWriter, NewRecord, RecordRoom, RecordSeries, TopicLog } from '@headgate/topics';
import { TOPICS, laneName, lanePartitions, requestsTopic, statePartition } from '../records/topic-names.ts';
import { type LaneValue, laneKeys } from './lane-keys.ts';
import { type OffsetRangesSnapshot, offsetRanges } from './offset-ranges.ts';

/** A key of a lane's state, without the lane's own prefix, and its new value; null removes it. */
export type StateChange = readonly [key: string, value: unknown];

/** What one piece of work adds to the log, all of it or nothing. */
export interface Contribution {
  readonly records: readonly (NewRecord | RecordSeries)[];
  readonly state?: readonly StateChange[];
  /** Offsets of the requests topic that are finished with it. */
  readonly finished?: readonly number[];
}

/** One partition of a requests topic, held by this process. */
export interface Lane {
  readonly topic: string;
  readonly partition: number;
  /** The first offset that isn't known to be finished. */
  readonly next: number;
  isFinished(offset: number): boolean;
  /** Offsets from the first to before the second hold no wish: a log has marks of its own between records, and forgets old ones. */
  skip(from: number, before: number): void;
  /** The lane's state under a prefix, as it was when the lane was opened. */
  stateUnder(prefix: string): readonly LaneValue[];
  /** Resolves when the contribution is durable. What comes while a transaction is under way shares the next one. */
  commit(contribution: Contribution): Promise<void>;
  /** The bytes of key, value and headers that a record of a topic may have, where this one has more; else undefined. */
  tooLarge(record: NewRecord): number | undefined;
  /** How large records of a topic that the lane writes could be when it was opened. */
  room(topic: string): RecordRoom | undefined;
  /** Adds what `more` gives at the time to every transaction's state. */
  beforeCommit(more: () => readonly StateChange[]): void;
  /** Calls back when a commit has failed: no later one will succeed. */
  onFailure(callback: (error: unknown) => void): void;
  /** The longest of the last 50 commits, ms. */
  readonly slowestCommitMs: number;
  /** Writes what is still to be written, then gives the lane up. */
  close(): Promise<void>;
}

export interface OpenLaneOptions {
  readonly log: TopicLog;
  readonly group: string;
  readonly service: 'followers' | 'books';
  /** Of the requests topic. */
  readonly partition: number;
  readonly clock: Clock;
  /** Gives up before the lane is taken. */
  readonly signal?: AbortSignal;
  /** As in `LaneSpec`. Default false. */
  readonly onlyIfFree?: boolean;
}

/** Takes a lane and reads how far it has come. Throws what `TopicLog.openLane` throws. */
export async function openLane({ log, group, service, partition, clock, signal, onlyIfFree = false }: OpenLaneOptions): Promise<Lane> {
  const topic = requestsTopic(service);
  const state = { topic: TOPICS.state, partition: statePartition(service, partition) };
  const writes = lanePartitions(service, partition);
  const rooms = new Map(await Promise.all(writes.map(async (place) => [place.topic, await log.recordRoom(place.topic)] as const)));
  const writer = await log.openLane({ name: laneName(group, service, partition), state, writes, onlyIfFree }, signal);
  const keys = laneKeys({ group, service, lane: partition });
  const { prefix } = keys;
  const kept = keys.get(writer.state, 'lane') as OffsetRangesSnapshot | undefined;
  const finished = offsetRanges(kept);
  /** The first transaction says that there is a state: one that is deleted later is missed. */
  let isKept = kept !== undefined;
  const hooks: (() => readonly StateChange[])[] = [];
  const set = (tx: LaneTransaction, [key, value]: StateChange): void =>
    tx.checkpoint(prefix + key, value === null ? null : JSON.stringify(value));
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
    if (isKept && !moved) return;
    tx.checkpoint(`${prefix}lane`, JSON.stringify(finished.snapshot()));
    if (!isKept || finished.next > before) tx.commitOffset({ group, topic, partition, offset: finished.next });
    isKept = true;
  };
  const committer = groupCommitter({ writer, clock, write });
  return {
    topic,
    partition,
    get next() {
      return finished.next;
    },
    isFinished: (offset) => finished.has(offset),
    skip: (from, before) => finished.addRange(from, before - 1),
    stateUnder: (under) => keys.under(writer.state, under),
    commit: (contribution) => committer.commit(contribution),
    tooLarge(record) {
      const { bytes = Infinity } = rooms.get(record.topic) ?? {};
      return recordBytes(record) > bytes ? bytes : undefined;
    },
    room: (of) => rooms.get(of),
    beforeCommit: (more) => void hooks.push(more),
    onFailure: (callback) => committer.onFailure(callback),
    get slowestCommitMs() {
      return committer.slowestMs;
    },
    async close() {
      // A lane that can't be written any more is given up all the same.
      await committer.commit({ records: [] }).catch(() => undefined);
      await writer.close();
    },
  };
}

/** Of key, value and headers. */
export function recordBytes({ key, value, headers = {} }: NewRecord): number {
  const texts = [key ?? '', value ?? '', ...Object.entries(headers).flat()];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

interface GroupCommitterOptions {
  readonly writer: LaneWriter;
  readonly clock: Clock;
  readonly write: (tx: LaneTransaction, contributions: readonly Contribution[]) => void;
}

/** One transaction at a time; all that has come in the meantime shares the next, and none waits for another to come. */
function groupCommitter({ writer, clock, write }: GroupCommitterOptions) {
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
    took.push(clock.monotonicMs() - startedMs);
    if (took.length > 50) took.shift();
  };

  return {
    commit(contribution: Contribution): Promise<void> {
      waiting.push(contribution);
      // Whoever commits next waits for this one, and fails where it does: what is noted as done in memory would be written as done with
      // another's transaction, though the records are not there.
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
