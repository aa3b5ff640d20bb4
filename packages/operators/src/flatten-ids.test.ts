import { EMPTY, from, of, take, throwError, toArray } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { expect, test } from 'vitest';
import { flattenIds, idsOf } from './flatten-ids.ts';

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
