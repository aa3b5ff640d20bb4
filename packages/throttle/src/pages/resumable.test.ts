import { concatMap, defer, lastValueFrom, of, retry, Subject, take, throwError, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { creditPool } from '../admission/credit-pool.ts';
import { mergePages } from './merge-pages.ts';
import { resumable } from './resumable.ts';
import { scriptedWalk } from './scripted-walk.fixture.ts';
import { transform } from './transform.ts';

/** A walk of pages that are called by their number, from behind `last`. */
function numbered(pages: number) {
  const opened: (number | undefined)[] = [];
  const stream = resumable<readonly number[]>((last) => {
    opened.push(last?.[0]);
    const from = (last?.[0] ?? 0) + 1;
    return scriptedWalk(Array.from({ length: Math.max(0, pages - from + 1) }, (_, i) => [from + i])).stream;
  });
  return { opened, stream };
}

describe('resumable', () => {
  it('goes on behind the last acknowledged page where a sink fails, and loses nothing', async () => {
    const { opened, stream } = numbered(6);
    const credits = creditPool({ max: 3 });
    const written: number[] = [];
    let attempts = 0;
    const write = ([page = 0]: readonly number[]) =>
      defer(() => {
        attempts += 1;
        if (attempts % 3 === 0) return throwError(() => new Error(`page ${page} was not written`));
        written.push(page);
        return of(page);
      });
    await lastValueFrom(stream.drain(write, { credits }).pipe(retry(9)));
    expect(written).toEqual([1, 2, 3, 4, 5, 6]);
    expect(opened).toEqual([undefined, 2, 4]);
    expect(credits.outstanding).toBe(0);
  });

  it('takes a page for acknowledged only when its projection has completed', async () => {
    const { opened, stream } = numbered(4);
    const first = await lastValueFrom(stream.drain((page) => of(page)).pipe(take(2), toArray()));
    const rest = await lastValueFrom(stream.drain((page) => of(page)).pipe(toArray()));
    expect([first.flat(), rest.flat(), opened]).toEqual([
      [1, 2],
      [2, 3, 4],
      [undefined, 1],
    ]);
  });

  it('goes on where an iteration was left, and is empty behind its end', async () => {
    const { stream } = numbered(3);
    const seen: (readonly number[])[] = [];
    for await (const page of stream) {
      seen.push(page);
      if (seen.length === 2) break;
    }
    for await (const page of stream) seen.push(page);
    for await (const page of stream) seen.push(page);
    expect(seen.flat()).toEqual([1, 2, 2, 3]);
  });

  it('acknowledges a page that a stage left nothing of only with those before it', async () => {
    const { stream } = numbered(3);
    const odd = transform<readonly number[]>({ name: 'odd', open: () => ({ next: (page) => ((page[0] ?? 0) % 2 === 1 ? [page] : []) }) });
    const seen: number[] = [];
    const failing = stream.through(odd).drain(([page = 0]) =>
      defer(() => {
        seen.push(page);
        return of(page).pipe(
          concatMap(() => new Promise((resolve) => setImmediate(resolve))),
          concatMap(() => (seen.length === 1 ? throwError(() => new Error('late')) : of(page))),
        );
      }),
    );
    await lastValueFrom(failing.pipe(retry(1)));
    expect(seen).toEqual([1, 1, 3]);
  });

  it('ends where its last page was acknowledged, but not its end seen', async () => {
    const stream = resumable<readonly number[]>((last) => (last?.[0] === 2 ? undefined : scriptedWalk([[1], [2], [3]]).stream));
    const seen: (readonly number[])[] = [];
    const iterator = stream[Symbol.asyncIterator]();
    seen.push(
      ...[await iterator.next(), await iterator.next(), await iterator.next()].flatMap(({ value }) => (value === undefined ? [] : [value])),
    );
    await iterator.return?.();
    for await (const page of stream) seen.push(page);
    expect(seen.flat()).toEqual([1, 2, 3]);
  });

  it('takes no notice of pages that an earlier opening is done with late', async () => {
    const { opened, stream } = numbered(4);
    const late = new Subject<never>();
    stream.drain(() => late).subscribe();
    await lastValueFrom(stream.drain((page) => of(page)).pipe(take(4)));
    late.complete();
    await new Promise((resolve) => setImmediate(resolve));
    const rest = await lastValueFrom(stream.drain((page) => of(page)).pipe(toArray()));
    expect([rest.flat(), opened]).toEqual([[4], [undefined, undefined, 3]]);
  });

  it('hands the room of its pages on', async () => {
    const credits = creditPool({ max: 10 });
    const { credit } = (await numbered(1).stream.reader().read({ credits, signal: new AbortController().signal })) ?? {};
    expect([credit?.items, credits.outstanding]).toEqual([1, 1]);
    credit?.resize(3);
    expect([credit?.items, credits.outstanding]).toEqual([3, 3]);
  });

  it('spares walks that have ended when several are merged and tried again', async () => {
    const walks = [numbered(1), numbered(4)];
    const seen: number[] = [];
    let hasFailed = false;
    const write = ([page = 0]: readonly number[]) =>
      defer(() => {
        if (page === 3 && !hasFailed) {
          hasFailed = true;
          return throwError(() => new Error('once'));
        }
        seen.push(page);
        return of(page);
      });
    await lastValueFrom(
      mergePages(walks.map(({ stream }) => stream))
        .drain(write)
        .pipe(retry(1)),
    );
    expect(seen.toSorted()).toEqual([1, 1, 2, 3, 4]);
    expect(walks.map(({ opened }) => opened)).toEqual([[undefined], [undefined, 2]]);
  });
});
