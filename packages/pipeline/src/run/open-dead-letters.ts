import { type StateReading, type TopicLog, type TopicRecord, textOf, textRecord } from '@headgate/topics';
import { GROUP_STATE, stateTopic, topicNames } from '../topics/names.ts';
import type { TopicNames } from '../topics/topic.ts';
import { ClosedDeadLetters } from '../lane/closed-dead-letters.ts';
import { type LaneState, STATE_KEYS, laneState } from '../lane/lane-state.ts';
import { readState } from '../lane/state-check.ts';
import { topicPartitions } from '../lane/topic-partitions.ts';
import { DEAD_LETTERS, HELD } from '../topics/dead-letter.ts';
import type { LogView } from './left-to-do.ts';

/** Location of a pipeline's dead letters. */
export interface DeadLettersOptions {
  /** Log that has the pipeline's topics. It stays open. */
  readonly log: LogView & Pick<TopicLog, 'listTopics' | 'offsets'>;
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** Group of the runs. Default `headgate`. */
  readonly group?: string;
  /** Returns the log's name of a topic. Default: `topicNames()`, which changes no name. */
  readonly names?: TopicNames;
  /** Ends the reading when it aborts. Default: never. */
  readonly signal?: AbortSignal | undefined;
}

/** A dead letter that was neither replayed nor dismissed. */
export interface OpenDeadLetter {
  /** Partition of the dead-letters topic, counted from 0. */
  readonly partition: number;
  /** Offset of the dead letter in its partition. */
  readonly offset: number;
  /** Key of the dead letter's record. Null if the record has no key, or a binary one. */
  readonly key: string | null;
  /** Code of the error. `HEADGATE_UNREADABLE_DEAD_LETTER` if the record isn't a dead letter. */
  readonly code: string;
  /** Message of the error. */
  readonly message: string;
  /** Timestamp of the dead letter's record, epoch ms. */
  readonly timestampMs: number;
  /** First offset after the preceding record, or the first offset that isn't closed if no record was read before this one. */
  readonly after: number;
  /** The record in the dead-letters topic. */
  readonly record: TopicRecord<Uint8Array>;
}

const UNREADABLE = 'HEADGATE_UNREADABLE_DEAD_LETTER';

/** Reads the open dead letters of a pipeline, in order per partition; none if the topic is missing. Takes no lane. */
export async function* openDeadLetters(options: DeadLettersOptions): AsyncGenerator<OpenDeadLetter, void, undefined> {
  const { log, names = topicNames() } = options;
  const state = readState(log, names(GROUP_STATE), 0);
  for (const partition of await deadLettersOf(options, state)) yield* partition.open();
}

export interface DeadLetterPartition {
  readonly topic: string;
  readonly partition: number;
  readonly closed: ClosedDeadLetters;
  /** Reads the partition's open dead letters in order. */
  readonly open: () => AsyncGenerator<OpenDeadLetter, void, undefined>;
}

/** Returns the partitions of a pipeline's dead letters. `state`: the group's state, which contains the closed ones; undefined if there is none. */
export async function deadLettersOf(
  options: DeadLettersOptions,
  state: StateReading | Promise<StateReading | undefined>,
): Promise<readonly DeadLetterPartition[]> {
  const { log, pipeline, group = 'headgate', names = topicNames(), signal } = options;
  const topic = names(`${pipeline}.${DEAD_LETTERS}`);
  const [places, read = noState()] = await Promise.all([topicPartitions(log, [topic]), state]);
  // The ends are newer than the state, so that no dead letter is closed at or after them.
  const ends = await log.offsets(places, 'end');
  return ends.map((end, partition) => {
    const closed = new ClosedDeadLetters(group, read, { topic, partition }, end);
    const open = async function* (): AsyncGenerator<OpenDeadLetter, void, undefined> {
      if (closed.next >= end) return;
      const reader = log.readBytes({ topic, partitions: [partition], from: closed.next, signal });
      let after = closed.next;
      let state: LaneState | undefined;
      for await (const record of reader) {
        const held = record.headers[HELD] && textOf(record.headers[HELD]);
        // The run closes the dead letter of a held part by removing the part from the lane's state.
        if (held !== undefined) {
          state ??= laneState(group, await log.readState(stateTopic({ name: pipeline }, names), partition));
          if (state.get(STATE_KEYS.held + held) === undefined) continue;
        }
        if (!closed.has(record.offset)) yield { ...openDeadLetter(record), after };
        after = record.offset + 1;
      }
    };
    return { topic, partition, closed, open };
  });
}

/** Number of open dead letters by code, such as `{ HEADGATE_NOT_FOUND: 3 }`. */
export type OpenByCode = Readonly<Record<string, number>>;

/** Counts the open dead letters of a pipeline by the codes of their errors. */
export async function countOpenDeadLetters(options: DeadLettersOptions): Promise<OpenByCode> {
  const counts: Record<string, number> = {};
  for await (const { code } of openDeadLetters(options)) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}

/** Parses a dead letter's value. Returns an empty object for a JSON value that isn't an object. Throws if the value isn't JSON. */
export function deadLetterValue(record: TopicRecord<Uint8Array>): Readonly<Record<string, unknown>> {
  const { value } = textRecord({ ...record, key: null, headers: {} });
  const found: unknown = JSON.parse(value ?? 'null');
  return typeof found === 'object' && found !== null ? { ...found } : {};
}

function openDeadLetter(record: TopicRecord<Uint8Array>): Omit<OpenDeadLetter, 'after'> {
  const { partition, offset, key, timestampMs } = record;
  return {
    partition,
    offset,
    key: key === null ? null : (textOf(key) ?? null),
    ...reasonIn(record),
    timestampMs,
    record,
  };
}

function reasonIn(record: TopicRecord<Uint8Array>): { readonly code: string; readonly message: string } {
  try {
    const { error } = deadLetterValue(record);
    if (typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string')
      return { code: error.code, message: 'message' in error ? String(error.message) : '' };
    return { code: UNREADABLE, message: 'It contains no error.' };
  } catch (error) {
    return { code: UNREADABLE, message: (error as Error).message };
  }
}

function noState(): StateReading {
  return Object.assign(new Map<string, string>(), { ageMs: () => 0 });
}
