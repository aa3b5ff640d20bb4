import { describe, expect, it } from 'vitest';
import { type ApiAnswer, pageOf } from './api.fixture.ts';
import { bearer, lister, pairs, some } from './list.fixture.ts';

const list = lister();

// A wrong response of any kind must end in records, a dead letter or a retry, never in a silent loss.

const items = some(4);
const stream = { get: '/items', records: '$.items[*]', key: '$.id' };
const cursor = { cursor: '$.next', as: { query: 'cursor' } };
const always = (answer: ApiAnswer) => ({ routes: { 'GET /items': () => answer } });

async function outcome(streams: Parameters<typeof list>[0]['streams'], options: Parameters<typeof list>[1]) {
  const { records, deadLetters, api } = await list({ ...bearer, streams }, options);
  return { keys: records['items']?.map(([key]) => key), codes: deadLetters.map(({ code }) => code), asked: api.requests(), deadLetters };
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
  it.concurrent.each([[{}], [{ a: 1 }], [[]], [['a']], [true], [false], [[[]]], [{ next: 'x' }], [[null]], [{ $ref: '#' }]])(
    '%j',
    async (next) => {
      const found = await outcome({ items: { ...stream, pages: cursor } }, always({ body: { items, next } }));
      expect(found).toMatchObject({ keys: [], codes: ['HEADGATE_UNFIT_ANSWER'], asked: 2 });
      expect(found.deadLetters[0]?.message).toMatch(/\$\.next: expected text or a number, got (an object|a list|true|false)/);
    },
  );
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

describe('empty pages with a next page', () => {
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
