import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A service of shelves. Each shelf has `pages` pages of 10 books. A shelf in `gone` gets status 404. */
export interface ShelfService extends AsyncDisposable {
  readonly url: string;
  /** Paths of the requests received so far. */
  readonly asked: string[];
  /** Shelves that the service doesn't have. */
  readonly gone: Set<string>;
}

export async function startShelves({
  pages,
  latencyMs = 0,
}: {
  readonly pages: number;
  readonly latencyMs?: number;
}): Promise<ShelfService> {
  const asked: string[] = [];
  const gone = new Set(['gone']);
  const server = createServer(({ url = '', headers }, response) => {
    asked.push(url);
    const { pathname, searchParams } = new URL(url, 'http://shelves');
    const shelf = pathname.split('/').at(-1) ?? '';
    const page = Number(searchParams.get('page'));
    const status = headers.authorization === 'Bearer tok-7Gh2-never-shown' ? (gone.has(shelf) ? 404 : 200) : 401;
    const books = Array.from({ length: 10 }, (_, i) => `${shelf}-${(page - 1) * 10 + i}`);
    setTimeout(() => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(status === 200 ? { books, next: page < pages ? page + 1 : null } : {}));
    }, latencyMs);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    gone,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A user's module in one file: the pipeline `shelves`, with types that Node strips. */
export const SHELVES_MODULE = `import { bearer } from '@headgate/auth';
import { definePipeline, secret, topic, walk } from '@headgate/pipeline';
import { SourceError, defineSource, jsonBody, pageNumbers } from '@headgate/sources';
import * as z from 'zod';

const page = z.object({ books: z.array(z.string()), next: z.number().nullable() });
interface Query {
  readonly shelf: string;
  readonly page: number;
}

const source = defineSource<Query, z.output<typeof page>>({
  service: 'shelves',
  limit: { requests: 10_000, windowMs: 1_000 },
  toRequest: ({ shelf, page }) => ({ method: 'GET', path: \`/shelf/\${shelf}\`, query: { page: String(page) } }),
  classify(answer, { query }) {
    const code = 'NO_SHELF';
    if (answer.status === 404) return { kind: 'not-found', error: new SourceError({ code, message: \`\${query.shelf}: no such shelf.\`, retryable: false, service: 'shelves' }) };
    const body = jsonBody(answer, JSON.parse);
    const read = body.kind === 'json' ? page.safeParse(body.value) : undefined;
    return read?.success === true ? { kind: 'ok', value: read.data } : { kind: 'transient', reason: \`answered \${answer.status}\` };
  },
  subject: ({ shelf }) => shelf,
  items: () => 10,
  itemsOf: ({ books }) => books.length,
});

export default definePipeline({
  name: 'shelves',
  options: z.strictObject({
    baseUrl: z.url().describe('Address of the service.'),
    token: secret().describe('Bearer token.'),
    lists: z.array(z.string().min(1)).default([]).describe('Shelves to walk.'),
  }),
  request: z.strictObject({ shelf: z.string() }),
  topics: { records: topic({ value: z.object({ book: z.string() }) }) },
  keyOf: ({ shelf }) => shelf,
  parse: (line) => ({ shelf: line }),
  listed: ({ lists }) => lists.map((shelf) => ({ shelf })),
  probe({ baseUrl, token }, io) {
    const api = source({ ...io, baseUrl, credentials: [{ name: 'token', signer: bearer(token) }] });
    return { source: api, query: () => api.query({ shelf: 'a', page: 1 }, { credits: io.credits }) };
  },
  open: ({ baseUrl, token }, io) =>
    walk({
      source: source({ ...io, baseUrl, credentials: [{ name: 'token', signer: bearer(token) }] }),
      paging: ({ shelf }) => pageNumbers({ query: (page) => ({ shelf, page }), isLast: ({ next }) => next === null }),
      records: ({ books }, { topics, key }) => books.map((book) => topics.records({ key, value: { book } })),
    }),
});
`;
