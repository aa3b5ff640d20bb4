import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TopicLog } from '@headgate/topics';
import { expect } from 'vitest';
import type { Ended } from './headgate-process.fixture.ts';

const [HALLS, SHELVES, BOOKS, PAGE] = [5, 2, 100, 30];
const numbered = (count: number, prefix: string) => Array.from({ length: count }, (_, i) => ({ id: `${prefix}${i}` }));

function entriesOf(path: string): readonly { readonly id: string }[] {
  const [, level, above = '', book = ''] = path.split('/');
  if (level === 'shelves') return numbered(SHELVES, `${above}-s`);
  return level === 'books' ? numbered(BOOKS, `${above}-b`) : [{ id: `${above}/${book}` }];
}

const halls = numbered(HALLS, 'h').map(({ id }) => `/shelves/${id}`);
const shelves = halls.flatMap(entriesOf).map(({ id }) => `/books/${id}`);
const books = shelves.flatMap((list) => entriesOf(list).map(({ id }) => `/copies/${list.slice('/books/'.length)}/${id}`));
/** The paths of all lists of the library, by level. */
const LISTS: Readonly<Record<string, readonly string[]>> = { shelves: halls, books: shelves, copies: books };

/** Minimum requests to read each list of the library once. */
const LEAST: number = Object.values(LISTS)
  .flat()
  .reduce((sum, list) => sum + Math.ceil(entriesOf(list).length / PAGE), 0);

/** The list and page that contain the record of each key. */
const PAGE_OF: ReadonlyMap<string, string> = new Map(
  Object.values(LISTS)
    .flat()
    .flatMap((list) => entriesOf(list).map(({ id }, i) => [id, `${list} ${Math.floor(i / PAGE) + 1}`] as const)),
);

/** A service of three levels: the shelves of each hall, the books of each shelf, and a copy of each of the thousand books. */
export interface Library extends AsyncDisposable {
  readonly url: string;
  /** Number of requests received so far. */
  requests(): number;
  /** Resolves after `at` requests, or when every page was requested. */
  reached(at: number): Promise<void>;
  /** Call after a process was killed, to find out which listings were in flight. `name` is the first part of the topics' names. */
  killed(log: TopicLog, name: string): Promise<void>;
  /** Expects each record once. Allows one repeated request per kill for a listing that was in flight, and none for other listings. */
  expectWhole(log: TopicLog, name: string): Promise<void>;
}

export async function startLibrary(): Promise<Library> {
  let requests = 0;
  const requested = new Set<string>();
  /** Listings that a kill found in flight, and that haven't repeated a request since. */
  const mayRepeat = new Set<string>();
  const needless: string[] = [];
  let killsAmid = 0;
  const waiting = new Set<{ readonly at: number; readonly reached: () => void }>();
  /** Holds responses from a kill until its listings in flight are known, so that another process can't finish them first. */
  let gate = Promise.withResolvers<void>();
  gate.resolve();
  const isOver = (at: number): boolean => requests >= at || requested.size === LEAST;
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
    const page = Number(searchParams.get('page') ?? 1);
    if (pathname !== '/') {
      requests += 1;
      if (requested.has(`${pathname} ${page}`) && !mayRepeat.delete(pathname)) needless.push(`${pathname} ${page}`);
      requested.add(`${pathname} ${page}`);
    }
    for (const one of waiting) {
      if (!isOver(one.at)) continue;
      waiting.delete(one);
      gate = Promise.withResolvers();
      one.reached();
    }
    const all = entriesOf(pathname);
    const items = all.slice((page - 1) * PAGE, page * PAGE);
    const next = page * PAGE < all.length ? `${pathname}?page=${page + 1}` : null;
    const answer = (): void => void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ items, next }));
    if (pathname === '/') answer();
    else void gate.promise.then(answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const keysOf = async (log: TopicLog, topic: string): Promise<string[]> =>
    (await Array.fromAsync(log.read({ topic }), ({ key }) => key ?? '')).toSorted();
  return {
    url,
    requests: () => requests,
    async reached(at) {
      if (requested.size < LEAST) await new Promise<void>((resolve) => waiting.add({ at, reached: resolve }));
    },
    async killed(log, name) {
      const written = new Set<string | undefined>();
      for (const level of Object.keys(LISTS)) for (const key of await keysOf(log, `${name}.${level}`)) written.add(PAGE_OF.get(key));
      // By the time of this response, the service has also received the requests that the killed process had sent.
      await (await fetch(url)).text();
      for (const page of requested) if (!written.has(page)) mayRepeat.add(page.slice(0, page.lastIndexOf(' ')));
      if (mayRepeat.size > 0) killsAmid += 1;
      gate.resolve();
    },
    async expectWhole(log, name) {
      for (const [level, lists] of Object.entries(LISTS)) {
        const expected = lists.flatMap(entriesOf).map(({ id }) => id);
        expect(await keysOf(log, `${name}.${level}`)).toEqual(expected.toSorted());
      }
      expect(await keysOf(log, `${name}.dead-letters`)).toEqual([]);
      expect(needless).toEqual([]);
      expect(killsAmid).toBeGreaterThan(0);
      expect(requested.size).toBe(LEAST);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The configuration for the library, with two credentials for two lanes. */
export function libraryYaml({ topics, url }: { readonly topics: string; readonly url: string }): string {
  return `topics: { ${topics}, lanes: 2 }
status: false
library:
  use: rest
  baseUrl: ${url}
  credentials: [{ name: one, bearer: "\${TOKEN}" }, { name: two, bearer: "\${KEY}" }]
  limit: { requests: 300, window: 100ms }
  concurrency: 16
  streams:
    shelves: { get: "/shelves/{hall}", for: { hall: [${numbered(HALLS, 'h')
      .map(({ id }) => id)
      .join(', ')}] }, records: "$.items[*]", key: $.id, pages: { next: $.next } }
    books: { get: "/books/{shelf}", for: { each: shelves, with: { shelf: $.id } }, records: "$.items[*]", key: $.id, pages: { next: $.next } }
    copies: { get: "/copies/{shelf}/{book}", for: { each: books, with: { book: $.id } }, records: "$.items[*]", key: $.id }
`;
}

/** A process that runs the configuration of the library. */
interface Worker {
  readonly ended: Promise<Pick<Ended, 'signal'>>;
  signal(name: 'SIGKILL' | 'SIGTERM'): void;
}

export interface KillsOptions {
  readonly library: Library;
  readonly kills: number;
  /** Number of processes at a time. The embedded log permits one, which holds all lanes. */
  readonly processes: 1 | 2;
  /** Starts `run --follow`, so that the process doesn't end before it is killed. */
  readonly start: () => Worker;
  readonly openLog: () => Promise<TopicLog>;
  readonly prefix?: string;
  /** Returns a number from 0 to below 1. */
  readonly random: () => number;
}

/** Kills a process and starts another one, `kills` times while the lists are read. */
export async function killedAmid({ library, kills, processes, start, openLog, prefix = '', random }: KillsOptions): Promise<void> {
  const workers = Array.from({ length: processes }, start);
  for (let killed = 0; killed < kills; killed += 1) {
    // Spreads the kills over the remaining requests.
    const until = library.requests() + 3 + Math.floor(((LEAST - 100) / kills) * random());
    await library.reached(until);
    const at = Math.floor(processes * random());
    const victim = workers[at];
    victim?.signal('SIGKILL');
    expect((await victim?.ended)?.signal).toBe('SIGKILL');
    await using log = await openLog();
    await library.killed(log, `${prefix}library`);
    workers[at] = start();
  }
  // SIGKILL, because a busy machine can miss the deadline of a stop with SIGTERM.
  for (const worker of workers) worker.signal('SIGKILL');
  for (const { ended } of workers) await ended;
  await using log = await openLog();
  await library.killed(log, `${prefix}library`);
}
