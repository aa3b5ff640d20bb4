import { promisify } from 'node:util';
import { constants, gzip, zstdCompress, zstdDecompress } from 'node:zlib';
import { CompressionCodecs, CompressionTypes, KafkaJSNotImplemented, type CompressionType } from '../client/kafkajs-internals.ts';
import { type Codec, LZ4, SNAPPY } from './foreign-codecs.ts';

/** A compression of the records that are written. */
export interface Compression {
  /** Its number in a batch's attributes. */
  readonly codec: CompressionType;
  compress(records: Buffer): Promise<Buffer>;
}

/** At level 1: the higher ones cost much time, and save few bytes of records that are alike. */
export const COMPRESSIONS: Readonly<Record<'none' | 'gzip' | 'zstd', Compression>> = {
  none: { codec: CompressionTypes.None, compress: (records) => Promise.resolve(records) },
  gzip: { codec: CompressionTypes.GZIP, compress: (records) => promisify(gzip)(records, { level: 1 }) },
  zstd: {
    codec: CompressionTypes.ZSTD,
    compress: (records) => promisify(zstdCompress)(records, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
  },
};

/** A codec by its number, as kafkajs keeps them. */
export type CodecTable = Record<number, () => unknown>;

/**
 * Lets kafkajs read zstd, Snappy and LZ4, where no other code has registered them: an unreadable batch would block all records behind it. It
 * replaces no registered codec, so other users of kafkajs in the process keep theirs, and can read more after this. `codecs`: kafkajs's table,
 * one for the whole process.
 */
export function registerCodecs(codecs: CodecTable = CompressionCodecs): void {
  for (const [type, codec] of [
    [CompressionTypes.ZSTD, ZSTD],
    [CompressionTypes.Snappy, SNAPPY],
    [CompressionTypes.LZ4, LZ4],
  ] as const)
    if (!hasCodec(codecs, type)) codecs[type] = () => codec;
}

/** kafkajs has an entry for codecs it doesn't have, too: one that throws `KafkaJSNotImplemented`. */
function hasCodec(codecs: CodecTable, type: CompressionType): boolean {
  try {
    return codecs[type]?.() !== undefined;
  } catch (error) {
    return !(error instanceof KafkaJSNotImplemented);
  }
}

const ZSTD: Codec = {
  // Other users of kafkajs in the process may write it.
  compress: ({ buffer }) => COMPRESSIONS.zstd.compress(buffer),
  decompress: (bytes) => promisify(zstdDecompress)(bytes, { chunkSize: chunkBytes(bytes) }),
};

/** Room for what a batch of records mostly becomes: a round trip to the thread pool for each 16 KiB would cost more than decompressing. */
function chunkBytes(compressed: Buffer): number {
  return Math.min(Math.max(compressed.length * 16, 16 * 1024), 1024 * 1024);
}
