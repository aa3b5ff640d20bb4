import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type RequestListener, type Server, createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import feathersExpress from '@feathersjs/express';
import { feathers } from '@feathersjs/feathers';
import { memory } from '@feathersjs/memory';
import { OAuth2Server } from 'oauth2-mock-server';
import { expect, it } from 'vitest';
import { lister, pairs, some } from './list.fixture.ts';

const list = lister();

interface JsonServer {
  create(): RequestListener & { use(handler: unknown): void };
  defaults(options: { readonly logger: boolean }): unknown;
  router(data: object): unknown;
}

interface PouchDb {
  plugin(adapter: unknown): PouchDb;
  defaults(options: object): PouchDb;
}

// These packages have no type declarations.
const modules = createRequire(import.meta.url);
const jsonServer = modules('json-server') as JsonServer;
const pouchDb = modules('pouchdb-core') as PouchDb;
const couchServer = modules('express-pouchdb') as (database: PouchDb, options: object) => RequestListener;
const limit = { requests: 500, window: '100ms' };

it('json-server: pages by its Link header, by numbers and by offsets, and children', async () => {
  const posts = some(7);
  const comments = posts.map(({ id }) => ({ id: 100 + id, postId: id }));
  const app = jsonServer.create();
  app.use(jsonServer.defaults({ logger: false }));
  app.use(jsonServer.router({ posts, comments }));
  await serving(app, async (baseUrl) => {
    const size = { query: '_limit', is: 3 };
    const { records, deadLetters } = await list(
      {
        baseUrl,
        credentials: [{ name: 'anyone' }],
        limit,
        streams: {
          linked: { get: '/posts', query: { _page: 1 }, key: '$.id', pages: { link: 'next', size } },
          counted: { get: '/posts', key: '$.id', pages: { page: { query: '_page' }, size } },
          sliced: { get: '/posts', key: '$.id', pages: { offset: { query: '_start' }, size, short: 'last' } },
          comments: { get: '/posts/{post}/comments', for: { each: 'linked', with: { post: '$.id' } }, key: '$.id' },
        },
      },
      { routes: {} },
    );
    for (const stream of ['linked', 'counted', 'sliced']) expect(records[stream]).toEqual(pairs(posts));
    expect(records['comments']?.map(([key]) => key).toSorted()).toEqual(comments.map(({ id }) => String(id)));
    expect(deadLetters).toEqual([]);
  });
});

it('Feathers: offsets with a page size that the server cuts, a total, and a record of each', async () => {
  const app = feathersExpress.default(feathers());
  app.configure(feathersExpress.rest());
  const items = some(7);
  const store = Object.fromEntries(items.map((item) => [item.id, item]));
  app.use('/items', memory({ paginate: { default: 2, max: 3 }, store }));
  app.use(feathersExpress.errorHandler({ logger: false }));
  await listening(await app.listen(0, '127.0.0.1'), async (baseUrl) => {
    const offset = { query: '$skip' };
    const { records, deadLetters } = await list(
      {
        baseUrl,
        credentials: [{ name: 'anyone' }],
        limit,
        streams: {
          items: {
            get: '/items',
            records: '$.data[*]',
            key: '$.id',
            pages: { offset, total: '$.total', size: { query: '$limit', is: 50 } },
          },
          sliced: { get: '/items', records: '$.data[*]', key: '$.id', pages: { offset } },
          details: { get: '/items/{item}', for: { each: 'items', with: { item: '$.id' } }, key: '$.id' },
          gone: { get: '/items/99', errors: [{ when: { '$.className': 'not-found' }, then: 'empty' }] },
        },
      },
      { routes: {} },
    );
    for (const stream of ['items', 'sliced']) expect(records[stream]).toEqual(pairs(items));
    expect(records['details']?.toSorted()).toEqual(pairs(items).toSorted());
    expect(records['gone']).toEqual([]);
    expect(deadLetters).toEqual([]);
  });
});

it('express-pouchdb: the pages of CouchDB, by the number of the last change and by offset', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-couch-'));
  try {
    const database = pouchDb.plugin(modules('pouchdb-adapter-memory')).defaults({ adapter: 'memory' });
    const app = couchServer(database, { mode: 'minimumForPouchDB', inMemoryConfig: true, logPath: join(folder, 'log.txt') });
    await serving(app, async (baseUrl) => {
      const ids = some(7).map(({ id }) => `doc-${id}`);
      const headers = { 'content-type': 'application/json' };
      const created = await fetch(`${baseUrl}/items`, { method: 'PUT' });
      const body = JSON.stringify({ docs: ids.map((_id) => ({ _id })) });
      const filled = await fetch(`${baseUrl}/items/_bulk_docs`, { method: 'POST', headers, body });
      expect([created.status, filled.status]).toEqual([201, 201]);
      const size = { query: 'limit', is: 3 };
      const { records, deadLetters } = await list(
        {
          baseUrl,
          credentials: [{ name: 'anyone' }],
          limit,
          streams: {
            changes: {
              get: '/items/_changes',
              records: '$.results[*]',
              key: '$.id',
              pages: { cursor: '$.last_seq', as: { query: 'since' }, while: '$.results[0]', size },
            },
            documents: {
              get: '/items/_all_docs',
              records: '$.rows[*]',
              key: '$.id',
              pages: { offset: { query: 'skip' }, total: '$.total_rows', size },
            },
            each: { get: '/items/{id}', for: { each: 'documents', with: { id: '$.id' } }, key: '$._id' },
          },
        },
        { routes: {} },
      );
      for (const stream of ['changes', 'documents']) expect(records[stream]?.map(([key]) => key)).toEqual(ids);
      expect(records['each']?.map(([key]) => key).toSorted()).toEqual(ids);
      expect(deadLetters).toEqual([]);
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});

it.each(['basic', 'body'] as const)('oauth2-mock-server: a token for the application, asked for with its secret in %s', async (place) => {
  const issuer = new OAuth2Server();
  await issuer.issuer.keys.generate('RS256');
  await issuer.start(0, '127.0.0.1');
  try {
    const url = `http://127.0.0.1:${issuer.address().port}/token`;
    const { records, api } = await list(
      {
        credentials: [{ name: 'app', token: { url, id: 'me', secret: 'shh', in: place, form: { scope: 'read' } } }],
        limit,
        streams: { items: { get: '/items', key: '$.id' } },
      },
      {
        routes: { 'GET /items': () => ({ body: some(3) }) },
        knows({ headers }) {
          const [, claims = ''] = String(headers['authorization']).replace('Bearer ', '').split('.');
          const { iss, scope } = JSON.parse(Buffer.from(claims, 'base64url').toString() || '{}') as { iss?: string; scope?: string };
          return iss === issuer.issuer.url && scope === 'read';
        },
      },
    );
    expect(records['items']).toEqual(pairs(some(3)));
    expect(api.requests()).toBe(1);
  } finally {
    await issuer.stop();
  }
});

async function serving(app: RequestListener, use: (url: string) => Promise<void>): Promise<void> {
  await listening(createServer(app).listen(0, '127.0.0.1'), use);
}

async function listening(server: Server, use: (url: string) => Promise<void>): Promise<void> {
  if (!server.listening) await once(server, 'listening');
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}
