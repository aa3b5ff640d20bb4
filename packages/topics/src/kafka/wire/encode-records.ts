import { type BatchRecord, type BatchRecords, recordAt } from './batch-record.ts';
import { RecordWriter } from './record-writer.ts';
import { SeriesWriter } from './series-writer.ts';

/** Encoded records, one after the other, as in a record batch of magic 2. */
export interface EncodedRecords {
  readonly bytes: Buffer;
  /** The whole buffer that `bytes` is a part of. A later call can reuse it. */
  readonly room: Buffer<ArrayBuffer>;
  readonly count: number;
  /** Bytes of the next record if it didn't fit into `maxBytes`; otherwise 0. */
  readonly nextBytes: number;
}

export interface EncodeRecordsOptions {
  /** Index of the first record. Default 0. */
  readonly from?: number;
  /** Maximum bytes of the encoded records. Default: no limit. */
  readonly maxBytes?: number;
  /** Maximum number of records. Default: no limit. */
  readonly maxRecords?: number;
  /** A buffer to write to, if it is large enough. */
  readonly room?: Buffer<ArrayBuffer> | undefined;
}

/** Encodes records; their offset deltas begin at 0 and their timestamp deltas are 0 (Kafka protocol, RecordBatch). */
export function encodeRecords(
  records: BatchRecords,
  { from = 0, maxBytes = Infinity, maxRecords = Infinity, room }: EncodeRecordsOptions = {},
): EncodedRecords {
  const writer = new RecordWriter(Math.min(likeTheFirst(records, from), maxBytes), room);
  const series = seriesWriter(records, from);
  const end = Math.min(records.length, from + maxRecords);
  for (let index = from; index < end; index += 1) {
    const before = writer.length;
    if (series?.write(writer, index, index - from) !== true) writeRecord(writer, recordAt(records, index), index - from);
    if (writer.length > maxBytes)
      return { bytes: writer.written(before), room: writer.room, count: index - from, nextBytes: writer.length - before };
  }
  return { bytes: writer.written(), room: writer.room, count: Math.max(end - from, 0), nextBytes: 0 };
}

function writeRecord(writer: RecordWriter, record: BatchRecord, offsetDelta: number): void {
  const start = writer.begin();
  writer.attributesAndTimestamp();
  writer.varint(offsetDelta);
  writer.field(record.key);
  writer.field(record.value);
  writeHeaders(writer, record.headers ?? {});
  writer.finish(start);
}

function seriesWriter(records: BatchRecords, from: number): SeriesWriter | undefined {
  const { parts } = records;
  const first = records.at(from);
  if (parts === undefined || first === undefined) return undefined;
  const key = new RecordWriter(0);
  key.field(first.key);
  const headers = new RecordWriter(0);
  writeHeaders(headers, first.headers ?? {});
  return new SeriesWriter(key.written(), parts, headers.written());
}

function writeHeaders(writer: RecordWriter, headers: NonNullable<BatchRecord['headers']>): void {
  const names = Object.keys(headers);
  writer.varint(names.length);
  for (const name of names) {
    writer.field(name);
    writer.field(headers[name] ?? null);
  }
}

/** Estimates the encoded size in bytes as if all records were like the first one; at most 4 MiB. */
function likeTheFirst(records: BatchRecords, from: number): number {
  const first = records.at(from);
  if (first === undefined) return 0;
  let length = (first.key?.length ?? 0) + (first.value?.length ?? 0) + 24;
  for (const [name, value] of Object.entries(first.headers ?? {})) length += name.length + value.length + 4;
  return Math.min((records.length - from) * length, 4 * 1024 * 1024);
}
