import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { type ReadRecord, workplace } from './headgate-process.fixture.ts';

/** Books per page of `authorService`, whatever page size a request asks for. */
const PAGE = 20;

it('a run writes all 45 books of an author page by page, each once, even across a kill between two pages', async () => {
  const books = Array.from({ length: 45 }, (_, i) => ({ isbn13: String(i) }));
  await using service = await authorService(books);
  await using place = await workplace(booksYaml(service.url, ['Ada Brook']));

  service.hold(3);
  const killed = place.start('run');
  await expect.poll(() => service.asked.length).toBe(3);
  killed.child.kill('SIGKILL');
  await killed.ended;
  const run = await place.headgate('run');
  expect([run.code, run.stderr]).toEqual([0, expect.stringMatching(/1 job, 2 pages, 5 books +-> books\.authors/)]);
  expect(service.asked).toEqual(['1/100', '2/100', '3/100', '3/100', '4/100'].map((page) => `Ada Brook ${page}`));
  const records = await place.records('books.authors');
  expect(records.map(pageOf)).toEqual([
    ['Ada Brook', 1, false, 20],
    ['Ada Brook', 2, false, 20],
    ['Ada Brook', 3, false, 5],
    ['Ada Brook', 4, true, 0],
  ]);
  expect(records.flatMap(booksOf)).toEqual(books);
  expect(records.map(({ headers }) => headers['ce_id'])).toEqual([1, 2, 3, 4].map((page) => `books.requests-0-0/${page}`));
  expect((await place.headgate('run')).code).toBe(0);
  expect(service.asked).toHaveLength(5);
});

it('a run stops at the maximum number of pages with a dead letter, and replay continues from there', async () => {
  const books = Array.from({ length: 95 }, (_, i) => ({ isbn13: String(i) }));
  await using service = await authorService(books);
  await using place = await workplace(booksYaml(service.url, [], '  maxPages: 2\n'));
  expect((await place.headgate('enqueue', 'books', '--author', 'Ada Brook')).code).toBe(0);

  const run = await place.headgate('run');
  expect(run.code).toBe(1);
  expect(run.stderr).toContain('Ada Brook: 2 pages arrived, and the last one has a next page.');
  const [deadLetter] = await place.records('books.dead-letters');
  expect(deadLetter?.value).toMatchObject({
    request: { author: 'Ada Brook' },
    error: { code: 'HEADGATE_PAGE_LIMIT', retryable: true },
  });
  for (const code of [1, 0]) {
    await place.headgate('replay', 'books.dead-letters');
    expect((await place.headgate('run')).code).toBe(code);
  }
  const records = await place.records('books.authors');
  expect(records.flatMap(booksOf)).toEqual(books);
  expect(records.map(({ value }) => value['last'])).toEqual([false, false, false, false, false, true]);
});

it('a run warns if the service counts more books than it shows', async () => {
  const books = Array.from({ length: 25 }, (_, i) => ({ isbn13: String(i) }));
  await using service = await authorService(books, { total: 26 });
  await using place = await workplace(booksYaml(service.url, ['Ada Brook']));
  const run = await place.headgate('run');
  expect(run.code).toBe(0);
  expect(run.stderr).toContain("Ada Brook: the service ended the list of the author's books after 25, but counts 26.");
  expect((await place.records('books.authors')).flatMap(booksOf)).toEqual(books);
});

it('a run warns if an author may have more books', async () => {
  const books = Array.from({ length: PAGE }, (_, i) => ({ isbn13: String(i) }));
  await using service = await authorService(books, { turns: false });
  await using place = await workplace(booksYaml(service.url, ['Ada Brook']));
  const run = await place.headgate('run');
  expect(run.code).toBe(0);
  expect(run.stderr).toContain("Ada Brook: the service returned the first page of the author's books again as the next one");
  expect((await place.records('books.authors')).map(pageOf)).toEqual([
    ['Ada Brook', 1, false, 20],
    ['Ada Brook', 2, true, 0],
  ]);
});

it("a run writes an author's books under another name, and warns", async () => {
  await using service = await authorService([{ isbn13: '1' }], { names: { 'Ada Brook': 'Somebody Else', 'Mark Twain': 'Twain, Mark' } });
  await using place = await workplace(booksYaml(service.url, ['Ada Brook', 'Mark Twain']));
  const run = await place.headgate('run');
  expect(run.code).toBe(0);
  expect(run.stderr.match(/.*names another author.*/gu)).toEqual([
    expect.stringContaining('Ada Brook: page 1 of the books that the service returned names another author.'),
  ]);
  const records = (await place.records('books.authors')).filter(({ value }) => booksOf({ value }).length > 0);
  expect(records.map(({ key, value }) => [key, value['author'], value['record']])).toEqual([
    ['Ada Brook', 'Ada Brook', { author: 'Somebody%20Else', books: [{ isbn13: '1' }] }],
    ['Mark Twain', 'Mark Twain', { author: 'Twain%2C%20Mark', books: [{ isbn13: '1' }] }],
  ]);
  expect(await place.records('books.dead-letters')).toEqual([]);
});

function pageOf({ key, value }: ReadRecord): unknown[] {
  return [key, value['page'], value['last'], booksOf({ value }).length];
}

function booksOf({ value }: Pick<ReadRecord, 'value'>): readonly unknown[] {
  return (value['record'] as { books: unknown[] }).books;
}

interface AuthorService extends AsyncDisposable {
  readonly url: string;
  /** Each request as `name page/pageSize`. */
  readonly asked: readonly string[];
  /** Makes the service never answer the nth request. */
  hold(n: number): void;
}

interface AuthorServiceOptions {
  /** Whether the service pages at all. */
  readonly turns?: boolean;
  /** The total that the service sends. Default: none. */
  readonly total?: number;
  /** The names that the service's responses have instead of the requested ones. */
  readonly names?: Readonly<Record<string, string>>;
}

async function authorService(
  books: readonly unknown[],
  { turns = true, names = {}, total }: AuthorServiceOptions = {},
): Promise<AuthorService> {
  const asked: string[] = [];
  let held = 0;
  const answer = (name: string, page: number, response: ServerResponse): void => {
    const from = turns ? (page - 1) * PAGE : 0;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ author: encodeURIComponent(names[name] ?? name), books: books.slice(from, from + PAGE), total }));
  };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    const name = decodeURIComponent(pathname.slice('/author/'.length));
    const page = Number(searchParams.get('page') ?? 1);
    asked.push(`${name} ${page}/${searchParams.get('pageSize') ?? ''}`);
    if (asked.length !== held) answer(name, page, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    hold(n) {
      held = n;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function booksYaml(url: string, authors: readonly string[], more = ''): string {
  return `topics: { driver: sqlite, file: ./headgate.db }
status: false
books:
  baseUrl: ${url}
  key: "\${KEY}"
  maxDelay: 0s
  authors: ${JSON.stringify(authors)}
${more}`;
}
