import fc from 'fast-check';
import { defer, lastValueFrom, NEVER, of, toArray } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { creditPool } from '../admission/credit-pool.ts';
import { gather } from './gather.ts';
import { mergePages } from './merge-pages.ts';
import { PageStream } from './page-stream.ts';
import { scriptedWalk } from './scripted-walk.fixture.ts';
import { virtualClock } from '../testing/index.ts';
import { type Transform, transform } from './transform.ts';

const flatten = <T>(): Transform<readonly T[], T> => transform({ name: 'flatten', open: () => ({ next: (values) => values }) });
const left = new Error('no longer wanted');
const turn = () => new Promise((resolve) => setImmediate(resolve));
/** Creates `count` walks. A value names its walk, its page, and its position on the page. */
const walks = (count: number, { pages, size }: { pages: number; size: number }) =>
  Array.from({ length: count }, (_, walk) =>
    scriptedWalk(Array.from({ length: pages }, (_, page) => Array.from({ length: size }, (_, i) => `${walk}.${page}.${i}`))),
  );

describe('mergePages', () => {
  it('gives all pages of all walks, each walk in order, with never more than the cap on its way', async () => {
    const script = fc.array(fc.array(fc.array(fc.nat(), { maxLength: 4 }), { maxLength: 5 }), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(script, fc.array(fc.nat(2), { minLength: 1, maxLength: 5 }), async (scripts, delays) => {
        const credits = creditPool({ max: 9 });
        let most = 0;
        let count = 0;
        const merged = mergePages(
          scripts.map(
            (pages, walk) =>
              scriptedWalk(
                pages.map((page) => page.map(() => ({ walk, page }))),
                { reserve: 4, latency: turn },
              ).stream,
          ),
          { credits },
        ).through(flatten());
        const values = await lastValueFrom(
          merged
            .drain((value) =>
              defer(async () => {
                for (let i = delays[count++ % delays.length] ?? 0; i > 0; i -= 1) await turn();
                most = Math.max(most, credits.outstanding);
                return value;
              }),
            )
            .pipe(toArray()),
        );
        for (const [walk, pages] of scripts.entries())
          expect(values.filter((value) => value.walk === walk).map(({ page }) => page)).toEqual(
            pages.flatMap((page) => page.map(() => page)),
          );
        expect(most).toBeLessThanOrEqual(9);
        expect(credits.outstanding).toBe(0);
      }),
      { numRuns: 50 },
    );
  });

  it("requests at most the cap, its own or the drain's, while nothing is acknowledged", async () => {
    const asked = async (drained: (streams: readonly PageStream<readonly string[]>[]) => { subscribe(): { unsubscribe(): void } }) => {
      const all = walks(20, { pages: 5, size: 10 });
      const subscription = drained(all.map(({ stream }) => stream)).subscribe();
      for (let i = 0; i < 20; i += 1) await turn();
      subscription.unsubscribe();
      return all.reduce((sum, walk) => sum + walk.asked.items, 0);
    };
    expect(await asked((streams) => mergePages(streams, { maxOutstanding: 40 }).drain(() => NEVER, { maxOutstanding: 1_000 }))).toBe(40);
    const credits = creditPool({ max: 50 });
    expect(await asked((streams) => mergePages(streams, { credits }).drain(() => NEVER, { maxOutstanding: 1_000 }))).toBe(50);
    expect(await asked((streams) => mergePages(streams).drain(() => NEVER, { maxOutstanding: 30 }))).toBe(30);
  });

  it('requests no more than 20,000 items without a bound, as an iteration', async () => {
    const all = walks(8, { pages: 2, size: 5_000 });
    const iterator = mergePages(all.map(({ stream }) => stream))[Symbol.asyncIterator]();
    await iterator.next();
    for (let i = 0; i < 20; i += 1) await turn();
    expect(all.reduce((sum, walk) => sum + walk.asked.items, 0)).toBe(20_000);
    await iterator.return?.();
  });

  it('requests the next page of a walk only when the consumer has taken the one before', async () => {
    const [walk] = walks(1, { pages: 3, size: 2 });
    const iterator = mergePages(walk === undefined ? [] : [walk.stream])[Symbol.asyncIterator]();
    await iterator.next();
    await turn();
    expect(walk?.asked.pages).toBe(1);
    await iterator.next();
    expect(walk?.asked.pages).toBe(2);
    await iterator.return?.();
  });

  it('gives the credit of a page back when an iteration leaves in the middle of its values', async () => {
    const credits = creditPool({ max: 100 });
    const streams = walks(1, { pages: 2, size: 5 }).map(({ stream }) => stream);
    const seen: string[] = [];
    for await (const value of mergePages(streams, { credits }).through(flatten())) {
      seen.push(value);
      if (seen.length === 2) break;
    }
    expect([seen, credits.outstanding]).toEqual([['0.0.0', '0.0.1'], 0]);
  });

  it('keeps the values of a page together, also of walks that a signal may end', async () => {
    const { signal } = new AbortController();
    const flat = walks(3, { pages: 2, size: 3 }).map(({ stream }) => stream.through(flatten<string>()));
    for (const streams of [flat, flat.map((stream) => new PageStream((reading) => stream.reader(reading), { signal }))]) {
      const merged = mergePages(streams);
      const values = await lastValueFrom(merged.drain((value) => of(value), { maxOutstanding: 100 }).pipe(toArray()));
      expect(values).toHaveLength(18);
      const pages = values.map((value) => value.slice(0, 3));
      expect(pages.filter((page, i) => page !== pages[i - 1])).toHaveLength(6);
    }
  });

  it('ends with the first error, behind the pages before it, and leaves nothing open', async () => {
    const credits = creditPool({ max: 100 });
    let aborted = 0;
    const failure = new Error('the walk failed');
    const failing = new PageStream<readonly string[]>(() => ({
      async read() {
        await turn();
        throw failure;
      },
    }));
    const hanging = new PageStream<readonly string[]>(({ signal }) => ({
      read: () =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            aborted += 1;
            reject(signal.reason as Error);
          });
        }),
    }));
    const seen: (readonly string[])[] = [];
    const streams = [...walks(1, { pages: 1, size: 2 }).map(({ stream }) => stream), failing, hanging];
    const drained = lastValueFrom(mergePages(streams, { credits }).drain((page) => defer(() => (seen.push(page), of(page)))));
    await expect(drained).rejects.toBe(failure);
    expect([seen, aborted]).toEqual([[['0.0.0', '0.0.1']], 1]);
    await turn();
    expect(credits.outstanding).toBe(0);
  });

  it('aborts the other walks at once when one has failed, though a page before it is still being processed', async () => {
    let aborted = 0;
    const failing = new PageStream<readonly string[]>(() => ({
      read: async () => (await turn(), Promise.reject(new Error('the walk failed'))),
    }));
    const hanging = new PageStream<readonly string[]>(({ signal }) => ({
      read: () => new Promise(() => signal.addEventListener('abort', () => (aborted += 1))),
    }));
    const streams = [...walks(1, { pages: 1, size: 2 }).map(({ stream }) => stream), failing, hanging];
    const subscription = mergePages(streams)
      .drain(() => NEVER)
      .subscribe();
    await turn();
    await turn();
    expect([aborted, subscription.closed]).toEqual([1, false]);
    subscription.unsubscribe();
  });

  it('gives the room of pages that wait, and of those that come later, back when it is left, and rejects at once', async () => {
    const credits = creditPool({ max: 100 });
    const abort = new AbortController();
    const come: (() => void)[] = [];
    const later = (given: 'page' | 'end') =>
      new PageStream<readonly string[]>(({ credits: room }) => ({
        read: () =>
          new Promise((resolve) => come.push(() => resolve(given === 'end' ? undefined : [{ value: [], credit: room.reserve(7) }]))),
      }));
    const failing = new PageStream<readonly string[]>(() => ({
      read: async () => (await turn(), Promise.reject(new Error('the walk failed'))),
    }));
    const ready = walks(2, { pages: 1, size: 5 }).map(({ stream }) => stream);
    const reader = mergePages([...ready, failing, later('page'), later('end')], { credits }).reader({ credits, signal: abort.signal });
    await reader.read();
    await turn();
    await turn();
    expect([credits.outstanding, come.length]).toEqual([10, 2]);
    abort.abort(left);
    // Only the delivered page still holds credit.
    expect(credits.outstanding).toBe(5);
    await expect(reader.read()).rejects.toBe(left);
    for (const one of come) one();
    await turn();
    expect(credits.outstanding).toBe(5);

    const other = new AbortController();
    const waiting = expect(
      mergePages([later('page')])
        .reader({ credits, signal: other.signal })
        .read(),
    ).rejects.toBe(left);
    other.abort(left);
    await waiting;
  });

  it('gives the room of a page back, however closely its arrival comes before the end', async () => {
    for (let between = 0; between < 20; between += 1) {
      const credits = creditPool({ max: 10 });
      const abort = new AbortController();
      let come = (): void => undefined;
      const walk = new PageStream<string>(({ credits: room }) => ({
        read: () => new Promise((resolve) => (come = () => resolve([{ value: 'a', credit: room.reserve(7) }]))),
      }));
      const reader = mergePages([walk], { credits }).reader({ credits, signal: abort.signal });
      const read = reader.read().catch(() => undefined);
      come();
      for (let i = 0; i < between; i += 1) await Promise.resolve();
      abort.abort(left);
      for (const { credit } of (await read) ?? []) credit.release();
      await turn();
      expect([between, credits.outstanding]).toEqual([between, 0]);
    }
  });

  it.each([0, 1.5, Number.NaN])('refuses a maximum of %s at once', (maxOutstanding) => {
    expect(() => mergePages([], { maxOutstanding })).toThrow(/^mergePages: maxOutstanding must be a whole number from 1, got /);
  });

  it('of no walks completes', async () => {
    expect(await lastValueFrom(mergePages<number>([]).pipe(toArray()))).toEqual([]);
  });
});

describe('gather', () => {
  it('fills batches across pages and walks; the last is short', async () => {
    const clock = virtualClock();
    const merged = mergePages(
      walks(3, { pages: 4, size: 5 }).map(({ stream }) => stream),
      { maxOutstanding: 20 },
    );
    const batches = await lastValueFrom(
      merged
        .through(flatten(), gather({ size: 7, maxWaitMs: 1_000, clock }))
        .drain((batch) => defer(async () => (await turn(), batch)))
        .pipe(toArray()),
    );
    expect(batches.map(({ length }) => length)).toEqual([7, 7, 7, 7, 7, 7, 7, 7, 4]);
    expect(new Set(batches.flat()).size).toBe(60);
    expect(clock.pending).toBe(0);
  });

  it('is short only when its first value has waited long enough; a value that comes later begins the next', async () => {
    const clock = virtualClock();
    const pauses = [0, 400, 900, 100];
    const later = (ms: number): Promise<void> => new Promise((resolve) => void clock.schedule(ms, resolve));
    const { stream } = scriptedWalk([['a'], ['b'], ['c'], ['d']], { latency: () => later(pauses.shift() ?? 0) });
    const batches: [number, readonly (readonly string[])[]][] = [];
    const subscription = stream
      .through(gather({ size: 3, maxWaitMs: 1_000, clock }))
      .drain((batch) => defer(() => (batches.push([clock.monotonicMs(), batch]), of(batch))))
      .subscribe();
    await clock.advance(10_000);
    expect(batches).toEqual([
      [1_000, [['a'], ['b']]],
      [1_400, [['c'], ['d']]],
    ]);
    expect(subscription.closed).toBe(true);
  });

  it('gives the credit of what it holds back when it is left, in the middle of a batch and between two', async () => {
    const clock = virtualClock();
    for (const advance of [0, 2_000]) {
      const credits = creditPool({ max: 100 });
      let come: (() => void) | undefined;
      const latency = () => new Promise<void>((resolve) => (come = resolve));
      const subscription = scriptedWalk([['a'], ['b']], { latency })
        .stream.through(gather({ size: 5, maxWaitMs: 1_000, clock }))
        .drain(() => NEVER, { credits, readAhead: 0 })
        .subscribe();
      await clock.settle();
      come?.();
      await clock.advance(advance);
      // Lets the second page arrive. In the second case, no batch waits for it any more.
      come?.();
      await clock.settle();
      expect(credits.outstanding).toBe(2);
      subscription.unsubscribe();
      await clock.settle();
      expect(credits.outstanding).toBe(0);
    }
  });

  it('rejects with the reason when it is left in the middle of a batch, without an unhandled rejection', async () => {
    const rejected = vi.fn();
    process.on('unhandledRejection', rejected);
    const clock = virtualClock();
    const credits = creditPool({ max: 100 });
    const abort = new AbortController();
    let reads = 0;
    const walk = new PageStream<number>(({ credits: room, signal }) => ({
      read: () => {
        reads += 1;
        if (reads === 1) return Promise.resolve([{ value: 1, credit: room.reserve(1) }]);
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      },
    }));
    const reader = walk.through(gather({ size: 5, maxWaitMs: 1_000, clock })).reader({ credits, signal: abort.signal });
    const batch = expect(reader.read()).rejects.toBe('left');
    await clock.settle();
    expect([reads, credits.outstanding, clock.pending]).toEqual([2, 1, 1]);
    abort.abort('left');
    await batch;
    await clock.settle();
    process.off('unhandledRejection', rejected);
    expect([credits.outstanding, clock.pending, rejected.mock.calls]).toEqual([0, 0, []]);
  });

  it('keeps the order of a page that came without demand', async () => {
    const clock = virtualClock();
    let come: (() => void) | undefined;
    const latency = () => new Promise<void>((resolve) => (come = resolve));
    const batches: number[][] = [];
    let acknowledge: (() => void) | undefined;
    scriptedWalk([[1], [2, 3, 4]], { latency })
      .stream.through(flatten<number>(), gather({ size: 3, maxWaitMs: 1_000, clock }))
      .drain((batch) => (batches.push(batch), new Promise<void>((resolve) => (acknowledge = resolve))), { readAhead: 0 })
      .subscribe();
    await clock.settle();
    come?.();
    await clock.advance(1_000);
    come?.();
    await clock.settle();
    acknowledge?.();
    await clock.settle();
    expect(batches).toEqual([[1], [2, 3, 4]]);
  });

  it("holds the room of its values' pages, more or less of it where it is told so", async () => {
    const credits = creditPool({ max: 100 });
    const reader = scriptedWalk([
      ['a', 'b', 'c'],
      ['d', 'e'],
    ])
      .stream.through(gather({ size: 2, maxWaitMs: 0 }))
      .reader({ credits, signal: new AbortController().signal });
    const [{ credit } = {}] = (await reader.read()) ?? [];
    const held = [credit?.items];
    for (const items of [4, 1, 6]) {
      credit?.resize(items);
      held.push(credit?.items, credits.outstanding);
    }
    expect(held).toEqual([5, 4, 4, 1, 1, 6, 6]);
    credit?.release();
    expect(credits.outstanding).toBe(0);
  });

  it('hands what it holds over before an error of the walk', async () => {
    let reads = 0;
    const failing = new PageStream<string>(({ credits }) => ({
      read: () => {
        reads += 1;
        return reads < 3
          ? Promise.resolve([{ value: `${reads}`, credit: credits.reserve(1) }])
          : Promise.reject(new Error('the walk failed'));
      },
    }));
    const seen: string[][] = [];
    const drained = lastValueFrom(
      failing.through(gather({ size: 9, maxWaitMs: 1_000 })).drain((batch) => defer(() => (seen.push(batch), of(batch)))),
    );
    await expect(drained).rejects.toThrow('the walk failed');
    expect(seen).toEqual([['1', '2']]);
  });

  it("rejects with the signal's reason, whatever the walk rejects with by then", async () => {
    const stop = new AbortController();
    const torn = (signal: AbortSignal) =>
      new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('torn'))));
    const walk = new PageStream<number>(({ signal }) => ({ read: () => torn(signal) }));
    const reader = walk.through(gather({ size: 2, maxWaitMs: 1_000 })).reader({ credits: creditPool({ max: 10 }), signal: stop.signal });
    const read = expect(reader.read()).rejects.toBe('stopped');
    stop.abort('stopped');
    await read;
  });

  it('refuses a size and a time that can not be', () => {
    expect(() => gather({ size: 0, maxWaitMs: 1 })).toThrow('gather: size must be a whole number from 1, got 0');
    for (const maxWaitMs of [-1, 2 ** 31, NaN]) expect(() => gather({ size: 1, maxWaitMs })).toThrow(RangeError);
    for (const maxWaitMs of [0, 2 ** 31 - 1]) expect(() => gather({ size: 1, maxWaitMs })).not.toThrow();
  });
});
