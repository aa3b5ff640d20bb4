import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { decodedBody } from './response.ts';

const TEXT = '[{"id":1,"city":"Köln"}]';
const plain = Buffer.from(TEXT);
const decoded = async (encoding: string | undefined, raw: Buffer, maxBytes = 1_000): Promise<string> =>
  (await decodedBody(raw, encoding, maxBytes)).toString();

it.each<[string | undefined, Buffer]>([
  [undefined, plain],
  ['', plain],
  ['identity', plain],
  ['gzip', gzipSync(plain)],
  ['GZIP', gzipSync(plain)],
  ['x-gzip', gzipSync(plain)],
  ['br', brotliCompressSync(plain)],
  ['zstd', zstdCompressSync(plain)],
  ['deflate', deflateSync(plain)],
  ['deflate', deflateRawSync(plain)],
  ['gzip, gzip', gzipSync(gzipSync(plain))],
  ['deflate, gzip', gzipSync(deflateSync(plain))],
  ['gzip, identity', gzipSync(plain)],
])('the encoding %j is decoded', async (encoding, raw) => {
  expect(await decoded(encoding, raw)).toBe(TEXT);
});

it.each(['none', 'UTF-8', 'aws-chunked', 'gzip', 'br', 'deflate', 'zstd', 'UTF-8, gzip'])(
  'text that is labelled %j stays as it is',
  async (encoding) => {
    expect(await decoded(encoding, plain)).toBe(TEXT);
  },
);

it.each([
  ['gzip', gzipSync(plain).subarray(0, 20), 'its gzip body is damaged or incomplete'],
  ['br', Buffer.from([0xff, 0xfe, 1, 2]), 'its br body is damaged or incomplete'],
  ['lzma', gzipSync(plain), 'unknown content-encoding "lzma"'],
  ['gzip', gzipSync(Buffer.alloc(2_000)), 'its body exceeds the limit of 1,000 bytes (maxBodyBytes)'],
  ['gzip, gzip', gzipSync(gzipSync(Buffer.alloc(2_000))), 'its body exceeds the limit of 1,000 bytes (maxBodyBytes)'],
])('a body that is %s and unusable is refused', async (encoding, raw, message) => {
  await expect(decoded(encoding, raw)).rejects.toThrow(message);
});
