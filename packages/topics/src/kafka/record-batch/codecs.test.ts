import { constants, gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import kafkajs, { CompressionTypes } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { pageOfRecords } from './batch-records.fixture.ts';
import { registerCodecs, type CodecTable } from './codecs.ts';
import { encodeRecords } from './encode-records.ts';

interface Codec {
  compress(encoder: { buffer: Buffer }): Promise<Buffer>;
  decompress(bytes: Buffer): Promise<Buffer>;
}

// kafkajs's own table before anybody registered a codec, but for gzip.
const missing = kafkajs.CompressionCodecs[CompressionTypes.Snappy];
function tableOf(entries: CodecTable = {}): CodecTable {
  return { [CompressionTypes.GZIP]: () => 'gzip', [CompressionTypes.ZSTD]: missing, ...entries };
}
const codec = (codecs: CodecTable, type: CompressionTypes): Codec => codecs[type]?.() as Codec;
const bytes = encodeRecords(pageOfRecords()).bytes;

describe('registerCodecs', () => {
  it('compresses with level 1 under numbers that are gzip and zstd in a batch', async () => {
    const codecs = tableOf();
    const { none, gzip, zstd } = registerCodecs({ codecs });
    expect([none, gzip & 7, zstd & 7]).toEqual([0, 1, 4]);
    const gzipped = await codec(codecs, gzip).compress({ buffer: bytes });
    expect(gunzipSync(gzipped).equals(bytes)).toBe(true);
    expect(gzipped.length).toBe(gzipSync(bytes, { level: 1 }).length);
    const zstded = await codec(codecs, zstd).compress({ buffer: bytes });
    expect(zstdDecompressSync(zstded).equals(bytes)).toBe(true);
    const atLevel1 = zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 1 } });
    expect(Math.abs(zstded.length - atLevel1.length)).toBeLessThan(20);
  });

  it('reads what others compressed', async () => {
    const codecs = tableOf();
    const { gzip, zstd } = registerCodecs({ codecs });
    for (const content of [bytes, Buffer.alloc(0), Buffer.alloc(3_000_000)]) {
      expect((await codec(codecs, gzip).decompress(gzipSync(content))).equals(content)).toBe(true);
      expect((await codec(codecs, zstd).decompress(zstdCompressSync(content))).equals(content)).toBe(true);
      expect((await codec(codecs, CompressionTypes.ZSTD).decompress(zstdCompressSync(content))).equals(content)).toBe(true);
    }
  });

  it('leaves what is registered as it is', () => {
    const theirs = () => 'theirs';
    const codecs = tableOf({ [CompressionTypes.ZSTD]: theirs });
    registerCodecs({ codecs });
    expect(codecs[CompressionTypes.ZSTD]).toBe(theirs);
    expect(codecs[CompressionTypes.GZIP]?.()).toBe('gzip');
  });

  it('leaves a codec that is registered and fails for its own reason', () => {
    const broken = (): never => {
      throw new Error('its library is missing');
    };
    const codecs = tableOf({ [CompressionTypes.ZSTD]: broken });
    registerCodecs({ codecs });
    expect(codecs[CompressionTypes.ZSTD]).toBe(broken);
  });

  it('may be called again', () => {
    const codecs = tableOf();
    expect(registerCodecs({ codecs })).toEqual(registerCodecs({ codecs }));
  });

  it('answers the usual numbers with a kafkajs it does not know', () => {
    const codecs = tableOf();
    expect(registerCodecs({ codecs, version: '2.3.0' })).toEqual({ none: 0, gzip: 1, zstd: 4 });
    expect(Object.keys(codecs)).toEqual(['1', '2', '3', '4']);
    expect(codec(codecs, CompressionTypes.ZSTD)).toHaveProperty('decompress');
  });
});
