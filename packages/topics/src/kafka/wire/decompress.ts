import { promisify } from 'node:util';
import { gunzip, zstdDecompress } from 'node:zlib';
import { CODECS } from './codecs.ts';

/** Decompresses the records of a batch. `codec`: its number, from `CODECS`. Throws if the bytes can't be decompressed. */
export async function decompress(codec: number, bytes: Buffer): Promise<Buffer> {
  switch (codec) {
    case CODECS.none:
      return bytes;
    case CODECS.gzip:
      return await promisify(gunzip)(bytes, { chunkSize: chunkBytes(bytes) });
    case CODECS.snappy:
      return await unsnap(bytes);
    case CODECS.lz4: {
      const { default: lz4 } = await import('lz4js');
      return Buffer.from(lz4.decompress(bytes));
    }
    case CODECS.zstd:
      return await promisify(zstdDecompress)(bytes, { chunkSize: chunkBytes(bytes) });
    default:
      throw new RangeError(`its compression has the unknown number ${codec}`);
  }
}

/**
 * Chunk size in bytes that holds most decompressed batches whole. With zlib's default of 16 KiB, the round trips to the thread pool could cost more
 * than decompressing.
 */
function chunkBytes(compressed: Buffer): number {
  return Math.min(Math.max(compressed.length * 16, 16 * 1024), 1024 * 1024);
}

const MAGIC = Buffer.from('\x82SNAPPY\0', 'latin1');
/** The frame's magic, its version, and the oldest version that can read it. */
const HEADER_BYTES = MAGIC.length + 8;

/** Reads Snappy as clients write it: raw, or in the frame of the Java library (xerial), which can contain several blocks. */
async function unsnap(bytes: Buffer): Promise<Buffer> {
  const { default: snappy } = await import('snappyjs');
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) return snappy.uncompress(bytes);
  const blocks: Buffer[] = [];
  for (let at = HEADER_BYTES; at + 4 <= bytes.length;) {
    const end = at + 4 + bytes.readUInt32BE(at);
    blocks.push(snappy.uncompress(bytes.subarray(at + 4, end)));
    at = end;
  }
  return Buffer.concat(blocks);
}
