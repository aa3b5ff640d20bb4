import { EMPTY, NEVER, Observable, Subject, lastValueFrom, map, of, take, throwError, toArray } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { creditPool } from '../admission/credit-pool.ts';
import { drain } from './drain.ts';
import type { PageReader, PageReadOptions } from './page-reader.ts';
import { PageStream } from './page-stream.ts';

/** Creates a walk through pages of 5,000 items each, and counts the requested pages. */
function walk({ pages = Infinity, failAfter = Infinity }: { pages?: number; failAfter?: number } = {}) {
  const seen = { asked: 0, reads: 0, aborted: 0, readers: 0 };
  const open = ({ credits, signal }: PageReadOptions): PageReader<number> => {
    let page = 0;
    seen.readers += 1;
    return {
      read: async () => {
        seen.reads += 1;
        while (!credits.hasRoom(5_000)) {
          await new Promise<void>((resolve, reject) => {
            const stop = credits.onRelease(() => {
              stop();
              resolve();
            });
            signal.addEventListener('abort', () => {
              seen.aborted += 1;
              reject(signal.reason);
            });
          });
        }
        if (page >= failAfter) throw new Error('the walk failed');
        if (page >= pages) return undefined;
        page += 1;
        seen.asked += 1;
        return [{ value: page, credit: credits.reserve(5_000) }];
      },
    };
  };
  return { seen, stream: new PageStream(open) };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('PageStream.drain', () => {
  it('requests no more than credit has capacity for while a projection never completes', async () => {
    const { seen, stream } = walk();
    const subscription = stream.drain(() => NEVER, { maxOutstanding: 20_000 }).subscribe();
    for (let i = 0; i < 50; i += 1) await turn();
    expect(seen.asked).toBe(4);
    subscription.unsubscribe();
    expect(seen.aborted).toBe(1);
  });

  it('delivers pages one at a time, in order, and treats the completion as the acknowledgment', async () => {
    const { seen, stream } = walk({ pages: 6 });
    const running: { page: number; done: Subject<never> }[] = [];
    const finished: number[] = [];
    const all = lastValueFrom(
      stream
        .drain(
          (page) =>
            new Observable<number>((subscriber) => {
              const done = new Subject<never>();
              running.push({ page, done });
              subscriber.next(page);
              return done.subscribe({ complete: () => (finished.push(page), subscriber.complete()) });
            }),
          { maxOutstanding: 10_000 },
        )
        .pipe(toArray()),
    );
    for (let page = 1; page <= 6; page += 1) {
      await turn();
      expect(running).toHaveLength(page);
      expect(seen.asked).toBe(Math.min(6, page + 1));
      running.at(-1)?.done.complete();
    }
    expect(await all).toEqual([1, 2, 3, 4, 5, 6]);
    expect(finished).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('projects several pages at a time, in order, and each holds its credit and counts as ahead until it is acknowledged', async () => {
    const { seen, stream } = walk({ pages: 8 });
    const credits = creditPool({ max: 100_000 });
    const running = new Map<number, Subject<number>>();
    const project = (page: number) => {
      const done = new Subject<number>();
      running.set(page, done);
      return done;
    };
    const all = lastValueFrom(stream.drain(project, { credits, readAhead: 3, concurrency: 3 }).pipe(toArray()));
    for (let i = 0; i < 10; i += 1) await turn();
    // Three pages are projected, and one that was requested ahead waits.
    expect([[...running.keys()], seen.asked, credits.outstanding]).toEqual([[1, 2, 3], 4, 20_000]);
    running.get(2)?.complete();
    for (let i = 0; i < 10; i += 1) await turn();
    expect([[...running.keys()], seen.asked, credits.outstanding]).toEqual([[1, 2, 3, 4], 5, 20_000]);
    for (let page = 1; page <= 8; page += 1) {
      running.get(page)?.next(page);
      running.get(page)?.complete();
      for (let i = 0; i < 10; i += 1) await turn();
    }
    expect(await all).toEqual([1, 3, 4, 5, 6, 7, 8]);
    expect(credits.outstanding).toBe(0);
  });

  it('waits for all projections before the error of the walk, and gives all credit back after that of a projection', async () => {
    const credits = creditPool({ max: 100_000 });
    const running: Subject<never>[] = [];
    const project = () => {
      const done = new Subject<never>();
      running.push(done);
      return done;
    };
    const outcomes: string[] = [];
    const drained = (failAt: number) =>
      walk({ failAfter: failAt })
        .stream.drain(project, { credits, concurrency: 3 })
        .subscribe({ error: (error: Error) => outcomes.push(error.message) });
    drained(2);
    for (let i = 0; i < 10; i += 1) await turn();
    running.pop()?.complete();
    await turn();
    expect([outcomes, credits.outstanding]).toEqual([[], 5_000]);
    running.pop()?.complete();
    await turn();
    expect([outcomes, credits.outstanding]).toEqual([['the walk failed'], 0]);
    drained(Infinity);
    for (let i = 0; i < 10; i += 1) await turn();
    expect(running).toHaveLength(3);
    running[1]?.error(new Error('boom'));
    expect([outcomes, credits.outstanding]).toEqual([['the walk failed', 'boom'], 0]);
  });

  it('requests nothing ahead with readAhead 0', async () => {
    const { seen, stream } = walk();
    const subscription = stream.drain(() => NEVER, { readAhead: 0 }).subscribe();
    await turn();
    expect(seen.asked).toBe(1);
    subscription.unsubscribe();
  });

  it('returns every credit, however it ends', async () => {
    const credits = creditPool({ max: 20_000 });
    const endings = [
      walk({ pages: 9 }).stream.drain(() => EMPTY, { credits }),
      walk({ failAfter: 3 }).stream.drain(() => EMPTY, { credits }),
      walk().stream.drain((page) => (page === 3 ? throwError(() => new Error('bad page')) : of(page)), { credits }),
      walk().stream.drain(
        (page) => {
          if (page === 2) throw new Error('thrown');
          return of(page);
        },
        { credits },
      ),
      walk()
        .stream.drain((page) => of(page, page), { credits })
        .pipe(take(3)),
    ];
    for (const ending of endings) {
      await new Promise<void>((resolve) => ending.subscribe({ error: () => resolve(), complete: resolve }));
      await turn();
      expect(credits.outstanding).toBe(0);
    }
  });

  it('reports a failed walk after the earlier pages were acknowledged', async () => {
    const done: number[] = [];
    const { stream } = walk({ failAfter: 2 });
    const drained = lastValueFrom(
      stream.drain((page) => new Observable<never>((subscriber) => void setImmediate(() => (done.push(page), subscriber.complete())))),
      { defaultValue: undefined },
    );
    await expect(drained).rejects.toThrow('the walk failed');
    expect(done).toEqual([1, 2]);
  });

  it('does not fill the stack with projections that complete synchronously', async () => {
    const { stream } = walk({ pages: 20_000 });
    const counted = await lastValueFrom(stream.drain((page) => of(page), { maxOutstanding: Infinity }));
    expect(counted).toBe(20_000);
  });

  it('does not fill the stack with pages that piled up behind one projection', async () => {
    const { seen, stream } = walk({ pages: 20_000 });
    const first = new Subject<never>();
    const counted = lastValueFrom(stream.drain((page) => (page === 1 ? first : of(page)), { maxOutstanding: Infinity }));
    while (seen.asked < 20_000) await turn();
    first.complete();
    expect(await counted).toBe(20_000);
  });

  it('requests the next page when one was acknowledged, however little it may read ahead', async () => {
    for (const readAhead of [0, 1]) {
      const { seen, stream } = walk({ pages: 5 });
      const ahead: number[] = [];
      const later = (page: number) =>
        new Observable<number>((subscriber) => {
          setImmediate(() => {
            ahead.push(seen.asked - page);
            subscriber.complete();
          });
        });
      await lastValueFrom(stream.drain(later, { readAhead }), { defaultValue: undefined });
      expect([seen.asked, Math.max(...ahead)]).toEqual([5, readAhead]);
    }
  });

  it('gives the credit of a page back that arrives after it was left', async () => {
    const credits = creditPool({ max: 10 });
    let arrive = (): void => undefined;
    const reader: PageReader<number> = {
      read: () => new Promise((resolve) => (arrive = () => resolve([{ value: 1, credit: credits.reserve(1) }]))),
    };
    const subscription = drain(
      () => reader,
      () => NEVER,
      { credits },
    ).subscribe();
    subscription.unsubscribe();
    arrive();
    expect(credits.outstanding).toBe(1);
    await turn();
    expect(credits.outstanding).toBe(0);
  });

  it('leaves no unhandled rejection when the walk ends after it was left', async () => {
    const rejected = vi.fn();
    process.on('unhandledRejection', rejected);
    let end = (): void => undefined;
    const stream = new PageStream<never>(() => ({ read: () => new Promise((resolve) => (end = () => resolve(undefined))) }));
    stream
      .drain(() => NEVER)
      .subscribe()
      .unsubscribe();
    end();
    await turn();
    process.off('unhandledRejection', rejected);
    expect(rejected).not.toHaveBeenCalled();
  });

  it('unsubscribes a projection that was being started', () => {
    let torn = false;
    const { stream } = walk();
    return new Promise<void>((resolve) => {
      stream
        .drain(
          () =>
            new Observable<number>((subscriber) => {
              subscriber.next(1);
              return () => (torn = true);
            }),
        )
        .pipe(take(1))
        .subscribe({
          complete: () =>
            void turn().then(() => {
              expect(torn).toBe(true);
              resolve();
            }),
        });
    });
  });
});

describe('PageStream', () => {
  it('pushes: a page is done when next returns', async () => {
    const { seen, stream } = walk({ pages: 3 });
    expect(
      await lastValueFrom(
        stream.pipe(
          map((page) => [page, seen.asked]),
          toArray(),
        ),
      ),
    ).toEqual([1, 2, 3].map((page) => [page, page]));
  });

  it('is pulled: a page is done when the consumer calls for the next one', async () => {
    const { seen, stream } = walk();
    const pages: number[] = [];
    for await (const page of stream) {
      await turn();
      expect(seen.asked).toBe(page);
      pages.push(page);
      if (page === 3) break;
    }
    expect(pages).toEqual([1, 2, 3]);
  });

  it('is done after its end and after an error, and requests nothing more', async () => {
    for (const { seen, stream } of [walk({ pages: 2 }), walk({ failAfter: 2 })]) {
      const iterator = stream[Symbol.asyncIterator]();
      const pages: number[] = [];
      const read = async () => {
        for await (const page of iterator) pages.push(page);
      };
      await read().catch(() => undefined);
      await read();
      expect([pages, await iterator.next(), seen.reads]).toEqual([[1, 2], { done: true, value: undefined }, 3]);
    }
  });

  it('is left at once, however long the next page would take: nothing more is requested', async () => {
    let aborted = false;
    const stream = new PageStream<number>(({ signal }) => ({
      read: () =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            aborted = true;
            reject(signal.reason as Error);
          });
        }),
    }));
    const iterator = stream[Symbol.asyncIterator]();
    const pending = iterator.next();
    await turn();
    expect(await iterator.return?.()).toEqual({ done: true, value: undefined });
    expect([await pending, aborted]).toEqual([{ done: true, value: undefined }, true]);
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  it('is a separate walk for each consumer', async () => {
    const { seen, stream } = walk({ pages: 2 });
    await lastValueFrom(stream);
    for await (const page of stream) expect(page).toBeGreaterThan(0);
    expect(seen.readers).toBe(2);
  });
});
