import { asBuffer } from '../../record-fields.ts';
import type { TopicPartition, TopicRecord } from '../../topic-log.ts';
import { TopicLogError } from '../../topic-log-error.ts';
import { partitionKey } from '../../topic-partition.ts';
import { crc32c } from './crc32c.ts';
import { decompress } from './decompress.ts';
import { BATCH_HEADER_BYTES } from './record-batch.ts';

/** A record batch of a partition (Kafka protocol, RecordBatch). */
export interface FetchedBatch {
  readonly firstOffset: number;
  /** Stays the same if compaction removes the last records. */
  readonly lastOffset: number;
  readonly producerId: string;
  readonly producerEpoch: number;
  /** The producer's sequence number of the record at `firstOffset`. */
  readonly firstSequence: number;
  readonly isTransactional: boolean;
  /** True if the batch is the end marker of a transaction. */
  readonly isControl: boolean;
  /** Empty if compaction has removed all of them. Their bytes are views of a larger buffer. The record of an end marker isn't data. */
  readonly records: readonly TopicRecord<Uint8Array>[];
}

/** Bytes before a batch's own size: its first offset, and the size. */
const PREFIX_BYTES = 12;
const MAGIC_AT = 16;
const MAGIC = 2;
const CRC_AT = 17;
const ATTRIBUTES_AT = 21;
const CODEC_BITS = 0x07;
const LOG_APPEND_TIME = 0x08;
const TRANSACTIONAL = 0x10;
const CONTROL = 0x20;
/** Type of a commit marker: the second half of a control record's key. */
const COMMIT = 1;

/**
 * Decodes the batches of a response. A batch that the response contains only in part is left out: the next response contains it. Throws a
 * `TopicLogError` (HEADGATE_UNREADABLE_BATCH) for one that can't be read.
 */
export async function readBatches(bytes: Buffer, place: TopicPartition): Promise<readonly FetchedBatch[]> {
  const batches: FetchedBatch[] = [];
  for (let at = 0; at + PREFIX_BYTES <= bytes.length;) {
    const end = at + PREFIX_BYTES + bytes.readInt32BE(at + 8);
    if (end > bytes.length) break;
    if (end <= at + MAGIC_AT) throw unreadable(place, Number(bytes.readBigInt64BE(at)), `its size is ${end - at - PREFIX_BYTES}`);
    batches.push(await readBatch(bytes.subarray(at, end), place));
    at = end;
  }
  return batches;
}

async function readBatch(bytes: Buffer, place: TopicPartition): Promise<FetchedBatch> {
  const firstOffset = Number(bytes.readBigInt64BE(0));
  const magic = bytes.readInt8(MAGIC_AT);
  if (magic !== MAGIC) {
    const because = magic < MAGIC ? 'which clients before Kafka 0.11 wrote. Write its records to a new topic' : 'which this release lacks';
    throw unreadable(place, firstOffset, `it has the record format ${magic}, ${because}`);
  }
  if (bytes.length < BATCH_HEADER_BYTES) throw unreadable(place, firstOffset, 'its header is incomplete');
  if (bytes.readUInt32BE(CRC_AT) !== crc32c(bytes.subarray(ATTRIBUTES_AT)))
    throw unreadable(place, firstOffset, "its checksum doesn't match");
  const attributes = bytes.readInt16BE(ATTRIBUTES_AT);
  const isStamped = (attributes & LOG_APPEND_TIME) !== 0;
  const fields = {
    ...place,
    firstOffset,
    firstMs: Number(bytes.readBigInt64BE(27)),
    allMs: isStamped ? Number(bytes.readBigInt64BE(35)) : undefined,
  };
  return {
    firstOffset,
    lastOffset: firstOffset + bytes.readInt32BE(23),
    producerId: String(bytes.readBigInt64BE(43)),
    producerEpoch: bytes.readInt16BE(51),
    firstSequence: bytes.readInt32BE(53),
    isTransactional: (attributes & TRANSACTIONAL) !== 0,
    isControl: (attributes & CONTROL) !== 0,
    records: await readRecords(bytes, attributes & CODEC_BITS, fields),
  };
}

async function readRecords(batch: Buffer, codec: number, fields: BatchFields): Promise<readonly TopicRecord<Uint8Array>[]> {
  const count = batch.readInt32BE(57);
  if (count === 0) return [];
  try {
    return new RecordReader(await decompress(codec, batch.subarray(BATCH_HEADER_BYTES))).records(count, fields);
  } catch (error) {
    throw unreadable(fields, fields.firstOffset, error instanceof Error ? error.message : String(error), error);
  }
}

/** True for the end marker of a committed transaction, false for one of an aborted one; undefined if compaction has removed what it says. */
export function isCommit({ records: [marker] }: FetchedBatch): boolean | undefined {
  return marker?.key === undefined || marker.key === null ? undefined : asBuffer(marker.key).readInt16BE(2) === COMMIT;
}

interface BatchFields extends TopicPartition {
  readonly firstOffset: number;
  readonly firstMs: number;
  /** The time when the leader appended the batch, if the topic has that instead of the records' own times, epoch ms. */
  readonly allMs: number | undefined;
}

/** Reads the records of a batch. Throws a `RangeError` if they aren't whole. */
class RecordReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  records(count: number, batch: BatchFields): readonly TopicRecord<Uint8Array>[] {
    // Each record has at least seven bytes.
    if (count < 0 || count * 7 > this.#bytes.length) throw new RangeError(`it can't hold ${count} records in ${this.#bytes.length} bytes`);
    return Array.from({ length: count }, () => this.#record(batch));
  }

  #record({ topic, partition, firstOffset, firstMs, allMs }: BatchFields): TopicRecord<Uint8Array> {
    const length = this.#varint();
    const end = this.#at + length;
    // Skip the attributes, which no version of the protocol uses.
    this.#skip(1);
    const timestampMs = firstMs + this.#varint();
    const offset = firstOffset + this.#varint();
    const record = {
      topic,
      partition,
      offset,
      key: this.#field(),
      value: this.#field(),
      headers: this.#headers(),
      timestampMs: allMs ?? timestampMs,
    };
    if (this.#at !== end) throw new RangeError(`its record ${offset} has ${length} bytes, but its fields don't`);
    return record;
  }

  /** Of headers with the same name, the last one counts. One without a value is empty. */
  #headers(): Readonly<Record<string, Uint8Array>> {
    let left = this.#varint();
    if (left === 0) return NO_HEADERS;
    const headers: [name: string, value: Uint8Array][] = [];
    for (; left > 0; left -= 1) headers.push([String(this.#field() ?? ''), this.#field() ?? NOTHING]);
    return Object.fromEntries(headers);
  }

  #field(): Buffer | null {
    const length = this.#varint();
    if (length < 0) return null;
    const from = this.#skip(length);
    return this.#bytes.subarray(from, from + length);
  }

  /** Reads a zigzag varint of up to 64 bits (Kafka protocol, VARLONG). Numbers beyond 2^53 lose their last digits; only timestamps are that large. */
  #varint(): number {
    let value = 0;
    for (let unit = 1; ; unit *= 0x80) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined || unit > 2 ** 63) throw new RangeError('it ends within a record');
      this.#at += 1;
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) break;
    }
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  #skip(length: number): number {
    const from = this.#at;
    this.#at += length;
    if (this.#at > this.#bytes.length) throw new RangeError('it ends within a record');
    return from;
  }
}

const NO_HEADERS: Readonly<Record<string, never>> = Object.freeze({});
const NOTHING = new Uint8Array();

function unreadable(place: TopicPartition, offset: number, reason: string, cause?: unknown): TopicLogError {
  const message = `The record batch at offset ${offset} of ${partitionKey(place)} can't be read: ${reason}. Repair it, or delete it from its topic.`;
  return new TopicLogError({ code: 'HEADGATE_UNREADABLE_BATCH', message }, { cause });
}
