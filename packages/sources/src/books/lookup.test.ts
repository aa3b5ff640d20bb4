import { creditPool, type PageStream } from '@headgate/throttle';
import { type VirtualClock, virtualClock } from '@headgate/throttle/testing';
import fc from 'fast-check';
import { NEVER, Subject, firstValueFrom, lastValueFrom, of, take, toArray } from 'rxjs';
import { expect, test } from 'vitest';
import type { Limit } from '../source-options.ts';
import type { IsbnInput } from './isbn-input.ts';
import { EarlyItems, lookup as lookUp, type QueryBatch } from './lookup.ts';
import { matchRecords } from './match-records.ts';
import { type BatchEntry, isbnsToSend } from './query.ts';
import type { BookAnswer } from './results.ts';
import { sampleIsbns } from './sample-isbns.fixture.ts';
import { waitForCredit } from './wait-for-credit.ts';

interface Options {
  readonly isbns: IsbnInput;
  readonly maxBatch: number;
  readonly batchWaitMs: number;
  readonly limit: Limit;
  readonly early: EarlyItems;
  readonly clock: VirtualClock;
  readonly queryBatch: QueryBatch;
}

function lookup({ isbns, early, queryBatch, ...options }: Options): PageStream<BookAnswer> {
  return lookUp(isbns, undefined, options, early, queryBatch);
}

interface Desk {
  readonly options: Options;
  readonly clock: VirtualClock;
  readonly batches: string[][];
  readonly walks: Set<object>;
  inFlight: number;
  mostInFlight: number;
}

/**
 * Creates options of a lookup at a service that knows every ISBN, responds after `answerMs`, and fails at the batch with number `failsAt`.
 */
function desk(isbns: IsbnInput, { answerMs = 0, parallel = 1, maxBatch = 10, failsAt = 0 } = {}): Desk {
  const clock = virtualClock();
  const queryBatch: QueryBatch = async (entries: readonly BatchEntry[], { credits, signal = new AbortController().signal, walk = {} }) => {
    self.walks.add(walk);
    const query = { kind: 'batch' as const, entries };
    const credit = await waitForCredit(entries.length, { credits, signal });
    self.batches.push([...isbnsToSend(query)]);
    const number = self.batches.length;
    self.inFlight += 1;
    self.mostInFlight = Math.max(self.mostInFlight, self.inFlight);
    try {
      await new Promise<void>((resolve, reject) => {
        const cancel = clock.schedule(answerMs, resolve);
        signal.addEventListener('abort', () => {
          cancel();
          reject(signal.reason);
        });
      });
      if (number === failsAt) throw new Error(`batch ${number} failed`);
      return {
        value: matchRecords(
          query,
          isbnsToSend(query).map((isbn13) => ({ isbn13 })),
        ).answers,
        credit,
      };
    } catch (error) {
      credit.release();
      throw error;
    } finally {
      self.inFlight -= 1;
    }
  };
  const self: Desk = {
    clock,
    batches: [],
    walks: new Set(),
    inFlight: 0,
    mostInFlight: 0,
    options: {
      isbns,
      maxBatch,
      batchWaitMs: 200,
      limit: { requests: parallel, windowMs: 1_000 },
      early: new EarlyItems(),
      clock,
      queryBatch,
    },
  };
  return self;
}

test('every requested ISBN is answered once and in order, whatever the batches, by each of the three shapes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.integer({ min: 0, max: 20 }), fc.constant(-1)), { maxLength: 60, size: 'max' }),
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 4 }),
      async (numbers, maxBatch, parallel) => {
        const samples = sampleIsbns(21);
        const requested = numbers.map((n) => samples[n] ?? 'nonsense');
        const expected = requested.map((isbn) => [isbn === 'nonsense' ? 'invalid' : 'found', isbn]);
        const { options, clock } = desk(requested, { maxBatch, parallel, answerMs: 5 });
        const said = (answers: readonly BookAnswer[]): unknown => answers.map(({ kind, requested: isbn }) => [kind, isbn]);
        const pushed = lastValueFrom(lookup(options).pipe(toArray()));
        const drained = lastValueFrom(
          lookup(options)
            .drain((answer) => of(answer), { maxOutstanding: maxBatch * 2 })
            .pipe(toArray()),
        );
        const pulled = pull(lookup(options));
        await clock.advance(10_000);
        expect(said(await pushed)).toEqual(expected);
        expect(said(await drained)).toEqual(expected);
        expect(said(await pulled)).toEqual(expected);
        expect(clock.pending).toBe(0);
      },
    ),
    { numRuns: 30 },
  );
});

test('as many batches are in flight as the budget’s window may take, once a consumer takes them', async () => {
  const one = desk(sampleIsbns(200), { answerMs: 100 });
  const five = desk(sampleIsbns(200), { answerMs: 100, parallel: 5 });
  for (const { options, clock } of [one, five]) {
    const all = lastValueFrom(
      lookup(options)
        .drain((answer) => of(answer))
        .pipe(toArray()),
    );
    await clock.advance(10_000);
    expect(await all).toHaveLength(200);
  }
  expect([one.mostInFlight, five.mostInFlight]).toEqual([1, 5]);
});

test('who takes one answer and leaves spends one request, and the input is read no further than its batch', async () => {
  let read = 0;
  let closed = false;
  const isbns = sampleIsbns(100);
  const { options, batches, clock } = desk(
    (function* () {
      try {
        for (const isbn of isbns) {
          read += 1;
          yield isbn;
        }
      } finally {
        closed = true;
      }
    })(),
    { parallel: 5 },
  );
  const first = firstValueFrom(lookup(options).pipe(take(1)));
  await clock.advance(1_000);
  expect(await first).toMatchObject({ kind: 'found', requested: isbns[0] });
  expect({ read, closed, batches: batches.length }).toEqual({ read: 10, closed: true, batches: 1 });
});

test('a stalled downstream stops the requests at the credit it has; nothing more is read or requested in an hour', async () => {
  const credits = creditPool({ max: 25 });
  const { options, batches, clock } = desk(sampleIsbns(1_000), { parallel: 5, answerMs: 100 });
  const subscription = lookup(options)
    .drain(() => NEVER, { credits })
    .subscribe();
  await clock.advance(3_600_000);
  expect(batches).toHaveLength(2);
  expect(credits.outstanding).toBe(20);
  subscription.unsubscribe();
  expect(credits.outstanding).toBe(0);
});

test('each answer gives back its own room', async () => {
  const credits = creditPool({ max: 25 });
  const { options, clock } = desk(sampleIsbns(10));
  const acknowledgements = new Subject<void>();
  const subscription = lookup(options)
    .drain(() => acknowledgements.pipe(take(1)), { credits })
    .subscribe();
  await clock.advance(1_000);
  expect(credits.outstanding).toBe(10);
  acknowledgements.next();
  await clock.settle();
  expect(credits.outstanding).toBe(9);
  subscription.unsubscribe();
  expect(credits.outstanding).toBe(0);
});

test('a batch that fails ends the lookup after the answers before it; the others are aborted and give their room back', async () => {
  const credits = creditPool({ max: 1_000 });
  const { options, clock } = desk(sampleIsbns(100), { parallel: 5, answerMs: 100, failsAt: 3 });
  const taken: BookAnswer[] = [];
  let failure: unknown;
  lookup(options)
    .drain((answer) => of(answer), { credits })
    .subscribe({ next: (answer) => taken.push(answer), error: (error: unknown) => (failure = error) });
  await clock.advance(10_000);
  expect(taken).toHaveLength(20);
  expect(failure).toEqual(new Error('batch 3 failed'));
  expect({ outstanding: credits.outstanding, pending: clock.pending }).toEqual({ outstanding: 0, pending: 0 });
});

test('unsubscribing at any instant leaves no room taken, no timer and no request', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 700 }), fc.integer({ min: 1, max: 5 }), async (atMs, parallel) => {
      const credits = creditPool({ max: 1_000 });
      const input = new Subject<string>();
      const work = desk(input, { parallel, answerMs: 100 });
      const { options, clock } = work;
      const subscription = lookup(options)
        .drain((answer) => of(answer), { credits })
        .subscribe();
      for (const [i, isbn] of sampleIsbns(60).entries()) clock.schedule(i * 10, () => input.next(isbn));
      await clock.advance(atMs);
      subscription.unsubscribe();
      await clock.advance(10_000);
      expect({ outstanding: credits.outstanding, pending: clock.pending, inFlight: work.inFlight, observed: input.observed }).toEqual({
        outstanding: 0,
        pending: 0,
        inFlight: 0,
        observed: false,
      });
    }),
    { numRuns: 40 },
  );
});

test('a reader that is aborted between two reads gives back what was not handed over, and what comes too late', async () => {
  const credits = creditPool({ max: 1_000 });
  const { options, clock } = desk(sampleIsbns(40), { parallel: 3 });
  let requested = 0;
  // Ignores the signal, like a response that arrived just before the abort.
  const queryBatch: QueryBatch = (entries, { credits: room, walk = {} }) => {
    requested += 1;
    const slow = requested === 2 ? 1_000 : 0;
    return options.queryBatch(entries, { credits: room, signal: new AbortController().signal, walk }).then(async (delivery) => {
      await new Promise<void>((resolve) => clock.schedule(slow, resolve));
      return delivery;
    });
  };
  const abort = new AbortController();
  const reader = lookup({ ...options, queryBatch }).reader({ credits, signal: abort.signal });
  const [first] = await Promise.all([reader.read(), clock.advance(1)]);
  for (const { credit } of first ?? []) credit.release();
  expect(credits.outstanding).toBe(0);
  const second = expect(reader.read()).rejects.toThrow('enough');
  await clock.advance(1);
  // The third batch has arrived and waits for the second.
  expect([requested, credits.outstanding]).toEqual([3, 20]);
  abort.abort(new Error('enough'));
  await second;
  expect(credits.outstanding).toBe(10);
  await clock.advance(1_000);
  expect(credits.outstanding).toBe(0);
  await expect(reader.read()).rejects.toThrow('enough');

  const late = new AbortController();
  requested = 1;
  const reading = lookup({ ...options, isbns: sampleIsbns(40), queryBatch })
    .reader({ credits, signal: late.signal })
    .read();
  await clock.advance(500);
  expect(credits.outstanding).toBe(10);
  late.abort(new Error('enough'));
  await expect(reading).rejects.toThrow('enough');
  await clock.advance(1_000);
  expect(credits.outstanding).toBe(0);
});

test("an ISBN that needs no request takes no place in a batch, but doesn't make it endless", async () => {
  const [a = '', b = '', c = '', d = ''] = sampleIsbns(4);
  const sizes = async (isbns: readonly string[]): Promise<number[]> => {
    const { options, batches, clock } = desk(isbns, { maxBatch: 3 });
    const asked: number[] = [];
    const queryBatch: QueryBatch = (entries, given) => (asked.push(entries.length), options.queryBatch(entries, given));
    const ends = lastValueFrom(lookup({ ...options, queryBatch }));
    await clock.advance(1_000);
    await ends;
    expect(batches.length).toBe(asked.length);
    return asked;
  };
  expect(await sizes([a, a, 'nonsense', b, c, d])).toEqual([5, 1]);
  expect(await sizes([a, a, a, a, a, a, a, a, b])).toEqual([6, 3]);
  expect(await sizes(Array.from({ length: 13 }, () => 'nonsense'))).toEqual([6, 6, 1]);
});

test('an error of the input comes after the answers before it', async () => {
  const isbns = sampleIsbns(15);
  const { options, clock } = desk(
    (function* () {
      yield* isbns;
      throw new Error('torn');
    })(),
  );
  const taken: string[] = [];
  const walk = (async () => {
    for await (const { requested } of lookup(options)) taken.push(requested ?? '');
  })();
  const failed = expect(walk).rejects.toThrow('torn');
  await clock.advance(1_000);
  await failed;
  expect(taken).toEqual(isbns);
});

test('lookups that share little room never block each other, though batches overtake each other and are retried', async () => {
  await fc.assert(
    fc.asyncProperty(fc.infiniteStream(fc.integer({ min: 0, max: 300 })), fc.integer({ min: 5, max: 90 }), async (delays, max) => {
      const credits = creditPool({ max });
      const { options, clock } = desk([], { parallel: 5 });
      // Batches take random times, so that they overtake each other. Each batch with an odd number of ISBNs returns its credit once and
      // reserves it again.
      const queryBatch: QueryBatch = async (entries, { credits: room, signal }) => {
        for (const again of [true, false]) {
          const credit = await waitForCredit(entries.length, { credits: room, signal });
          await new Promise<void>((resolve) => clock.schedule(delays.next().value ?? 0, resolve));
          if (!again || entries.length % 2 === 0)
            return { value: entries.map(({ requested }) => ({ kind: 'missing', requested, isbn: requested })), credit };
          credit.release();
          await new Promise<void>((resolve) => clock.schedule(delays.next().value ?? 0, resolve));
        }
        throw new Error('unreachable');
      };
      const repeated = sampleIsbns(40).flatMap((isbn, i) => Array.from({ length: 1 + (i % 3) }, () => isbn));
      const walks = [1, 2, 3].map(() =>
        lastValueFrom(
          lookup({ ...options, isbns: repeated, queryBatch })
            .drain((answer) => of(answer), { credits })
            .pipe(toArray()),
        ),
      );
      await clock.advance(60_000);
      expect(credits.outstanding).toBe(0);
      for (const walk of walks) expect((await walk).map(({ requested }) => requested)).toEqual(repeated);
    }),
    { numRuns: 60 },
  );
});

async function pull<T>(answers: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const answer of answers) all.push(answer);
  return all;
}

test('a lookup is one walk, however many batches it requests, and another one is another', async () => {
  const one = desk(sampleIsbns(50), { parallel: 3 });
  for (const walks of [1, 2]) {
    const looked = lastValueFrom(lookup(one.options).pipe(toArray()));
    await one.clock.advance(1_000);
    expect(await looked).toHaveLength(50);
    expect(one.walks.size).toBe(walks);
  }
});

test('a lookup that is given up leaves its early capacity to the next one', async () => {
  const credits = creditPool({ max: 100 });
  const work = desk(sampleIsbns(200), { parallel: 5, answerMs: 100 });
  const start = () =>
    lookup(work.options)
      .drain((answer) => of(answer), { credits })
      .subscribe();
  const first = start();
  await work.clock.advance(250);
  first.unsubscribe();
  await work.clock.advance(1_000);
  work.mostInFlight = 0;
  start();
  await work.clock.advance(10_000);
  expect(work.mostInFlight).toBe(5);
});
