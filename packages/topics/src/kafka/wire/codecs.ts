import { promisify } from 'node:util';
import { constants, gzip, zstdCompress } from 'node:zlib';

/** Number of each compression in a batch's attributes (Kafka protocol, RecordBatch). */
export const CODECS = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 } as const;

export interface Compression {
  readonly codec: number;
  compress(records: Buffer): Promise<Buffer>;
}

/**
 * Compressions, at level 1. Higher levels of gzip and zstd take much longer and save only a few more bytes, because the records of a batch are
 * usually similar.
 */
export const COMPRESSIONS: Readonly<Record<'none' | 'gzip' | 'zstd', Compression>> = {
  none: { codec: CODECS.none, compress: (records) => Promise.resolve(records) },
  gzip: { codec: CODECS.gzip, compress: (records) => promisify(gzip)(records, { level: 1 }) },
  zstd: {
    codec: CODECS.zstd,
    compress: (records) => promisify(zstdCompress)(records, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
  },
};
