import { creditPool } from '@headgate/throttle';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SourceError } from '../source-error.ts';
import { pagingCalls } from '../define-source.ts';
import { walkPages } from '../walk-pages.ts';
import { type AuthorPage, authorPage, type AuthorPagesOptions, authorPaging } from './author-pages.ts';
import { sampleIsbns } from './sample-isbns.fixture.ts';

type Beyond = 'empty' | '404' | 'the last again' | 'the first again';

interface Shelf {
  readonly books: number;
  /** The service's page size: the requested one up to a maximum, always the same, or all books on one page. */
  readonly size: { readonly atMost: number } | { readonly always: number } | 'all at once';
  readonly beyond: Beyond;
  /** The total that the service sends. Default: none. */
  readonly total?: number | undefined;
  /** Numbers of books that the service counts, but doesn't show. */
  readonly hidden?: ReadonlySet<number>;
  /** Numbers of books that the service shows again at the start of the next page. */
  readonly repeated?: ReadonlySet<number>;
  /** True if the service ignores the number of the page. */
  readonly isFirstOnly?: boolean;
}

/** A service with one author. `beyond`: its response to a page after the last. */
function service(shelf: Shelf): { readonly query: Parameters<typeof authorPage>[0]; readonly requested: string[] } {
  const { books, size, beyond, total, hidden, repeated, isFirstOnly = false } = shelf;
  const all = Array.from({ length: books }, (_, i) => i);
  const requested: string[] = [];
  return {
    requested,
    query(author, { page = 1, pageSize = 20, credits }) {
      requested.push(`${page}/${pageSize}`);
      const length = size === 'all at once' ? Infinity : 'always' in size ? size.always : Math.min(pageSize, size.atMost);
      const pages = size === 'all at once' ? 1 : Math.max(1, Math.ceil(books / length));
      const isBeyond = page > pages && !isFirstOnly;
      if (isBeyond && beyond === '404') {
        const message = `${author}: no such author`;
        return Promise.reject(
          new SourceError({ code: 'HEADGATE_AUTHOR_NOT_FOUND', message, retryable: false, service: 'books', subject: author }),
        );
      }
      const beyondPage = beyond === 'the last again' ? pages : beyond === 'the first again' ? 1 : pages + 1;
      const shown = isFirstOnly ? 1 : isBeyond ? beyondPage : page;
      const from = shown === 1 ? 0 : (shown - 1) * length;
      const numbers = [
        ...(shown > 1 ? all.slice(from - length, from).filter((n) => repeated?.has(n) === true) : []),
        ...all.slice(from, from + length),
      ];
      // A field that differs in each response.
      const record = numbers.filter((n) => hidden?.has(n) !== true).map((n) => ({ isbn13: isbns[n] ?? '', n, views: requested.length }));
      const answer = { author, namesAnother: false, record: { author, books: record, ...(total !== undefined && { total }) } };
      return Promise.resolve({ value: answer, credit: credits.reserve(record.length) });
    },
  };
}

const isbns = sampleIsbns(1_000);

async function walk(shelf: Shelf, options: AuthorPagesOptions = {}) {
  const { query: request, requested } = service(shelf);
  const pages: AuthorPage[] = [];
  const stream = walkPages({
    ...options,
    ...pagingCalls('books'),
    paging: authorPaging('Ada', options),
    service: 'books',
    subject: () => 'Ada',
    query: async (query, reading) => await authorPage(request, query, reading),
  });
  const error: unknown = await (async () => {
    for await (const { page, next } of stream) pages.push({ ...page, next });
  })().catch((reason: unknown) => reason);
  const numbers = pages.flatMap(({ record }) => record.books.map((book) => (book as { n: number }).n));
  return { pages, requested, numbers, error };
}

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** Shelves of any kind, and the numbers of the books that a walk must write. */
const shelves = fc
  .record({
    books: fc.oneof(
      fc.nat(130),
      fc.nat(13).map((n) => 10 * n),
    ),
    size: fc.oneof(
      fc.integer({ min: 1, max: 150 }).map((atMost) => ({ atMost })),
      fc.integer({ min: 1, max: 60 }).map((always) => ({ always })),
      fc.constant('all at once' as const),
    ),
    beyond: fc.constantFrom<Beyond>('empty', '404', 'the last again', 'the first again'),
    total: fc.constantFrom('none', 'right', 'too large', 'too small'),
    off: fc.integer({ min: 1, max: 40 }),
    hiddenOnes: fc.array(fc.nat(130), { maxLength: 5 }),
    repeatedOnes: fc.array(fc.nat(130), { maxLength: 5 }),
    isFirstOnly: fc.constantFrom(false, false, false, true),
  })
  .map(({ books, total, off, hiddenOnes, repeatedOnes, ...more }): Shelf => {
    const totals: Record<string, number> = { right: books, 'too large': books + off, 'too small': Math.max(0, books - off) };
    return { ...more, books, total: totals[total], hidden: new Set(hiddenOnes), repeated: new Set(repeatedOnes) };
  });

test('every visible book comes, or the last page says that some may be missing', async () => {
  let told = 0;
  await fc.assert(
    fc.asyncProperty(shelves, fc.constantFrom(1, 7, 20, 50, 100, undefined), async (shelf, pageSize) => {
      const { pages, requested, numbers, error } = await walk(shelf, { ...(pageSize !== undefined && { pageSize }) });
      const missing = upTo(shelf.books).filter((n) => shelf.hidden?.has(n) !== true && !numbers.includes(n));
      const isTold = pages.at(-1)?.mayBeCut === true;
      if (isTold) told += 1;
      expect(error).toBeUndefined();
      expect(isTold || isBeyondNotice(shelf, pages) ? [] : missing).toEqual([]);
      expect(pages.map(({ page }) => page)).toEqual(upTo(pages.length).map((i) => i + 1));
      expect(pages.map(({ last }) => last)).toEqual(pages.map((_, i) => i === pages.length - 1));
      expect(requested).toEqual(pages.map(({ page }) => `${page}/${pageSize ?? 100}`));
    }),
    { numRuns: 1_000 },
  );
  expect(told).toBeGreaterThan(100);
});

/** True if nothing in the responses shows that books are missing. */
function isBeyondNotice({ isFirstOnly, total, hidden }: Shelf, pages: readonly AuthorPage[]): boolean {
  const { read = 0, page = 1 } = pages.at(-1) ?? {};
  const isBelieved = total !== undefined && total <= read;
  // A page whose books are all hidden is an empty one, and the end. A service that sends one page, and a total of just its books, has no more.
  return (total === undefined || isBelieved) && ((isFirstOnly === true && isBelieved) || (hidden?.size ?? 0) >= page - pages.length + 1);
}

test('a walk that goes on at a checkpoint brings what the first would have brought', async () => {
  await fc.assert(
    fc.asyncProperty(shelves, fc.nat(5), async (shelf, stop) => {
      const still = { ...shelf, isFirstOnly: false };
      const whole = await walk(still, { pageSize: 20 });
      const next = whole.pages[stop]?.next;
      fc.pre(next !== undefined);
      const rest = await walk(still, { pageSize: 20, from: JSON.parse(JSON.stringify(next)) as typeof next });
      const ofPage = ({ page, last, mayBeCut, read, total }: AuthorPage) => ({ page, last, mayBeCut, read, total });
      expect(rest.pages.map(ofPage)).toEqual(whole.pages.slice(stop + 1).map(ofPage));
      expect(rest.numbers).toEqual(whole.numbers.slice(-rest.numbers.length || whole.numbers.length));
    }),
  );
});

describe('requests: one after the last page with books', () => {
  test.each<[number, Shelf['size'], Beyond, number]>([
    [45, { atMost: 1_000 }, 'empty', 2],
    [45, { always: 20 }, 'empty', 4],
    [45, 'all at once', 'the first again', 2],
    [0, { atMost: 1_000 }, 'empty', 1],
    [100, { atMost: 1_000 }, '404', 2],
    [20, { atMost: 1_000 }, 'empty', 2],
    [40, { always: 20 }, 'the last again', 3],
    [100, { always: 25 }, 'empty', 5],
  ])('%i books, pages %j, beyond %s: %i', async (books, size, after, requests) => {
    for (const total of [undefined, books]) {
      const { requested, numbers, pages } = await walk({ books, size, beyond: after, total });
      expect([requested.length, numbers]).toEqual([requests, upTo(books)]);
      expect(pages.at(-1)).toMatchObject({ read: books });
    }
  });
});

test('the last page says that books may be missing', async () => {
  const cut = async (shelf: Shelf): Promise<boolean | undefined> => (await walk(shelf)).pages.at(-1)?.mayBeCut;
  const allAtOnce = { size: 'all at once', beyond: 'the first again' } as const;
  // The service may ignore the number of the page, unless as many books came as it counts.
  expect(await cut({ books: 45, ...allAtOnce })).toBe(true);
  expect(await cut({ books: 345, ...allAtOnce })).toBe(true);
  expect(await cut({ books: 45, ...allAtOnce, total: 45 })).toBe(false);
  expect(await cut({ books: 40, size: { always: 20 }, beyond: 'the last again' })).toBe(false);
  expect(await cut({ books: 40, size: { always: 20 }, beyond: 'the first again' })).toBe(false);
  // The service counts more than it shows, such as hidden books.
  expect(await cut({ books: 40, size: { always: 20 }, beyond: 'empty', total: 41 })).toBe(true);
  expect(await cut({ books: 99, size: { atMost: 100 }, beyond: '404', total: 99, hidden: new Set([7]) })).toBe(true);
  expect(await cut({ books: 0, size: { atMost: 100 }, beyond: 'empty', total: 3 })).toBe(true);
  // It shows more than it counts, or doesn't count.
  expect(await cut({ books: 40, size: { always: 20 }, beyond: 'empty', total: 20 })).toBe(false);
  expect(await cut({ books: 40, size: { always: 20 }, beyond: 'empty' })).toBe(false);
});

test('a walk ends at its limit, with the page to go on at', async () => {
  const shelf: Shelf = { books: 1_000, size: { always: 20 }, beyond: 'empty' };
  const { numbers, error } = await walk(shelf, { maxPages: 3, page: 2 });
  expect(numbers).toEqual(upTo(80).slice(20));
  expect(error).toMatchObject({
    code: 'HEADGATE_PAGE_LIMIT',
    retryable: true,
    subject: 'Ada',
    message: 'Ada: 3 pages arrived, and the last one has a next page. To continue, resume after it, or allow more pages (maxPages).',
  });
  const { requested } = await walk(shelf, { page: 5, maxPages: 100 });
  expect([requested[0], requested.length]).toEqual(['5/100', 47]);
});

test('a page that begins beyond the end is the last one, and an unknown author is an error', async () => {
  const shelf: Shelf = { books: 45, size: { atMost: 1_000 }, beyond: '404' };
  expect((await walk(shelf, { page: 9 })).pages).toMatchObject([{ page: 9, last: true, record: { books: [] } }]);
  const query: Parameters<typeof authorPage>[0] = () =>
    service(shelf).query('Ada', { page: 99, credits: creditPool({ max: 1 }), signal: new AbortController().signal });
  const paging = authorPaging('Ada');
  const read = authorPage(query, paging.query(paging.first), { credits: creditPool({ max: 1 }) });
  await expect(read).rejects.toMatchObject({ code: 'HEADGATE_AUTHOR_NOT_FOUND' });
});
