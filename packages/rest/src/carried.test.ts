import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Carried, MAX_DIGESTS, carriedOn, crowdedIn, writtenOf } from './carried.ts';
import { digestOf } from './json-value.ts';
import { restOptions } from './language.ts';

const OVERLAP_MIN = 60;
const RECEIVED_MS = Date.UTC(2025, 0, 1);

const { streams } = restOptions.parse({
  baseUrl: 'http://127.0.0.1',
  credentials: [{ name: 'app' }],
  limit: { requests: 1, window: '1s' },
  streams: { items: { get: '/items', query: { since: '{since}' }, since: { from: '$.at', overlap: `${OVERLAP_MIN}m` } } },
});

/** A record that changed this number of minutes after 2024 began. */
const changed = (minute: number, id: number) => ({ id, at: new Date(Date.UTC(2024, 0, 1, 0, minute)).toISOString() });

function carriedBy(pages: readonly (readonly ReturnType<typeof changed>[])[]): Carried | undefined {
  const { items } = streams;
  if (items === undefined) throw new Error('no stream');
  return pages.reduce<Carried | undefined>(
    (before, records) => carriedOn(items, { records, digests: records.map(digestOf), receivedMs: RECEIVED_MS }, before),
    undefined,
  );
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

it.each(['ascending', 'descending'])('of too many records in the overlap, the newest are carried: times %s', (order) => {
  const records = Array.from({ length: MAX_DIGESTS + 100 }, (_, id) => changed(Math.floor(id / 100), id));
  const carried = new Set(writtenOf(carriedBy([order === 'ascending' ? records : records.toReversed()])));
  expect(records.filter((record) => !carried.has(digestOf(record))).map(({ id }) => id)).toEqual(
    Array.from({ length: 100 }, (_, id) => id),
  );
});

it('records whose time is too far ahead take no capacity from those of the overlap', () => {
  const far = Array.from({ length: MAX_DIGESTS + 1 }, (_, id) => ({ id: -1 - id, at: '9999-12-31T00:00:00Z' }));
  const near = [changed(0, 1), changed(OVERLAP_MIN, 2)];
  for (const pages of [
    [near, far],
    [far, near],
    [near, far, [changed(OVERLAP_MIN, 3)]],
  ]) {
    const carried = carriedBy(pages);
    const written = writtenOf(carried);
    const expected = pages.flat().filter(({ id }) => id > 0);
    expect(written).toEqual(expect.arrayContaining(expected.map(digestOf)));
    expect(written).toHaveLength(MAX_DIGESTS + expected.length);
    expect(crowdedIn(carried)).toEqual({ overlap: false, ahead: true });
  }
});
