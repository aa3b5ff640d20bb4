import { createRequire } from 'node:module';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crc32c } from './crc32c.ts';

const kafkajsCrc32c = createRequire(import.meta.url)('kafkajs/src/protocol/recordBatch/crc32C') as (bytes: Buffer) => number;

describe('a CRC-32C', () => {
  // The four values for 32 bytes are from RFC 3720, appendix B.4. The one for "123456789" is CRC-32C's check value in catalogs of CRCs.
  it.each([
    { what: 'no bytes', bytes: Buffer.alloc(0), crc: 0 },
    { what: '"123456789"', bytes: Buffer.from('123456789'), crc: 0xe306_9283 },
    { what: '32 zeroes', bytes: Buffer.alloc(32), crc: 0x8a91_36aa },
    { what: '32 ones', bytes: Buffer.alloc(32, 0xff), crc: 0x62a8_ab43 },
    { what: '32 ascending bytes', bytes: Buffer.from(Array.from({ length: 32 }, (_, index) => index)), crc: 0x46dd_794e },
    { what: '32 descending bytes', bytes: Buffer.from(Array.from({ length: 32 }, (_, index) => 31 - index)), crc: 0x113f_db5c },
  ])('of $what is the published one', ({ bytes, crc }) => expect(crc32c(bytes)).toBe(crc));

  it("equals kafkajs's, whole or in two parts, at any offset of the buffer", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(300), fc.nat(8), (content, cut, before) => {
        const bytes = Buffer.concat([Buffer.alloc(before), content]).subarray(before);
        const expected = kafkajsCrc32c(bytes) >>> 0;
        expect(crc32c(bytes)).toBe(expected);
        expect(crc32c(bytes.subarray(cut), crc32c(bytes.subarray(0, cut)))).toBe(expected);
      }),
      { numRuns: 500 },
    );
  });
});
