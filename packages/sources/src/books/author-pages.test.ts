import { creditPool } from '@headgate/throttle';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SourceError } from '../source-error.ts';
import { pagingCalls } from '../define-source.ts';
import { walkPages } from '../walk-pages.ts';
import { type AuthorPage, authorPage, type AuthorPagesOptions, authorPaging } from './author-pages.ts';

type Beyond = 'empty' | '404' | 'the last again' | 'the first again';

interface Shelf {
  readonly books: number;
  /** The service's page size: the requested one up to a maximum, always the same, or all books on one page. */
  readonly size: { readonly atMost: number } | { readonly always: number } | 'all at once';
  readonly beyond: Beyond;
}

/** A service with one author. `beyond`: its response to a page after the last. */
function service({ books, size, beyond }: Shelf): { readonly query: Parameters<typeof authorPage>[0]; readonly requested: string[] } {
  const all = Array.from({ length: books }, (_, i) => ({ isbn13: String(i) }));
  const requested: string[] = [];
  return {
    requested,
    query(author, { page = 1, pageSize = 20, credits }) {
      requested.push(`${page}/${pageSize}`);
      const length = size === 'all at once' ? Infinity : 'always' in size ? size.always : Math.min(pageSize, size.atMost);
      const pages = size === 'all at once' ? 1 : Math.max(1, Math.ceil(books / length));
      const isBeyond = page > pages;
      if (isBeyond && beyond === '404') {
        const message = `${author}: no such author`;
        return Promise.reject(
          new SourceError({ code: 'HEADGATE_AUTHOR_NOT_FOUND', message, retryable: false, service: 'books', subject: author }),
        );
      }
      const shown = !isBeyond ? page : beyond === 'the last again' ? pages : beyond === 'the first again' ? 1 : pages + 1;
      const record = { author, books: pages === 1 && shown === 1 ? all : all.slice((shown - 1) * length, shown * length) };
      return Promise.resolve({ value: { author, namesAnother: false, record }, credit: credits.reserve(record.books.length) });
    },
  };
}

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
  const numbers = pages.flatMap(({ record }) => record.books.map((book) => Number((book as { isbn13: string }).isbn13)));
  return { pages, requested, numbers, error };
}

const beyond = fc.constantFrom<Beyond>('empty', '404', 'the last again', 'the first again');
const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

test('every book comes once and in order, whatever the service makes of the page size, and whatever lies beyond', async () => {
  const size = fc.oneof(
    fc.constantFrom(10, 20, 50, 100, 1_000).map((atMost) => ({ atMost })),
    fc.constantFrom(10, 20, 30, 50).map((always) => ({ always })),
    fc.constant('all at once' as const),
  );
  const shelf = fc.record({
    books: fc.oneof(
      fc.nat(130),
      fc.nat(13).map((n) => 10 * n),
    ),
    size,
    beyond,
  });
  await fc.assert(
    fc.asyncProperty(shelf, fc.constantFrom(1, 7, 20, 50, 100, undefined), async (given, pageSize) => {
      const { pages, requested, numbers, error } = await walk(given, { ...(pageSize !== undefined && { pageSize }) });
      expect(error).toBeUndefined();
      expect(numbers).toEqual(upTo(given.books));
      expect(pages.map(({ page }) => page)).toEqual(upTo(pages.length).map((i) => i + 1));
      expect(pages.map(({ last }) => last)).toEqual(pages.map((_, i) => i === pages.length - 1));
      expect(requested).toEqual(pages.map(({ page }) => `${page}/${pageSize ?? 100}`));
    }),
    { numRuns: 1_000 },
  );
});

test('a walk that goes on at a checkpoint brings what the first would have brought', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(130), beyond, fc.nat(5), async (books, after, stop) => {
      const shelf: Shelf = { books, size: { always: 20 }, beyond: after };
      const whole = await walk(shelf);
      const next = whole.pages[stop]?.next;
      fc.pre(next !== undefined);
      const rest = await walk(shelf, { from: JSON.parse(JSON.stringify(next)) as typeof next });
      expect(rest.pages).toEqual(whole.pages.slice(stop + 1));
    }),
  );
});

describe('requests', () => {
  test.each<[number, Shelf['size'], Beyond, number]>([
    [45, { atMost: 1_000 }, 'empty', 1],
    [45, { always: 20 }, 'empty', 3],
    [45, 'all at once', 'the first again', 1],
    [0, { atMost: 1_000 }, 'empty', 1],
    [100, { atMost: 1_000 }, '404', 2],
    // One request more than needed: the walk can't know that 20 isn't the service's own page size.
    [20, { atMost: 1_000 }, 'empty', 2],
    [40, { always: 20 }, 'the last again', 3],
  ])('%i books, pages %j, beyond %s: %i', async (books, size, after, requests) => {
    const { requested, numbers } = await walk({ books, size, beyond: after });
    expect([requested.length, numbers]).toEqual([requests, upTo(books)]);
  });
});

test('a service that does not turn its pages may hide books behind a round number of them, and no others', async () => {
  const cut = async (books: number, size: Shelf['size'], after: Beyond): Promise<boolean | undefined> =>
    (await walk({ books, size, beyond: after })).pages.at(-1)?.mayBeCut;
  expect(await cut(20, 'all at once', 'the first again')).toBe(true);
  expect(await cut(100, 'all at once', 'the first again')).toBe(true);
  expect(await cut(345, 'all at once', 'the first again')).toBe(false);
  expect(await cut(45, 'all at once', 'the first again')).toBe(false);
  expect(await cut(40, { always: 20 }, 'the last again')).toBe(false);
  expect(await cut(40, { always: 20 }, 'the first again')).toBe(false);
  expect(await cut(20, { always: 20 }, 'empty')).toBe(false);
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
