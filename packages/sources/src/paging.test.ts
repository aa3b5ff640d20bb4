import type { Json } from '@headgate/throttle';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { cursorParameter, nextAddress, nextLink, type NextPage, offsets, pageNumbers, type Paging } from './paging.ts';

function queriesOf<Query, Page, Cursor extends NonNullable<Json>>(paging: Paging<Query, Page, Cursor>, pages: readonly Page[]): Query[] {
  const queries: Query[] = [];
  let at: { readonly cursor: Cursor } | 'last' = { cursor: paging.first };
  for (const page of pages) {
    if (at === 'last') throw new Error('a page after the last one');
    queries.push(paging.query(at.cursor));
    at = paging.next(page, at.cursor);
  }
  expect(at).toBe('last');
  return queries;
}

test('nextAddress goes to the address that each page holds, after its own first query', () => {
  const paging = nextAddress({ first: '/items', query: (url) => url, next: (page: { next: string | null }) => page.next });
  expect(queriesOf(paging, [{ next: '/items?2' }, { next: '/items?3' }, { next: null }])).toEqual(['/items', '/items?2', '/items?3']);
});

describe('nextLink goes to the address of a Link header', () => {
  const next = (link: string | undefined, rel?: string): string | undefined => {
    const paging = nextLink({
      first: '',
      query: (url) => url,
      link: (page: string | undefined) => page,
      ...(rel !== undefined && { rel }),
    });
    const given = paging.next(link, '');
    return given === 'last' ? undefined : given.cursor;
  };
  test.each<[header: string | undefined, address: string | undefined]>([
    ['<https://a.example/?page=2>; rel="next"', 'https://a.example/?page=2'],
    ['<https://a.example/?page=1>; rel="prev", <https://a.example/?page=3>; rel="next"', 'https://a.example/?page=3'],
    ['</items?ids=1,2;x>; rel=next', '/items?ids=1,2;x'],
    ['<2>; title="a, <b>; rel=next"; rel="last", <3>; REL="Next archives"', '3'],
    ['<2>; rel="last"; rel="next"', undefined],
    ['<2>; title="an \\"next\\" one"; rel = next', '2'],
    ['<2>; rel="next', undefined],
    ['<2>; nofollow; rel=next', '2'],
    ['<2>', undefined],
    ['nothing of the kind', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%s: %s', (header, address) => {
    expect(next(header)).toBe(address);
  });

  test('with another relation, where it is named', () => {
    expect(next('<2>; rel="next", <1>; rel="prev"', 'prev')).toBe('1');
  });

  test('however long and malformed it is', () => {
    for (const part of ['<', '<a>;', '<a>; rel="', ';a=', '<a>; a="\\']) expect(next(part.repeat(20_000))).toBeUndefined();
  });
});

test('cursorParameter sends the cursor of the page before, and ends at none, at an empty one and at the one that means the end', () => {
  const paging = cursorParameter({ query: (cursor) => cursor ?? 'none', next: (page: string | null | undefined) => page, end: '0' });
  for (const end of [null, undefined, '', '0']) expect(queriesOf(paging, ['a', 'b', end])).toEqual(['none', 'a', 'b']);
});

test('pageNumbers counts from the first page of the service to its last', () => {
  const isLast = (pages: number, number: number): boolean => number >= pages;
  expect(queriesOf(pageNumbers({ query: String, isLast }), [3, 3, 3])).toEqual(['1', '2', '3']);
  expect(queriesOf(pageNumbers({ query: String, isLast, first: 0 }), [2, 2, 2])).toEqual(['0', '1', '2']);
});

test('offsets counts items, short pages too, to the total or to an empty page', () => {
  const items = ([count = 0]: readonly number[]): number => count;
  expect(queriesOf(offsets({ query: String, items }), [[10], [7], [10], [0]])).toEqual(['0', '10', '17', '27']);
  const total = ([, all]: readonly number[]): number | undefined => all;
  const counted = [[10, 20], [7], [3, 20]];
  expect(queriesOf(offsets({ query: String, items, total }), counted)).toEqual(['0', '10', '17']);
  expect(queriesOf(offsets({ query: String, items, first: 5 }), [[2], [0]])).toEqual(['5', '7']);
});

test('a paging without an end, or whose end is null or undefined, does not compile', () => {
  interface Page {
    readonly next: string | null;
    readonly after?: string;
  }
  type Ours = Paging<string, Page, string>;
  const common = { first: '', query: (cursor: string) => cursor };
  // @ts-expect-error -- null doesn't mean the last page.
  const bare: Ours = { ...common, next: (page: Page) => page.next };
  // @ts-expect-error -- null isn't a cursor.
  const wrapped: Ours = { ...common, next: (page: Page) => ({ cursor: page.next }) };
  // @ts-expect-error -- undefined isn't a cursor.
  const absent: Ours = { ...common, next: (page: Page) => ({ cursor: page.after }) };
  // @ts-expect-error -- undefined doesn't mean the last page.
  const nothing: Ours = { ...common, next: (page: Page) => (page.next === null ? undefined : { cursor: page.next }) };
  // @ts-expect-error -- `next` can't return a promise.
  const late: Ours = { ...common, next: async () => await Promise.resolve('last' as const) };
  // @ts-expect-error -- JSON has no dates.
  const dated = (paging: Paging<string, Page, Date>): unknown => paging;
  // @ts-expect-error -- null isn't a cursor.
  const empty = (paging: Paging<string, Page, null>): unknown => paging;
  const right: Ours = { ...common, next: (page) => (page.next === null ? 'last' : { cursor: page.next }) };
  expectTypeOf<ReturnType<typeof right.next>>().toEqualTypeOf<NextPage<string> | 'last'>();
  expect([bare, wrapped, absent, nothing, late, dated, empty]).toHaveLength(7);
});
