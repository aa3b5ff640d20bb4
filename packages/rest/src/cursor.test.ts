import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Asked, itemsStream, listed } from './listing.fixture.ts';
import { timeOf } from './time.ts';

const BEGAN_MS = Date.UTC(2024, 0, 1, 1);

interface Item {
  readonly id: string;
  readonly at: string;
}

interface Service {
  readonly items: readonly Item[];
  /** Format of `{since}`, such as `date`. Default: as the service wrote the time. */
  readonly format?: string | undefined;
  readonly window?: string | undefined;
  readonly size: number;
  /** Number of pages after which the service ends each listing. */
  readonly most: number;
  /** The service ends each listing that starts at this time or later, before its first page. */
  readonly endsAt?: string;
}

/** Lists everything that a service returns in ascending order. */
function listedFrom({ items, format, window, size, most, endsAt }: Service) {
  const stream = itemsStream({
    get: '/items',
    query: { since: format === undefined ? '{since}' : `{since:${format}}`, ...(window !== undefined && { until: '{until}' }) },
    records: '$.items[*]',
    since: { from: '$.at', order: 'ascending', ...(window !== undefined && { window, first: '2024-01-01T00:00:00Z' }) },
    pages: { cursor: '$.next', as: { query: 'cursor' } },
    errors: [{ status: 410, then: 'restart' }],
  });
  const answer = ({ query }: Asked) => {
    const from = Number(query.get('cursor') ?? 0);
    const since = query.get('since') ?? undefined;
    if (from >= most * size || (endsAt !== undefined && String(since) >= endsAt)) return { status: 410, body: {} };
    const sinceMs = since === undefined ? -Infinity : (timeOf(since, undefined) ?? NaN);
    const found = items.filter(
      ({ at }) => Date.parse(at) >= sinceMs && Date.parse(at) <= (timeOf(query.get('until'), undefined) ?? Infinity),
    );
    return { body: { items: found.slice(from, from + size), next: from + size < found.length ? from + size : null } };
  };
  return listed(stream, { answer, now: BEGAN_MS });
}

/** This number of records with the same time, minutes after 2024 began. */
const sameTime = (count: number, minute = 0): readonly Item[] =>
  Array.from({ length: count }, (_, i) => ({ id: `${minute}-${i}`, at: new Date(Date.UTC(2024, 0, 1, 0, minute)).toISOString() }));

/** This number of records within a second, each at a time of its own. */
const sameSecond = (count: number, second = 0): readonly Item[] =>
  Array.from({ length: count }, (_, i) => ({
    id: `${second}-${i}`,
    at: new Date(Date.UTC(2024, 0, 1, 0, 0, second) + (i * 1_000) / count).toISOString(),
  }));

it.each([
  { of: 'of one time', some: sameTime, format: undefined, window: undefined },
  { of: 'of one time, in windows', some: sameTime, format: undefined, window: '3m' },
  { of: 'of one second, the precision of {since}', some: sameSecond, format: 'seconds', window: undefined },
])('a listing that restarts after a few pages writes each record once, if it returns all records $of', ({ some, format, window }) => {
  const size = 4;
  const counts = fc
    .integer({ min: 1, max: 3 })
    .chain((most) => fc.tuple(fc.constant(most), fc.array(fc.integer({ min: 1, max: most * size - 1 }), { minLength: 1, maxLength: 30 })));
  fc.assert(
    fc.property(counts, ([most, each]) => {
      const items = each.flatMap((count, i) => some(count, i));
      const { written, error } = listedFrom({ items, format, window, size, most });
      expect([error, written]).toEqual([undefined, items]);
    }),
  );
});

it.each([
  { of: 'of one time', some: sameTime, format: undefined },
  { of: 'of one second, the precision of {since}', some: sameSecond, format: 'seconds' },
])('a listing whose restarts return no newer record ends, however many records $of it has', ({ some, format }) => {
  const [size, most] = [2_100, 2];
  const items = some(size * most + 1);
  const { written, requests, notices, error } = listedFrom({ items, format, size, most });
  const returned = items.slice(0, -1);
  expect(written).toEqual(returned);
  expect(requests).toBe(4 * (most + 1));
  const ended = 'items: api ended the listing';
  expect([...notices]).toEqual([undefined, `${ended} (410). The listing restarts.`]);
  const stuck = `Three restarts at ${returned.at(-1)?.at} returned no newer record.`;
  const cure =
    "If one listing can't return all records of that time, write larger pages (size) or a more precise {since}, or split the listing (for). Otherwise start the listing again later.";
  expect(error).toMatchObject({ code: 'HEADGATE_CURSOR_LOOP', message: `${ended} again (410). ${stuck} ${cure}` });
});

it('a listing that fails in a window without records restarts in that window, and at most three times', () => {
  const items = sameTime(3);
  const endsAt = '2024-01-01T00:10:00Z';
  const { written, requests, error } = listedFrom({ items, window: '10m', size: 4, most: 1, endsAt });
  expect(written).toEqual(items);
  expect(requests).toBe(5);
  expect(error).toMatchObject({ code: 'HEADGATE_CURSOR_LOOP' });
});
