import fc from 'fast-check';
import { expect, test } from 'vitest';

import { createCursorCodec } from './follower-cursor.ts';
import { createFollowerList } from './follower-list.ts';

test('generated ids are distinct, most above 2^53, some above 2^62, some small', () => {
  const ids = createFollowerList({ followers: 50_000, seed: 9 }).slice(0, 50_000);
  expect(new Set(ids).size).toBe(50_000);
  const share = (test: (id: bigint) => boolean): number => ids.filter((id) => test(BigInt(id))).length / ids.length;
  expect(share((id) => id > 2n ** 53n)).toBeGreaterThan(0.85);
  expect(share((id) => id > 2n ** 62n)).toBeGreaterThan(0.03);
  expect(share((id) => id < 2n ** 33n)).toBeGreaterThan(0.05);
  expect(share((id) => id > 0n && id < 2n ** 63n)).toBe(1);
});

test('a slice is the same however it is cut, and the same for the same seed', () => {
  fc.assert(
    fc.property(fc.integer(), fc.nat(300), fc.nat(300), fc.nat(300), (seed, followers, one, other) => {
      const [from, to] = [Math.min(one, other), Math.max(one, other)];
      const list = createFollowerList({ followers, seed });
      expect([...list.slice(0, from), ...list.slice(from, to), ...list.slice(to, 300)]).toEqual(list.slice(0, 300));
      expect(createFollowerList({ followers, seed }).slice(0, 300)).toEqual(list.slice(0, 300));
    }),
  );
});

test('the far end of a very long list costs what its page costs', () => {
  const list = createFollowerList({ followers: 2 ** 31 });
  const ids = list.slice(2 ** 31 - 5000, 2 ** 31 + 5000);
  expect(new Set(ids).size).toBe(5000);
});

test('suspended followers leave short stretches and at least one empty one, and the rest stays in order', () => {
  const all = createFollowerList({ followers: 1000, seed: 3 }).slice(0, 1000);
  const list = createFollowerList({ followers: 1000, suspendedShare: 0.1, blockSize: 100, seed: 3 });
  expect(list.slice(100, 200)).toEqual([]);
  expect(list.slice(0, 100).length).toBeGreaterThan(70);
  expect(list.slice(0, 100).length).toBeLessThan(100);
  const left = list.slice(0, 1000);
  expect(all.filter((id) => left.includes(id))).toEqual(left);
});

test('newcomers come to the front and push the others back', () => {
  const list = createFollowerList({ followers: ['30', '20', '10'], shiftEvery: 2 });
  const lengths = [1, 2, 3, 4].map(() => {
    list.pageServed();
    return list.length();
  });
  expect(lengths).toEqual([3, 4, 4, 5]);
  const ids = list.slice(0, 5);
  expect(ids.slice(2)).toEqual(['30', '20', '10']);
  expect(new Set(ids).size).toBe(5);
});

test('lists that cannot be are refused', () => {
  expect(() => createFollowerList({ followers: -1 })).toThrow('followers is -1');
  expect(() => createFollowerList({ followers: ['007'] })).toThrow('"007" in followers isn\'t an ID');
  expect(() => createFollowerList({ followers: 1, suspendedShare: 1 })).toThrow('suspendedShare is 1');
  expect(() => createFollowerList({ followers: 1, shiftEvery: 0 })).toThrow('shiftEvery is 0');
});

const places = fc.record({ position: fc.integer({ min: 0, max: 2 ** 31 }), direction: fc.constantFrom('next', 'previous') });

test('a cursor gives its place back, lies between 2^60 and 2^63, and is another list’s in vain', () => {
  fc.assert(
    fc.property(fc.integer(), places, (key, place) => {
      const codec = createCursorCodec(key);
      const cursor = codec.encode(place);
      expect(codec.decode(cursor)).toEqual(place);
      const size = BigInt(cursor) < 0n ? -BigInt(cursor) : BigInt(cursor);
      expect(size >= 2n ** 60n && size < 2n ** 63n).toBe(true);
      expect(createCursorCodec(key + 1).decode(cursor)).toBeUndefined();
    }),
  );
});

test.each(['0', '-1', '1', '', 'abc', '1751470928799400074', '99999999999999999999', '0x10'])('%j is no cursor', (cursor) => {
  expect(createCursorCodec(1).decode(cursor)).toBeUndefined();
});
