import { rmSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ApiCall, pageOf } from './api.fixture.ts';
import { walkedAgain } from './walked-again.fixture.ts';
import { bearer, lister, pairs, some } from './list.fixture.ts';

const list = lister();

const items = some(7);
const limit = { requests: 500, window: '100ms' };

describe('the next page', () => {
  it('is an address selected by a filter among links', async () => {
    const { records, api } = await list(
      {
        ...bearer,
        streams: { items: { get: '/items', records: '$.data[*]', key: '$.id', pages: { next: "$.links[?@.rel=='next'].href" } } },
      },
      {
        routes: {
          'GET /items': ({ query }) => {
            const page = Number(query.get('page') ?? 1);
            const links = [{ rel: 'self', href: '/items' }, ...(page < 3 ? [{ rel: 'next', href: `/items?page=${page + 1}` }] : [])];
            return { body: { data: pageOf(items, page, 3), links } };
          },
        },
      },
    );
    expect([records['items'], api.requests()]).toEqual([pairs(items), 3]);
  });

  it.each([
    ['/rest/content', '/rest/content'],
    ['', 'whole'],
  ])('is an address relative to a base in the response: %j', async (_, kind) => {
    const { records, api } = await list(
      {
        ...bearer,
        streams: {
          items: {
            get: '/wiki/rest/content',
            records: '$.results[*]',
            key: '$.id',
            pages: { next: '$._links.next', base: '$._links.base' },
          },
        },
      },
      {
        routes: {
          'GET /wiki/rest/content': ({ query, url }) => {
            const page = Number(query.get('page') ?? 1);
            const address = `/rest/content?page=${page + 1}`;
            const next = kind === 'whole' ? `${url}/wiki${address}` : address;
            return { body: { results: pageOf(items, page, 3), _links: { base: `${url}/wiki/`, ...(page < 3 && { next }) } } };
          },
        },
      },
    );
    expect([records['items'], api.requests()]).toEqual([pairs(items), 3]);
  });

  it('doesn’t exist for a stream that resets the pages of its section, or only sets a size', async () => {
    const { records, api } = await list(
      {
        ...bearer,
        pages: { page: { query: 'page' } },
        streams: {
          one: { get: '/one', key: '$.id', pages: {} },
          two: { get: '/two', key: '$.id', pages: { size: { query: 'limit', is: 2 } } },
        },
      },
      {
        routes: {
          'GET /one': () => ({ body: items[0] }),
          'GET /two': ({ query }) => ({ body: pageOf(items, 1, Number(query.get('limit'))) }),
        },
      },
    );
    expect([records['one'], records['two'], api.requests()]).toEqual([pairs(items.slice(0, 1)), pairs(items.slice(0, 2)), 2]);
  });

  it.each([
    ['0', 0],
    [0, '0'],
    [['none', 0], '0'],
  ])('ends at the cursor %j where the service writes %j', async (end, last) => {
    const { records, api } = await list(
      {
        ...bearer,
        streams: { items: { get: '/items', records: '$.items[*]', key: '$.id', pages: { cursor: '$.next', as: { query: 'at' }, end } } },
      },
      {
        routes: {
          'GET /items': ({ query }) => {
            const page = Number(query.get('at') ?? 1);
            return { body: { items: pageOf(items, page, 3), next: page < 3 ? page + 1 : last } };
          },
        },
      },
    );
    expect([records['items'], api.requests()]).toEqual([pairs(items), 3]);
  });

  it('is in a list in the body, which ends at a short page', async () => {
    const asked: unknown[] = [];
    const hits = items.map((item, i) => ({ ...item, sort: [Math.floor(i / 2), `k${i}`] }));
    const { records } = await list(
      {
        ...bearer,
        streams: {
          hits: {
            post: '/search',
            records: '$.hits[*]',
            key: '$.id',
            pages: { cursor: '$.hits[-1].sort', as: { body: '$.search_after' }, size: { body: '$.size', is: 3 }, short: 'last' },
          },
        },
      },
      {
        routes: {
          'POST /search': ({ body }) => {
            const { search_after: after, size } = body as { readonly search_after?: readonly unknown[]; readonly size: number };
            asked.push(after);
            const from = hits.findIndex(({ sort }) => JSON.stringify(sort) === JSON.stringify(after)) + 1;
            return { body: { hits: hits.slice(from, from + size) } };
          },
        },
      },
    );
    expect(records['hits']?.map(([key]) => key)).toEqual(items.map(({ id }) => String(id)));
    expect(asked).toEqual([undefined, [1, 'k2'], [2, 'k5']]);
  });

  it.each([
    ['a parameter', { query: 'after' }, [1]],
    ['a body', { body: '$.after' }, []],
  ])('is refused as a list in %s: %j %j', async (_, as, sort) => {
    const { deadLetters } = await list(
      { ...bearer, streams: { hits: { post: '/search', records: '$.hits[*]', key: '$.id', pages: { cursor: '$.sort', as } } } },
      { routes: { 'POST /search': () => ({ body: { hits: items, sort } }) } },
    );
    expect(deadLetters).toMatchObject([{ message: expect.stringContaining('$.sort: expected text or a number, got a list') as string }]);
  });

  it('is sent in a form', async () => {
    const { records } = await list(
      {
        ...bearer,
        streams: {
          items: { post: '/items', form: { q: 'all' }, key: '$.id', pages: { page: { body: 'page' }, size: { body: 'size', is: 3 } } },
        },
      },
      {
        routes: {
          'POST /items': ({ body }) => {
            const { q, page, size } = body as Record<string, string>;
            return { body: q === 'all' ? pageOf(items, Number(page), Number(size)) : [] };
          },
        },
      },
    );
    expect(records['items']).toEqual(pairs(items));
  });

  it('restarts the listing, with a message, if its configuration changed since the previous page', async () => {
    const answer = ({ query }: ApiCall) => ({ body: pageOf(items, Number(query.get('page') ?? query.get('p')), 3) });
    const streams = (parameter: string) => ({ items: { get: '/items', key: '$.id', pages: { page: { query: parameter } } } });
    const sections = ['page', 'p', 'page'].map((parameter) => ({ ...bearer, streams: streams(parameter) }));
    const { records, notices } = await walkedAgain(sections, answer);
    expect(records.map(([key]) => key).join('')).toBe('1234561234561234567');
    expect(notices).toContain(
      "items: the section's paging has changed, so the listing restarted. Records of its earlier pages are written again.",
    );
  });
});

describe('signing in', () => {
  const streams = { items: { post: '/items', body: { q: 'all' }, key: '$.id' } };

  it('with a key in the body', async () => {
    const { records } = await list(
      { credentials: [{ name: 'app', key: 'k', body: 'api_key' }], limit, streams },
      { routes: { 'POST /items': () => ({ body: items }) }, knows: ({ body }) => (body as { api_key: string }).api_key === 'k' },
    );
    expect(records['items']).toEqual(pairs(items));
  });

  it('with a login whose token is sent in a custom header and renewed as the response says', async () => {
    let logins = 0;
    const { records, api } = await list(
      {
        credentials: [
          {
            name: 'app',
            token: { url: '/login', json: { user: 'me', password: 'shh' }, at: '$.session', expires: '$.seconds', header: 'X-Session' },
          },
        ],
        limit,
        streams: { items: { get: '/items', key: '$.id', pages: { page: { query: 'page' } } } },
      },
      {
        routes: {
          'POST /login': () => ({ body: { session: `s${(logins += 1)}`, seconds: logins === 1 ? 0.001 : 3_600 } }),
          'GET /items': ({ query }) => ({ body: pageOf(items, Number(query.get('page')), 4) }),
        },
        knows: ({ path, headers }) => path === '/login' || /^s[12]$/.test(String(headers['x-session'])),
      },
    );
    expect(records['items']).toEqual(pairs(items));
    expect(api.answered.flatMap(({ path, body }) => (path === '/login' ? [body] : []))).toEqual([
      { user: 'me', password: 'shh' },
      { user: 'me', password: 'shh' },
    ]);
  });

  it('with a refused token reports the status, and no secret', async () => {
    const { deadLetters, notices } = await list(
      {
        credentials: [
          { name: 'app', token: { url: '/token', id: 'me', secret: 'sEcr3t-0123456789' } },
          { name: 'other', key: 'k' },
        ],
        limit,
        streams,
      },
      {
        routes: {
          'POST /token': () => ({ status: 400, body: { error: 'invalid_client sEcr3t-0123456789' } }),
          'POST /items': () => ({ body: items }),
        },
      },
    );
    expect(deadLetters).toEqual([]);
    expect(notices.join()).not.toContain('sEcr3t');
  });
});

describe('a request', () => {
  it('has fields in its headers', async () => {
    const { records } = await list(
      {
        ...bearer,
        headers: { 'x-tenant': '{tenant}' },
        streams: { items: { get: '/items', for: { tenant: ['a', 'b'] }, key: '{tenant}' } },
      },
      { routes: { 'GET /items': ({ headers }) => ({ body: [headers['x-tenant']] }) } },
    );
    expect(records['items']).toEqual([
      ['a', 'a'],
      ['b', 'b'],
    ]);
  });
});

describe('a limit in the responses', () => {
  it.each([
    ['in headers', { left: { header: 'X-Left' }, reset: { header: 'X-Again' } }],
    ['in the body', { left: '$.limit.left', reset: '$.limit.again' }],
  ])('is read %s that only this service has', async (_, places) => {
    let left = 2;
    const { records, api } = await list(
      {
        credentials: bearer.credentials,
        limit: { requests: 500, window: '1h', ...places },
        streams: { items: { get: '/items', records: '$.items[*]', key: '$.id', pages: { page: { query: 'page' } } } },
      },
      {
        routes: {
          'GET /items': ({ query }) => {
            left = left === 0 ? 500 : left - 1;
            return {
              headers: { 'X-Left': String(left), 'X-Again': '1' },
              body: { items: pageOf(items, Number(query.get('page')), 3), limit: { left, again: 1 } },
            };
          },
        },
      },
    );
    expect(records['items']).toEqual(pairs(items));
    const [, second = 0, third = 0] = api.answered.map(({ at }) => at);
    expect(third - second).toBeGreaterThanOrEqual(1_000);
  });
});

describe('a wait in the body', () => {
  it.each(['wait', 'retry'] as const)('is honored with then: %s', async (then) => {
    let isRefused = false;
    const { records, deadLetters, api } = await list(
      {
        ...bearer,
        errors: [{ when: '$.retry_after', then, wait: '$.retry_after' }],
        streams: { items: { get: '/items', records: '$.items[*]', key: '$.id' } },
      },
      {
        routes: {
          'GET /items': () => {
            if (isRefused) return { body: { items } };
            isRefused = true;
            return { body: { ok: false, retry_after: 1 } };
          },
        },
      },
    );
    expect([records['items'], deadLetters]).toEqual([pairs(items), []]);
    const [first = 0, second = 0] = api.answered.map(({ at }) => at);
    expect(second - first).toBeGreaterThanOrEqual(1_000);
  });
});

describe('records', () => {
  it('have a key of several fields, without collisions', async () => {
    const rows = [
      { region: 'eu', id: 1 },
      { region: 'us', id: 1 },
      { region: 'a","b', id: 'c' },
      { region: 'a', id: 'b","c' },
    ];
    const { records, deadLetters } = await list(
      { ...bearer, streams: { rows: { get: '/rows', key: ['$.region', '$.id'] } } },
      {
        routes: {
          'GET /rows': () => ({
            body: `[${rows.map((row) => JSON.stringify(row)).join(',')},{"region":"eu","id":9007199254740993},{"region":"eu"}]`,
          }),
        },
      },
    );
    const keys = records['rows']?.map(([key]) => key);
    expect(keys?.slice(0, 2)).toEqual(['["eu","1"]', '["us","1"]']);
    expect(new Set(keys).size).toBe(5);
    expect(keys?.at(-1)).toBe('["eu","9007199254740993"]');
    expect(deadLetters).toMatchObject([
      { message: expect.stringContaining('key: $.id is nothing, and must be text or a number') as string },
    ]);
  });

  it('that don’t match the schema become dead letters, and the others are written with every digit', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'headgate-schema-'));
    const schema = join(folder, 'item.schema.json');
    await writeFile(
      schema,
      JSON.stringify({ type: 'object', required: ['name'], properties: { id: { type: 'number' }, name: { type: 'string' } } }),
    );
    const { records, deadLetters } = await list(
      { ...bearer, streams: { items: { get: '/items', key: '$.id', schema } } },
      { routes: { 'GET /items': () => ({ body: '[{"id":9007199254740993,"name":"a"},{"id":2,"name":5},{"id":3}]' }) } },
    ).finally(() => rmSync(folder, { recursive: true }));
    expect(records['items']?.map(([key]) => key)).toEqual(['9007199254740993']);
    expect(deadLetters).toMatchObject([
      {
        code: 'HEADGATE_INVALID_RECORD',
        message:
          "items: a record can't be written: schema: $.name: expected a string, got a number. Correct the path or the schema, then replay the dead letter.",
      },
      { code: 'HEADGATE_INVALID_RECORD' },
    ]);
  });

  it('of each stream have a topic, and so does the progress of listings', async () => {
    const { records } = await list(
      { ...bearer, streams: { items: { get: '/items', key: '$.id', pages: { page: { query: 'page' } } } } },
      { routes: { 'GET /items': ({ query }) => ({ body: pageOf(items, Number(query.get('page')), 4) }) } },
    );
    expect(records['walks']).toEqual([
      ['items', { stream: 'items', state: 'started', pages: 0, records: 0 }],
      ['items', { stream: 'items', state: 'completed', pages: 3, records: 7 }],
    ]);
  });
});

describe('changes', () => {
  it('are filtered by Headgate if the service has no parameter for it', async () => {
    const { records } = await list(
      { ...bearer, streams: { items: { get: '/items', key: '$.id', since: { from: '$.updated_at', first: '2024-01-01T00:03:00Z' } } } },
      { routes: { 'GET /items': () => ({ body: items }) } },
      { runs: 2 },
    );
    expect(records['items']).toEqual(pairs(items.slice(2)));
  });

  it('are written once if the service filters by day and returns more than requested', async () => {
    const { records, api } = await list(
      { ...bearer, streams: { items: { get: '/items', query: { day: '{since:date}' }, key: '$.id', since: { from: '$.updated_at' } } } },
      {
        routes: {
          'GET /items': ({ query }) => ({ body: items.filter((item) => item.updated_at.slice(0, 10) >= (query.get('day') ?? '')) }),
        },
      },
      { runs: 3 },
    );
    expect(records['items']).toEqual(pairs(items));
    expect(api.answered.map(({ query }) => query.get('day'))).toEqual([null, '2024-01-01', '2024-01-01']);
  });
});
