import fc from 'fast-check';
import { defer, lastValueFrom, NEVER, of, range, take, toArray } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { describe, expect, it } from 'vitest';
import { type CreditPool, creditPool } from '../admission/credit-pool.ts';
import { PageStream } from './page-stream.ts';
import { type Transform, transform } from './transform.ts';
import { scriptedWalk } from './scripted-walk.fixture.ts';

const flatten = <T>(): Transform<readonly T[], T> => transform({ name: 'flatten', open: () => ({ next: (values) => values }) });
/** A transform with state: repeats each value as often as its remainder by 3, but drops a value that is equal to the one before. */
const uneven = (): Transform<number> =>
  transform<number>({
    name: 'uneven',
    open: () => {
      let before: number | undefined;
      return {
        next(value) {
          const isRepeat = value === before;
          before = value;
          return isRepeat ? [] : Array.from({ length: value % 3 }, () => value);
        },
      };
    },
  });
const failsAt = (bad: number): Transform<number> =>
  transform<number>({
    name: 'failsAt',
    open: () => ({
      *next(value) {
        if (value === bad) throw new Error(`${value} is bad`);
        yield value;
      },
    }),
  });
const pagesOf = (...pages: readonly (readonly number[])[]) => scriptedWalk(pages).stream;
const left = new Error('no longer wanted');
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('PageStream.through', () => {
  it('gives the values of .pipe, in each of its shapes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(fc.nat(6), { maxLength: 6 }), { maxLength: 8 }), async (script) => {
        const piped = await lastValueFrom(pagesOf(...script).pipe(flatten(), uneven(), toArray()));
        const through = pagesOf(...script).through(flatten(), uneven());
        const iterated: number[] = [];
        for await (const value of through) iterated.push(value);
        expect(iterated).toEqual(piped);
        expect(await lastValueFrom(through.pipe(toArray()))).toEqual(piped);
        expect(await lastValueFrom(through.drain((value) => of(value), { maxOutstanding: 3 }).pipe(toArray()))).toEqual(piped);
      }),
    );
  });

  it('never has more outstanding than its cap, however slow the sink, and gives all of it back', async () => {
    const cap = 10;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.nat(6), { maxLength: 5 }), { maxLength: 12 }),
        fc.array(fc.nat(2), { minLength: 1, maxLength: 9 }),
        async (script, delays) => {
          const credits = creditPool({ max: cap });
          const walk = scriptedWalk(script, { reserve: 5 });
          let most = 0;
          let acknowledged = 0;
          const slow = (value: number) =>
            defer(async () => {
              for (let i = delays[acknowledged % delays.length] ?? 0; i > 0; i -= 1) await turn();
              most = Math.max(most, credits.outstanding);
              // The pages that were requested and aren't acknowledged hold credit for their items.
              expect(walk.asked.items - doneItems(script, acknowledged)).toBeLessThanOrEqual(cap);
              acknowledged += 1;
              return value;
            });
          const values = await lastValueFrom(walk.stream.through(flatten<number>()).drain(slow, { credits }).pipe(toArray()));
          expect(values).toEqual(script.flat());
          expect(most).toBeLessThanOrEqual(cap);
          expect(credits.outstanding).toBe(0);
        },
      ),
      { numRuns: 40 },
    );
  });

  it("returns a page's credit when the last of its values is acknowledged, or at once if it has none", async () => {
    const credits = creditPool({ max: 100 });
    const outstanding: number[] = [];
    await lastValueFrom(
      pagesOf([1, 2, 3], [], [4, 5])
        .through(flatten())
        .drain((value) => defer(() => (outstanding.push(credits.outstanding), of(value))), { credits, readAhead: 0 }),
    );
    expect(outstanding).toEqual([3, 3, 3, 2, 2]);
    expect(credits.outstanding).toBe(0);
  });

  it('gives the credit of values that wait back when it is left', async () => {
    const leave: readonly ((stream: PageStream<number>, credits: CreditPool) => Promise<void>)[] = [
      async (stream, credits) => {
        const subscription = stream.drain(() => NEVER, { credits, readAhead: 0 }).subscribe();
        await turn();
        expect(credits.outstanding).toBe(3);
        subscription.unsubscribe();
      },
      async (stream, credits) => {
        const abort = new AbortController();
        const values = await stream.reader({ credits, signal: abort.signal }).read();
        abort.abort();
        // The delivered values still hold the credit of their page.
        expect(credits.outstanding).toBe(3);
        for (const { credit } of values ?? []) credit.release();
      },
    ];
    for (const one of leave) {
      const credits = creditPool({ max: 100 });
      await one(pagesOf([1, 2, 3], [4]).through(flatten()), credits);
      await turn();
      expect(credits.outstanding).toBe(0);
    }
  });

  it('drops a page that comes when it was left', async () => {
    const credits = creditPool({ max: 100 });
    const abort = new AbortController();
    const come: (() => void)[] = [];
    const walk = new PageStream<readonly number[]>(({ credits: room }) => ({
      read: () =>
        new Promise((resolve) => come.push(() => resolve(come.length > 1 ? undefined : [{ value: [1, 2], credit: room.reserve(2) }]))),
    }));
    const page = expect(walk.through(flatten()).reader({ credits, signal: abort.signal }).read()).rejects.toBe(left);
    abort.abort(left);
    come[0]?.();
    await turn();
    come[1]?.();
    await page;
    expect(credits.outstanding).toBe(0);
  });

  it("shares a page's room among its values, and gives it back when the last of them has, however often the others do", async () => {
    const credits = creditPool({ max: 100 });
    const { signal } = new AbortController();
    const page = new PageStream<readonly number[]>(({ credits: room }) => ({
      read: () => Promise.resolve([{ value: [1, 2, 3], credit: room.reserve(10) }]),
    }));
    const values = await page.through(flatten()).reader({ credits, signal }).read();
    const held = values?.map(({ credit }) => credit) ?? [];
    expect(held.map(({ items }) => items)).toEqual([3, 3, 4]);
    const [first, second] = held;
    first?.resize(7);
    expect([first?.items, credits.outstanding]).toEqual([7, 14]);
    for (let i = 0; i < 3; i += 1) first?.release();
    first?.resize(90);
    second?.resize(0);
    expect([first?.items, second?.items, credits.outstanding]).toEqual([0, 0, 11]);
    for (const credit of held) credit.release();
    expect(credits.outstanding).toBe(0);
  });

  it("ends with a stage's error after the earlier values, and requests nothing more", async () => {
    const credits = creditPool({ max: 100 });
    const walk = scriptedWalk([[1, 2], [3, 4, 5], [6]]);
    const seen: number[] = [];
    const drained = lastValueFrom(
      walk.stream
        .through(flatten<number>(), failsAt(4))
        .drain((value) => defer(() => (seen.push(value), of(value))), { credits, readAhead: 0 }),
    );
    await expect(drained).rejects.toEqual(new Error('4 is bad'));
    expect([seen, credits.outstanding, walk.asked.pages]).toEqual([[1, 2, 3], 0, 2]);
  });
});

describe('a transform as an operator', () => {
  it('has the name that its state is kept under', () => expect(uneven().name).toBe('uneven'));

  it('is opened again by each subscription', () => {
    new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(({ cold, expectObservable }) => {
      const values = { a: 1, b: 2 };
      const stream = cold('a-a-b---|', values).pipe(uneven());
      expectObservable(stream).toBe('a---(bb)|', values);
      expectObservable(stream.pipe(take(1))).toBe('(a|)', values);
    });
  });

  it('stops a source that emits while it is being subscribed to', async () => {
    expect(await lastValueFrom(range(1, Infinity).pipe(failsAt(0), take(3), toArray()))).toEqual([1, 2, 3]);
  });
});

/** Returns the number of items on the pages whose values are all among the first `values`. */
function doneItems(script: readonly (readonly number[])[], values: number): number {
  let sum = 0;
  for (const page of script) {
    if (sum + page.length > values) break;
    sum += page.length;
  }
  return sum;
}
