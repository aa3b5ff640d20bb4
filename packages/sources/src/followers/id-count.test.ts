import fc from 'fast-check';
import { expect, test } from 'vitest';
import { idCount } from './id-count.ts';

const count = (text: string): number => idCount(Buffer.from(text));

test('counts as many as parsing finds, whatever else the page holds', () => {
  const name = fc.constantFrom('ids', 'id', 'next_cursor', 'a"ids":[1,2', '[', ']', '{', '\\');
  const value = fc.oneof(fc.jsonValue({ maxDepth: 4 }), fc.string(), fc.array(fc.nat()), fc.record({ ids: fc.array(fc.nat()) }));
  const entries = fc.array(fc.tuple(name, value), { maxLength: 6 });
  fc.assert(
    fc.property(entries, fc.array(fc.jsonValue()), fc.nat(6), fc.constantFrom(0, 1, '\t'), (others, ids, at, indent) => {
      const page = Object.fromEntries(others.filter(([key]) => key !== 'ids').toSpliced(at, 0, ['ids', ids]));
      expect(count(JSON.stringify(page, null, indent))).toBe(Math.max(1, ids.length));
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  ['{"\\u0069ds":[1,2,3]}', 3],
  ['{ "ids" :\n[ 1 , 2 ] }', 2],
  ['{"ids":[1,2,3],"ids":[1]}', 3],
  ['{"ids":[1],"ids":[1,2,3]}', 3],
  ['{"ids":["1\\"],[","2"]}', 2],
  ['{"ids":[[1,2,3],{"ids":[1,2,3,4]}]}', 2],
  ['{"ids":[1,2,3', 3],
  ['{"ids":{"a":[1,2,3]}}', 0],
  ['{"page":{"ids":[1,2,3]}}', 0],
  ['["ids",[1,2,3]]', 0],
  ['{"x":"ids","y":[1,2,3]}', 0],
  ['{"\\ids":[1,2]}', 0],
  ['"ids":[1,2,3]', 0],
  ['', 0],
])('%s: %i', (text, ids) => {
  expect(count(text)).toBe(ids);
});
