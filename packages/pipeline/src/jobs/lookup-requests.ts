import type { NewRecord, RecordSeries } from '@headgate/topics';
import { STATE_KEYS } from '../lane/lane-state.ts';
import type { Lane, StateChange } from '../lane/lane.ts';
import { type OffsetRanges, type OffsetRangesSnapshot, offsetRanges } from '../lane/offset-ranges.ts';
import type { RequestRecord } from '../topics/request.ts';
import type { StateOfLane } from '../definition/processor.ts';
import { assertRecordSize } from '../lane/record-size.ts';
import { requestId } from './pending-dead-letter.ts';

/** An unfinished request: its keys, and which of them are answered, by their index in `keys`. */
export interface LookupRequest<Request> {
  readonly id: string;
  readonly offset: number;
  readonly record: RequestRecord;
  readonly request: Request;
  /** The request's keys without duplicates; invalid keys come last. */
  readonly keys: readonly string[];
  /** Number of valid keys, which come first in `keys`. */
  readonly valid: number;
  readonly answered: OffsetRanges;
  /** Number of keys whose result isn't durable yet. */
  left: number;
}

export interface LookupKey<Request> {
  readonly of: LookupRequest<Request>;
  readonly index: number;
}

/** The keys of a request, without duplicates. */
export interface CheckedKeys {
  readonly valid: readonly string[];
  readonly invalid: readonly string[];
}

/** The unfinished lookup requests of a lane, and their progress. */
export interface LookupRequests<Request> {
  /** Number of keys taken whose results aren't durable yet. */
  readonly load: number;
  /** Returns the keys that the lane's state has for a request, because an earlier run started it. Undefined if there are none. */
  keptKeys(offset: number): readonly string[] | undefined;
  /** Throws if a key is too large for the lane's state. A request with a single key, valid or not, needs no state. */
  check(record: RequestRecord, keys: CheckedKeys): void;
  open(record: RequestRecord, request: Request, keys: CheckedKeys): LookupRequest<Request>;
  /** Writes records for some keys, and marks these keys as answered. */
  write(keys: readonly LookupKey<Request>[], records: readonly (NewRecord | RecordSeries)[]): Promise<void>;
  /** Marks a request without keys as finished. */
  finish(request: LookupRequest<Request>): Promise<void>;
}

/** Maximum bytes of several keys in one entry of the state: just below half of the record size that every state topic must accept. */
const PART_BYTES = 32_000;

/** Maximum characters of a request in one entry of the state. In JSON, a character takes at most six bytes. */
const TEXT_PART = 5_000;

/** The progress of a partly answered request, as the lane's state has it. */
interface Kept {
  /** Number of parts in which the state stores the request's keys. */
  readonly parts: number;
  /** Number of parts in which the state stores the request's text. */
  readonly texts: number;
  readonly answered: OffsetRangesSnapshot;
}

/** Reads the progress of partly answered requests, and their keys, from a lane's state. */
export function keptLookups(state: StateOfLane): {
  readonly kept: ReadonlyMap<number, Kept>;
  readonly keys: (offset: number) => readonly string[] | undefined;
} {
  const kept = new Map(state(STATE_KEYS.answered).map(({ key, value }) => [Number(key), value as Kept]));
  const parts = new Map(state(STATE_KEYS.keys).map(({ key, value }) => [key, value as readonly string[]]));
  return {
    kept,
    keys(offset) {
      const found = kept.get(offset);
      return found && Array.from({ length: found.parts }, (_, part) => parts.get(`${offset}/${part}`) ?? []).flat();
    },
  };
}

/**
 * Returns the partly answered requests in a lane's state, as requests. `key` is the first of the keys to look up, because the state doesn't
 * have the key of the request's record.
 */
export function resumedLookups(state: StateOfLane): readonly RequestRecord[] {
  const { kept, keys } = keptLookups(state);
  const parts = new Map(state(STATE_KEYS.text).map(({ key, value }) => [key, value as string]));
  return Array.from(kept, ([offset, { texts }]) => ({
    offset,
    key: keys(offset)?.[0] ?? null,
    value: Array.from({ length: texts }, (_, part) => parts.get(`${offset}/${part}`) ?? '').join(''),
  }));
}

export function lookupRequests<Request>(pipeline: string, lane: Lane): LookupRequests<Request> {
  const { kept, keys: keptKeys } = keptLookups(lane.stateUnder);
  const active = new Map<number, LookupRequest<Request>>();
  const inState = new Set(kept.keys());

  const isDone = ({ answered, keys }: LookupRequest<Request>): boolean => answered.next >= keys.length;

  /** Returns the changes of the lane's state for a request. A request that one transaction answers completely needs none. */
  const stateOf = (lookup: LookupRequest<Request>): readonly StateChange[] => {
    const { offset, record, keys, valid, answered } = lookup;
    // Invalid keys needn't be stored: their dead letters are committed before any result of a valid key, or together with it.
    const parts = partsOf(keys.slice(0, valid)).map((some, i): StateChange => [`${STATE_KEYS.keys}${offset}/${i}`, some]);
    const texts = textParts(record.value ?? '').map((text, i): StateChange => [`${STATE_KEYS.text}${offset}/${i}`, text]);
    const at = STATE_KEYS.answered + String(offset);
    if (isDone(lookup)) {
      if (!inState.delete(offset)) return [];
      return [[at, null], ...[...parts, ...texts].map(([key]): StateChange => [key, null])];
    }
    const progress: StateChange = [at, { parts: parts.length, texts: texts.length, answered: answered.snapshot() } satisfies Kept];
    if (inState.has(offset)) return [progress];
    inState.add(offset);
    return [progress, ...parts, ...texts];
  };

  return {
    get load() {
      let load = 0;
      for (const { left } of active.values()) load += left;
      return load;
    },
    keptKeys,
    check({ key, offset }, { valid, invalid }) {
      if (valid.length + invalid.length < 2) return;
      const of = { pipeline, key: key || requestId(lane, offset), lane, name: 'keys', which: 'one of its keys' };
      for (const part of partsOf(valid)) assertRecordSize([lane.stateRecord([`${STATE_KEYS.keys}${offset}/0`, part])], of);
    },
    open(record, request, { valid, invalid }) {
      const keys = [...valid, ...invalid];
      const answered = offsetRanges(kept.get(record.offset)?.answered);
      const left = keys.filter((_, index) => !answered.has(index)).length;
      const lookup = {
        id: requestId(lane, record.offset),
        offset: record.offset,
        record,
        request,
        keys,
        valid: valid.length,
        answered,
        left,
      };
      active.set(record.offset, lookup);
      return lookup;
    },
    async write(keys, records) {
      const requests = [...new Set(keys.map(({ of }) => of))];
      for (const { of, index } of keys) of.answered.add(index);
      const state = requests.flatMap(stateOf);
      await lane.commit({ records, state, finished: requests.filter(isDone).map(({ offset }) => offset), work: keys });
      for (const { of } of keys) of.left -= 1;
      for (const lookup of requests) if (lookup.left === 0) active.delete(lookup.offset);
    },
    async finish({ offset }) {
      await lane.commit({ records: [], finished: [offset] });
      active.delete(offset);
    },
  };
}

function partsOf(keys: readonly string[]): string[][] {
  const parts: string[][] = [];
  let bytes = Infinity;
  for (const key of keys) {
    const more = Buffer.byteLength(JSON.stringify(key)) + 1;
    bytes += more;
    if (bytes > PART_BYTES) {
      parts.push([]);
      bytes = more;
    }
    parts.at(-1)?.push(key);
  }
  return parts;
}

function textParts(text: string): string[] {
  return Array.from({ length: Math.ceil(text.length / TEXT_PART) }, (_, i) => text.slice(i * TEXT_PART, (i + 1) * TEXT_PART));
}
