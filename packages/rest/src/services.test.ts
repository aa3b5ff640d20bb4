import { describe, expect, it } from 'vitest';
import { after, pageOf } from './api.fixture.ts';
import { type Section, bearer, knowsBearer, lister, pairs, some } from './list.fixture.ts';
import { rest } from './rest.ts';

const list = lister();

describe('pages', () => {
  const items = some(7);

  it('of one response, whose entries are the records', async () => {
    const { records } = await list(
      { ...bearer, streams: { items: { get: '/items', key: '$.id' } } },
      { routes: { 'GET /items': () => ({ body: items }) }, knows: knowsBearer },
    );
    expect(records['items']).toEqual(pairs(items));
  });

  it('by the Link header', async () => {
    const { records, api } = await list(
      {
        ...bearer,
        pages: { link: 'next', size: { query: 'per_page', is: 3 } },
        streams: { items: { get: '/items', query: { state: 'all' }, key: '$.id' } },
      },
      {
        routes: {
          'GET /items': ({ query, url }) => {
            const page = Number(query.get('page') ?? 1);
            const size = Number(query.get('per_page'));
            const link =
              page * size < items.length ? { link: `<${url}/items?page=${page + 1}&per_page=${size}&state=all>; rel="next"` } : {};
            return { headers: link, body: pageOf(items, page, size) };
          },
        },
      },
    );
    expect(records['items']).toEqual(pairs(items));
    expect(api.answered.map(({ query }) => query.toString())).toEqual([
      'state=all&per_page=3',
      'page=2&per_page=3&state=all',
      'page=3&per_page=3&state=all',
    ]);
  });

  it('by an address in the body', async () => {
    const { records } = await list(
      { ...bearer, streams: { items: { get: '/items', records: '$.results[*]', key: '$.id', pages: { next: '$.next' } } } },
      {
        routes: {
          'GET /items': ({ query, url }) => {
            const offset = Number(query.get('offset') ?? 0);
            return {
              body: {
                results: items.slice(offset, offset + 3),
                next: offset + 3 < items.length ? `${url}/items?offset=${offset + 3}` : null,
              },
            };
          },
        },
      },
    );
    expect(records['items']).toEqual(pairs(items));
  });

  it('by the ID of the last record', async () => {
    const { records, api } = await list(
      {
        credentials: [{ name: 'app', basic: { user: 'sk' } }],
        limit: { requests: 500, window: '100ms' },
        streams: {
          charges: {
            get: '/v1/charges',
            records: '$.data[*]',
            key: '$.id',
            pages: { cursor: '$.data[-1].id', as: { query: 'starting_after' }, while: '$.has_more', size: { query: 'limit', is: 3 } },
          },
        },
      },
      {
        routes: {
          'GET /v1/charges': ({ query }) => {
            const rest = after(items, query.get('starting_after'));
            return { body: { data: rest.slice(0, 3), has_more: rest.length > 3 } };
          },
        },
        knows: ({ headers }) => headers['authorization'] === `Basic ${Buffer.from('sk:').toString('base64')}`,
      },
    );
    expect(records['charges']).toEqual(pairs(items));
    expect(api.requests()).toBe(3);
  });

  it('by a cursor in the body of a POST', async () => {
    const { records, api } = await list(
      {
        ...bearer,
        headers: { 'notion-version': '2022-06-28' },
        streams: {
          rows: {
            post: '/v1/databases/{db}/query',
            for: { db: ['x y'] },
            body: { sorts: [{ timestamp: 'last_edited_time' }] },
            records: '$.results[*]',
            key: '$.id',
            pages: { cursor: '$.next_cursor', as: { body: '$.start_cursor' }, while: '$.has_more', size: { body: 'page_size', is: 3 } },
          },
        },
      },
      {
        routes: {
          'POST /v1/databases/{db}/query': ({ body }) => {
            const { start_cursor: cursor } = body as { start_cursor?: string };
            const rest = after(items, cursor);
            return {
              body: {
                results: rest.slice(0, 3),
                has_more: rest.length > 3,
                next_cursor: rest[2] === undefined ? null : String(rest[2].id),
              },
            };
          },
        },
        knows: ({ headers, params }) => headers['notion-version'] === '2022-06-28' && params !== undefined,
      },
    );
    expect(records['rows']).toEqual(pairs(items));
    expect(api.answered.map(({ body }) => body)).toEqual([
      { sorts: [{ timestamp: 'last_edited_time' }], page_size: 3 },
      { sorts: [{ timestamp: 'last_edited_time' }], page_size: 3, start_cursor: '3' },
      { sorts: [{ timestamp: 'last_edited_time' }], page_size: 3, start_cursor: '6' },
    ]);
  });

  it('by number, up to the page that the response names', async () => {
    const { records, api } = await list(
      {
        ...bearer,
        streams: { items: { get: '/items', records: '$.items[*]', key: '$.id', pages: { page: { query: 'page' }, last: '$.pages' } } },
      },
      { routes: { 'GET /items': ({ query }) => ({ body: { items: pageOf(items, Number(query.get('page')), 3), pages: 3 } }) } },
    );
    expect(records['items']).toEqual(pairs(items));
    expect(api.requests()).toBe(3);
  });

  it('by number, up to the first empty page', async () => {
    const { records, api } = await list(
      { ...bearer, streams: { items: { get: '/items', key: '$.id', pages: { page: { query: 'page' } } } } },
      { routes: { 'GET /items': ({ query }) => ({ body: pageOf(items, Number(query.get('page')), 3) }) } },
    );
    expect(records['items']).toEqual(pairs(items));
    expect(api.requests()).toBe(4);
  });

  it('by offset, up to the total number of records', async () => {
    const { records, api } = await list(
      {
        ...bearer,
        streams: {
          issues: {
            get: '/search',
            records: '$.issues[*]',
            key: '$.id',
            pages: { offset: { query: 'startAt' }, total: '$.total', size: { query: 'maxResults', is: 3 } },
          },
        },
      },
      {
        routes: {
          'GET /search': ({ query }) => {
            const from = Number(query.get('startAt'));
            return { body: { issues: items.slice(from, from + Number(query.get('maxResults'))), total: items.length } };
          },
        },
      },
    );
    expect(records['issues']).toEqual(pairs(items));
    expect(api.requests()).toBe(3);
  });

  it('with IDs beyond 2^53, as text and as numbers', async () => {
    const ids = ['9007199254740993', '1234567890123456789'];
    const { records } = await list(
      {
        ...bearer,
        streams: {
          ids: {
            get: '/ids.json',
            for: { user: ['alpha'] },
            query: { screen_name: '{user}' },
            records: '$.ids[*]',
            key: '{user}',
            pages: { cursor: '$.next_cursor', as: { query: 'cursor' }, first: '-1', end: 0 },
          },
        },
      },
      {
        routes: {
          'GET /ids.json': ({ query }) =>
            query.get('cursor') === '-1'
              ? { body: `{"ids":[${ids[0]}],"next_cursor":9223372036854775807}` }
              : {
                  body:
                    query.get('cursor') === '9223372036854775807' ? `{"ids":[${ids[1]}],"next_cursor":0}` : '{"ids":[],"next_cursor":0}',
                },
        },
      },
    );
    expect(records['ids']?.map(([key]) => key)).toEqual(['alpha', 'alpha']);
  });
});

describe('signing in', () => {
  const streams = { items: { get: '/items', key: '$.id' } };
  const limit = { requests: 500, window: '100ms' };
  const routes = { 'GET /items': () => ({ body: some(2) }) };

  it.each([
    ['a key', { key: 'k' }, ({ headers }: { headers: Record<string, unknown> }) => headers['authorization'] === 'k'],
    ['a key in a header', { key: 'k', header: 'X-Key' }, ({ headers }: { headers: Record<string, unknown> }) => headers['x-key'] === 'k'],
    ['a key in the query', { key: 'k', query: 'api_key' }, ({ query }: { query: URLSearchParams }) => query.get('api_key') === 'k'],
    [
      'OAuth 1.0a',
      { oauth1: { consumerKey: 'c', consumerSecret: 's' } },
      ({ headers }: { headers: Record<string, unknown> }) => String(headers['authorization']).includes('oauth_consumer_key="c"'),
    ],
    ['nothing', {}, ({ headers }: { headers: Record<string, unknown> }) => headers['authorization'] === undefined],
  ])('with %s', async (_, credential, knows) => {
    const { records, deadLetters } = await list({ credentials: [{ name: 'app', ...credential }], limit, streams }, { routes, knows });
    expect([records['items']?.length, deadLetters]).toEqual([2, []]);
  });

  it('with a token that is requested, and again after the service refuses it with 403, if a rule says so', async () => {
    let token = 0;
    const { records, deadLetters } = await list(
      {
        credentials: [{ name: 'app', token: { url: '/token', id: 'me', secret: 'shh' } }],
        limit,
        errors: [{ status: 403, when: { '$.error': 'token expired' }, then: 'refused' }],
        streams: { items: { get: '/items', key: '$.id', pages: { page: { query: 'page' } } } },
      },
      {
        routes: {
          'POST /token': () => ({ body: { access_token: `t${(token += 1)}`, expires_in: 3_600 } }),
          'GET /items': ({ query, headers }) =>
            headers['authorization'] === (query.get('page') === '1' ? 'Bearer t1' : 'Bearer t2')
              ? { body: pageOf(some(4), Number(query.get('page')), 2) }
              : { status: 403, body: { error: 'token expired' } },
        },
      },
    );
    expect([records['items']?.length, deadLetters, token]).toEqual([4, [], 2]);
  });

  it('with a token that is requested, and again after it is refused', async () => {
    let token = 0;
    const { records, api } = await list(
      {
        credentials: [{ name: 'app', token: { url: '/token', id: 'me', secret: 'shh', form: { scope: 'all' } } }],
        limit,
        streams: { items: { get: '/items', key: '$.id', pages: { page: { query: 'page' } } } },
      },
      {
        routes: {
          'POST /token': () => ({ body: { access_token: `t${(token += 1)}`, expires_in: 3_600 } }),
          'GET /items': ({ query }) => ({ body: pageOf(some(4), Number(query.get('page')), 2) }),
        },
        knows: ({ path, headers, query }) =>
          path === '/token' || headers['authorization'] === (query.get('page') === '1' ? 'Bearer t1' : 'Bearer t2'),
      },
    );
    expect(records['items']).toHaveLength(4);
    expect(api.answered.filter(({ path }) => path === '/token').map(({ headers, body }) => [headers['authorization'], body])).toEqual(
      Array.from({ length: 2 }, () => [
        `Basic ${Buffer.from('me:shh').toString('base64')}`,
        { grant_type: 'client_credentials', scope: 'all' },
      ]),
    );
  });
});

describe('errors', () => {
  const streams = { items: { get: '/items/{id}', for: { id: ['a', 'b'] }, key: '$.id' } };
  const good = { id: 1 };

  it('in the body of a 200, matched by value', async () => {
    const { records, deadLetters } = await list(
      { ...bearer, streams, errors: [{ when: { '$.ok': false, '$.error': ['gone', 'away'] }, then: 'missing', code: '$.error' }] },
      { routes: { 'GET /items/{id}': ({ params }) => ({ body: params['id'] === 'a' ? good : { ok: false, error: 'away' } }) } },
    );
    expect([records['items'], deadLetters]).toMatchObject([pairs([good]), [{ key: 'items/b', code: 'HEADGATE_AWAY' }]]);
  });

  it('that mean no records', async () => {
    const { records, deadLetters } = await list(
      { ...bearer, streams, errors: [{ status: 404, then: 'empty' }] },
      { routes: { 'GET /items/{id}': ({ params }) => (params['id'] === 'a' ? { body: good } : { status: 404, body: {} }) } },
    );
    expect([records['items'], deadLetters]).toMatchObject([pairs([good]), []]);
  });

  it('that mean to wait', async () => {
    let asked = 0;
    const { records, api } = await list(
      {
        ...bearer,
        streams: { items: { get: '/items', key: '$.id' } },
        errors: [{ when: '$.errors[?@.code == 88]', then: 'wait', wait: '50ms' }],
      },
      { routes: { 'GET /items': () => ((asked += 1) === 1 ? { status: 403, body: { errors: [{ code: 88 }] } } : { body: [good] }) } },
    );
    expect([records['items'], api.requests()]).toEqual([pairs([good]), 2]);
  });

  it('that disable a credential, and leave the work to the other one', async () => {
    const { records, deadLetters } = await list(
      {
        credentials: [
          { name: 'bad', bearer: 'bad' },
          { name: 'good', bearer: 'good' },
        ],
        limit: { requests: 500, window: '100ms' },
        streams,
        errors: [{ when: { '$.error': 'invalid_auth' }, then: 'refused' }],
      },
      {
        routes: {
          'GET /items/{id}': ({ headers }) => ({ body: headers['authorization'] === 'Bearer bad' ? { error: 'invalid_auth' } : good }),
        },
      },
    );
    expect([records['items'], deadLetters]).toMatchObject([pairs([good, good]), []]);
  });

  const restarting: Omit<Section, 'baseUrl'> = {
    ...bearer,
    streams: {
      items: {
        get: '/items',
        query: { since: '{since}' },
        records: '$.items[*]',
        key: '$.id',
        since: { from: '$.updated_at', order: 'ascending' },
        pages: { cursor: '$.next', as: { query: 'cursor' } },
        errors: [{ status: 410, then: 'restart' }],
      },
    },
  };

  it('that restart a listing, from the newest record if it is ordered', async () => {
    const items = some(6);
    let cut = 0;
    const { records, deadLetters } = await list(restarting, {
      routes: {
        'GET /items': ({ query }) => {
          if (query.get('cursor') === '4' && (cut += 1) === 1) return { status: 410, body: { error: 'expired' } };
          const since = query.get('since');
          const from = query.get('cursor') ?? String(items.findIndex(({ updated_at: at }) => since === null || at > since));
          const found = items.slice(Number(from), Number(from) + 2);
          return { body: { items: found, next: Number(from) + 2 < items.length ? String(Number(from) + 2) : null } };
        },
      },
    });
    expect([records['items'], deadLetters]).toMatchObject([pairs(items), []]);
  });

  it('that restart a listing time and again, as long as each restart returns newer records', async () => {
    const items = some(12);
    const { records, deadLetters } = await list(restarting, {
      routes: {
        'GET /items': ({ query }) => {
          if (query.has('cursor')) return { status: 410, body: { error: 'expired' } };
          const newer = items.filter(({ updated_at: at }) => at > (query.get('since') ?? ''));
          return { body: { items: newer.slice(0, 2), next: newer.length > 2 ? 'expired' : null } };
        },
      },
    });
    expect([records['items'], deadLetters]).toEqual([pairs(items), []]);
  });

  /** A list of six pages whose cursors expire at these pages, once each, or `always`. It has no order, so each restart begins at its first page. */
  const unordered = async (expiring: readonly number[], always = -1) => {
    const left = new Set(expiring);
    const { records, deadLetters } = await list(
      {
        ...bearer,
        streams: {
          items: {
            get: '/items',
            records: '$.items[*]',
            key: '$.id',
            pages: { cursor: '$.next', as: { query: 'cursor' } },
            errors: [{ status: 410, then: 'restart' }],
          },
        },
      },
      {
        routes: {
          'GET /items': ({ query }) => {
            const page = Number(query.get('cursor') ?? 0);
            if (page === always || left.delete(page)) return { status: 410, body: {} };
            return { body: { items: [{ id: page }], next: page < 5 ? page + 1 : null } };
          },
        },
      },
    );
    return { keys: records['items']?.map(([key]) => key).join(''), deadLetters };
  };

  it('that restart a listing without an order at its first page', async () => {
    expect(await unordered([2, 3, 5])).toEqual({ keys: '0101201234012345', deadLetters: [] });
  });

  it('that restart a listing without an order at most three times', async () => {
    expect(await unordered([], 2)).toMatchObject({ keys: '01'.repeat(4), deadLetters: [{ code: 'HEADGATE_CURSOR_LOOP' }] });
  });

  it('of a listing that returns the same page for every number', async () => {
    const { deadLetters, api } = await list(
      { ...bearer, streams: { items: { get: '/items', key: '$.id', pages: { page: { query: 'p' } } } } },
      { routes: { 'GET /items': () => ({ body: some(2) }) } },
    );
    expect([deadLetters, api.requests()]).toMatchObject([
      [
        {
          key: 'items',
          code: 'HEADGATE_PAGE_REPEATED',
          message: expect.stringMatching(/Compare pages with .+ If its lists end so, write/u),
        },
      ],
      2,
    ]);
  });

  it('of one record without a key; the others are written', async () => {
    const { records, deadLetters } = await list(
      { ...bearer, streams: { items: { get: '/items', key: '$.id', pages: { page: { query: 'p' } } } } },
      {
        routes: {
          'GET /items': ({ query }) => ({
            body: pageOf([{ id: 1 }, { name: 'none' }, { id: null }, { id: 4 }], Number(query.get('p')), 2),
          }),
        },
      },
    );
    expect(records['items']?.map(([key]) => key)).toEqual(['1', '4']);
    expect(deadLetters).toMatchObject(Array.from({ length: 2 }, () => ({ key: 'items', code: 'HEADGATE_INVALID_RECORD' })));
  });

  it('of a response without the records', async () => {
    const { deadLetters } = await list(
      { ...bearer, streams: { items: { get: '/items', records: '$.data[*]', key: '$.id' } } },
      { routes: { 'GET /items': () => ({ body: { message: 'hello' } }) } },
    );
    expect(deadLetters).toMatchObject([{ key: 'items', code: 'HEADGATE_UNFIT_ANSWER' }]);
  });
});

describe('lists that change', () => {
  it('return a record once if the previous page had it', async () => {
    const items = some(5);
    const { records } = await list(
      { ...bearer, streams: { items: { get: '/items', key: '$.id', pages: { offset: { query: 'from' }, repeats: 'drop' } } } },
      // A record was added at the front of the list between two pages, so each page repeats a record of the previous one.
      { routes: { 'GET /items': ({ query }) => ({ body: items.slice(Math.max(0, Number(query.get('from')) - 1)).slice(0, 3) }) } },
    );
    expect(records['items']).toEqual(pairs(items));
  });
});

describe('changes', () => {
  const routes = (items: readonly { readonly updated_at: string }[]) => ({
    'GET /items': ({ query }: { readonly query: URLSearchParams }) => ({
      body: items.filter(({ updated_at: at }) => at >= (query.get('since') ?? '')),
    }),
  });
  const streams = { items: { get: '/items', query: { since: '{since}' }, key: '$.id', since: { from: '$.updated_at' } } };

  it('are requested from the newest time of the previous listing', async () => {
    const { api } = await list({ ...bearer, streams }, { routes: routes(some(3)) }, { runs: 2 });
    expect(api.answered.map(({ query }) => query.get('since'))).toEqual([null, some(3)[2]?.updated_at]);
  });

  it('are requested in windows, up to the time at which the listing began', async () => {
    const { api } = await list(
      {
        ...bearer,
        streams: {
          items: {
            get: '/items',
            query: { from: '{since:date}', to: '{until:date}' },
            key: '$.id',
            since: { from: '$.updated_at', first: new Date(Date.now() - 25 * 86_400_000).toISOString(), window: '10d' },
          },
        },
      },
      { routes: { 'GET /items': () => ({ body: [] }) } },
    );
    const day = (before: number): string => new Date(Date.now() - before * 86_400_000).toISOString().slice(0, 10);
    expect(api.answered.map(({ query }) => [query.get('from'), query.get('to')])).toEqual([
      [day(25), day(15)],
      [day(15), day(5)],
      [day(5), day(0)],
    ]);
  });

  it('need one request without pages and windows, and with them as many as the previous listing', () => {
    const since = { from: '$.at', first: '2024-01-01', window: '1d' };
    const pipeline = rest('api')({
      ...bearer,
      baseUrl: 'http://127.0.0.1',
      streams: {
        whole: { get: '/items' },
        pages: { get: '/items', pages: { link: 'next' } },
        windows: { get: '/items', query: { to: '{until}' }, since },
      },
    });
    const last = { pages: 7, items: 70 };
    const counts = ['whole', 'pages', 'windows'].map((stream) => [
      pipeline.expect({ stream }, last),
      pipeline.expect({ stream }, undefined),
    ]);
    expect(counts).toEqual([
      [1, 1],
      [7, undefined],
      [7, undefined],
    ]);
  });
});

it.each([
  ['beside others', some(2)],
  ['alone', []],
])('a time in the far future, %s, hides no later change and is written once', async (_, others) => {
  const future = { id: 9, updated_at: '9999-12-31T00:00:00Z' };
  const later = { id: 3, updated_at: '2024-01-02T00:00:00Z' };
  let listings = 0;
  const { records, deadLetters } = await list(
    {
      ...bearer,
      streams: {
        items: {
          get: '/items',
          query: { since: '{since}' },
          key: '$.id',
          pages: { page: { query: 'page' } },
          since: { from: '$.updated_at', order: 'fixed' },
        },
      },
    },
    {
      routes: {
        'GET /items': ({ query }) => {
          const page = Number(query.get('page'));
          if (page === 1) listings += 1;
          const now = [future, ...others, ...(listings > 1 ? [later] : [])];
          return {
            body: pageOf(
              now.filter(({ updated_at: at }) => at >= (query.get('since') ?? '')),
              page,
              1,
            ),
          };
        },
      },
    },
    { runs: 4 },
  );
  expect([records['items'], deadLetters]).toEqual([pairs([future, ...others, later]), []]);
});

it('windows shorter than the precision of the times reach the time at which the listing began', async () => {
  const day = (before: number): string => new Date(Date.now() - before * 86_400_000).toISOString().slice(0, 10);
  const { api } = await list(
    {
      ...bearer,
      streams: {
        items: {
          get: '/items',
          query: { from: '{since}', to: '{until}' },
          key: '$.id',
          since: { from: '$.updated_at', first: day(3), window: '6h' },
        },
      },
    },
    { routes: { 'GET /items': () => ({ body: [] }) } },
  );
  expect(api.answered.map(({ query }) => [query.get('from'), query.get('to')])).toEqual([
    [day(3), day(2)],
    [day(2), day(1)],
    [day(1), day(0)],
  ]);
});

describe('keys that share a request', () => {
  it('each get their own response, or a dead letter', async () => {
    const { records, deadLetters, api } = await list(
      {
        ...bearer,
        streams: {
          books: {
            post: '/books',
            for: { isbn: ['1', '2', '3', '4', '5'] },
            batch: { of: 'isbn', most: 3, match: ['$.isbn13', '$.isbn'] },
            body: { isbns: '{isbn}' },
            records: '$.data[*]',
            key: '$.isbn13',
          },
        },
      },
      {
        routes: {
          'POST /books': ({ body }) => ({
            body: {
              data: (body as { isbns: string[] }).isbns.filter((isbn) => isbn !== '4').map((isbn) => ({ isbn13: isbn, isbn: `0${isbn}` })),
            },
          }),
        },
      },
    );
    expect(records['books']?.map(([key]) => key).toSorted()).toEqual(['1', '2', '3', '5']);
    expect(deadLetters).toMatchObject([{ key: '4', code: 'HEADGATE_NOT_FOUND' }]);
    expect(api.requests()).toBe(2);
  });
});

describe('records that create requests', () => {
  it('down to a third level, each once, with the fields of the parent levels', async () => {
    const issuesOf = (repo: string) => some(repo === 'empty' ? 0 : 3).map(({ id }) => ({ id: `${repo}-${id}`, number: id }));
    const { records, deadLetters, api } = await list(
      {
        ...bearer,
        pages: { page: { query: 'page' } },
        streams: {
          repos: { get: '/orgs/{org}/repos', for: { org: ['nodejs'] }, key: '$.id' },
          issues: {
            get: '/repos/{org}/{repo}/issues',
            for: { each: 'repos', with: { repo: '$.name' } },
            key: '$.id',
            add: { repo: '{repo}' },
          },
          comments: {
            get: '/repos/{org}/{repo}/issues/{number}/comments',
            for: { each: 'issues', with: { number: '$.number' } },
            key: '$.id',
          },
        },
      },
      {
        routes: {
          'GET /orgs/{org}/repos': ({ query }) => ({
            body: pageOf(
              [
                { id: 1, name: 'node' },
                { id: 2, name: 'empty' },
                { id: 3, name: 'undici' },
              ],
              Number(query.get('page')),
              2,
            ),
          }),
          'GET /repos/{org}/{repo}/issues': ({ query, params }) => ({
            body: pageOf(issuesOf(params['repo'] ?? ''), Number(query.get('page')), 2),
          }),
          'GET /repos/{org}/{repo}/issues/{number}/comments': ({ query, params }) => ({
            body: query.get('page') === '1' ? [{ id: `${params['repo']}/${params['number']}` }] : [],
          }),
        },
      },
    );
    expect(deadLetters).toMatchObject([]);
    expect(records['repos']).toHaveLength(3);
    expect(records['issues']?.map(([key, value]) => [key, (value as { repo: string }).repo]).toSorted()).toEqual(
      ['node', 'undici'].flatMap((repo) => issuesOf(repo).map(({ id }) => [id, repo])),
    );
    expect(records['comments']?.map(([key]) => key).toSorted()).toEqual(
      ['node', 'undici'].flatMap((repo) => [1, 2, 3].map((number) => `${repo}/${number}`)),
    );
    expect(api.answered.every(({ path }) => !path.includes('//'))).toBe(true);
  });

  it('from nested fields, and one without the field becomes a dead letter', async () => {
    const { records, deadLetters } = await list(
      {
        ...bearer,
        streams: {
          lists: { get: '/lists', key: '$.id' },
          items: { get: '/items/{item}', for: { each: 'lists', with: { item: '$.ref' }, at: '$.items[*]' }, key: '$.id' },
        },
      },
      {
        routes: {
          'GET /lists': () => ({ body: [{ id: 'a', items: [{ ref: 'x' }, { ref: 'y' }, { none: 1 }] }] }),
          'GET /items/{item}': ({ params }) => ({ body: { id: params['item'] } }),
        },
      },
    );
    expect(records['items']?.map(([key]) => key).toSorted()).toEqual(['x', 'y']);
    expect(deadLetters).toMatchObject([{ code: 'HEADGATE_MALFORMED_REQUEST' }]);
  });

  it('with a field named like one of their parent, and never with the value of the parent', async () => {
    const { records, deadLetters } = await list(
      {
        ...bearer,
        streams: {
          issues: { get: '/projects/{id}/issues', for: { id: ['7'] }, key: '$.id' },
          users: { get: '/users/{id}', for: { each: 'issues', with: { id: '$.assignee.id' } }, key: '$.id' },
        },
      },
      {
        routes: {
          'GET /projects/{id}/issues': () => ({
            body: [
              { id: 1, assignee: { id: 55 } },
              { id: 2, assignee: null },
            ],
          }),
          'GET /users/{id}': ({ params }) => ({ body: { id: params['id'] } }),
        },
      },
    );
    expect(records['users']?.map(([key]) => key)).toEqual(['55']);
    expect(deadLetters).toMatchObject([{ code: 'HEADGATE_MALFORMED_REQUEST' }]);
  });
});
