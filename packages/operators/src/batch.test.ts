import * as fc from 'fast-check';
import { from, range, Subject, take, toArray, VirtualTimeScheduler } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { batch } from './batch.ts';

const values = { x: ['a', 'b'], y: ['c'] };

describe('a batch goes', () => {
  test('when it is full, and what is left at the end', () => {
    new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(({ cold, expectObservable }) => {
      expectObservable(cold('-a-b-c|').pipe(batch({ size: 2, maxWaitMs: 100 }))).toBe('---x--(y|)', values);
    });
  });

  test('when its first item has waited long enough, counted from that item', () => {
    new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(({ cold, expectObservable }) => {
      const items = cold('--a-b-------c---------d-|');
      expectObservable(items.pipe(batch({ size: 9, maxWaitMs: 5 }))).toBe('-------x---------y------(z|)', { ...values, z: ['d'] });
    });
  });

  test('and the wait of a full one is over', () => {
    new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(({ cold, expectObservable }) => {
      expectObservable(cold('ab---c-----|').pipe(batch({ size: 2, maxWaitMs: 4 }))).toBe('-x-------y-|', values);
    });
  });

  test('when its first item has waited long enough by the given scheduler', () => {
    const scheduler = new VirtualTimeScheduler();
    const items = new Subject<string>();
    const batches: (readonly [atMs: number, items: readonly string[]])[] = [];
    items.pipe(batch({ size: 9, maxWaitMs: 86_400_000, scheduler })).subscribe((full) => batches.push([scheduler.now(), full]));
    items.next('a');
    items.next('b');
    expect(batches).toEqual([]);
    scheduler.flush();
    expect(batches).toEqual([[86_400_000, ['a', 'b']]]);
  });

  test('only when it is full if it may wait forever', () => {
    new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(({ cold, expectObservable }) => {
      expectObservable(cold('a 900m b 900m c |').pipe(batch({ size: 2, maxWaitMs: Infinity }))).toBe('- 900m x 900m - (y|)', values);
    });
  });
});

test('no items give no batch', () => {
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(({ cold, expectObservable }) => {
    expectObservable(cold('---|').pipe(batch({ size: 2, maxWaitMs: 1 }))).toBe('---|');
  });
});

test('an error passes at once and drops what waits', () => {
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(({ cold, expectObservable }) => {
    expectObservable(cold('-a-#').pipe(batch({ size: 2, maxWaitMs: 100 }))).toBe('---#');
  });
});

test('cancelling ends the items and the timer', () => {
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(({ cold, expectObservable, expectSubscriptions }) => {
    const items = cold('-a-------b');
    expectObservable(items.pipe(batch({ size: 2, maxWaitMs: 5 })), '---!').toBe('----');
    expectSubscriptions(items.subscriptions).toBe('^--!');
  });
});

test('no timer outlives its batch, by the clock of this machine too', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const seen: string[][] = [];
  const items = new Subject<string>();
  const subscription = items.pipe(batch({ size: 2, maxWaitMs: 5 })).subscribe((full) => seen.push(full));
  const timers = ['a', 'b', 'c'].map((item) => {
    items.next(item);
    return vi.getTimerCount();
  });
  vi.advanceTimersByTime(5);
  timers.push(vi.getTimerCount());
  items.next('d');
  subscription.unsubscribe();
  expect([...timers, vi.getTimerCount()]).toEqual([1, 0, 1, 0, 0]);
  expect([seen, items.observed]).toEqual([[['a', 'b'], ['c']], false]);
});

test('items that arrive during subscription are read only as far as downstream requests', () => {
  let read = 0;
  const endless = function* () {
    while (read < 1000) {
      read += 1;
      yield read;
    }
  };
  const seen: number[][] = [];
  from(endless())
    .pipe(batch({ size: 3, maxWaitMs: 1 }), take(2))
    .subscribe((items) => seen.push(items));
  expect([seen, read]).toEqual([
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    6,
  ]);
});

test('an item pushed from within a batch begins the next one', () => {
  const items = new Subject<number>();
  const seen: number[][] = [];
  items.pipe(batch({ size: 2, maxWaitMs: Infinity })).subscribe((full) => {
    seen.push(full);
    if (seen.length < 3) {
      items.next(seen.length * 10);
      items.next(seen.length * 10 + 1);
    }
  });
  items.next(1);
  items.next(2);
  expect(seen).toEqual([
    [1, 2],
    [10, 11],
    [20, 21],
  ]);
});

test('items in are items out, in order, never more than fit', () => {
  fc.assert(
    fc.property(fc.nat(200), fc.integer({ min: 1, max: 20 }), (count, size) => {
      let batches: number[][] = [];
      range(0, count)
        .pipe(batch({ size, maxWaitMs: 10 }), toArray())
        .subscribe((all) => (batches = all));
      expect(batches.flat()).toEqual(Array.from({ length: count }, (_, index) => index));
      expect(batches.slice(0, -1).every((one) => one.length === size)).toBe(true);
      expect(batches.every((one) => one.length > 0 && one.length <= size)).toBe(true);
    }),
  );
});

test.each([
  [{ size: 0, maxWaitMs: 1 }, 'Option size of batch must be a whole number from 1, got 0.'],
  [{ size: 1.5, maxWaitMs: 1 }, 'Option size of batch must be a whole number from 1, got 1.5.'],
  [{ size: 1, maxWaitMs: -1 }, 'Option maxWaitMs of batch must be a number from 0 to 2147483647, got -1.'],
  [{ size: 1, maxWaitMs: Number.NaN }, 'Option maxWaitMs of batch must be a number from 0 to 2147483647, got NaN.'],
  [{ size: 1, maxWaitMs: 2 ** 31 }, 'Option maxWaitMs of batch must be a number from 0 to 2147483647, got 2147483648.'],
])('%j is refused', (options, message) => {
  expect(() => batch(options)).toThrow(message);
});
