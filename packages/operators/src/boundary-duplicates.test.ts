import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { boundaryDuplicates } from './boundary-duplicates.ts';

function walk(pages: readonly (readonly string[])[], maxOverlap?: number): (readonly string[])[] {
  const memory = boundaryDuplicates(maxOverlap === undefined ? {} : { maxOverlap });
  return pages.map((ids) => memory.apply({ ids }).ids);
}

describe('dropped are', () => {
  test('the last ids of a page that come again as the first of the next', () => {
    expect(
      walk([
        ['1', '2', '3'],
        ['3', '4'],
        ['3', '4', '5'],
      ]),
    ).toEqual([['1', '2', '3'], ['4'], ['5']]);
  });

  test('a whole page, which stays a page', () => {
    const memory = boundaryDuplicates();
    memory.apply({ page: 1, ids: ['1', '2'] });
    expect(memory.apply({ page: 2, nextCursor: '7', ids: ['1', '2'] })).toEqual({ page: 2, nextCursor: '7', ids: [] });
  });

  test('ids pushed over a boundary with an empty or a short page behind it', () => {
    expect(walk([['1', '2'], [], ['2', '3'], ['4'], ['3', '4', '5']])).toEqual([['1', '2'], [], ['3'], ['4'], ['5']]);
  });

  test('the longest run there is', () => {
    expect(
      walk([
        ['7', '7', '7'],
        ['7', '7', '8'],
      ]),
    ).toEqual([['7', '7', '7'], ['8']]);
  });
});

describe('left alone are', () => {
  test('pages that overlap in no such run, as the very same objects', () => {
    const memory = boundaryDuplicates();
    const pages = [{ ids: ['1', '2', '3'] }, { ids: ['2', '4'] }, { ids: ['5', '4'] }, { ids: ['1', '1'] }];
    for (const page of pages) {
      expect(memory.apply(page)).toBe(page);
    }
  });

  test('more ids than may come again', () => {
    expect(
      walk(
        [
          ['1', '2', '3'],
          ['2', '3', '4'],
        ],
        1,
      ),
    ).toEqual([
      ['1', '2', '3'],
      ['2', '3', '4'],
    ]);
    expect(
      walk(
        [
          ['1', '2', '3'],
          ['3', '4'],
        ],
        1,
      ),
    ).toEqual([['1', '2', '3'], ['4']]);
  });
});

describe('the laws', () => {
  const overlapping = fc.array(fc.array(fc.constantFrom('1', '2', '3'), { maxLength: 6 }), { maxLength: 8 });

  test('a list that shifts while it is walked gives every id once', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ count: fc.integer({ min: 0, max: 9 }), shift: fc.nat(5) }), { maxLength: 12 }), (steps) => {
        // Since the previous page, `shift` new followers were added, so this page starts `shift` places earlier, but not before 0.
        let position = 0;
        const pages = steps.map(({ count, shift }) => {
          const start = Math.max(0, position - shift);
          const ids = Array.from({ length: count }, (_, index) => String(start + index));
          position = Math.max(position, start + count);
          return ids;
        });
        // Each page after the first is empty or has at least 5 IDs, the maximum shift. A shorter page could end before the previous page
        // did.
        fc.pre(pages.every((ids, index) => index === 0 || ids.length === 0 || ids.length >= 5));
        expect(walk(pages).flat()).toEqual(Array.from({ length: position }, (_, index) => String(index)));
      }),
    );
  });

  test('a crawl resumed from its state at any page, through JSON, is as if it had never stopped', () => {
    fc.assert(
      fc.property(overlapping, fc.integer({ min: 1, max: 7 }), (pages, maxOverlap) => {
        let memory = boundaryDuplicates({ maxOverlap });
        const resumed = pages.map((ids) => {
          memory = boundaryDuplicates({ maxOverlap, state: JSON.parse(JSON.stringify(memory.state())) });
          return memory.apply({ ids }).ids;
        });
        expect(resumed).toEqual(walk(pages, maxOverlap));
      }),
    );
  });

  test('nothing but a leading run is dropped, and what is remembered is bounded', () => {
    fc.assert(
      fc.property(overlapping, fc.integer({ min: 1, max: 7 }), (pages, maxOverlap) => {
        const memory = boundaryDuplicates({ maxOverlap });
        let before: string[] = [];
        for (const ids of pages) {
          const kept = memory.apply({ ids }).ids;
          const dropped = ids.length - kept.length;
          expect(kept).toEqual(ids.slice(dropped));
          // Length of the longest run, up to `maxOverlap`, that ends the IDs kept so far and also starts the page.
          const runs = Array.from({ length: Math.min(maxOverlap, ids.length, before.length) + 1 }, (_, length) => length);
          const longest = Math.max(...runs.filter((length) => before.slice(before.length - length).join() === ids.slice(0, length).join()));
          expect(dropped).toBe(longest);
          before = [...before, ...kept];
          expect(memory.state().tail).toEqual(before.slice(-maxOverlap));
        }
      }),
    );
  });
});

test.each([0, -1, 1.5, Number.NaN, Infinity])('maxOverlap must be a whole number from 1, not %d', (maxOverlap) => {
  expect(() => boundaryDuplicates({ maxOverlap })).toThrow(
    `Option maxOverlap of boundaryDuplicates must be a whole number from 1, got ${maxOverlap}.`,
  );
});

test.each<[string, unknown, string]>([
  ['a number', ['1', 2], 'not the number 2: numbers lose digits'],
  ['a bigint', [2n], 'not the bigint 2: numbers lose digits'],
])('refused is %s in a page or in the state', (_, given, message) => {
  const ids = given as string[];
  const error: unknown = expect.objectContaining({ code: 'HEADGATE_INVALID_ID', message: expect.stringContaining(message) });
  expect(() => boundaryDuplicates().apply({ ids })).toThrow(error);
  expect(() => boundaryDuplicates({ state: { tail: ids } })).toThrow(error);
});

test('a state that is larger than what may be remembered is cut', () => {
  expect(boundaryDuplicates({ state: { tail: ['1', '2', '3'] }, maxOverlap: 2 }).state()).toEqual({ tail: ['2', '3'] });
});
