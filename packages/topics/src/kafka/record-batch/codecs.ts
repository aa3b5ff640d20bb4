import { promisify } from 'node:util';
import { constants, gzip, unzip, zstdCompress, zstdDecompress } from 'node:zlib';
import kafkajs, { CompressionTypes } from 'kafkajs';
import { type Codec, LZ4, SNAPPY } from './foreign-codecs.ts';
import { registeredBuffer } from './buffer-registry.ts';
import { kafkajsVersion, unsupportedReason } from '../client/kafkajs-version.ts';

/** The values of `compression` in `send`, by name. */
export type Compressions = Readonly<Record<'none' | 'gzip' | 'zstd', CompressionTypes>>;

export interface RegisterCodecsOptions {
  /** kafkajs's version. Default: that of the installed one. */
  readonly version?: string;
  /** kafkajs's table of codecs, one for the whole process. Default: the installed one's. */
  readonly codecs?: CodecTable;
}

/** A codec by its number, as kafkajs keeps them. */
export type CodecTable = Record<number, () => unknown>;

/**
 * Gives kafkajs gzip and zstd at level 1 under numbers of their own, and the missing ones (zstd, Snappy, LZ4) under their usual numbers
 * where no other code has registered them: an unreadable batch would block all records behind it. It replaces no registered codec, so other
 * users of kafkajs in the process keep theirs, and can read more after this. Returns the values of `compression` for `send`. With another
 * kafkajs than the known one these are the usual numbers, gzip at kafkajs's own level.
 */
export function registerCodecs(options: RegisterCodecsOptions = {}): Compressions {
  const codecs: CodecTable = options.codecs ?? kafkajs.CompressionCodecs;
  for (const [type, codec] of [
    [CompressionTypes.ZSTD, ZSTD],
    [CompressionTypes.Snappy, SNAPPY],
    [CompressionTypes.LZ4, LZ4],
  ] as const)
    if (!hasCodec(codecs, type)) codecs[type] = () => codec;
  if (unsupportedReason(options.version ?? kafkajsVersion()) !== undefined) {
    return { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, zstd: CompressionTypes.ZSTD };
  }
  codecs[own(CompressionTypes.GZIP)] = () => GZIP;
  codecs[own(CompressionTypes.ZSTD)] = () => ZSTD;
  return { none: CompressionTypes.None, gzip: own(CompressionTypes.GZIP), zstd: own(CompressionTypes.ZSTD) };
}

/**
 * kafkajs looks a codec up by the whole number and writes only its lowest three bits to the batch (recordBatch/v0/index.js): with the fourth bit set
 * a number is a codec of our own, and gzip or zstd to everybody who reads it.
 */
function own(type: CompressionTypes): CompressionTypes {
  // oxlint-disable-next-line typescript/no-unsafe-enum-assignment, typescript/no-unnecessary-type-assertion -- kafkajs's type has no name for it
  return (0x08 | type) as CompressionTypes;
}

/** True when one of our codecs compresses this type. */
export function isOwn(type: CompressionTypes): boolean {
  return (type & 0x08) !== 0;
}

/** kafkajs has an entry for codecs it doesn't have, too: one that throws `KafkaJSNotImplemented`. */
function hasCodec(codecs: CodecTable, type: CompressionTypes): boolean {
  try {
    return codecs[type]?.() !== undefined;
  } catch (error) {
    return !(error instanceof kafkajs.KafkaJSNotImplemented);
  }
}

const GZIP: Codec = {
  compress: ({ buffer }) => promisify(gzip)(registeredBuffer(buffer), { level: 1 }),
  decompress: (bytes) => promisify(unzip)(bytes, { chunkSize: chunkBytes(bytes) }),
};

const ZSTD: Codec = {
  compress: ({ buffer }) => promisify(zstdCompress)(registeredBuffer(buffer), { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
  decompress: (bytes) => promisify(zstdDecompress)(bytes, { chunkSize: chunkBytes(bytes) }),
};

/** Room for what a batch of records mostly becomes: a round trip to the thread pool for each 16 KiB would cost more than decompressing. */
function chunkBytes(compressed: Buffer): number {
  return Math.min(Math.max(compressed.length * 16, 16 * 1024), 1024 * 1024);
}
