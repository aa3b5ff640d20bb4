import { createRequire } from 'node:module';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { varintBytes, writeVarint } from './varint.ts';

const Encoder = createRequire(import.meta.url)('kafkajs/src/protocol/encoder') as new () => {
  writeVarInt(value: number): { buffer: Buffer };
};

function written(value: number): Buffer {
  const bytes = Buffer.alloc(8, 0xaa);
  return bytes.subarray(2, writeVarint(bytes, 2, value));
}

describe('varints', () => {
  it('equal those of kafkajs, and have the predicted length', () => {
    const edges = [0, -1, 63, 64, 8191, 8192, 1_048_575, 1_048_576, 134_217_727, 134_217_728, 2 ** 31 - 1, -(2 ** 31)];
    fc.assert(
      fc.property(fc.oneof(fc.constantFrom(...edges), fc.integer()), (value) => {
        expect(written(value).equals(new Encoder().writeVarInt(value).buffer)).toBe(true);
        expect(varintBytes(value)).toBe(written(value).length);
      }),
      { numRuns: 1000 },
    );
  });
});
