import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ApiAnswer } from './api.fixture.ts';
import type { Carried } from './carried.ts';
import { type Asked, itemsStream, listed } from './listing.fixture.ts';

const RUNS = process.env['HEADGATE_TORTURE'] === '1' ? 20_000 : 600;

const WAYS = {
  page: { page: { query: 'page' } },
  'page with a total': { page: { query: 'page' }, total: '$.total' },
  offset: { offset: { query: 'offset' } },
  'offset with a total': { offset: { query: 'offset' }, total: '$.total' },
  link: { link: 'next' },
  next: { next: '$.next' },
  cursor: { cursor: '$.cursor', as: { query: 'cursor' } },
  'last ID': { cursor: '$.items[-1].id', as: { query: 'after' }, while: '$.more' },
} as const;
type Way = keyof typeof WAYS;

/** Our clock, epoch ms. */
const NOW = Date.UTC(2026, 0, 1);

interface Row {
  readonly id: number;
  readonly version: number;
  readonly at: number;
}

/** A list that changes between any two requests. */
class Service {
  readonly rows = new Map<number, Row>();
  readonly #order: 'ascending' | 'descending' | 'fixed';
  readonly #size: number;
  readonly #isExclusive: boolean;
  #versions = 0;
  /** The service's own clock, epoch ms. It runs years behind ours. */
  clock = Date.UTC(2020, 0, 1);

  constructor(order: Service['order'], size: number, isExclusive: boolean) {
    this.#order = order;
    this.#size = size;
    this.#isExclusive = isExclusive;
  }

  get order() {
    return this.#order;
  }

  put(id: number): void {
    this.rows.set(id, { id, version: (this.#versions += 1), at: this.clock });
  }

  #sorted(): Row[] {
    const sign = { ascending: 1, descending: -1, fixed: 0 }[this.#order];
    return [...this.rows.values()].toSorted((one, other) => sign * (one.at - other.at) || one.id - other.id);
  }

  answer({ query, path }: Asked): ApiAnswer {
    const since = query.get('since');
    const sinceMs = since === null ? -Infinity : Date.parse(since);
    const list = this.#sorted().filter(({ at }) => (this.#isExclusive ? at > sinceMs : at >= sinceMs));
    const [at, after] = [query.get('cursor'), query.get('after')];
    // Cursors name the last record, so they find their place whatever has changed before it.
    const key = ({ at: ms, id }: Row): readonly [number, number] => [{ ascending: ms, descending: -ms, fixed: 0 }[this.#order], id];
    const isAfter = (row: Row, [ms, id]: readonly [number, number]): boolean => {
      const [own, ownId] = key(row);
      return own > ms || (own === ms && ownId > id);
    };
    const last = at === null ? undefined : (JSON.parse(at) as [number, number]);
    const found = list.filter((row) => (last === undefined ? after === null || row.id > Number(after) : isAfter(row, last)));
    const from = Number(query.get('offset') ?? (Number(query.get('page') ?? 1) - 1) * this.#size);
    const items = found.slice(from, from + this.#size);
    const more = from + this.#size < found.length;
    const params = new URLSearchParams(query);
    params.set('page', String(Number(query.get('page') ?? 1) + 1));
    const next = `${path}?${params.toString()}`;
    const end = items.at(-1);
    return {
      headers: { date: new Date(Math.floor(this.clock / 1_000) * 1_000).toUTCString(), ...(more && { link: `<${next}>; rel="next"` }) },
      body: {
        items: items.map(({ at: ms, ...row }) => ({ ...row, at: new Date(ms).toISOString() })),
        more,
        total: found.length,
        next: more ? next : null,
        cursor: more && end !== undefined ? JSON.stringify(key(end)) : null,
      },
    };
  }
}

const change = fc.record({
  kind: fc.constantFrom('put', 'put', 'delete'),
  id: fc.nat(15),
  wait: fc.constantFrom(0, 0, 1, 1_500),
});
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never;

it('a list that changes while it is read loses no row and repeats none, whatever its order and the way to its next page', () => {
  fc.assert(
    fc.property(
      fc.record({
        way: fc.constantFrom(...(Object.keys(WAYS) as Way[])),
        order: fc.constantFrom('ascending', 'descending', 'fixed'),
        isSent: fc.boolean(),
        isExclusive: fc.boolean(),
        size: fc.integer({ min: 2, max: 4 }),
        rows: fc.array(change, { minLength: 4, maxLength: 15 }),
        // All rows have one time, of more than a page.
        isCrowded: fc.boolean(),
        // The changes before each request of each listing.
        listings: fc.array(fc.array(fc.array(change, { maxLength: 4 }), { maxLength: 12 }), { minLength: 3, maxLength: 3 }),
      }),
      ({ way, order, isSent, isExclusive, size, rows, isCrowded, listings }) => {
        const pages = WAYS[way];
        const isUnchecked = 'page' in pages || 'link' in pages || 'next' in pages;
        fc.pre(way !== 'last ID' || order === 'fixed');
        fc.pre(order !== 'ascending' || isSent || !isUnchecked);
        const service = new Service(order, size, isSent && isExclusive);
        const stream = itemsStream({
          get: '/items',
          records: '$.items[*]',
          key: '$.id',
          query: isSent ? { since: '{since}' } : {},
          since: { from: '$.at', order, ...(isSent && isExclusive && { overlap: '1s' }) },
          pages,
        });
        // With descending and fixed, a section states that no row leaves the list while it is read by number or address.
        const mayLeave = !isUnchecked || order === 'ascending';
        const apply = (some: readonly Change[], isReading: boolean): void => {
          for (const { kind, id, wait } of some) {
            service.clock += wait;
            if (kind === 'put') service.put(id);
            else if (mayLeave || !isReading) service.rows.delete(id);
          }
        };
        apply(isCrowded ? rows.map((_, id) => ({ kind: 'put', id, wait: 0 })) : rows, false);
        const written: string[] = [];
        let carried: Carried | undefined;
        let begun: ReadonlyMap<number, Row> = new Map();
        for (const during of listings) {
          service.clock += 60_000;
          let asked = 0;
          const answer = (call: Asked): ApiAnswer => {
            apply(during[asked] ?? [], true);
            if (asked === 0) begun = new Map(service.rows);
            asked += 1;
            return service.answer(call);
          };
          const found = listed(stream, { answer, carried, now: NOW });
          // Four times in a row, exactly a page of rows was added before this one. A replay continues such a listing.
          if (found.error?.code === 'HEADGATE_PAGE_REPEATED') return;
          expect(found.error).toBeUndefined();
          carried = found.carried;
          written.push(...(found.written as Row[]).map(({ id, version }) => `${id}/${version}`));
        }
        const all = new Set(written);
        const lost = [...begun.values()].filter((row) => service.rows.get(row.id) === row && !all.has(`${row.id}/${row.version}`));
        expect({ lost, repeated: written.filter((one, i) => written.indexOf(one) !== i) }).toEqual({ lost: [], repeated: [] });
      },
    ),
    { numRuns: RUNS },
  );
});

const rows = Array.from({ length: 5 }, (_, id) => ({ id, at: new Date(Date.UTC(2024, 0, 1, 0, id)).toISOString() }));
const stateOf = (order: string) =>
  itemsStream({
    get: '/items',
    query: { since: '{since}' },
    records: '$.items[*]',
    key: '$.id',
    since: { from: '$.at', order },
    pages: { page: { query: 'page' } },
  });

it('rows of one time on several pages are looked at again, because two may have moved past a page', () => {
  const service = new Service('ascending', 2, false);
  for (let id = 1; id <= 6; id += 1) service.put(id);
  let asked = 0;
  const answer = (call: Asked) => {
    asked += 1;
    // Before page 3 of the time, row 5 moves to page 2. Before page 2 is requested again, to page 1.
    const moved = { 5: [1], 6: [2, 3] }[asked] ?? [];
    service.clock += 1_000;
    for (const id of moved) service.put(id);
    return service.answer(call);
  };
  const found = listed(stateOf('ascending'), { answer, now: NOW }).written as Row[];
  expect(found.map(({ id }) => id).toSorted()).toEqual([1, 1, 2, 2, 3, 3, 4, 5, 6]);
});

it('a long list repeats no row at the edge of a page, although rows come before it', () => {
  const all = Array.from({ length: 12_500 }, (_, id) => ({ id, at: new Date(Date.UTC(2025, 0, 1) - id * 60_000).toISOString() }));
  const answer = ({ query }: Asked) => {
    all.unshift({ id: -all.length, at: new Date(Date.UTC(2025, 0, 2) + all.length).toISOString() });
    return { body: { items: all.slice((Number(query.get('page')) - 1) * 1_000).slice(0, 1_000) } };
  };
  const found = listed(stateOf('descending'), { answer, now: NOW }).written as Row[];
  expect(found).toHaveLength(12_501);
  expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
});

it.each(['ascending', 'descending'])('a page that isn’t %s is refused, although the section says so', (order) => {
  const items = order === 'ascending' ? rows.toReversed() : rows;
  expect(() => listed(stateOf(order), { answer: () => ({ body: { items } }), now: NOW })).toThrow(
    /schema-mismatch.*since\.order: expected records sorted by \$\.at/,
  );
});

it('a service that ignores {since} is found out before it repeats its first page', () => {
  const answer = ({ query }: Asked) => ({ body: { items: rows.slice((Number(query.get('page')) - 1) * 2).slice(0, 2) } });
  expect(() => listed(stateOf('ascending'), { answer, now: NOW })).toThrow(/schema-mismatch.*the service ignores the parameter/);
});

it('a record whose ignored values or whose order of members changes is written once', () => {
  const stream = itemsStream({ get: '/items', since: { from: '$.at', ignore: ['$.url', '$.files[*].url'] } });
  const record = (n: number) => {
    const members = Object.entries({ id: 1, at: rows[0]?.at, url: n, files: [{ url: n, name: 'a' }] });
    return Object.fromEntries(n === 1 ? members : members.toReversed());
  };
  const first = listed(stream, { answer: () => ({ body: [record(1)] }), now: NOW });
  const second = listed(stream, { answer: () => ({ body: [record(2)] }), carried: first.carried, now: NOW });
  const third = listed(stream, { answer: () => ({ body: [{ ...record(2), files: [] }] }), carried: second.carried, now: NOW });
  expect([first, second, third].map(({ written }) => written.length)).toEqual([1, 0, 1]);
});
