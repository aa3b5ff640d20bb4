import { getEventListeners } from 'node:events';
import { lastValueFrom, NEVER, of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { creditPool } from '../admission/credit-pool.ts';
import { PageStream } from './page-stream.ts';
import { scriptedWalk } from './scripted-walk.fixture.ts';
import { transform } from './transform.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));
const left = new Error('no longer wanted');
const flatten = () => transform<readonly number[], number>({ name: 'flatten', open: () => ({ next: (values) => values }) });

describe("a stream's signal", () => {
  it('aborts the request in flight in each of its shapes, and rejects with its reason', async () => {
    const shapes: readonly ((stream: PageStream<string>) => Promise<unknown>)[] = [
      (stream) => lastValueFrom(stream),
      (stream) => lastValueFrom(stream.drain((page) => of(page))),
      (stream) => lastValueFrom(stream.through().drain((page) => of(page))),
      (stream) => stream[Symbol.asyncIterator]().next(),
    ];
    for (const shape of shapes) {
      const abort = new AbortController();
      let aborted: unknown;
      const hanging = new PageStream<string>(
        ({ signal }) => ({
          read: () =>
            new Promise((_, reject) => {
              signal.addEventListener('abort', () => {
                aborted = signal.reason;
                reject(signal.reason as Error);
              });
            }),
        }),
        { signal: abort.signal },
      );
      const ended = expect(shape(hanging)).rejects.toBe(left);
      await turn();
      abort.abort(left);
      await ended;
      expect(aborted).toBe(left);
    }
  });

  it('leaves the end to others as well: a walk that is left aborts its request', async () => {
    const leave: readonly ((stream: PageStream<string>) => Promise<() => unknown>)[] = [
      async (stream) => {
        const subscription = stream.drain((page) => of(page)).subscribe();
        return () => subscription.unsubscribe();
      },
      async (stream) => {
        const iterator = stream[Symbol.asyncIterator]();
        const next = iterator.next();
        return async () => (await iterator.return?.(), await next);
      },
      async (stream) => {
        const abort = new AbortController();
        const page = expect(stream.reader({ credits: creditPool({ max: 1 }), signal: abort.signal }).read()).rejects.toBe(left);
        return () => (abort.abort(left), page);
      },
    ];
    for (const begin of leave) {
      let aborted = 0;
      const hanging = new PageStream<string>(
        ({ signal }) => ({
          read: () =>
            new Promise((_, reject) => {
              signal.addEventListener('abort', () => {
                aborted += 1;
                reject(signal.reason as Error);
              });
            }),
        }),
        { signal: new AbortController().signal },
      );
      const end = await begin(hanging);
      await turn();
      await end();
      expect(aborted).toBe(1);
    }
  });

  it('ends a walk between two pages whose reader pays no attention to it', async () => {
    const abort = new AbortController();
    let page = 0;
    const inattentive = new PageStream<number>(
      ({ credits }) => ({ read: async () => [{ value: (page += 1), credit: credits.reserve(1) }] }),
      {
        signal: abort.signal,
      },
    );
    const iterator = inattentive[Symbol.asyncIterator]();
    await iterator.next();
    abort.abort(left);
    await expect(iterator.next()).rejects.toBe(left);
    expect(page).toBe(1);
  });

  it('ends an iteration between two pages, with all credit given back, and a walk that has not begun', async () => {
    const abort = new AbortController();
    const { stream, asked } = scriptedWalk([[1, 2, 3], [4]]);
    const ended = new PageStream((reading) => stream.through(flatten()).reader(reading), { signal: abort.signal });
    const credits = creditPool({ max: 10 });
    const seen: number[] = [];
    const drained = lastValueFrom(
      ended.drain(
        (value) => {
          seen.push(value);
          if (value === 2) abort.abort(left);
          return of(value);
        },
        { credits, readAhead: 0 },
      ),
    );
    await expect(drained).rejects.toBe(left);
    // The values of the page have arrived, so they are delivered.
    expect([seen, asked.pages, credits.outstanding]).toEqual([[1, 2, 3], 1, 0]);
    await expect(lastValueFrom(ended)).rejects.toBe(left);
    expect(asked.pages).toBe(1);
  });

  it('keeps no listener when a walk has ended', async () => {
    const { signal } = new AbortController();
    const { stream } = scriptedWalk([[1], [2]]);
    await lastValueFrom(new PageStream((reading) => stream.reader(reading), { signal }).drain((page) => of(page), { signal }));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe("a drain's signal", () => {
  it('ends it at once, the projection too, with all credit given back', async () => {
    const abort = new AbortController();
    const credits = creditPool({ max: 10 });
    const { stream } = scriptedWalk([[1], [2]]);
    const ended = expect(lastValueFrom(stream.drain(() => NEVER, { credits, signal: abort.signal }))).rejects.toBe(left);
    await turn();
    expect(credits.outstanding).toBe(2);
    abort.abort(left);
    await ended;
    expect(credits.outstanding).toBe(0);
    await expect(lastValueFrom(stream.drain(() => NEVER, { signal: abort.signal }))).rejects.toBe(left);
  });
});
