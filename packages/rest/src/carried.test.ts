import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Carried, MAX_DIGESTS, carriedOn, writtenOf } from './carried.ts';
import { digestOf } from './json-value.ts';
import { itemsStream } from './listing.fixture.ts';

const OVERLAP_MIN = 60;
const BEGAN_MS = Date.UTC(2025, 0, 1);

const stream = itemsStream({ get: '/items', query: { since: '{since}' }, since: { from: '$.at', overlap: `${OVERLAP_MIN}m` } });

/** A record that changed this number of minutes after 2024 began. */
const changed = (minute: number, id: number) => ({ id, at: new Date(Date.UTC(2024, 0, 1, 0, minute)).toISOString() });

type Pages = readonly (readonly ReturnType<typeof changed>[])[];

/** The value that a listing of these pages carries, after one that carried `before`. */
function carriedBy(pages: Pages, before?: Carried): Carried | undefined {
  let now = before;
  for (const [i, records] of pages.entries()) {
    const digests = records.map((record) => digestOf(record));
    const next = i + 1 < pages.length ? { at: i + 1 } : undefined;
    const page = { records, digests, upTo: BEGAN_MS, isFirst: i === 0, next };
    now = carriedOn(stream, page, { before, now, subject: 'items', service: 'api' });
  }
  return now;
}

it('exactly the records of the overlap are carried, in any order of their times', () => {
  const ofPage = fc.array(fc.integer({ min: 0, max: 500 }), { maxLength: 10 });
  fc.assert(
    fc.property(fc.array(ofPage, { maxLength: 20 }), (minutes) => {
      let id = 0;
      const pages = minutes.map((page) => page.map((minute) => ({ minute, record: changed(minute, (id += 1)) })));
      const from = Math.max(...minutes.flat()) - OVERLAP_MIN;
      const expected = pages.flat().filter(({ minute }) => minute >= from);
      const carried = carriedBy(pages.map((page) => page.map(({ record }) => record)));
      expect([...writtenOf(carried)].toSorted()).toEqual(expected.map(({ record }) => digestOf(record)).toSorted());
    }),
  );
});

it('records of the listing before are carried as long as they are in the overlap', () => {
  const first = carriedBy([[changed(0, 1), changed(50, 2)]]);
  expect(writtenOf(carriedBy([[changed(70, 3)], []], first)).toSorted()).toEqual(
    [changed(50, 2), changed(70, 3)].map((record) => digestOf(record)).toSorted(),
  );
  expect(writtenOf(carriedBy([[]], first))).toHaveLength(2);
});

it('a listing fails before it forgets a record that the next one returns again: more than 100,000 of one time', () => {
  const of = (from: number, count: number) => Array.from({ length: count }, (_, i) => changed(7, from + i));
  const pages = Array.from({ length: 100 }, (_, i) => of(i * 1_000, 1_000));
  const carried = carriedBy(pages);
  expect(writtenOf(carried)).toHaveLength(MAX_DIGESTS);
  expect(JSON.stringify(carried).length).toBeLessThan(820_000);
  expect(() => carriedBy([of(100_000, 1)], carried)).toThrow(
    expect.objectContaining({ code: 'HEADGATE_SINCE_CROWDED', message: expect.stringContaining('make overlap shorter') as string }),
  );
  // A later time makes room for others.
  expect(writtenOf(carriedBy([[changed(100, 1)]], carried))).toHaveLength(1);
});

it('times after the beginning of the listing don’t count as the newest, and their records are carried', () => {
  const far = { id: -1, at: '9999-12-31T00:00:00Z' };
  for (const pages of [
    [[changed(0, 1)], [far]],
    [[far], [changed(0, 1)]],
  ]) {
    const carried = carriedBy(pages);
    expect(carried?.newest).toBe(changed(0, 1).at);
    expect(writtenOf(carried)).toHaveLength(2);
  }
});
