import type { NewRecord, RecordSeries } from '@headgate/topics';
import { STATE_KEYS } from '../engine/lane-state.ts';
import type { Lane, StateChange } from '../engine/lane.ts';
import { type OffsetRanges, type OffsetRangesSnapshot, offsetRanges } from '../engine/offset-ranges.ts';
import type { RequestRecord } from '../definition/request.ts';
import type { StateOfLane } from '../engine/processor.ts';
import { assertRecordSize } from '../engine/record-size.ts';
import { requestId } from '../dead-letters/pending-dead-letter.ts';

/** A request in flight: its keys, by index, and which of them are answered. */
export interface LookupRequest<Request> {
  readonly id: string;
  readonly offset: number;
  readonly record: RequestRecord;
  readonly request: Request;
  /** The request's keys without duplicates; invalid keys come last. */
  readonly keys: readonly string[];
  /** Number of valid keys: they are the first ones of `keys`. */
  readonly valid: number;
  readonly answered: OffsetRanges;
  /** Number of keys whose result isn't durable yet. */
  left: number;
}

/** One key of a request. */
export interface LookupKey<Request> {
  readonly of: LookupRequest<Request>;
  readonly index: number;
}

/** The requests in flight of a lane, and the progress of each. */
export interface LookupRequests<Request> {
  /** Keys taken whose response is not durable. */
  readonly load: number;
  /** The stored keys of a request that started earlier. */
  keptKeys(offset: number): readonly string[] | undefined;
  /** Throws if one of the keys is too large for the lane's state. */
  check(record: RequestRecord, valid: readonly string[]): void;
  open(
    record: RequestRecord,
    request: Request,
    keys: { readonly valid: readonly string[]; readonly invalid: readonly string[] },
  ): LookupRequest<Request>;
  /** Writes the records of some keys, which marks them as answered. */
  write(keys: readonly LookupKey<Request>[], records: readonly (NewRecord | RecordSeries)[]): Promise<void>;
  /** Finishes a request without keys. */
  finish(request: LookupRequest<Request>): Promise<void>;
}

/** Bytes of keys in one key of the state: half of the state's minimum limit. */
const PART_BYTES = 32_000;

/** Characters of a request in one key of the state: in JSON, each takes at most six bytes. */
const TEXT_PART = 5_000;

/** A lane's state of partly answered requests. */
interface Kept {
  /** Number of parts in which the state stores the request's keys. */
  readonly parts: number;
  /** Number of parts in which the state stores the request's text. */
  readonly texts: number;
  readonly answered: OffsetRangesSnapshot;
}

/** Reads which keys of a request are left. */
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

/** The partly answered requests in a lane's state, as in their topic. */
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
  /** Offsets of requests in the lane's state. */
  const inState = new Set(kept.keys());

  const isDone = ({ answered, keys }: LookupRequest<Request>): boolean => answered.next >= keys.length;

  /** A request answered by one transaction needs no state: either it is finished or it isn't. */
  const stateOf = (lookup: LookupRequest<Request>): readonly StateChange[] => {
    const { offset, record, keys, valid, answered } = lookup;
    // An invalid key needn't be stored: its dead letter is written first.
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
    check({ key, offset }, valid) {
      // A single key is answered in one transaction, which needs no state.
      if (valid.length < 2) return;
      for (const part of partsOf(valid)) {
        const record = lane.stateRecord([`${STATE_KEYS.keys}${offset}/0`, part]);
        assertRecordSize([record], { pipeline, key: key || requestId(lane, offset), lane, name: 'keys', which: 'one of its keys' });
      }
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
