import { parseOptions } from '@headgate/pipeline';
import { OF_FILE, scalar } from '@headgate/pipeline/internal';
import { expect, it } from 'vitest';
import { restOptions } from './language.ts';
import { type Section, bearer, lister } from './list.fixture.ts';
import { rest } from './rest.ts';

const list = lister();

// JavaScript spells the first as the service does, although its number could also be a neighbor of it. It rounds the second.
const IDS = ['9007199254740992', '9007199254740993'];

const streams: Section['streams'] = { items: { get: '/items/{id}', for: { id: ['1'] }, key: '$.id' } };

it.each([...IDS, `-${IDS[0]}`, '1e20'])('a job with the bare number %s is refused', (number) => {
  const { requests } = rest('api')({ ...bearer, baseUrl: 'https://api.example.com', streams }).definition;
  expect(() => requests.parseLine(`{"stream":"items","id":${number}}`)).toThrow(
    'The job is malformed: id loses digits as a number. Write it in quotes.',
  );
  expect(requests.parseLine(`{"stream":"items","id":"${number}"}`).key).toBe(`items/${encodeURIComponent(number)}`);
  for (const exact of ['9007199254740991', '0.5'])
    expect(requests.parseLine(`{"stream":"items","id":${exact}}`).key).toBe(`items/${exact}`);
});

it('a child takes each number of a record with all its digits', async () => {
  const { records, deadLetters } = await list(
    {
      ...bearer,
      streams: {
        lists: { get: '/lists', records: '$[*]', key: '$.id' },
        items: { post: '/items/{id}', body: { id: '{id}' }, for: { each: 'lists', with: { id: '$.id' } }, key: '$.id' },
      },
    },
    {
      routes: {
        'GET /lists': () => ({ body: `[${[7, ...IDS].map((id) => `{"id":${id}}`).join()}]` }),
        'POST /items/{id}': ({ params, body }) => ({ body: [{ id: params['id'], given: body }] }),
      },
    },
  );
  expect(deadLetters).toEqual([]);
  expect(Object.fromEntries(records['items'] ?? [])).toEqual(
    Object.fromEntries([7, ...IDS].map((id) => [String(id), { id: String(id), given: { id } }])),
  );
});

it.each(IDS)('a section of a file takes the bare number %s with all its digits', async (id) => {
  const post = { post: '/items', body: { id: bare(id) }, query: { id: bare(id), all: [bare(id)] }, headers: { 'x-id': bare(id) } };
  const section = {
    ...bearer,
    streams: {
      items: { ...post, add: { id: bare(id) }, key: '$.n' },
      ignored: { get: '/ignored', errors: [{ when: { '$.code': bare(id) }, then: 'empty' }] },
    },
    [OF_FILE]: true,
  };
  const { records, deadLetters, api } = await list(section as never, {
    routes: { 'POST /items': () => ({ body: [{ n: 1 }] }), 'GET /ignored': () => ({ body: `{"code":${id}}` }) },
  });
  expect([records, deadLetters]).toEqual([{ items: [['1', { n: 1, id }]], ignored: [] }, []]);
  const [request] = api.answered.filter(({ method }) => method === 'POST');
  expect([request?.body, request?.query.toString(), request?.headers['x-id']]).toEqual([{ id }, `id=${id}&all=${id}`, id]);
});

it.each([
  { given: bare('00123'), text: '00123', json: '00123' },
  { given: bare('1.10'), text: '1.10', json: 1.1 },
  { given: bare('12'), text: '12', json: 12 },
  { given: bare('12', { hasVariable: true }), text: '12', json: '12' },
  { given: scalar({ text: 'True', bare: true, folder: '/' }), text: 'True', json: true },
])('a section of a file sends $text as text, and in JSON $json', async ({ given, text, json }) => {
  const items = { post: '/items', body: { at: given }, query: { at: given }, headers: { 'x-at': given }, add: { at: given }, key: '$.n' };
  const streams = { items, sent: { post: '/sent', form: { at: given } } };
  const answered = [{ n: 1 }];
  const routes = {
    'POST /items': () => ({ body: answered }),
    'POST /sent': () => ({ body: answered }),
    'POST /login': () => ({ body: { access_token: 'token' } }),
  };
  for (const way of ['form', 'json']) {
    const token = { url: '/login', [way]: { at: given } };
    const { records, api } = await list({ ...bearer, credentials: [{ name: 'app', token }], streams, [OF_FILE]: true } as never, {
      routes,
    });
    expect(records['items']).toEqual([['1', { n: 1, at: json }]]);
    const request = (path: string) => api.answered.find((one) => one.path === path);
    expect(request('/items')).toMatchObject({ body: { at: json }, headers: { 'x-at': text } });
    expect(request('/items')?.query.toString()).toBe(`at=${text}`);
    expect(request('/sent')?.body).toEqual({ at: text });
    expect(request('/login')?.body).toMatchObject({ at: way === 'form' ? text : json });
  }
});

it.each([
  { is: bare('17', { hasVariable: true }), code: 17, fits: true },
  { is: bare('17'), code: '17', fits: true },
  { is: bare('17'), code: 170, fits: false },
  { is: 'null', code: null, fits: false },
  { is: null, code: null, fits: true },
  { is: 'null', code: {}, fits: false },
])('an error rule for $is.text and a response with $code: $fits', async ({ is, code, fits }) => {
  const items = { get: '/items', records: '$.items[*]', key: '$.id', errors: [{ when: { '$.code': is }, then: 'empty' }] };
  const section = { ...bearer, streams: { items }, [OF_FILE]: true };
  const { records } = await list(section as never, { routes: { 'GET /items': () => ({ body: { code, items: [{ id: 1 }] } }) } });
  expect(records['items']).toHaveLength(fits ? 0 : 1);
});

/** An unquoted number of a configuration file. */
function bare(text: string, more?: { readonly hasVariable: true }): unknown {
  return scalar({ text, bare: Number(text), folder: '/', ...more });
}

it.each([
  { get: '/items', query: { id: 2 ** 53 } },
  { get: '/items', add: { id: 2 ** 53 } },
  { get: '/items', pages: { cursor: '$.next', as: { query: 'cursor' }, first: 2 ** 53 } },
  { get: '/items', pages: { cursor: '$.next', as: { query: 'cursor' }, end: 2 ** 53 } },
  { get: '/items', errors: [{ when: { '$.code': [2 ** 53] }, then: 'empty' }] },
  { get: '/items', since: { from: '$.at', first: 2 ** 53 } },
])('in code, %j is refused', (items) => {
  const { issues } = parseOptions(restOptions, { ...bearer, baseUrl: 'https://api.example.com', streams: { items } });
  expect(issues).toMatchObject([{ message: 'loses digits as a number. Write it in quotes.' }]);
});
