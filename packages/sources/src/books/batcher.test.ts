import { virtualClock } from '@headgate/throttle/testing';
import { Subject } from 'rxjs';
import { expect, test } from 'vitest';
import { batcher } from './batcher.ts';
import { openIsbns, type IsbnInput } from './isbn-input.ts';
import { sampleIsbns } from './sample-isbns.fixture.ts';

function gatherer(
  input: IsbnInput,
  maxBatch = 3,
): { clock: ReturnType<typeof virtualClock>; gather: () => Promise<readonly string[] | undefined> } {
  const clock = virtualClock();
  const batches = batcher({ input: openIsbns(input), maxBatch, waitMs: 200, clock });
  return { clock, gather: async () => (await batches.gather())?.map(({ requested }) => requested) };
}

test('a batch goes when it is full, and the last when the input has ended', async () => {
  const isbns = sampleIsbns(7);
  const { clock, gather } = gatherer(isbns);
  expect([await gather(), await gather(), await gather(), await gather()]).toEqual([
    isbns.slice(0, 3),
    isbns.slice(3, 6),
    isbns.slice(6),
    undefined,
  ]);
  expect(clock.pending).toBe(0);
});

test('a batch goes 200 ms after its first ISBN, however long that took to come; what comes later is in the next', async () => {
  const [a = '', b = '', c = ''] = sampleIsbns(3);
  const input = new Subject<string>();
  const { clock, gather } = gatherer(input);
  const first = gather();
  await clock.advance(10_000);
  input.next(a);
  await clock.advance(199);
  input.next(b);
  await clock.advance(1);
  expect(await first).toEqual([a, b]);
  const second = gather();
  await clock.advance(50);
  input.next(c);
  input.complete();
  expect(await second).toEqual([c]);
  expect(await gather()).toBeUndefined();
});

test('no further than the batch is read', async () => {
  let read = 0;
  const isbns = sampleIsbns(10);
  const { gather } = gatherer(
    (function* () {
      for (const isbn of isbns) {
        read += 1;
        yield isbn;
      }
    })(),
  );
  await gather();
  expect(read).toBe(3);
});

test('what needs no request takes no place in a batch, but doesn’t make it endless', async () => {
  const [a = '', b = '', c = '', d = ''] = sampleIsbns(4);
  expect(await gatherer([a, a, 'nonsense', b, c, d]).gather()).toEqual([a, a, 'nonsense', b, c]);
  expect(await gatherer([a, a, a, a, a, a, a, a, b]).gather()).toHaveLength(6);
  expect(await gatherer(Array.from({ length: 1_000 }, () => 'nonsense')).gather()).toHaveLength(6);
});

test('an error of the input comes after what came before it', async () => {
  const [a = ''] = sampleIsbns(1);
  const { gather } = gatherer(
    (function* () {
      yield a;
      throw new Error('torn');
    })(),
  );
  expect(await gather()).toEqual([a]);
  await expect(gather()).rejects.toThrow('torn');
});
