import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface DriftingServiceOptions {
  /** Followers of each user at the start. */
  readonly users: Readonly<Record<string, number>>;
  readonly pageSize: number;
  /** Returns a number from 0 to below 1. */
  readonly random: () => number;
}

/** One crawl of a user's list, as the service saw it. */
export interface SeenCrawl {
  /** The IDs that the service sent in this crawl. */
  readonly seen: ReadonlySet<string>;
  /** IDs that were in the list from the crawl's first page to its last. */
  readonly stayed: ReadonlySet<string>;
  /** IDs that were in the list at any time during the crawl. */
  readonly there: ReadonlySet<string>;
}

export interface DriftingService extends AsyncDisposable {
  readonly url: string;
  /** For each user, replaces a random follower with a new one, `changes` times. */
  drift(changes: number): void;
  crawls(user: string): readonly SeenCrawl[];
}

interface Account {
  /** Newest follower first, with the largest `place`. A cursor is a `place`, so it stays valid after followers come or go. */
  list: { readonly id: string; readonly place: number }[];
  readonly crawls: { readonly seen: Set<string>; stayed: Set<string>; readonly there: Set<string> }[];
}

/** Starts a followers service whose lists lose and gain IDs between the pages of a crawl. */
export async function driftingService({ users, pageSize, random }: DriftingServiceOptions): Promise<DriftingService> {
  let newest = 0;
  const follower = () => ({ id: String(2n ** 60n + BigInt((newest += 1))), place: newest });
  const accounts = new Map(
    Object.entries(users).map(([name, count]): [string, Account] => [
      name,
      { list: Array.from({ length: count }, follower).toReversed(), crawls: [] },
    ]),
  );
  const change = ({ list, crawls }: Account): void => {
    const [gone] = list.splice(Math.floor(random() * list.length), 1);
    const come = follower();
    list.unshift(come);
    const current = crawls.at(-1);
    current?.there.add(come.id);
    if (gone !== undefined) current?.stayed.delete(gone.id);
  };
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? '/', 'http://localhost').searchParams;
    const account = accounts.get(query.get('screen_name') ?? '');
    if (account === undefined) return response.writeHead(404).end('{"errors":[{"code":34}]}');
    const cursor = query.get('cursor') ?? '-1';
    if (cursor === '-1') {
      const ids = account.list.map(({ id }) => id);
      account.crawls.push({ seen: new Set(), stayed: new Set(ids), there: new Set(ids) });
    }
    const behind = account.list.filter(({ place }) => cursor === '-1' || place < Number(cursor));
    const page = behind.slice(0, pageSize);
    for (const { id } of page) account.crawls.at(-1)?.seen.add(id);
    const next = behind.length > page.length ? String(page.at(-1)?.place ?? 0) : '0';
    if (next !== '0' && random() < 0.5) change(account);
    response.setHeader('content-type', 'application/json');
    return response.end(JSON.stringify({ ids: page.map(({ id }) => id), next_cursor_str: next, previous_cursor_str: '0' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    drift(changes) {
      for (const account of accounts.values()) {
        // Changes between two crawls don't belong to the earlier one.
        const last = account.crawls.pop();
        for (let i = 0; i < changes; i += 1) change(account);
        if (last !== undefined) account.crawls.push(last);
      }
    },
    crawls: (user) => accounts.get(user)?.crawls ?? [],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
