import fc from 'fast-check';
import { expect, it } from 'vitest';
import { OrderedList } from './ordered-list.ts';

const numbers = fc.array(fc.record({ do: fc.constantFrom('add', 'add', 'add', 'delete', 'after'), value: fc.nat(3_000) }), {
  maxLength: 1_500,
  size: 'max',
});

it('holds what a sorted array would, over many chunks', () => {
  fc.assert(
    fc.property(numbers, (steps) => {
      const list = new OrderedList<number>((a, b) => a - b);
      const model = new Set<number>();
      const answers: (readonly [given: unknown, wanted: unknown])[] = [];
      // Enough entries for several chunks.
      for (let i = 0; i < 1_200; i += 1) {
        list.add(i * 3);
        model.add(i * 3);
      }
      for (const { do: what, value } of steps) {
        if (what === 'add' && !model.has(value)) {
          list.add(value);
          model.add(value);
        }
        if (what === 'delete') answers.push([list.delete(value), model.delete(value)]);
        if (what === 'after') answers.push([list.after(value), least([...model].filter((other) => other > value))]);
      }
      for (const [given, wanted] of answers) expect(given).toBe(wanted);
      expect(list.first).toBe(least([...model]));
      expect([...list]).toEqual([...model].sort((a, b) => a - b));
    }),
    { numRuns: 30 },
  );
});

it('can be emptied and filled again', () => {
  const list = new OrderedList<number>((a, b) => a - b);
  for (const value of [2, 1, 3]) list.add(value);
  for (const value of [1, 2, 3]) expect(list.delete(value)).toBe(true);
  expect([list.first, list.after(0), list.delete(1), ...list]).toEqual([undefined, undefined, false]);
  list.add(4);
  expect(list.first).toBe(4);
});

function least(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : Math.min(...values);
}
