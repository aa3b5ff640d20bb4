import { describe, expect, it } from 'vitest';
import { idsIn, range, shop } from './shop.fixture.ts';

const SECOND = 1_000;
const START = Date.parse('2026-01-01T00:00:00Z');
const iso = (ms: number): string => new Date(ms).toISOString().replace('.000', '');

// https://github.com/estuary/connectors/issues/5205
describe('records that share the second of the newest one', () => {
  it.each([
    ['without an order', {}, 1],
    ['in ascending order', { order: 'ascending' }, 1],
    ['newest first', {}, -1],
  ] as const)('are each written once, %s', async (_, more, direction) => {
    const events = [
      { id: 1, time: '2025-12-31T23:59:58Z' },
      { id: 2, time: iso(START) },
    ];
    await using place = await shop({
      streams: {
        events: {
          get: '/events',
          query: { start_time: '{since:seconds}' },
          since: { from: '$.time', first: '2025-12-01', ...more },
          records: '$.events[*]',
          key: '$.id',
          pages: { cursor: '$.next', as: { query: 'cursor' } },
        },
      },
      answer: ({ query }) => {
        const from = 1_000 * Number(query.get('start_time'));
        const found = events
          .filter(({ time }) => Date.parse(time) >= from)
          .toSorted((one, other) => (one.time < other.time ? -direction : direction));
        return { body: { events: found, next: null } };
      },
    });
    await place.run();
    events.push({ id: 3, time: iso(START) }, { id: 4, time: iso(START + 5 * SECOND) });
    await place.run({ again: true });
    events.push({ id: 5, time: iso(START + 5 * SECOND) });
    const run = await place.run({ again: true });
    expect(idsIn(run, 'shop.events').toSorted()).toEqual(range(5));
    const [, second, third] = place.service.arrivals.map(({ query }) => Number(query.get('start_time')));
    expect(second).toBeLessThanOrEqual(START / 1_000);
    expect(third).toBeLessThanOrEqual(START / 1_000 + 5);
  });
});

// https://github.com/airbytehq/airbyte-python-cdk/issues/1067
describe('children of parents that are listed by their changes', () => {
  it.each([2, 3])('are asked for only if a parent has changed, over %i levels', async (levels) => {
    const parents = range(100).map((id) => ({ id, updated_at: iso(START + id * 60 * SECOND) }));
    await using place = await shop({
      streams: {
        messages: {
          get: '/messages',
          query: { updated_after: '{since}' },
          since: { from: '$.updated_at', first: '2025-01-01T00:00:00Z', children: 'changed' },
          records: '$.messages[*]',
          key: '$.id',
          pages: { cursor: '$.next', as: { query: 'cursor' } },
        },
        details: { get: '/messages/{id}/detail', for: { each: 'messages', with: { id: '$.id' } }, key: '$.id' },
        ...(levels === 3 && {
          parts: { get: '/messages/{id}/detail/{part}', for: { each: 'details', with: { part: '$.part' } }, key: '$.id' },
        }),
      },
      answer: ({ path, query }) => {
        const [, , id, , part] = path.split('/');
        if (part !== undefined) return { body: { id: Number(id), part } };
        if (id !== undefined) return { body: { id: Number(id), rev: 1, part: `p${id}` } };
        const found = parents
          .filter(({ updated_at: at }) => at >= (query.get('updated_after') ?? ''))
          .toSorted((one, other) => (one.updated_at < other.updated_at ? -1 : 1));
        const from = Number(query.get('cursor') ?? 0);
        return { body: { messages: found.slice(from, from + 50), next: from + 50 < found.length ? from + 50 : null } };
      },
    });
    const first = await place.run();
    expect([first.outcome, place.asked().length]).toEqual(['done', 2 + 100 * (levels - 1)]);
    parents[6] = { id: 7, updated_at: '2026-01-02T00:00:00Z' };
    parents.push({ id: 101, updated_at: '2026-01-02T00:01:00Z' });
    const before = place.service.arrivals.length;
    await place.run({ again: true });
    const second = place.service.arrivals.slice(before);
    const listings = second.filter(({ path }) => path === '/messages');
    expect(listings).toHaveLength(1);
    expect(listings[0]?.query.get('updated_after')).toBe('2026-01-01T01:40:00Z');
    const children = second.filter(({ path }) => path !== '/messages').map(({ path }) => path.split('/')[2]);
    expect(new Set(children)).toEqual(new Set(['7', '101']));
    const since = place.service.arrivals.length;
    const run = await place.run({ again: true });
    expect(place.service.arrivals.slice(since).map(({ path }) => path)).toEqual(['/messages']);
    expect(run.outcome).toBe('done');
  });
});

// https://github.com/activepieces/activepieces/pull/10160
describe('a search that refuses to page beyond its cap', () => {
  const found = range(130).map((id) => ({ id, modified: iso(START + id * SECOND) }));
  const search =
    (cap: () => number) =>
    ({ query }: { readonly query: URLSearchParams }) => {
      const after = Number(query.get('after') ?? 0);
      if (after >= cap()) return { status: 400, body: { status: 'error', message: 'There was a problem with the request.' } };
      const all = found.filter(({ modified }) => modified >= (query.get('modified_gte') ?? ''));
      const more = after + 20 < all.length;
      return { body: { results: all.slice(after, after + 20), ...(more && { paging: { next: { after: String(after + 20) } } }) } };
    };
  const contacts = {
    get: '/search',
    query: { modified_gte: '{since}', limit: '20' },
    since: { from: '$.modified', first: iso(START), order: 'ascending' },
    records: '$.results[*]',
    key: '$.id',
    pages: { cursor: '$.paging.next.after', as: { query: 'after' } },
  } as const;

  it('is asked again from the newest record, if a rule says so', async () => {
    await using place = await shop({
      streams: { contacts: { ...contacts, errors: [{ status: 400, then: 'restart' }] } },
      answer: search(() => 100),
    });
    const run = await place.run();
    expect([run.outcome, run.deadLetters('shop'), idsIn(run, 'shop.contacts')]).toEqual(['done', [], range(130)]);
    const asked = place.service.arrivals.map(({ query }) => [query.get('modified_gte'), query.get('after')]);
    expect(asked.slice(0, 7)).toEqual([
      ...[null, '20', '40', '60', '80', '100'].map((after) => [iso(START), after]),
      [iso(START + 100 * SECOND), null],
    ]);
    const before = place.service.arrivals.length;
    await place.run({ again: true });
    expect(place.service.arrivals[before]?.query.get('modified_gte')).toBe(iso(START + 130 * SECOND));
  });

  it('fails the listing otherwise, and a later one continues', async () => {
    let cap = 100;
    await using place = await shop({ streams: { contacts }, answer: search(() => cap) });
    const first = await place.run();
    expect(idsIn(first, 'shop.contacts')).toEqual(range(100));
    expect(first.deadLetters('shop')).toMatchObject([{ message: expect.stringContaining('400') }]);
    cap = Infinity;
    const run = await place.run({ again: true });
    expect([run.outcome, idsIn(run, 'shop.contacts')]).toEqual(['done', range(130)]);
  });
});
