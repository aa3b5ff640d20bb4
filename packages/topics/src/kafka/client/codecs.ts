import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import { CODECS, COMPRESSIONS } from '../wire/codecs.ts';
import { type Codec, LZ4, SNAPPY } from '../wire/foreign-codecs.ts';
import { CompressionCodecs, KafkaJSNotImplemented } from './kafkajs-internals.ts';

/** A codec by its number, as kafkajs keeps them. */
export type CodecTable = Record<number, () => unknown>;

/**
 * Lets kafkajs read zstd, Snappy and LZ4, unless other code has registered them: an unreadable batch would block all records after it. It
 * replaces no registered codec, so other users of kafkajs in the process keep theirs, and can read more after this. `codecs`: kafkajs's
 * table, one for the whole process.
 */
export function registerCodecs(codecs: CodecTable = CompressionCodecs): void {
  for (const [type, codec] of [
    [CODECS.zstd, ZSTD],
    [CODECS.snappy, SNAPPY],
    [CODECS.lz4, LZ4],
  ] as const)
    if (!hasCodec(codecs, type)) codecs[type] = () => codec;
}

/** kafkajs has an entry for codecs it doesn't have, too: one that throws `KafkaJSNotImplemented`. */
function hasCodec(codecs: CodecTable, type: number): boolean {
  try {
    return codecs[type]?.() !== undefined;
  } catch (error) {
    return !(error instanceof KafkaJSNotImplemented);
  }
}

const ZSTD: Codec = {
  // Other users of kafkajs in the process may write zstd.
  compress: ({ buffer }) => COMPRESSIONS.zstd.compress(buffer),
  decompress: (bytes) => promisify(zstdDecompress)(bytes, { chunkSize: chunkBytes(bytes) }),
};

/** Big enough for most decompressed batches: a round trip to the thread pool for each 16 KiB would cost more than decompressing. */
function chunkBytes(compressed: Buffer): number {
  return Math.min(Math.max(compressed.length * 16, 16 * 1024), 1024 * 1024);
}
