import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { markedIdSet } from './marked-id-set.ts';

test('is a map from ids to marks', () => {
  const id = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.bigInt({ min: 0n, max: 40n }), fc.constant(2n ** 64n - 1n));
  fc.assert(
    fc.property(fc.array(fc.tuple(id, fc.integer({ min: 1, max: 3 })), { maxLength: 400 }), (steps) => {
      const set = markedIdSet();
      const model = new Map<bigint, number>();
      for (const [one, mark] of steps) {
        expect(set.mark(one, mark)).toBe(model.get(one) ?? 0);
        model.set(one, mark);
      }
      expect(set.size).toBe(model.size);
      for (const mark of [1, 2, 3]) {
        const marked = [...model].filter(([, of]) => of === mark).map(([one]) => one);
        expect(new Set(set.withMark(mark))).toEqual(new Set(marked));
      }
    }),
  );
});

test.each([
  ['in sequence', (index: number) => BigInt(index)],
  ['with the time in the upper bits', (index: number) => BigInt(index) << 22n],
  ['in the upper half alone', (index: number) => BigInt(index) << 32n],
])('300,000 ids %s take no more than 16 bytes each', (_, idOf) => {
  const set = markedIdSet();
  let most = 0;
  for (let index = 0; index < 300_000; index += 1) {
    set.mark(idOf(index), 1);
    if (index % 10_000 === 9999) {
      most = Math.max(most, set.bytes / set.size);
    }
  }
  expect(set.size).toBe(300_000);
  expect(most).toBeLessThan(16);
});
