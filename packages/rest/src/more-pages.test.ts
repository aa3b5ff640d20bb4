import { describe, expect, it } from 'vitest';
import { pageOf } from './api.fixture.ts';
import { bearer, lister, pairs, some } from './list.fixture.ts';

const list = lister();

const items = some(7);

describe('an empty page in the middle', () => {
  const pages = [items.slice(0, 3), [], [], items.slice(3), []];

  it.each([
    ['while', { while: '$.more' }, 5],
    ['while, in a header', { while: { header: 'x-more' } }, 5],
    ['until', { until: '$.done' }, 5],
    ['last', { last: '$.pages' }, 5],
    ['last, in a header', { last: { header: 'x-pages' } }, 5],
    ['nothing', {}, 2],
  ])('of numbered ones: %s', async (_, told, requests) => {
    const { records, deadLetters, api } = await list(
      { ...bearer, streams: { items: { get: '/items', records: '$.items[*]', key: '$.id', pages: { page: { query: 'page' }, ...told } } } },
      {
        routes: {
          'GET /items': ({ query }) => {
            const page = Number(query.get('page'));
            const more = page < pages.length;
            return { headers: { 'x-pages': '5', 'x-more': String(more) }, body: { items: pages[page - 1], more, done: !more, pages: 5 } };
          },
        },
      },
    );
    expect([records['items'], deadLetters]).toEqual([pairs(requests === 5 ? items : items.slice(0, 3)), []]);
    expect(api.requests()).toBe(requests);
  });

  it.each([
    ['with a size is skipped', { size: { query: 'limit', is: 3 } }, items, []],
    ['without a size is asked for once more, and then a dead letter', {}, items.slice(0, 3), ['HEADGATE_UNFIT_ANSWER']],
  ])('of counted records, %s', async (_, size, found, codes) => {
    const rows = [...items.slice(0, 3), ...Array.from({ length: 3 }, () => undefined), ...items.slice(3)];
    const { records, deadLetters } = await list(
      {
        ...bearer,
        streams: {
          items: { get: '/items', records: '$.items[*]', key: '$.id', pages: { offset: { query: 'from' }, until: '$.done', ...size } },
        },
      },
      {
        routes: {
          'GET /items': ({ query }) => {
            const from = Number(query.get('from'));
            return { body: { items: rows.slice(from, from + 3).filter((row) => row !== undefined), done: from + 3 >= rows.length } };
          },
        },
      },
    );
    expect([records['items'], deadLetters.map(({ code }) => code)]).toEqual([pairs(found), codes]);
  });
});

describe('a relative next address', () => {
  it.each([
    ['a link, to the request', { link: 'next' }, 'list?page='],
    ['a link of a query alone', { link: 'next' }, '?page='],
    ['an address in the body, of a query alone', { next: '$.next' }, '?page='],
    ['an address in the body, to baseUrl', { next: '$.next' }, 'v2/list?page='],
  ])('%s', async (_, pages, start) => {
    const { records, api } = await list(
      { ...bearer, streams: { items: { get: '/v2/list', records: '$.items[*]', key: '$.id', pages } } },
      {
        routes: {
          'GET /api/v2/list': ({ query }) => {
            const page = Number(query.get('page') ?? 1);
            const next = page < 3 ? `${start}${page + 1}` : null;
            return { headers: next === null ? {} : { link: `<${next}>; rel="next"` }, body: { items: pageOf(items, page, 3), next } };
          },
        },
      },
      { path: '/api' },
    );
    expect([records['items'], api.requests()]).toEqual([pairs(items), 3]);
  });
});

it('a total in a header ends the offsets', async () => {
  const { records, api } = await list(
    { ...bearer, streams: { items: { get: '/items', key: '$.id', pages: { offset: { query: 'from' }, total: { header: 'X-Total' } } } } },
    {
      routes: { 'GET /items': ({ query }) => ({ headers: { 'x-total': '7' }, body: pageOf(items, Number(query.get('from')) / 3 + 1, 3) }) },
    },
  );
  expect([records['items'], api.requests()]).toEqual([pairs(items), 3]);
});

it('page number and size are sent in text of the body, and as numbers in a member', async () => {
  const asked: unknown[] = [];
  const { records } = await list(
    {
      ...bearer,
      streams: {
        items: {
          post: '/{page}/items',
          body: { text: 'page {page} of {size}', size: '{size}' },
          key: '$.id',
          pages: { page: { field: 'page' }, size: { field: 'size', is: 3 } },
        },
      },
    },
    {
      routes: {
        'POST /{page}/items': ({ params, body }) => {
          asked.push(body);
          return { body: pageOf(items, Number(params['page']), 3) };
        },
      },
    },
  );
  expect(records['items']).toEqual(pairs(items));
  expect(asked[1]).toEqual({ text: 'page 2 of 3', size: 3 });
});

it('a listing that resumes at its newest record repeats none, even with equal times', async () => {
  const same = some(8).map((item, i) => ({ ...item, updated_at: some(3)[Math.floor(i / 3)]?.updated_at ?? '' }));
  for (const query of [{ since: '{since}' }, {}]) {
    let expired = 0;
    const { records, deadLetters } = await list(
      {
        ...bearer,
        streams: {
          items: {
            get: '/items',
            query,
            records: '$.items[*]',
            key: '$.id',
            since: { from: '$.updated_at', order: 'ascending' },
            pages: { cursor: '$.next', as: { query: 'cursor' } },
            errors: [{ status: 410, then: 'restart' }],
          },
        },
      },
      {
        routes: {
          'GET /items': (call) => {
            const found = same.filter(({ updated_at: at }) => at >= (call.query.get('since') ?? ''));
            const from = Number(call.query.get('cursor') ?? 0);
            if (from === 4 && (expired += 1) <= 2) return { status: 410, body: {} };
            return { body: { items: found.slice(from, from + 2), next: from + 2 < found.length ? from + 2 : null } };
          },
        },
      },
    );
    expect([records['items'], deadLetters]).toEqual([pairs(same), []]);
  }
});

it.each([
  ['2024-01-0', '2024-01-02'],
  ['2024010', '20240102'],
])('an overlap of minutes repeats no record, even if the service filters by day, as in %s1', async (month, before) => {
  const days = some(6).map(({ id }) => ({ id, day: `${month}${Math.ceil(id / 2)}` }));
  const { records, api } = await list(
    {
      ...bearer,
      streams: { items: { get: '/items', query: { since: '{since}' }, key: '$.id', since: { from: '$.day', overlap: '5m' } } },
    },
    { routes: { 'GET /items': ({ query }) => ({ body: days.filter(({ day }) => day >= (query.get('since') ?? '')) }) } },
    { runs: 2 },
  );
  expect(records['items']).toEqual(pairs(days));
  expect(api.answered.map(({ query }) => query.get('since'))).toEqual([null, before]);
});

it('a parameter of several values is repeated, on every page', async () => {
  const items = some(3);
  const { records, api } = await list(
    {
      ...bearer,
      streams: {
        items: {
          get: '/items',
          for: { kind: ['a b'] },
          query: { 'state[]': ['open', '{kind}', '{since}'], sort: 'id' },
          key: '$.id',
          since: { from: '$.updated_at', order: 'fixed' },
          pages: { page: { query: 'page' }, size: { query: 'limit', is: 2 }, short: 'last' },
        },
      },
    },
    { routes: { 'GET /items': ({ query }) => ({ body: pageOf(items, Number(query.get('page')), 2) }) } },
  );
  expect(records['items']).toEqual(pairs(items));
  expect(api.answered.map(({ query }) => query.getAll('state[]'))).toEqual([
    ['open', 'a b'],
    ['open', 'a b'],
  ]);
});

it.each([{ body: { filter: 'all' } }, { form: { filter: 'all' } }])(
  'a cursor that comes alone takes no other content along: %j',
  async (content) => {
    const items = some(4);
    const { records, api } = await list(
      {
        ...bearer,
        streams: {
          items: {
            post: '/items',
            ...content,
            records: '$.items[*]',
            key: '$.id',
            pages: { cursor: '$.next', as: { body: '$.cursor' }, size: { body: '$.limit', is: 2 }, alone: true },
          },
        },
      },
      {
        routes: {
          'POST /items': ({ body }) => {
            const { cursor } = body as { readonly cursor?: string };
            return { body: cursor === undefined ? { items: items.slice(0, 2), next: 'n2' } : { items: items.slice(2) } };
          },
        },
      },
    );
    expect(records['items']).toEqual(pairs(items));
    expect(api.answered.map(({ body }) => JSON.stringify(body).replaceAll('"2"', '2'))).toEqual([
      '{"filter":"all","limit":2}',
      '{"cursor":"n2"}',
    ]);
  },
);

describe('a count ends a listing only at its last record', () => {
  it.concurrent('by offsets that begin at 1', async () => {
    const { records, api } = await list(
      {
        ...bearer,
        streams: {
          items: {
            get: '/items',
            records: '$.items[*]',
            key: '$.id',
            pages: { offset: { query: 'from' }, first: 1, total: '$.total', size: { query: 'limit', is: 3 } },
          },
        },
      },
      {
        routes: {
          'GET /items': ({ query }) => {
            const from = Number(query.get('from')) - 1;
            return { body: { items: items.slice(from, from + 3), total: items.length } };
          },
        },
      },
    );
    expect([records['items'], api.requests()]).toEqual([pairs(items), 3]);
  });

  it.concurrent('by page numbers, with fewer records per page than requested', async () => {
    const { records, api } = await list(
      {
        ...bearer,
        streams: {
          items: {
            get: '/items',
            records: '$.items[*]',
            key: '$.id',
            pages: { page: { query: 'page' }, total: '$.total', size: { query: 'limit', is: 5 } },
          },
        },
      },
      {
        routes: { 'GET /items': ({ query }) => ({ body: { items: pageOf(items, Number(query.get('page')), 2), total: items.length } }) },
      },
    );
    expect([records['items'], api.requests()]).toEqual([pairs(items), 4]);
  });

  it.concurrent.each(
    ['', 0, '0', -1, true, null, 'many', []].flatMap((count) =>
      [
        { page: { query: 'page' }, total: '$.count', size: { query: 'limit', is: 3 } },
        { page: { query: 'page' }, last: '$.count' },
        { offset: { query: 'from' }, total: '$.count' },
      ].map((pages) => [JSON.stringify(count), JSON.stringify(pages), { count, pages }] as const),
    ),
  )('and not if it is %s: %s', async (_, __, { count, pages }) => {
    const { records } = await list(
      { ...bearer, streams: { items: { get: '/items', records: '$.items[*]', key: '$.id', pages } } },
      {
        routes: {
          'GET /items': ({ query }) => {
            const from = Number(query.get('from') ?? (Number(query.get('page')) - 1) * 3);
            return { body: { items: items.slice(from, from + 3), count } };
          },
        },
      },
    );
    expect(records['items']).toEqual(pairs(items));
  });

  it.concurrent.each(['False', 'FALSE', 'no', 'No'])('and not at an until of %s', async (done) => {
    const { records } = await list(
      { ...bearer, streams: { items: { get: '/items', key: '$.id', pages: { page: { query: 'page' }, until: { header: 'x-done' } } } } },
      {
        routes: {
          'GET /items': ({ query }) => {
            const page = Number(query.get('page'));
            return { headers: { 'x-done': page < 3 ? done : 'True' }, body: pageOf(items, page, 3) };
          },
        },
      },
    );
    expect(records['items']).toEqual(pairs(items));
  });
});

it('an empty address in the Link header ends the listing', async () => {
  const { records, deadLetters, api } = await list(
    { ...bearer, streams: { items: { get: '/items', key: '$.id', pages: { link: 'next' } } } },
    { routes: { 'GET /items': () => ({ headers: { link: '<>; rel="next"' }, body: items }) } },
  );
  expect([records['items'], deadLetters, api.requests()]).toEqual([pairs(items), [], 1]);
});
