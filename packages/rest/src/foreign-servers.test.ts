import { type RequestListener, createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { OAuth2Server } from 'oauth2-mock-server';
import { expect, it } from 'vitest';
import { list, pairs, some } from './list.fixture.ts';

/** Servers that others wrote. */

interface JsonServer {
  create(): RequestListener & { use(handler: unknown): void };
  defaults(options: { readonly logger: boolean }): unknown;
  router(data: object): unknown;
}

// It has no types.
const jsonServer = createRequire(import.meta.url)('json-server') as JsonServer;
const limit = { requests: 500, window: '100ms' };

it('json-server: pages by its Link header, by numbers and by offsets, and children', async () => {
  const posts = some(7);
  const comments = posts.map(({ id }) => ({ id: 100 + id, postId: id }));
  const app = jsonServer.create();
  app.use(jsonServer.defaults({ logger: false }));
  app.use(jsonServer.router({ posts, comments }));
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const size = { query: '_limit', is: 3 };
    const { records, letters } = await list(
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
    expect(letters).toEqual([]);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
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
