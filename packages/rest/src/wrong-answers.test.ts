import { describe, expect, it } from 'vitest';
import { type ApiAnswer, type ApiCall, pageOf } from './api.fixture.ts';
import { bearer, lister, pairs, some } from './list.fixture.ts';

const list = lister();

// A wrong response of any kind must end in records, a dead letter or a retry, never in a silent loss.

const items = some(4);
const stream = { get: '/items', records: '$.items[*]', key: '$.id' };
const cursor = { cursor: '$.next', as: { query: 'cursor' } };
const always = (answer: ApiAnswer) => ({ routes: { 'GET /items': () => answer } });

async function outcome(streams: Parameters<typeof list>[0]['streams'], options: Parameters<typeof list>[1]) {
  const { records, deadLetters, notices, api } = await list({ ...bearer, streams }, options);
  const walks = records['walks']?.map(([, value]) => value as { readonly notices?: readonly string[] });
  const codes = deadLetters.map(({ code }) => code);
  return { keys: records['items']?.map(([key]) => key), codes, asked: api.requests(), deadLetters, notices, walks };
}

describe('a selector that finds nothing causes one retry, then a dead letter', () => {
  it.concurrent.each([
    {},
    { item: [] },
    { items: 'none' },
    { items: 5 },
    { items: true },
    [],
    [[1]],
    'items',
    { data: { items: [1] } },
    { error: 'secret-text', code: 1 },
  ])('%j', async (body) => {
    const { keys, codes, asked, deadLetters } = await outcome({ items: stream }, always({ body: JSON.stringify(body) }));
    expect({ keys, codes, asked }).toEqual({ keys: [], codes: ['HEADGATE_UNFIT_ANSWER'], asked: 2 });
    expect(deadLetters[0]?.message).toContain('records: $.items[*]: expected a list, got ');
    expect(deadLetters[0]?.message).not.toContain('secret-text');
  });

  it.concurrent.each([
    [{ results: [1], count: 1 }, '(the response has results: a list, count: a number).'],
    [{}, '(the response is empty).'],
    [[1], '(the response is a list).'],
    [{ 'a@example.com': {}, '17': 1 }, '(the response has 2 other members).'],
    [{ data: null, 'a@example.com': {} }, '(the response has data: null, and 1 more).'],
    [
      Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`m${i}`, true])),
      `(the response has ${Array.from({ length: 10 }, (_, i) => `m${i}: true`).join(', ')}, and 2 more).`,
    ],
  ])('the dead letter of %j says what it has', async (body, says) => {
    const { deadLetters } = await outcome({ items: stream }, always({ body }));
    expect(deadLetters[0]?.message).toContain(`${says} A retry didn't help. Check baseUrl. If it is right, compare`);
  });

  it.concurrent.each([{ items: [] }, { items: null }, { items: {} }, { items: [], error: null }])('%j has no records', async (body) => {
    expect(await outcome({ items: stream }, always({ body }))).toMatchObject({ keys: [], codes: [], asked: 1 });
  });

  it.concurrent.each([{ groups: {} }, { groups: { a: [] } }, { groups: [] }, { groups: [{}] }])(
    '%j of groups has no records',
    async (body) => {
      const found = await outcome({ items: { ...stream, records: '$.groups[*][*]' } }, always({ body }));
      expect(found).toMatchObject({ keys: [], codes: [], asked: 1 });
    },
  );

  it.concurrent('with a filter, a page that leaves its list out has no records, and the listing continues', async () => {
    const pages = [{ items: [{ id: 1 }], next: 'b' }, { next: 'c' }, { items: [{ id: 2 }] }];
    let asked = 0;
    const found = await outcome(
      { items: { ...stream, records: '$.items[?@.id]', pages: cursor } },
      { routes: { 'GET /items': () => ({ body: pages[(asked += 1) - 1] ?? {} }) } },
    );
    expect(found).toMatchObject({ keys: ['1', '2'], codes: [], asked: 3 });
  });
});

describe('an invalid cursor causes one retry, then a dead letter', () => {
  it.concurrent.each([[{ a: 1 }], [[]], [['a']], [true], [[[]]], [{ next: 'x' }], [[null]], [{ $ref: '#' }]])('%j', async (next) => {
    const found = await outcome({ items: { ...stream, pages: cursor } }, always({ body: { items, next } }));
    expect(found).toMatchObject({ keys: [], codes: ['HEADGATE_UNFIT_ANSWER'], asked: 2 });
    expect(found.deadLetters[0]?.message).toMatch(/\$\.next: expected text or a number, got (an object|a list|true)/);
  });
});

describe('a listing ends without a next cursor', () => {
  it.concurrent.each([[undefined], [null], [''], [false], [{}]])('%j', async (next) => {
    const found = await outcome({ items: { ...stream, pages: cursor } }, always({ body: { items, next } }));
    expect(found).toMatchObject({ keys: ['1', '2', '3', '4'], codes: [], asked: 1 });
  });

  it.concurrent.each([[undefined], [null], [''], [false], [{}]])('%j, but not if the service says that more pages follow', async (next) => {
    const pages = { ...cursor, while: '$.more' };
    const found = await outcome({ items: { ...stream, pages } }, always({ body: { items, next, more: true } }));
    expect(found).toMatchObject({ keys: [], codes: ['HEADGATE_UNFIT_ANSWER'], asked: 2 });
    expect(found.deadLetters[0]?.message).toContain('$.next: expected the next page, because while says that more pages follow, got none');
  });
});

describe('a response without a body that names another page is followed', () => {
  it.concurrent.each<[string, object, (page: number) => Record<string, string>]>([
    [
      'by its Link header',
      { link: 'next' },
      (page): Record<string, string> => (page < 3 ? { link: `</items?p=${page + 1}>; rel="next"` } : {}),
    ],
    [
      'by a cursor in a header',
      { cursor: { header: 'x-next' }, as: { query: 'p' } },
      (page): Record<string, string> => (page < 3 ? { 'x-next': String(page + 1) } : {}),
    ],
    ['by the number of pages in a header', { page: { query: 'p' }, last: { header: 'x-pages' } }, () => ({ 'x-pages': '3' })],
  ])('%s', async (_, pages, headers) => {
    for (const status of [204, 304]) {
      const answer = ({ query }: { readonly query: URLSearchParams }): ApiAnswer => {
        const page = Number(query.get('p') ?? 1);
        return page === 2 ? { status, headers: headers(page) } : { headers: headers(page), body: [{ id: page }] };
      };
      const found = await outcome({ items: { get: '/items', key: '$.id', pages } }, { routes: { 'GET /items': answer } });
      expect(found).toMatchObject({ keys: ['1', '3'], codes: [], asked: 3 });
    }
  });
});

it.concurrent('a response without a body ends a listing whose last page is told in the body', async () => {
  const answer = ({ query }: { readonly query: URLSearchParams }): ApiAnswer =>
    query.get('p') === '1' ? { body: { items, done: false } } : { status: 204 };
  const found = await outcome(
    { items: { ...stream, pages: { page: { query: 'p' }, until: '$.done' } } },
    { routes: { 'GET /items': answer } },
  );
  expect(found).toMatchObject({ keys: ['1', '2', '3', '4'], codes: [], asked: 2 });
});

describe('a listing that goes in a circle writes each page once', () => {
  /** The page that a service returns for a number beyond its last page. */
  const BEYOND = {
    'the last page': (_: number, last: number) => last,
    'the first page': () => 1,
    'the pages from the first one on': (page: number, last: number) => ((page - 1) % last) + 1,
  };
  const cases = Object.entries(BEYOND).flatMap(([what, pageFor]) =>
    [{ page: { query: 'p' } }, { offset: { query: 'o' } }, { cursor: '$.next', as: { query: 'c' } }].flatMap((pages) =>
      [2, 9, 12].flatMap((last) => (['dead letter', 'end'] as const).map((end) => [what, pages, last, end, pageFor] as const)),
    ),
  );
  it.concurrent.each(cases)('%s, with %j and %i pages: %s', async (_, pages, last, end, pageFor) => {
    const found = await outcome(
      { items: { ...stream, pages: { ...pages, ...(end === 'end' && { repeats: 'end' }) } } },
      {
        routes: {
          'GET /items': ({ query }) => {
            const asked = Number(query.get('p') ?? query.get('c') ?? Number(query.get('o') ?? 0) / 2 + 1);
            const page = asked <= last ? asked : pageFor(asked, last);
            return { body: { items: [{ id: 2 * page }, { id: 2 * page + 1 }], next: asked + 1 } };
          },
        },
      },
    );
    expect(found).toMatchObject({ codes: end === 'end' ? [] : ['HEADGATE_PAGE_REPEATED'], asked: last + 1 });
    expect(found.keys).toHaveLength(2 * last);
  });

  it.concurrent('even if the circle is longer than the pages it remembers, and begins in the middle', async () => {
    const found = await outcome(
      { items: { ...stream, pages: { page: { query: 'p' } } } },
      {
        routes: {
          'GET /items': ({ query }) => {
            const asked = Number(query.get('p'));
            const page = asked <= 30 ? asked : 10 + ((asked - 10) % 20);
            return { body: { items: [{ id: 2 * page }, { id: 2 * page + 1 }] } };
          },
        },
      },
    );
    expect(found.codes).toEqual(['HEADGATE_PAGE_REPEATED']);
    expect(found.asked).toBeLessThanOrEqual(3 * 30);
  });

  it.concurrent.each([
    ['dead letter', {}, ['HEADGATE_PAGE_REPEATED']],
    ['end', { repeats: 'end' }, []],
  ] as const)('or at most ten more times if a counter in its records changes: %s', async (_, more, codes) => {
    let views = 0;
    const found = await outcome(
      { items: { ...stream, pages: { page: { query: 'p' }, ...more } } },
      {
        routes: {
          'GET /items': ({ query }) => {
            const page = Math.min(3, Number(query.get('p')));
            return { body: { items: [2 * page, 2 * page + 1].map((id) => ({ id, views: (views += 1) })) } };
          },
        },
      },
    );
    expect(found).toMatchObject({ codes, asked: 13 });
  });

  it.concurrent('and ends at a page that names itself, if that is the end', async () => {
    const found = await outcome(
      { items: { ...stream, pages: { next: '$.next', repeats: 'end' } } },
      {
        routes: {
          'GET /items': ({ query }) => {
            const from = Number(query.get('from') ?? 1);
            return { body: { items: [{ id: from }], next: '/items?from=2' } };
          },
        },
      },
    );
    expect(found).toMatchObject({ keys: ['1', '2'], codes: [], asked: 2 });
  });
});

describe('a list that ends before its own total is told', () => {
  it.concurrent.each([
    ['offsets', { offset: { query: 'o' }, total: '$.total' }, 12, true],
    ['page numbers', { page: { query: 'p' }, total: '$.total' }, 12, true],
    ['offsets, complete', { offset: { query: 'o' }, total: '$.total' }, 4, false],
    ['offsets, with more than the total', { offset: { query: 'o' }, total: '$.total' }, 3, false],
  ] as const)('%s', async (_, pages, total, isTold) => {
    const found = await outcome(
      { items: { ...stream, pages } },
      {
        routes: {
          'GET /items': ({ query }) => ({
            body: { items: Number(query.get('o') ?? 0) > 0 || Number(query.get('p') ?? 1) > 1 ? [] : items, total },
          }),
        },
      },
    );
    expect(found).toMatchObject({ keys: ['1', '2', '3', '4'], codes: [] });
    const told = found.notices.map((notice) => notice.includes('the service says that the list has 12 records, but returned 4.'));
    expect(told).toEqual(isTold ? [true] : []);
    expect(found.walks?.at(-1)?.notices).toEqual(isTold ? found.notices : undefined);
  });
});

describe('a circular listing ends when the circle closes, with every page before it', () => {
  it.concurrent.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])('of %i pages', async (length) => {
    const { keys, codes, asked } = await outcome(
      { items: { ...stream, pages: cursor } },
      {
        routes: {
          'GET /items': ({ query }) => {
            const page = Number(query.get('cursor') ?? 0);
            return { body: { items: [{ id: page }], next: page === length ? '1' : String(page + 1) } };
          },
        },
      },
    );
    expect({ keys, codes, asked }).toEqual({
      keys: Array.from({ length: length + 1 }, (_, i) => String(i)),
      codes: ['HEADGATE_CURSOR_LOOP'],
      asked: length + 1,
    });
  });
});

describe('a next address elsewhere gets no request', () => {
  it.concurrent.each([
    'https://other.example.com/items',
    'http://127.0.0.2/items',
    '//other.example.com/items',
    'http://127.0.0.1:1/items',
    'http://user@other.example.com/',
    'https:/\\other.example.com',
    'http://[::1]/items',
    'HTTP://OTHER.EXAMPLE.COM',
    'http://127.0.0.1.example.com/',
    '/\\other.example.com/items',
  ])('%s', async (next) => {
    const found = await outcome({ items: { ...stream, pages: { next: '$.next' } } }, always({ body: { items, next } }));
    expect(found).toMatchObject({ keys: ['1', '2', '3', '4'], codes: ['HEADGATE_FOREIGN_ADDRESS'], asked: 1 });
  });
});

it.concurrent('a Link header that names text instead of an address ends the list, if the section says so', async () => {
  const named = ({ query }: ApiCall): ApiAnswer => {
    const page = Number(query.get('page') ?? 1);
    const next = page === 2 ? 'None' : `/items?page=${page + 1}`;
    return { headers: { link: `<${next}>; rel="next"` }, body: { items: pageOf(items, page, 2) } };
  };
  const found = await outcome(
    { items: { ...stream, pages: { link: 'next', end: ['None', 'null'] } } },
    { routes: { 'GET /items': named } },
  );
  expect(found).toMatchObject({ keys: ['1', '2', '3', '4'], codes: [], asked: 2 });
});

describe('empty pages with a next page', () => {
  it.concurrent('end the list if while names the list', async () => {
    const always = ({ query }: ApiCall): ApiAnswer => {
      const page = Number(query.get('page') ?? 1);
      return { body: { items: pageOf(items, page, 2), next: `/items?page=${page + 1}` } };
    };
    const found = await outcome(
      { items: { ...stream, pages: { next: '$.next', while: '$.items' } } },
      { routes: { 'GET /items': always } },
    );
    expect(found).toMatchObject({ keys: ['1', '2', '3', '4'], codes: [], asked: 3 });
  });

  it.concurrent('end after a hundred in a row', async () => {
    let page = 0;
    const found = await outcome(
      { items: { ...stream, pages: cursor } },
      { routes: { 'GET /items': () => ({ body: { items: [], next: String((page += 1)) } }) } },
    );
    expect(found).toMatchObject({ keys: [], codes: ['HEADGATE_EMPTY_PAGES'], asked: 100 });
    // A section has no such setting.
    expect(found.deadLetters[0]?.message).not.toContain('maxEmptyPages');
  });

  it.concurrent("aren't those whose records Headgate drops as older", async () => {
    const found = await outcome(
      {
        items: {
          ...stream,
          since: { from: '$.updated_at', first: '2024-01-01T02:00:00Z', order: 'fixed' },
          pages: { page: { query: 'page' } },
        },
      },
      { routes: { 'GET /items': ({ query }) => ({ body: { items: pageOf(some(121), Number(query.get('page')), 1) } }) } },
    );
    expect(found).toMatchObject({ keys: ['120', '121'], codes: [], asked: 122 });
  });

  it.concurrent("aren't windows without records, however many there are", async () => {
    const day = (before: number): string => new Date(Date.now() - before * 86_400_000).toISOString().slice(0, 10);
    const found = await outcome(
      { items: { ...stream, query: { from: '{since}', to: '{until}' }, since: { from: '$.at', first: day(120), window: '1d' } } },
      { routes: { 'GET /items': ({ query }) => ({ body: { items: query.get('from') === day(1) ? [{ id: 1, at: day(1) }] : [] } }) } },
    );
    expect(found).toMatchObject({ keys: ['1'], codes: [], asked: 120 });
  });

  it.concurrent('are also those that only repeat the previous page, if such records are dropped', async () => {
    let page = 0;
    const found = await outcome(
      { items: { ...stream, pages: { ...cursor, repeats: 'drop' } } },
      { routes: { 'GET /items': () => ({ body: { items, next: String((page += 1)) } }) } },
    );
    expect(found).toMatchObject({ keys: ['1', '2', '3', '4'], codes: ['HEADGATE_EMPTY_PAGES'], asked: 101 });
  });

  it.concurrent('end after a hundred in a row within a window, too', async () => {
    let page = 0;
    const found = await outcome(
      { items: { ...stream, query: { to: '{until}' }, since: { from: '$.at', first: '2024-01-01', window: '1d' }, pages: cursor } },
      { routes: { 'GET /items': () => ({ body: { items: [], next: String((page += 1)) } }) } },
    );
    expect(found).toMatchObject({ keys: [], codes: ['HEADGATE_EMPTY_PAGES'], asked: 100 });
  });
});

describe('a page equal to the previous one becomes a dead letter', () => {
  it.concurrent.each(
    [{ page: { query: 'p' } }, { offset: { query: 'o' } }].flatMap((pages) =>
      [2, 3, 4, 5, 6].map((from) => [JSON.stringify(pages), from, pages] as const),
    ),
  )('%s, from page %i on', async (_, from, pages) => {
    let asked = 0;
    const page = () => Math.min((asked += 1), from - 1);
    const found = await outcome(
      { items: { ...stream, pages } },
      { routes: { 'GET /items': () => ({ body: { items: [{ id: page() }] } }) } },
    );
    expect(found).toMatchObject({ codes: ['HEADGATE_PAGE_REPEATED'], asked: from });
    expect(found.keys).toHaveLength(from - 1);
  });
});

describe("a record that can't be written becomes a dead letter, and the others are written", () => {
  it.concurrent.each([[{}], [{ id: null }], [{ id: true }], [{ id: [] }], [{ id: { id: 1 } }], [{ id: '' }], [null], [[1]], ['text'], [5]])(
    'without a key: %j',
    async (record) => {
      const found = await outcome({ items: stream }, always({ body: { items: [items[0], record, items[1]] } }));
      expect(found).toMatchObject({ keys: ['1', '2'], codes: ['HEADGATE_INVALID_RECORD'], asked: 1 });
    },
  );

  it.concurrent.each([[undefined], [null], ['soon'], [''], [true], [[]], [{}], ['2024-13-45'], ['NaN'], ['12:30']])(
    'with a time that is none: %j',
    async (time) => {
      const found = await outcome(
        { items: { ...stream, since: { from: '$.updated_at' } } },
        always({ body: { items: [items[0], { id: 9, updated_at: time }, items[1]] } }),
      );
      expect(found).toMatchObject({ keys: ['1', '2'], codes: ['HEADGATE_INVALID_RECORD'], asked: 1 });
    },
  );

  it.concurrent.each([
    [
      '2024-01-01 09:00:00',
      'such as 2024-01-01 09:00:00. Write the zone in which the service means it, as in since: { zone: Europe/Berlin }',
    ],
    ['2024013110', 'is 2024013110, which can be read as two different times. Request another format, such as 2024-01-31T10:00:00Z'],
    ['27/11/2026', 'is 27/11/2026, which can be read as two different times. Request another format, such as 2024-01-31T10:00:00Z'],
  ])('but a list of nothing else fails, and says what to write: times such as %s', async (at, cure) => {
    const { keys, codes, deadLetters } = await outcome(
      { items: { ...stream, since: { from: '$.at' } } },
      always({ body: { items: [{ id: 1, at }] } }),
    );
    expect([keys, codes]).toEqual([[], ['HEADGATE_INVALID_RECORD']]);
    expect(deadLetters[0]?.message).toContain(cure);
  });

  it.concurrent.each([[undefined], [null], [''], [{}], [[]], [true], [{ id: 1 }], [['a']], ['..'], ['.'], ['half \ud83d']])(
    'as a request of another stream, by %j',
    async (ref) => {
      const { records, deadLetters, api } = await list(
        {
          ...bearer,
          streams: {
            lists: { get: '/lists', key: '$.id' },
            items: { get: '/items/{ref}', for: { each: 'lists', with: { ref: '$.ref' } }, key: '$.id' },
          },
        },
        {
          routes: {
            'GET /lists': () => ({
              body: [
                { id: 'a', ref: 'x' },
                { id: 'b', ref },
                { id: 'c', ref: 'y' },
              ],
            }),
            'GET /items/{ref}': ({ params }) => ({ body: { id: params['ref'] } }),
          },
        },
      );
      expect(records['items']?.map(([key]) => key).toSorted()).toEqual(['x', 'y']);
      expect(deadLetters).toMatchObject([{ code: 'HEADGATE_MALFORMED_REQUEST' }]);
      expect(api.answered.map(({ path }) => path).toSorted()).toEqual(['/items/x', '/items/y', '/lists']);
    },
  );
});

describe('an error in the body of a 200', () => {
  const errors = [{ when: { '$.ok': false, '$.error': ['a', 'b'] }, then: 'missing' as const, code: '$.error' }];

  it.concurrent.each(['a', 'b'])('is handled as a rule says: %s', async (error) => {
    const found = await outcome({ items: { ...stream, errors } }, always({ body: { ok: false, error } }));
    expect(found).toMatchObject({ keys: [], codes: [`HEADGATE_${error.toUpperCase()}`], asked: 1 });
  });

  it.concurrent.each([
    { ok: false },
    { ok: false, error: 'c' },
    { ok: 'false', error: 'a' },
    { ok: true, error: 'a' },
    { ok: 0, error: 'a' },
    { error: 'a' },
    { ok: null, error: 'a' },
    { ok: false, error: ['a'] },
  ])('that no rule fits is unfit: %j', async (body) => {
    const found = await outcome({ items: { ...stream, errors } }, always({ body }));
    expect(found).toMatchObject({ keys: [], codes: ['HEADGATE_UNFIT_ANSWER'], asked: 2 });
  });
});

describe('a status that refuses the request is a dead letter', () => {
  it.concurrent.each([400, 402, 403, 404, 405, 406, 409, 410, 422, 451])('%i', async (status) => {
    const found = await outcome({ items: stream }, always({ status, body: {} }));
    expect(found).toMatchObject({ keys: [], asked: 1 });
    expect(found.codes).toHaveLength(1);
  });
});

describe('a page that is not JSON is a dead letter at once', () => {
  it.concurrent.each([
    ['application/atom+xml', '<?xml version="1.0"?><feed/>'],
    ['text/xml; charset=utf-8', '<rss/>'],
    ['text/csv', 'id,name\n1,a'],
    ['text/csv; header=present', ''],
    ['text/tab-separated-values', 'id\tname'],
    ['application/x-ndjson', '{"id":1}\n{"id":2}'],
    ['application/jsonl', '{"id":1}\n{"id":2}'],
    ['application/pdf', '%PDF-1.7'],
    ['application/octet-stream', 'x'],
    ['application/yaml', 'id: 1'],
  ])('%s', async (type, body) => {
    const { codes, asked, deadLetters } = await outcome({ items: stream }, always({ headers: { 'content-type': type }, body }));
    expect({ codes, asked }).toEqual({ codes: ['HEADGATE_UNFIT_ANSWER'], asked: 1 });
    expect(deadLetters[0]?.message).toBe(
      `items: api returned ${type.split(';')[0]}, but a section reads only JSON. If the service has JSON, request it with a header or a parameter.`,
    );
  });
});

describe('a response that may be different next time is retried', () => {
  it.concurrent.each<[string, ApiAnswer]>([
    ['202 of one who is not ready', { status: 202, headers: { 'retry-after': '0' }, body: { items: [] } }],
    ['503', { status: 503, body: {} }],
    ['500', { status: 500, body: 'oops' }],
    ['502 of a gateway', { status: 502, body: '<html>' }],
    ['408', { status: 408, body: {} }],
    ['425', { status: 425, body: {} }],
    ['HTML', { body: '<!doctype html><p>hello' }],
    ['half of it', { body: '{"items":[{"id":1' }],
    ...['application/json ; charset=utf-8', 'APPLICATION/JSON', 'application/hal+json', 'text/javascript; charset=utf-8'].map(
      (type): [string, ApiAnswer] => [`half of ${type}`, { headers: { 'content-type': type }, body: '{"items":[{"id":1' }],
    ),
    ['nothing', { body: '' }],
    ['text', { body: 'all is well' }],
    ['text of a gateway', { headers: { 'content-type': 'text/plain' }, body: 'all is well' }],
    ['a page of a gateway', { headers: { 'content-type': 'text/html; charset=utf-8' }, body: '<html>' }],
    ['two of them', { body: '{"items":[]}{"items":[]}' }],
  ])('%s', async (_, wrong) => {
    let asked = 0;
    const { records, deadLetters } = await list(
      { ...bearer, streams: { items: { ...stream, pages: { page: { query: 'page' } } } } },
      {
        routes: {
          'GET /items': ({ query }) => ((asked += 1) === 2 ? wrong : { body: { items: pageOf(items, Number(query.get('page')), 2) } }),
        },
      },
    );
    expect([records['items'], deadLetters]).toEqual([pairs(items), []]);
  });
});

describe('a response without a body', () => {
  const answer = ({ path }: { readonly path: string }) => (path === '/k/2' ? { body: '' } : { body: [{ id: path }] });
  const kids = { get: '/k/{n}', for: { n: ['1', '2', '3'] }, key: '$.id' };
  const routes = { 'GET /k/1': answer, 'GET /k/2': answer, 'GET /k/3': answer };

  it.concurrent('has no records if a rule says so', async () => {
    const { records, deadLetters } = await list(
      { ...bearer, streams: { kids: { ...kids, errors: [{ status: 200, when: 'no body', then: 'empty' }] } } },
      { routes },
    );
    expect(records['kids']?.map(([key]) => key).toSorted()).toEqual(['/k/1', '/k/3']);
    expect(deadLetters).toEqual([]);
  });
});

describe('the address of the next page', () => {
  it.concurrent.each([
    ['another scheme', (page: number) => `https://127.0.0.1/items?page=${page}`],
    ['an inner host', (page: number) => `http://backend.internal:8000/items?page=${page}`],
  ])('keeps only its path and query with origin: base, as from %s', async (_, next) => {
    const answer = ({ query }: { readonly query: URLSearchParams }) => {
      const page = Number(query.get('page') ?? 1);
      return { body: { items: [{ id: page }], next: page < 3 ? next(page + 1) : null } };
    };
    const served = { routes: { 'GET /items': answer } };
    expect(await outcome({ items: { ...stream, pages: { next: '$.next', origin: 'base' } } }, served)).toMatchObject({
      keys: ['1', '2', '3'],
      codes: [],
    });
    expect(await outcome({ items: { ...stream, pages: { next: '$.next' } } }, served)).toMatchObject({
      codes: ['HEADGATE_FOREIGN_ADDRESS'],
    });
  });

  it.concurrent('a cursor that is already encoded is sent as it is, and one that only seems so, too', async () => {
    const cursors: Readonly<Record<string, string | null>> = {
      '': 'PnM6Mg%3D%3D',
      'PnM6Mg==': 'PnM6NA%3D%3D',
      'PnM6NA==': '50%',
      '50%': null,
    };
    const answer = ({ query }: { readonly query: URLSearchParams }) => {
      const sent = query.get('cursor') ?? '';
      return sent in cursors ? { body: { items: [{ id: `x${sent}` }], next: cursors[sent] } } : { status: 400, body: {} };
    };
    const found = await outcome({ items: { ...stream, pages: { ...cursor, encoded: true } } }, { routes: { 'GET /items': answer } });
    expect(found).toMatchObject({ keys: ['x', 'xPnM6Mg==', 'xPnM6NA==', 'x50%'], codes: [] });
  });
});
