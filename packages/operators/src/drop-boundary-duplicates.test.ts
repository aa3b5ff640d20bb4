import { from, map, toArray } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { expect, test } from 'vitest';
import { dropBoundaryDuplicates } from './drop-boundary-duplicates.ts';

test('pages pass as they come, without what they repeat', () => {
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(({ cold, expectObservable, expectSubscriptions }) => {
    const pages = cold('-a-b--c-|', { a: { ids: ['1', '2'] }, b: { ids: ['2', '3'] }, c: { ids: ['4'] } });
    const expected = { a: { ids: ['1', '2'] }, b: { ids: ['3'] }, c: { ids: ['4'] } };
    expectObservable(pages.pipe(dropBoundaryDuplicates())).toBe('-a-b--c-|', expected);
    expectSubscriptions(pages.subscriptions).toBe('^-------!');
  });
});

test('the state after each page goes on in another operator, and a second subscription goes on too', () => {
  const first = dropBoundaryDuplicates();
  const states: unknown[] = [];
  from([{ ids: ['1', '2'] }, { ids: ['2', '3'] }])
    .pipe(
      first,
      map(() => first.state()),
    )
    .subscribe((state) => states.push(state));
  expect(states).toEqual([{ tail: ['1', '2'] }, { tail: ['1', '2', '3'] }]);

  const rest = from([{ ids: ['3', '4'] }]);
  const seen: unknown[] = [];
  rest.pipe(dropBoundaryDuplicates({ state: first.state() }), toArray()).subscribe((pages) => seen.push(pages));
  rest.pipe(first, toArray()).subscribe((pages) => seen.push(pages));
  expect(seen).toEqual([[{ ids: ['4'] }], [{ ids: ['4'] }]]);
});
