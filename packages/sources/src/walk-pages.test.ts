import { type Json, creditPool } from '@headgate/throttle';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pagingCalls } from './define-source.ts';
import type { Checkpoint, Paging, WalkedPage, WalkOptions } from './paging.ts';
import { walkPages } from './walk-pages.ts';

interface Page {
  readonly items: number;
  readonly next: number | 'end';
}

interface Walked {
  readonly pages: readonly WalkedPage<Page, number>[];
  readonly requested: readonly number[];
  readonly error: unknown;
}

/** Walks through a list of pages. The cursor of a page is its index. */
async function walked(
  service: readonly Page[],
  more: Partial<Paging<number, Page, number>> = {},
  options: WalkOptions<number> = {},
): Promise<Walked> {
  const requested: number[] = [];
  const pages: WalkedPage<Page, number>[] = [];
  const credits = creditPool({ max: 1_000 });
  const reader = walkPages({
    ...pagingCalls('toy'),
    service: 'toy',
    subject: () => '@ada',
    paging: { first: 0, query: (cursor) => cursor, next: ({ next }) => (next === 'end' ? 'last' : { cursor: next }), ...more },
    query(cursor, given) {
      requested.push(cursor);
      const page = service[cursor] ?? { items: 0, next: 'end' };
      return Promise.resolve({ value: page, credit: given.credits.reserve(page.items) });
    },
    ...options,
  }).reader({ credits, signal: new AbortController().signal });
  const read = async (): Promise<void> => {
    for (let read = await reader.read(); read !== undefined; read = await reader.read()) {
      for (const { value, credit } of read) {
        pages.push(value);
        credit.release();
      }
    }
    expect(await reader.read()).toBeUndefined();
  };
  const error: unknown = await read().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(credits.outstanding).toBe(0);
  return { pages, requested, error };
}

const straight = (count: number, items = 1): Page[] =>
  Array.from({ length: count }, (_, i) => ({ items, next: i + 1 < count ? i + 1 : 'end' }));

const throughJson = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;

test('every page has its number, its cursor, and where the walk continues after it', async () => {
  const { pages, requested, error } = await walked(straight(3));
  expect(error).toBeUndefined();
  expect(requested).toEqual([0, 1, 2]);
  expect(pages.map(({ number, cursor }) => [number, cursor])).toEqual([
    [1, 0],
    [2, 1],
    [3, 2],
  ]);
  expect(pages.map(({ next }) => next)).toMatchObject([{ cursor: 1, pages: 1 }, { cursor: 2, pages: 2 }, 'last']);
});

/** Generates services whose pages end or can lead in loops, and some of whose pages are empty. */
const service = fc.array(
  fc.record({
    items: fc.nat(2),
    next: fc.oneof({ weight: 1, arbitrary: fc.nat(14) }, { weight: 1, arbitrary: fc.constant('end' as const) }),
  }),
  { minLength: 1, maxLength: 15 },
);
/** Generates services in which about half of the pages are forced to lead to the next one in the list. */
const way = fc
  .tuple(service, fc.array(fc.boolean(), { minLength: 15, maxLength: 15 }))
  .map(([pages, isStraight]) =>
    pages.map((page, i): Page => (isStraight[i] === true && i + 1 < pages.length ? { ...page, next: i + 1 } : page)),
  );

test('a walk that is resumed anywhere brings what the whole one brings after it, and ends as that does', async () => {
  await fc.assert(
    fc.asyncProperty(way, fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 12 }), async (pages, maxEmptyPages, maxPages) => {
      const limits = { maxEmptyPages, maxPages };
      const whole = await walked(pages, limits);
      for (const [i, { next }] of whole.pages.entries()) {
        const rest = await walked(pages, limits, { from: throughJson(next) });
        expect(rest.pages).toEqual(whole.pages.slice(i + 1));
        expect(rest.requested).toEqual(whole.requested.slice(i + 1));
        expect(rest.error).toEqual(whole.error);
      }
    }),
    { numRuns: 300 },
  );
});

test('no cursor is requested twice, and a circle ends the walk after the page that leads into it', async () => {
  await fc.assert(
    fc.asyncProperty(way, async (pages) => {
      const { requested, error, pages: got } = await walked(pages);
      expect(new Set(requested).size).toBe(requested.length);
      const last = got.at(-1)?.page.next;
      expect(error === undefined).toBe(last === 'end');
      if (error === undefined) return;
      expect(requested).toContain(last);
      expect(error).toMatchObject({
        code: 'HEADGATE_CURSOR_LOOP',
        retryable: true,
        service: 'toy',
        subject: '@ada',
        message: `@ada: page ${got.length} names an earlier page of this walk, or itself, as the next one. If that is how the list ends, define it as the end. Otherwise the service's pages form a loop: start the crawl again later.`,
      });
    }),
  );
});

test('a cursor alone continues a walk, whose pages count from 1, and notices a circle back to it', async () => {
  const { pages, requested, error } = await walked([...straight(3).slice(0, 2), { items: 1, next: 1 }], {}, { from: { cursor: 1 } });
  expect(requested).toEqual([1, 2]);
  expect(pages.map(({ number }) => number)).toEqual([1, 2]);
  expect(error).toMatchObject({ code: 'HEADGATE_CURSOR_LOOP' });
  expect(await walked(straight(3), {}, { from: 'last' })).toEqual({ pages: [], requested: [], error: undefined });
});

describe('empty pages in a row', () => {
  const of = (...items: readonly number[]): Page[] => items.map((count, i) => ({ items: count, next: i + 1 }));

  test('end a walk at the limit, with the page to continue after, and count again after one that is not empty', async () => {
    const { requested, error, pages } = await walked(of(1, 0, 0, 1, 0, 0, 0, 1), { maxEmptyPages: 3 });
    expect(requested).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(error).toMatchObject({
      code: 'HEADGATE_EMPTY_PAGES',
      retryable: true,
      message:
        '@ada: page 7 was empty, like the 2 pages before it, and returned a new cursor. ' +
        'To continue, resume after it, or allow more empty pages (maxEmptyPages).',
    });
    expect(pages.at(-1)?.next).toMatchObject({ cursor: 7, pages: 7, empty: 3 });
  });

  test('are 100 by default', async () => {
    const { requested, error } = await walked(straight(101, 0));
    expect(requested).toHaveLength(100);
    // The caller may have no way to set another maximum.
    expect(error).toMatchObject({ message: expect.stringMatching(/new cursor\. To continue, resume after it\.$/u) as string });
    expect(await walked(straight(100, 0))).toMatchObject({ error: undefined });
  });
});

test('a page without a valid next cursor arrives, and ends the walk before another request, also in a resumed one', async () => {
  const next = ({ next: cursor }: Page, at: number) => (cursor === 7 ? { cursor: at, isUnknown: true } : { cursor: Number(cursor) });
  const { pages, requested, error } = await walked(
    [
      { items: 1, next: 1 },
      { items: 2, next: 7 },
    ],
    { next },
  );
  expect(requested).toEqual([0, 1]);
  expect(pages.map(({ page }) => page.items)).toEqual([1, 2]);
  expect(error).toMatchObject({
    code: 'HEADGATE_UNFIT_ANSWER',
    retryable: true,
    message:
      "@ada: page 2 arrived, but names no valid next page and isn't marked as the last one, so the list may be incomplete. " +
      'The service may have an error: start the crawl again later.',
  });
  const from = throughJson(pages.at(-1)?.next);
  expect(from).toMatchObject({ cursor: 1, pages: 2, isCircle: true, isUnknown: true });
  expect(await walked([], { next }, { from })).toEqual({ pages: [], requested: [], error });
});

test('a limit of pages ends a walk that has more, and no other', async () => {
  const { requested, error } = await walked(straight(4), { maxPages: 3 });
  expect(requested).toHaveLength(3);
  expect(error).toMatchObject({
    code: 'HEADGATE_PAGE_LIMIT',
    message: '@ada: 3 pages arrived, and the last one has a next page. To continue, resume after it, or allow more pages (maxPages).',
  });
  expect(await walked(straight(3), { maxPages: 3 })).toMatchObject({ error: undefined });
});

describe('a paging that gives something else ends the walk with an error that names it, and holds no credit:', () => {
  const fault = (says: RegExp) => ({ code: 'HEADGATE_DEFINITION', message: expect.stringMatching(says) });
  test.each<[name: string, next: () => unknown, says: RegExp]>([
    [
      'undefined',
      () => undefined,
      /next of the paging of the toy source returns the cursor undefined\. It must return 'last' or \{ cursor \}/,
    ],
    ['null', () => null, /returns the cursor undefined/],
    ['a bare cursor', () => 2, /returns the cursor undefined/],
    ['a promise', () => Promise.reject(new Error('too late')), /next of the paging .* it returned a promise/],
    ['nothing but an error', () => JSON.parse('{'), /next of the paging .* threw SyntaxError/],
    ['no cursor', () => ({}), /returns the cursor undefined/],
    [
      'null as its cursor',
      () => ({ cursor: null }),
      /next of the paging of the toy source returns the cursor null\. .* a cursor must be JSON/,
    ],
    ['a cursor that is no number', () => ({ cursor: NaN }), /returns the cursor NaN/],
  ])('%s', async (_, next, says) => {
    const { pages, requested, error } = await walked(straight(3), { next: next as never });
    expect(error).toMatchObject(fault(says));
    expect([pages, requested]).toEqual([[], [0]]);
  });

  test('a first cursor that is not JSON, and a query that throws, before any request', async () => {
    expect(await walked(straight(3), { first: Infinity })).toMatchObject({
      requested: [],
      error: fault(/first of the paging .* Infinity/),
    });
    const query = (): never => {
      throw new TypeError('boom');
    };
    expect(await walked(straight(3), { query })).toMatchObject({
      requested: [],
      error: fault(/query of the paging .* threw TypeError: boom/),
    });
  });
});

test('any JSON but null is a cursor, and continues as itself', async () => {
  // Passes the value through JSON first, because `JSON.stringify` writes -0 as 0.
  const cursor = fc
    .jsonValue()
    .map(throughJson)
    .filter((value) => value !== null);
  await fc.assert(
    fc.asyncProperty(cursor, async (given) => {
      const first = given as NonNullable<Json>;
      const seen: unknown[] = [];
      const stream = walkPages<Json, string, NonNullable<Json>>({
        ...pagingCalls('toy'),
        service: 'toy',
        subject: () => '@ada',
        paging: { first: 'first', query: (at) => (seen.push(at), at), next: (_, at) => (at === 'first' ? { cursor: first } : 'last') },
        query: (_, { credits }) => Promise.resolve({ value: '', credit: credits.reserve(1) }),
      });
      const checkpoints: (Checkpoint<NonNullable<Json>> | 'last')[] = [];
      for await (const { next } of stream) checkpoints.push(next);
      expect(throughJson(checkpoints)).toEqual(checkpoints);
      expect(seen).toEqual(['first', given]);
    }),
  );
});
