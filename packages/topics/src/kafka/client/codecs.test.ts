import { createRequire } from 'node:module';
import { constants, gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { CompressionTypes } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { pageOfRecords } from '../wire/batch-records.fixture.ts';
import { COMPRESSIONS } from '../wire/codecs.ts';
import { registerCodecs, type CodecTable } from './codecs.ts';
import { encodeRecords } from '../wire/encode-records.ts';

interface Codec {
  compress(encoder: { buffer: Buffer }): Promise<Buffer>;
  decompress(bytes: Buffer): Promise<Buffer>;
}

// `missing` is kafkajs's own entry for zstd, which throws that there is no codec. It comes from a fresh copy of the table, because another test
// file in this process may have registered codecs in the loaded one.
const require = createRequire(import.meta.url);
const table = require.resolve('kafkajs/src/protocol/message/compression/index.js');
const loaded = require.cache[table];
delete require.cache[table];
const { Codecs } = require(table) as { readonly Codecs: CodecTable };
if (loaded !== undefined) require.cache[table] = loaded;
const missing = Codecs[CompressionTypes.ZSTD] ?? (() => undefined);
function tableOf(entries: CodecTable = {}): CodecTable {
  return { [CompressionTypes.GZIP]: () => 'gzip', [CompressionTypes.ZSTD]: missing, ...entries };
}
const codec = (codecs: CodecTable, type: CompressionTypes): Codec => codecs[type]?.() as Codec;
const bytes = encodeRecords(pageOfRecords()).bytes;

describe('each compression codec', () => {
  it('compresses at level 1, under its number in the protocol', async () => {
    const { none, gzip, zstd } = COMPRESSIONS;
    expect([none.codec, gzip.codec, zstd.codec]).toEqual([0, 1, 4]);
    expect(await none.compress(bytes)).toBe(bytes);
    const gzipped = await gzip.compress(bytes);
    expect(gunzipSync(gzipped).equals(bytes)).toBe(true);
    expect(gzipped.length).toBe(gzipSync(bytes, { level: 1 }).length);
    const zstded = await zstd.compress(bytes);
    expect(zstdDecompressSync(zstded).equals(bytes)).toBe(true);
    const atLevel1 = zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 1 } });
    expect(Math.abs(zstded.length - atLevel1.length)).toBeLessThan(20);
  });
});

describe('registerCodecs', () => {
  it('decompresses what other clients wrote, and compresses for other users of kafkajs', async () => {
    const codecs = tableOf();
    registerCodecs(codecs);
    const zstd = codec(codecs, CompressionTypes.ZSTD);
    for (const content of [bytes, Buffer.alloc(0), Buffer.alloc(3_000_000)]) {
      expect((await zstd.decompress(zstdCompressSync(content))).equals(content)).toBe(true);
      expect(zstdDecompressSync(await zstd.compress({ buffer: content })).equals(content)).toBe(true);
    }
  });

  it('keeps codecs that are already registered', () => {
    const theirs = () => 'theirs';
    const codecs = tableOf({ [CompressionTypes.ZSTD]: theirs });
    registerCodecs(codecs);
    expect(codecs[CompressionTypes.ZSTD]).toBe(theirs);
    expect(codecs[CompressionTypes.GZIP]?.()).toBe('gzip');
  });

  it('keeps a registered codec that fails for a reason of its own', () => {
    const broken = (): never => {
      throw new Error('its library is missing');
    };
    const codecs = tableOf({ [CompressionTypes.ZSTD]: broken });
    registerCodecs(codecs);
    expect(codecs[CompressionTypes.ZSTD]).toBe(broken);
  });

  it('can be called again', () => {
    const codecs = tableOf();
    registerCodecs(codecs);
    const once = { ...codecs };
    registerCodecs(codecs);
    expect(codecs).toEqual(once);
    expect(Object.keys(codecs)).toEqual(['1', '2', '3', '4']);
  });
});
