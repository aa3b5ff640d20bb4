import type { ClassifyContext } from '@headgate/sources';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { verdictOf } from './answer.ts';
import { MAX_DIGESTS } from './carried.ts';
import { type Cursor, firstCursor } from './cursor.ts';
import { restOptions } from './language.ts';
import type { RestQuery } from './request.ts';
import { formatTime, timeOf } from './time.ts';

const BEGAN_MS = Date.UTC(2024, 0, 1, 1);
/** More requests than any listing of these tests needs. */
const MAX_REQUESTS = 400;

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

/** Lists everything that a service returns in ascending order. `most`: the maximum number of records that a cursor skipped. */
function listed({ items, format, window, size, most, endsAt }: Service) {
  const { streams } = restOptions.parse({
    baseUrl: 'http://127.0.0.1',
    credentials: [{ name: 'app' }],
    limit: { requests: 1, window: '1s' },
    streams: {
      items: {
        get: '/items',
        query: { since: format === undefined ? '{since}' : `{since:${format}}`, ...(window !== undefined && { until: '{until}' }) },
        records: '$.items[*]',
        since: { from: '$.at', order: 'ascending', ...(window !== undefined && { window, first: '2024-01-01T00:00:00Z' }) },
        pages: { cursor: '$.next', as: { query: 'cursor' } },
        errors: [{ status: 410, then: 'restart' }],
      },
    },
  });
  const { items: stream } = streams;
  if (stream === undefined) throw new Error('no stream');

  const answerTo = ({ at, since, until }: Cursor): { readonly status: number; readonly body: unknown } => {
    const from = Number(at ?? 0);
    if (from >= most * size || (endsAt !== undefined && String(since) >= endsAt)) return { status: 410, body: {} };
    const sinceMs = since === undefined ? -Infinity : (timeOf(formatTime(since, format)) ?? NaN);
    const isFound = (ms: number): boolean => ms >= sinceMs && ms <= (timeOf(until) ?? Infinity);
    const found = items.filter((item) => isFound(Date.parse(item.at)));
    return { status: 200, body: { items: found.slice(from, from + size), next: from + size < found.length ? from + size : null } };
  };

  const written: unknown[] = [];
  const notices = new Set<string | undefined>();
  let skipped = 0;
  let requests = 0;
  for (let cursor: Cursor | undefined = firstCursor(stream, undefined, BEGAN_MS); cursor !== undefined;) {
    if ((requests += 1) > MAX_REQUESTS) throw new Error('the listing never ends');
    const { status, body } = answerTo(cursor);
    const query: RestQuery = { stream: 'items', fields: {}, cursor };
    const context: ClassifyContext<RestQuery> = {
      service: 'api',
      subject: 'items',
      credential: 'app',
      epochMs: BEGAN_MS,
      query,
      redact: String,
      recentlyRefused: false,
    };
    const verdict = verdictOf(stream, [], { status, headers: {}, body: Buffer.from(JSON.stringify(body)) }, context);
    if (verdict.kind === 'fatal') return { written, notices, skipped, requests, error: verdict.error };
    if (verdict.kind !== 'ok') throw new Error(verdict.kind);
    written.push(...verdict.value.records);
    notices.add(verdict.value.notice);
    cursor = verdict.value.next;
    skipped = Math.max(skipped, cursor?.seen?.length ?? 0);
  }
  return { written, notices, skipped, requests };
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
      const { written, skipped, error } = listed({ items, format, window, size, most });
      expect([error, written]).toEqual([undefined, items]);
      expect(skipped).toBeLessThan(2 * most * size);
    }),
  );
});

it.each([
  { of: 'of one time', some: sameTime, format: undefined },
  { of: 'of one second, the precision of {since}', some: sameSecond, format: 'seconds' },
])('a listing whose restarts return no newer record ends, however many records $of it has', ({ some, format }) => {
  const [size, most] = [MAX_DIGESTS / 2 + 100, 2];
  const items = some(size * most + 1);
  const { written, requests, notices, error } = listed({ items, format, size, most });
  const returned = items.slice(0, -1);
  expect(new Set(written.map((item) => JSON.stringify(item)))).toEqual(new Set(returned.map((item) => JSON.stringify(item))));
  expect(requests).toBe(4 * (most + 1));
  const ended = 'items: api ended the listing';
  expect([...notices]).toEqual([
    undefined,
    `${ended} (410). The listing restarts. 4,000 or more records are as new as its newest one. Some of them may be written again.`,
  ]);
  const stuck = `Three restarts at ${returned.at(-1)?.at} returned no newer record.`;
  const cure =
    "If one listing can't return all records of that time, write larger pages (size) or a more precise {since}, or split the listing (for). Otherwise start the crawl again later.";
  expect(error).toMatchObject({ code: 'HEADGATE_CURSOR_LOOP', message: `${ended} again (410). ${stuck} ${cure}` });
});

it('a listing that fails in a window without records restarts in that window, and at most three times', () => {
  const items = sameTime(3);
  const endsAt = '2024-01-01T00:10:00Z';
  const { written, requests, error } = listed({ items, window: '10m', size: 4, most: 1, endsAt });
  expect(written).toEqual(items);
  expect(requests).toBe(5);
  expect(error).toMatchObject({ code: 'HEADGATE_CURSOR_LOOP' });
});
