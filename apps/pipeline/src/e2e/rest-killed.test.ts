import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { workplace } from './headgate-process.fixture.ts';

const KILLS = process.env['HEADGATE_TORTURE'] === '1' ? 20 : 4;
const [SHELVES, BOOKS, PAGE] = [10, 100, 30];

const shelves = Array.from({ length: SHELVES }, (_, i) => ({ id: `s${i}` }));
const booksOf = (shelf: string) => Array.from({ length: BOOKS }, (_, i) => ({ id: `${shelf}-b${i}` }));

/** Three levels: shelves, their books, and a copy of each book. Every request of a run counts. */
async function startLibrary() {
  let requests = 0;
  const waiting = new Set<{ readonly at: number; readonly reached: () => void }>();
  const server = createServer((request, response) => {
    requests += 1;
    for (const one of waiting) if (requests >= one.at) one.reached();
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
    const [, , shelf = '', book = ''] = pathname.split('/');
    const all = pathname === '/shelves' ? shelves : pathname.startsWith('/books/') ? booksOf(shelf) : [{ id: `${shelf}/${book}` }];
    const page = Number(searchParams.get('page') ?? 1);
    const items = all.slice((page - 1) * PAGE, page * PAGE);
    const next = page * PAGE < all.length ? `${pathname}?page=${page + 1}` : null;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ items, next }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    /** Resolves at that many requests. */
    async reached(at: number): Promise<void> {
      await new Promise<void>((resolve) => waiting.add({ at, reached: resolve }));
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

it('writes each record of three levels once, however often it is killed amid a thousand children', async () => {
  await using library = await startLibrary();
  await using place = await workplace(`
topics: { driver: sqlite, file: headgate.db }
library:
  use: rest
  baseUrl: ${library.url}
  credentials: [{ name: anyone }]
  limit: { requests: 300, window: 100ms }
  streams:
    shelves: { get: /shelves, records: "$.items[*]", key: $.id, pages: { next: $.next } }
    books: { get: "/books/{shelf}", for: { each: shelves, with: { shelf: $.id } }, records: "$.items[*]", key: $.id, pages: { next: $.next } }
    copies: { get: "/copies/{shelf}/{book}", for: { each: books, with: { book: $.id } }, records: "$.items[*]", key: $.id }
`);
  const least = 1 + SHELVES * Math.ceil(BOOKS / PAGE) + SHELVES * BOOKS;
  for (let killed = 0; killed < KILLS; killed += 1) {
    const run = place.start('run');
    // Within what is left, more or less: the first kills come while the levels above are listed.
    const reached = library.reached(library.requests() + 3 + Math.floor(((least - 100) / KILLS) * Math.random()));
    await Promise.race([reached, run.ended]);
    run.child.kill('SIGKILL');
    expect((await run.ended).signal).toBe('SIGKILL');
  }
  const { code, stderr } = await place.headgate('run');
  expect(code, stderr).toBe(0);
  const keys = async (topic: string) => (await place.records(topic)).map(({ key }) => key ?? '').toSorted();
  expect(await keys('library.shelves')).toEqual(shelves.map(({ id }) => id).toSorted());
  const books = shelves.flatMap(({ id }) => booksOf(id).map((book) => book.id));
  expect(await keys('library.books')).toEqual(books.toSorted());
  expect(await keys('library.copies')).toEqual(shelves.flatMap(({ id }) => booksOf(id).map((book) => `${id}/${book.id}`)).toSorted());
  expect(await place.records('library.dead-letters')).toEqual([]);
});
