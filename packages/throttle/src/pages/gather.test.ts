import { expect, test } from 'vitest';
import { virtualClock } from '../testing/index.ts';
import { Batcher } from './gather.ts';

function threes(values: AsyncIterator<number, undefined> | Iterator<number, undefined>) {
  const clock = virtualClock();
  const read = async () => {
    const { value } = await values.next();
    return value === undefined ? undefined : [value];
  };
  return { clock, batches: new Batcher(read, ({ length }) => length === 3, 200, clock) };
}

/** Creates an iterator whose values the test provides one by one. */
function given() {
  const waiting: ((value: number) => void)[] = [];
  const values = {
    next: () => new Promise<IteratorResult<number, undefined>>((resolve) => waiting.push((value) => resolve({ done: false, value }))),
  };
  return { values, give: (value: number) => waiting.shift()?.(value) };
}

test('a batch is whole when it is full, and the last one when the values have ended', async () => {
  const { clock, batches } = threes([1, 2, 3, 4][Symbol.iterator]());
  expect([await batches.next(), await batches.next(), await batches.next(), await batches.next()]).toEqual([
    [1, 2, 3],
    [4],
    undefined,
    undefined,
  ]);
  expect(clock.pending).toBe(0);
});

test('a batch is whole 200 ms after its first value, however long that took; a later value is in the next', async () => {
  const { values, give } = given();
  const { clock, batches } = threes(values);
  const first = batches.next();
  await clock.advance(10_000);
  give(1);
  await clock.advance(199);
  give(2);
  await clock.advance(1);
  expect(await first).toEqual([1, 2]);
  const second = batches.next();
  await clock.advance(50);
  give(3);
  await clock.advance(200);
  expect(await second).toEqual([3]);
});

test('no further than the batch is read', async () => {
  let reads = 0;
  const { batches } = threes({ next: () => ({ done: false, value: (reads += 1) }) });
  await batches.next();
  expect(reads).toBe(3);
});

test('values that arrived together are in order, across batches, without another read', async () => {
  let reads = 0;
  const read = async () => ((reads += 1), reads === 1 ? [1, 2, 3, 4, 5] : undefined);
  const batches = new Batcher(read, ({ length }) => length === 2, 200, virtualClock());
  expect([await batches.next(), await batches.next(), reads]).toEqual([[1, 2], [3, 4], 1]);
  expect([await batches.next(), reads]).toEqual([[5], 2]);
});

test('an error comes after the values before it, and again', async () => {
  const { batches } = threes(
    (function* () {
      yield 1;
      throw new Error('torn');
    })(),
  );
  expect(await batches.next()).toEqual([1]);
  await expect(batches.next()).rejects.toThrow('torn');
  await expect(batches.next()).rejects.toThrow('torn');
});

test('a value that comes after its batch was whole is in the rest', async () => {
  expect(await threes([][Symbol.iterator]()).batches.rest()).toEqual([]);
  const { values, give } = given();
  const { clock, batches } = threes(values);
  const first = batches.next();
  give(1);
  await clock.advance(200);
  expect(await first).toEqual([1]);
  const rest = batches.rest();
  give(2);
  expect(await rest).toEqual([2]);
});
