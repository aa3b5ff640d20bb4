import fc from 'fast-check';
import { expect, it } from 'vitest';
import { messageBytesFor, recordBytes } from './record-size.ts';

it('a topic with the limit that a record needs accepts that record', () => {
  fc.assert(
    fc.property(fc.nat(100_000_000), (bytes) => {
      expect(recordBytes(messageBytesFor(bytes))).toBeGreaterThanOrEqual(bytes);
    }),
  );
});

it('a topic whose limit is smaller than an empty batch accepts a record of 0 bytes at most, not of fewer', () => {
  expect(recordBytes(119)).toBe(0);
});
