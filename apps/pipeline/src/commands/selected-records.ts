import { duration } from '@headgate/pipeline';
import { type TopicInfo, type TopicLog, type TopicReader, type TopicRecord, textOf } from '@headgate/topics';
import * as z from 'zod';
import { quoted } from '../config/problem.ts';
import { UsageError } from './usage-error.ts';

/** Selection of a topic's records; by default all of them. */
export interface RecordSelection {
  /** First offset to read, the same in each partition. */
  readonly from?: number;
  /** Only records appended at this time (epoch ms) or later. */
  readonly sinceMs?: number;
  /** Only records with this key, as text. */
  readonly key?: string;
  /** Only the last N records of each partition. */
  readonly tail?: number;
  /** Whether to wait for more records at the end. Default: false. */
  readonly follow?: boolean;
}

/** A choice of records, as on a command line. */
export interface RecordChoice extends Omit<RecordSelection, 'sinceMs'> {
  /** A time or an age, in the notation of `momentOf`. */
  readonly since?: string;
}

type BytesRecord = TopicRecord<Uint8Array>;

/** Reads the selected records. With `sinceMs` or `tail`, existing records come partition by partition. */
export async function* selectedRecords(
  log: TopicLog,
  { name: topic, offsets }: TopicInfo,
  { from, sinceMs, key, tail, follow = false }: RecordSelection,
  signal: AbortSignal,
): AsyncGenerator<BytesRecord, void, undefined> {
  const wanted = key === undefined ? undefined : Buffer.from(key);
  const fits = (record: BytesRecord): boolean =>
    (wanted === undefined || (record.key !== null && wanted.equals(record.key))) &&
    (sinceMs === undefined || record.timestampMs >= sinceMs);
  if (sinceMs === undefined && tail === undefined) {
    const all = log.readBytes({ topic, follow, from, signal });
    for await (const record of all) if (fits(record)) yield record;
    return;
  }

  const open = (partition: number, start: number): TopicReader<Uint8Array> =>
    log.readBytes({ topic, partitions: [partition], from: start, signal });
  const parts: Part[] = [];
  for (const [partition, { earliest, end }] of offsets.entries()) {
    const part = { start: Math.min(end, Math.max(earliest, from ?? 0)), end, open: (start: number) => open(partition, start) };
    const start = sinceMs === undefined ? part.start : ((await log.offsetSince({ topic, partition }, sinceMs)) ?? end);
    parts.push({ ...part, start: Math.max(part.start, start) });
  }
  for (const part of parts) yield* within(tail === undefined ? part : await lastOf(part, tail, fits), fits);
  if (!follow || signal.aborted) return;
  const later = log.readBytes({ topic, follow, from: offsets.map(({ end }) => end), signal });
  for await (const record of later) if (fits(record)) yield record;
}

/**
 * The newest record of each key, in the order of the records: what a compacted topic promises to keep, before it is compacted, too. A key whose newest
 * record has no value is left out. Records without a key are all kept. Holds what it returns in memory.
 */
export async function* newestPerKey(records: AsyncIterable<BytesRecord>): AsyncGenerator<BytesRecord, void, undefined> {
  const newest = new Map<unknown, BytesRecord>();
  for await (const record of records) {
    const { key, partition, timestampMs } = record;
    const of = key === null ? record : Buffer.from(key).toString('latin1');
    const before = newest.get(of);
    // Partitions have no common order but time.
    if (before !== undefined && before.partition !== partition && before.timestampMs > timestampMs) continue;
    newest.delete(of);
    newest.set(of, record);
  }
  for (const record of newest.values()) if (record.key === null || record.value !== null) yield record;
}

/** The offsets of a partition from `start` to `end`, without `end`. */
interface Part {
  readonly start: number;
  readonly end: number;
  readonly open: (start: number) => TopicReader<Uint8Array>;
}

async function* within({ start, end, open }: Part, fits: (record: BytesRecord) => boolean): AsyncGenerator<BytesRecord, void, undefined> {
  if (start >= end) return;
  for await (const record of open(start)) {
    if (record.offset >= end) return;
    if (fits(record)) yield record;
  }
}

/** The part with only its last `count` matching records. Reads from further back until it has found enough. */
async function lastOf(part: Part, count: number, fits: (record: BytesRecord) => boolean): Promise<Part> {
  if (count === 0) return { ...part, start: part.end };
  for (let width = count; ; width *= 4) {
    const start = Math.max(part.start, part.end - width);
    const last: number[] = [];
    for await (const { offset } of within({ ...part, start }, fits)) {
      last.push(offset);
      if (last.length > count) last.shift();
    }
    if (last.length === count || start === part.start) return { ...part, start: last[0] ?? part.end };
  }
}

/**
 * Parses a time of the command line as epoch ms: an age (`15m`, `24h`), or a date with an optional time of day. A time without a zone is in
 * the machine's zone.
 */
export function momentOf(text: string, now: number): number {
  const ago = duration().safeParse(text);
  if (ago.success) return now - ago.data;
  const [, date, time = '00:00', zone = ''] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:\d\d)?)?$/.exec(text) ?? [];
  // `Date` would accept 30 February.
  const ms = z.iso.date().safeParse(date).success ? Date.parse(`${date}T${time}${zone}`) : Number.NaN;
  if (Number.isNaN(ms))
    throw new UsageError(`--since: ${quoted(text)} is neither a duration, as in 15m or 24h, nor a time, as in 2026-11-22T10:00:00Z.`);
  return ms;
}

/**
 * A record's value as a line of JSON: JSON unchanged, so that its numbers keep their spelling; other text as a string; bytes in base64.
 */
export function valueLine(value: Uint8Array | null): string {
  const text = value && textOf(value);
  if (isOneLineOfJson(text)) return text;
  return JSON.stringify(text === undefined && value !== null ? { value_base64: base64(value) } : text);
}

export function isOneLineOfJson(value: string | null | undefined): value is string {
  if (value === null || value === undefined || /[\n\r]/.test(value)) return false;
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}

export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
