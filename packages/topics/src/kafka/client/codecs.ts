import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import { CODECS, COMPRESSIONS } from '../wire/codecs.ts';
import { type Codec, LZ4, SNAPPY } from '../wire/foreign-codecs.ts';
import { CompressionCodecs, KafkaJSNotImplemented } from './kafkajs-internals.ts';

/** Functions that return a codec, by the codec's number in the protocol, as in kafkajs's own table. */
export type CodecTable = Record<number, () => unknown>;

/**
 * Lets kafkajs read zstd, Snappy and LZ4, because an unreadable batch would block all records after it. Codecs that other code of the process has
 * registered stay. `codecs`: the table to extend. Default: kafkajs's own, which the whole process shares.
 */
export function registerCodecs(codecs: CodecTable = CompressionCodecs): void {
  for (const [type, codec] of [
    [CODECS.zstd, ZSTD],
    [CODECS.snappy, SNAPPY],
    [CODECS.lz4, LZ4],
  ] as const)
    if (!hasCodec(codecs, type)) codecs[type] = () => codec;
}

/** True if the table has a codec. For a codec that kafkajs lacks, its table has an entry that throws `KafkaJSNotImplemented`. */
function hasCodec(codecs: CodecTable, type: number): boolean {
  try {
    return codecs[type]?.() !== undefined;
  } catch (error) {
    return !(error instanceof KafkaJSNotImplemented);
  }
}

const ZSTD: Codec = {
  // The driver compresses without kafkajs, but other users of kafkajs in the process may write zstd.
  compress: ({ buffer }) => COMPRESSIONS.zstd.compress(buffer),
  decompress: (bytes) => promisify(zstdDecompress)(bytes, { chunkSize: chunkBytes(bytes) }),
};

/**
 * Chunk size in bytes that holds most decompressed batches whole. With zlib's default of 16 KiB, the round trips to the thread pool could cost more
 * than decompressing.
 */
function chunkBytes(compressed: Buffer): number {
  return Math.min(Math.max(compressed.length * 16, 16 * 1024), 1024 * 1024);
}
