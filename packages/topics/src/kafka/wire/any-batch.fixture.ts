import { constants, gzipSync, zstdCompressSync } from 'node:zlib';
import * as fc from 'fast-check';
import lz4 from 'lz4js';
import snappy from 'snappyjs';
import { crc32c } from './crc32c.ts';

/** A batch of a partition, as a broker stores it. */
export interface StoredBatch {
  readonly firstOffset: number;
  readonly lastOffsetDelta: number;
  readonly firstMs: bigint;
  readonly maxMs: bigint;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly firstSequence: number;
  readonly isStamped: boolean;
  readonly isTransactional: boolean;
  readonly isControl: boolean;
  readonly compression: keyof typeof COMPRESSIONS;
  readonly records: readonly StoredRecord[];
}

export interface StoredRecord {
  readonly offsetDelta: number;
  readonly msDelta: bigint;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly (readonly [name: string, value: Buffer | null])[];
}

/** The frame of Snappy's Java library, with blocks of 100 bytes. */
function framedSnappy(bytes: Buffer): Buffer {
  const pieces = [Buffer.from('\x82SNAPPY\0\0\0\0\x01\0\0\0\x01', 'latin1')];
  for (let at = 0; at < bytes.length; at += 100) {
    const block = Buffer.from(snappy.compress(bytes.subarray(at, at + 100)));
    const size = Buffer.alloc(4);
    size.writeUInt32BE(block.length);
    pieces.push(size, block);
  }
  return Buffer.concat(pieces);
}

const COMPRESSIONS = {
  none: { codec: 0, compress: (bytes: Buffer) => bytes },
  gzip: { codec: 1, compress: (bytes: Buffer) => gzipSync(bytes) },
  rawSnappy: { codec: 2, compress: (bytes: Buffer) => Buffer.from(snappy.compress(bytes)) },
  framedSnappy: { codec: 2, compress: framedSnappy },
  lz4: { codec: 3, compress: (bytes: Buffer) => Buffer.from(lz4.compress(bytes)) },
  zstd: { codec: 4, compress: (bytes: Buffer) => zstdCompressSync(bytes, { params: { [constants.ZSTD_c_checksumFlag]: 1 } }) },
};

const anyField = fc.option(
  fc.oneof(
    fc.uint8Array({ maxLength: 70 }).map((bytes) => Buffer.from(bytes)),
    fc.integer({ min: 0, max: 3_000 }).map((size) => Buffer.alloc(size, 'text ')),
  ),
  { freq: 6 },
);
const anyRecord = fc.record({
  gap: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.nat(2_000)),
  msDelta: fc.bigInt(-(2n ** 41n), 2n ** 41n),
  key: anyField,
  value: anyField,
  headers: fc.array(fc.tuple(fc.oneof(fc.constantFrom('', '1', '__proto__', 'é'), fc.string()), anyField), { maxLength: 4 }),
});

/** Batches of one partition, with the gaps of compaction: within batches, at their ends, between them, and batches without records. */
export const anyBatches: fc.Arbitrary<readonly StoredBatch[]> = fc
  .array(
    fc.record({
      gap: fc.nat(3),
      tail: fc.nat(3),
      firstMs: fc.bigInt(-1n, 2n ** 42n),
      maxMs: fc.bigInt(0n, 2n ** 42n),
      producerId: fc.oneof(fc.constant(-1n), fc.bigInt(0n, 2n ** 63n - 1n)),
      producerEpoch: fc.integer({ min: -1, max: 32_767 }),
      firstSequence: fc.integer({ min: -1, max: 2 ** 31 - 1 }),
      isStamped: fc.boolean(),
      isTransactional: fc.boolean(),
      isControl: fc.boolean(),
      compression: fc.constantFrom<keyof typeof COMPRESSIONS>('none', 'gzip', 'rawSnappy', 'framedSnappy', 'lz4', 'zstd'),
      records: fc.array(anyRecord, { maxLength: 8 }),
    }),
    { maxLength: 5 },
  )
  .map((batches) => {
    let offset = 2 ** 40;
    return batches.map(({ gap, tail, records, ...batch }) => {
      const firstOffset = offset + gap;
      let delta = -1;
      const placed = records.map(({ gap: skipped, ...record }) => ({ ...record, offsetDelta: (delta += 1 + skipped) }));
      const lastOffsetDelta = Math.max(0, delta) + tail;
      offset = firstOffset + lastOffsetDelta + 1;
      return { ...batch, firstOffset, lastOffsetDelta, records: placed };
    });
  });

/** Encodes a batch as the protocol describes it (Kafka protocol, RecordBatch), with no part of the driver's own encoder. */
export function stored(batch: StoredBatch): Buffer {
  const { codec, compress } = COMPRESSIONS[batch.compression];
  const records = Buffer.concat(batch.records.map(storedRecord));
  const body = batch.records.length === 0 ? records : compress(records);
  const head = Buffer.alloc(61);
  head.writeBigInt64BE(BigInt(batch.firstOffset), 0);
  head.writeInt32BE(61 - 12 + body.length, 8);
  head.writeInt32BE(7, 12);
  head.writeInt8(2, 16);
  head.writeInt16BE(codec | (batch.isStamped ? 8 : 0) | (batch.isTransactional ? 16 : 0) | (batch.isControl ? 32 : 0), 21);
  head.writeInt32BE(batch.lastOffsetDelta, 23);
  head.writeBigInt64BE(batch.firstMs, 27);
  head.writeBigInt64BE(batch.maxMs, 35);
  head.writeBigInt64BE(batch.producerId, 43);
  head.writeInt16BE(batch.producerEpoch, 51);
  head.writeInt32BE(batch.firstSequence, 53);
  head.writeInt32BE(batch.records.length, 57);
  return withChecksum(Buffer.concat([head, body]));
}

/** Writes the checksum of a changed batch. */
export function withChecksum(batch: Buffer): Buffer {
  batch.writeUInt32BE(crc32c(batch.subarray(21)), 17);
  return batch;
}

function storedRecord({ offsetDelta, msDelta, key, value, headers }: StoredRecord): Buffer {
  const fields = [key, value].map(field);
  const named = headers.flatMap(([name, header]) => [field(Buffer.from(name)), field(header)]);
  const content = [Buffer.from([0]), varint(msDelta), varint(BigInt(offsetDelta)), ...fields, varint(BigInt(headers.length)), ...named];
  const record = Buffer.concat(content);
  return Buffer.concat([varint(BigInt(record.length)), record]);
}

function field(bytes: Buffer | null): Buffer {
  return bytes === null ? varint(-1n) : Buffer.concat([varint(BigInt(bytes.length)), bytes]);
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}
