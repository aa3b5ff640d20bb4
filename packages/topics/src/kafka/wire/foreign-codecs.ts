import { TopicLogError } from '../../topic-log-error.ts';

/** A codec with the methods that kafkajs calls. */
export interface Codec {
  compress(encoder: { readonly buffer: Buffer }): Promise<Buffer>;
  decompress(bytes: Buffer): Promise<Buffer>;
}

/** Snappy as other clients write it: raw, or in the frame of the Java library (xerial), which can contain several blocks. */
export const SNAPPY: Codec = {
  compress: () => Promise.reject(new TypeError('Headgate reads Snappy but never writes it.')),
  async decompress(bytes) {
    const { default: snappy } = await import('snappyjs');
    if (!isFramed(bytes)) return await readable('Snappy', () => snappy.uncompress(bytes));
    return await readable('Snappy', () => Buffer.concat(blocks(bytes).map((block) => snappy.uncompress(block))));
  },
};

export const LZ4: Codec = {
  compress: () => Promise.reject(new TypeError('Headgate reads LZ4 but never writes it.')),
  async decompress(bytes) {
    const { default: lz4 } = await import('lz4js');
    return await readable('LZ4', () => Buffer.from(lz4.decompress(bytes)));
  },
};

async function readable(compression: string, decompress: () => Buffer): Promise<Buffer> {
  try {
    return await Promise.resolve(decompress());
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown';
    const message = `A record batch compressed with ${compression} can't be read: ${reason}. Repair it, or delete it from its topic.`;
    throw new TopicLogError({ code: 'HEADGATE_UNREADABLE_BATCH', message }, { cause: error });
  }
}

const MAGIC = Buffer.from('\x82SNAPPY\0', 'latin1');
/** The frame's magic, its version, and the oldest version that can read it. */
const HEADER_BYTES = MAGIC.length + 8;

function isFramed(bytes: Buffer): boolean {
  return bytes.subarray(0, MAGIC.length).equals(MAGIC);
}

/** Returns the blocks of a frame. Each block is preceded by its length in four bytes. */
function blocks(bytes: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = HEADER_BYTES; at + 4 <= bytes.length;) {
    const end = at + 4 + bytes.readUInt32BE(at);
    found.push(bytes.subarray(at + 4, end));
    at = end;
  }
  return found;
}
