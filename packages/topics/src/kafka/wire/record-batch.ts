import { crc32c } from './crc32c.ts';

export interface RecordBatch {
  /** The encoded records, compressed as `codec` says. */
  readonly records: Buffer;
  readonly count: number;
  /** The timestamp of every record, whole milliseconds since the epoch. */
  readonly timestampMs: number;
  /** Number of the compression, from `CODECS`. */
  readonly codec: number;
}

/** The producer of a batch, and the position of the batch among the records that this producer sends to the partition. */
export interface BatchSender {
  readonly producerId: string;
  readonly producerEpoch: number;
  readonly baseSequence: number;
}

/** Size of the header of a record batch of magic 2 (Kafka protocol, RecordBatch). */
export const BATCH_HEADER_BYTES = 61;
const CRC_AT = 17;
const ATTRIBUTES_AT = 21;
const MAGIC = 2;
const TRANSACTIONAL = 0x10;

/** A batch of a transaction as sent: its header, then its records. */
export function batchPieces(
  { records, count, timestampMs, codec }: RecordBatch,
  { producerId, producerEpoch, baseSequence }: BatchSender,
): readonly [header: Buffer, records: Buffer] {
  const header = Buffer.alloc(BATCH_HEADER_BYTES);
  // The broker fills in the base offset (at byte 0) and the epoch of the partition's leader (at byte 12).
  header.writeInt32BE(BATCH_HEADER_BYTES - 12 + records.length, 8);
  header.writeInt8(MAGIC, 16);
  header.writeInt16BE(codec | TRANSACTIONAL, ATTRIBUTES_AT);
  header.writeInt32BE(count - 1, 23);
  header.writeBigInt64BE(BigInt(timestampMs), 27);
  header.writeBigInt64BE(BigInt(timestampMs), 35);
  header.writeBigInt64BE(BigInt(producerId), 43);
  header.writeInt16BE(producerEpoch, 51);
  header.writeInt32BE(baseSequence, 53);
  header.writeInt32BE(count, 57);
  header.writeUInt32BE(crc32c(records, crc32c(header.subarray(ATTRIBUTES_AT))), CRC_AT);
  return [header, records];
}
