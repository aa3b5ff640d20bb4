import { EMPTY, from, of, take, throwError, toArray } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { expect, test } from 'vitest';
import { flattenIds, idsOf } from './flatten-ids.ts';
import type { OperatorError } from './operator-error.ts';

const page = { user: '@alpha', crawl: 'c1', page: 3, cursor: '-1', ids: ['18446744073709551615', '2', '2'] };

test('every ID of a page becomes its own record, in order, including repeated ones', () => {
  expect(idsOf(page)).toEqual([
    { user: '@alpha', crawl: 'c1', page: 3, id: '18446744073709551615' },
    { user: '@alpha', crawl: 'c1', page: 3, id: '2' },
    { user: '@alpha', crawl: 'c1', page: 3, id: '2' },
  ]);
});

test('pages become ids as they come; an empty one gives none', () => {
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(({ cold, expectObservable }) => {
    const empty = { ...page, ids: [] };
    const [a, b] = idsOf(page);
    expectObservable(cold('-p----e--p----|', { p: page, e: empty }).pipe(flattenIds())).toBe('-(abb)---(abb)|', { a, b });
  });
});

test('no page is requested while downstream has enough of the previous one', () => {
  let asked = 0;
  const pages = function* () {
    while (asked < 1000) {
      asked += 1;
      yield page;
    }
  };
  const seen: string[] = [];
  from(pages())
    .pipe(flattenIds(), take(4))
    .subscribe(({ id }) => seen.push(id));
  expect([seen.length, asked]).toEqual([4, 2]);
});

test.each<[string, unknown, string]>([
  ['a number', [1], 'not the number 1: numbers lose digits'],
  ['a bigint', ['1', 2n], 'not the bigint 2: numbers lose digits'],
  ['an object', [{ id: '1' }], 'not a value of type object: numbers lose digits'],
  ['a hole', Array.from({ length: 1 }), 'not a value of type undefined: numbers lose digits'],
])('refused is a page with %s', (_, ids, message) => {
  const refused = { ...page, ids: ids as string[] };
  expect(() => idsOf(refused)).toThrow(expect.objectContaining({ code: 'HEADGATE_INVALID_ID', message: expect.stringContaining(message) }));
  const seen: unknown[] = [];
  of(refused)
    .pipe(flattenIds())
    .subscribe({ error: ({ code }: OperatorError) => seen.push(code) });
  expect(seen).toEqual(['HEADGATE_INVALID_ID']);
});

test('ends and errors pass', () => {
  const seen: unknown[] = [];
  EMPTY.pipe(flattenIds(), toArray()).subscribe((all) => seen.push(all));
  throwError(() => 'broken')
    .pipe(flattenIds())
    .subscribe({ error: (error: unknown) => seen.push(error) });
  of(page)
    .pipe(flattenIds(), toArray())
    .subscribe((all) => seen.push(all.length));
  expect(seen).toEqual([[], 'broken', 3]);
});
