import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OffsetRanges } from './offset-ranges.ts';

describe('OffsetRanges', () => {
  it('is a set of numbers, also after it is stored and restored', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(30)), fc.nat(30), (added, cut) => {
        let ranges = new OffsetRanges();
        for (const [i, offset] of added.entries()) {
          ranges.add(offset);
          if (i === cut) ranges = new OffsetRanges(ranges.snapshot());
        }
        const plain = new Set(added);
        for (let offset = 0; offset <= 31; offset += 1) expect(ranges.has(offset)).toBe(plain.has(offset));
        let next = 0;
        while (plain.has(next)) next += 1;
        expect(ranges.next).toBe(next);
      }),
    );
  });

  it('says "3 is done, 2 is not"', () => {
    const ranges = new OffsetRanges();
    for (const offset of [0, 1, 3, 4]) ranges.add(offset);
    expect(ranges.snapshot()).toEqual({ next: 2, done: [[3, 4]] });
    ranges.add(2);
    expect(ranges.snapshot()).toEqual({ next: 5, done: [] });
  });

  it('accepts ranges that overlap, touch or are apart', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(30), fc.integer({ min: -1, max: 8 }))), (stretches) => {
        const ranges = new OffsetRanges();
        const plain = new OffsetRanges();
        for (const [from, length] of stretches) {
          ranges.addRange(from, from + length);
          for (let offset = from; offset <= from + length; offset += 1) plain.add(offset);
        }
        expect(ranges.snapshot()).toEqual(plain.snapshot());
      }),
    );
  });

  it('starts at the first offset of a log that has deleted earlier ones', () => {
    const ranges = new OffsetRanges({ next: 100, done: [] });
    expect(ranges.has(7)).toBe(true);
    ranges.add(100);
    expect(ranges.next).toBe(101);
  });
});
