import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { bearer } from '@headgate/auth';
import { SourceError, type SourceOptions, cursorParameter, defineSource, jsonBody } from '@headgate/sources';
import * as z from 'zod';
import type { DefinedPipeline } from '../definition/pipeline.ts';
import { definePipeline } from '../definition/define-pipeline.ts';
import { secret } from '../settings/secret.ts';
import { topic } from '../topics/topic.ts';
import { walk } from '../jobs/walk.ts';

export interface ShelfPage {
  readonly items: readonly string[];
  readonly next: string | null;
}

/**
 * Starts a service of shelves with numbered items, three per page. The service records its requests. While `isDown` is true, it breaks off
 * connections. `items`: number of items by shelf. `answers`: number of requests before responses have status 401. `silent`: number of first
 * requests without a response.
 */
export async function catalogueService({
  items,
  answers = Infinity,
  headers = {},
  silent = 0,
}: {
  readonly items: Readonly<Record<string, number>>;
  readonly answers?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly silent?: number;
}) {
  const requests: string[] = [];
  const service = { isDown: false };
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    requests.push(url.pathname + url.search);
    if (service.isDown) {
      response.destroy();
      return;
    }
    if (requests.length <= silent) return;
    const shelf = url.pathname.slice(1);
    const count = items[shelf];
    response.setHeader('content-type', 'application/json');
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (count === undefined || requests.length > answers) {
      response.statusCode = count === undefined ? 404 : 401;
      response.end('{}');
      return;
    }
    const from = Number(url.searchParams.get('from') ?? 0);
    const to = Math.min(count, from + 3);
    const page = Array.from({ length: to - from }, (_, i) => `${shelf}-${from + i}`);
    response.end(JSON.stringify({ items: page, next: to < count ? String(to) : null }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(service, {
    baseUrl: `http://127.0.0.1:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  });
}

interface ShelfQuery {
  readonly shelf: string;
  readonly from: string | undefined;
}

const shelfPage: z.ZodType<ShelfPage> = z.object({ items: z.array(z.string()), next: z.string().nullable() });

const catalogueSource = defineSource<ShelfQuery, ShelfPage>({
  service: 'catalogue',
  limit: { requests: 1_000, windowMs: 1_000 },
  toRequest: ({ shelf, from }) => ({ method: 'GET', path: `/${shelf}`, ...(from !== undefined && { query: { from } }) }),
  classify(answer, { query }) {
    if (answer.status === 404) return { kind: 'not-found', error: noShelf(query.shelf) };
    if (answer.status === 401) return { kind: 'unauthorized', error: refusedToken() };
    const body = jsonBody(answer, JSON.parse);
    if (body.kind === 'broken') return { kind: 'transient', reason: body.reason };
    const page = shelfPage.safeParse(body.value);
    return page.success ? { kind: 'ok', value: page.data } : { kind: 'transient', reason: 'the page does not fit' };
  },
  subject: ({ shelf }) => shelf,
  items: () => 3,
  itemsOf: ({ items }) => items.length,
});

function refusedToken(): SourceError {
  return new SourceError({ code: 'HEADGATE_TOKEN_REFUSED', message: 'its token is invalid', retryable: false, service: 'catalogue' });
}

function noShelf(shelf: string): SourceError {
  return new SourceError({
    code: 'HEADGATE_NO_SHELF',
    message: `There is no shelf ${shelf}.`,
    retryable: false,
    service: 'catalogue',
    subject: shelf,
  });
}

const options = z.strictObject({
  baseUrl: z.string(),
  token: secret(),
  shelves: z.array(z.string()).default([]),
  limit: z.strictObject({ requests: z.int(), windowMs: z.int() }).optional(),
  timeout: z.int().default(30_000),
});

const request = z.strictObject({ shelf: z.string().regex(/^[a-z]+$/, 'must be a word') });

/** A pipeline for `catalogueService`. `onPage` is called when a page's records are created, and can throw. */
export function catalogue(onPage: (page: ShelfPage) => void = () => undefined): DefinedPipeline<typeof options> {
  return definePipeline({
    name: 'catalogue',
    options,
    request,
    topics: { records: topic({ value: z.object({ item: z.string() }) }) },
    unit: 'items',
    keyOf: ({ shelf }) => shelf,
    parse: (line) => ({ shelf: line }),
    listed: ({ shelves }) => shelves.map((shelf) => ({ shelf })),
    open: ({ baseUrl, token, limit, timeout }, io) =>
      walk({
        source: catalogueSource({
          ...io,
          baseUrl,
          timeoutMs: timeout,
          ...(limit && { limit }),
          credentials: [{ name: 'token', signer: bearer(token) }],
        } satisfies SourceOptions),
        paging: ({ shelf }) => cursorParameter({ query: (from) => ({ shelf, from }), next: ({ next }) => next }),
        records(page, { topics, request: { shelf } }) {
          onPage(page);
          return page.items.map((item) => topics.records({ key: shelf, value: { item } }));
        },
      }),
  });
}
