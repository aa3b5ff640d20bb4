import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { partitionForKey } from './partition-for-key.ts';

const TWO_TO_31 = 2 ** 31;

describe('partitionForKey', () => {
  // The test vectors of Kafka's own UtilsTest.testMurmur2.
  it.each([
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ])('hashes %s as Kafka does', (key, hash) => {
    expect(partitionForKey(key, TWO_TO_31)).toBe(hash < 0 ? hash + TWO_TO_31 : hash);
  });

  it('hashes the UTF-8 bytes', () => {
    expect(partitionForKey('é', TWO_TO_31)).not.toBe(partitionForKey('e', TWO_TO_31));
    expect(partitionForKey('', 7)).toBe(partitionForKey('', 7));
  });

  it('always answers a partition there is, and the same one for the same key', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 1000 }), (key, partitions) => {
        const partition = partitionForKey(key, partitions);
        expect(Number.isInteger(partition) && partition >= 0 && partition < partitions).toBe(true);
        expect(partitionForKey(key, partitions)).toBe(partition);
      }),
    );
  });

  it('refuses a topic without partitions', () => {
    expect(() => partitionForKey('a', 0)).toThrow(RangeError);
  });
});
