import { from } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { expect, test } from 'vitest';
import { dropBoundaryDuplicates } from './boundary-duplicates.ts';

test('pages pass as they come, without what they repeat', () => {
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(({ cold, expectObservable, expectSubscriptions }) => {
    const pages = cold('-a-b--c-|', { a: { ids: ['1', '2'] }, b: { ids: ['2', '3'] }, c: { ids: ['4'] } });
    const expected = { a: { ids: ['1', '2'] }, b: { ids: ['3'] }, c: { ids: ['4'] } };
    expectObservable(pages.pipe(dropBoundaryDuplicates())).toBe('-a-b--c-|', expected);
    expectSubscriptions(pages.subscriptions).toBe('^-------!');
  });
});

test("opened with its last state, it continues as if it hadn't stopped; each subscription starts fresh", () => {
  const drop = dropBoundaryDuplicates();
  const first = drop.open();
  const pages = [{ ids: ['1', '2'] }, { ids: ['2', '3'] }].flatMap((page) => [...first.next(page)]);
  expect(pages).toEqual([{ ids: ['1', '2'] }, { ids: ['3'] }]);
  expect(first.state?.()).toEqual({ tail: ['1', '2', '3'] });
  expect([...drop.open(first.state?.()).next({ ids: ['3', '4'] })]).toEqual([{ ids: ['4'] }]);

  const seen: unknown[] = [];
  for (const stream of [from([{ ids: ['3'] }]), from([{ ids: ['3'] }])]) stream.pipe(drop).subscribe((page) => seen.push(page));
  expect(seen).toEqual([{ ids: ['3'] }, { ids: ['3'] }]);
});

test('a checkpoint keeps its state under its name', () => expect(dropBoundaryDuplicates().name).toBe('dropBoundaryDuplicates'));

test('invalid options are refused before a crawl starts', () => {
  expect(() => dropBoundaryDuplicates({ maxOverlap: 0 })).toThrow('maxOverlap of boundaryDuplicates must be a whole number from 1');
});
