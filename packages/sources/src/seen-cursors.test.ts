import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { seenCursors } from './seen-cursors.ts';

test('the memory of a walk of a hundred thousand pages is an eighth of the smallest state record at most', () => {
  const seen = seenCursors();
  let largest = 0;
  for (let page = 1; page <= 100_000; page += 1) {
    seen.add(`cursor ${page}`);
    if (page % 1_000 === 0) largest = Math.max(largest, seen.snapshot().length);
  }
  expect(largest).toBeLessThan(8_200);
  expect(largest).toBeGreaterThan(4_000);
});

const stops = fc.uniqueArray(fc.nat(20_000), { maxLength: 20 });

test('a loop in a walk of up to 1,024 pages is found at once, across restarts', () => {
  fc.assert(
    fc.property(fc.nat(500), fc.integer({ min: 1, max: 500 }), stops, (before, round, restarts) => {
      expect(foundAfter({ before, round, restarts })).toBe(0);
    }),
    { numRuns: 20 },
  );
});

test('a loop in a longer one is found a little later', () => {
  fc.assert(
    fc.property(fc.nat(20_000), fc.integer({ min: 1, max: 10_000 }), stops, (before, round, restarts) => {
      const pages = foundAfter({ before, round, restarts });
      expect(pages).toBeGreaterThanOrEqual(0);
      expect(pages).toBeLessThan(2 * Math.max(round, 32));
    }),
    { numRuns: 20 },
  );
});

test('a snapshot of an earlier version, which kept all, is read, and thinned out where it is long', () => {
  const all = Array.from({ length: 10_000 }, () => seenCursors());
  for (const [i, one] of all.entries()) one.add(`cursor ${i}`);
  const earlier = all.map((one) => one.snapshot()).join('');
  expect(earlier).toHaveLength(80_000);
  const seen = seenCursors(earlier);
  expect(seen.snapshot()).toBe(`${earlier.replaceAll(/(.{8}).{120}/g, '$1')}/16`);
  expect(seen.add('cursor 16')).toBe(true);
  expect(seen.add('cursor 17')).toBe(false);
});

interface Walk {
  /** Number of pages before the loop. */
  readonly before: number;
  /** Number of pages in the loop. */
  readonly round: number;
  /** Numbers of the pages before which the walk is restarted. */
  readonly restarts: readonly number[];
}

/** Returns the number of pages between the first repeated one and the detection of the loop. */
function foundAfter({ before, round, restarts }: Walk): number {
  const cursorOf = (page: number): string => String(page < before ? page : before + ((page - before) % round));
  let seen = seenCursors();
  seen.add(cursorOf(0));
  for (let page = 1; page <= 80_000; page += 1) {
    if (restarts.includes(page)) {
      seen = seenCursors(seen.snapshot());
      seen.add(cursorOf(page - 1));
    }
    if (seen.add(cursorOf(page))) return page - before - round;
  }
  return Infinity;
}
