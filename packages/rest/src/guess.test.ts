import { readFileSync } from 'node:fs';
import { creditPool, systemClock } from '@headgate/throttle';
import { unwrittenJournal } from '@headgate/throttle/internal';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { startApi } from './api.fixture.ts';
import { guessStream } from './guess.ts';
import type { Section } from './list.fixture.ts';
import { lister } from './list.fixture.ts';
import { MORE_PUBLIC_SERVICES } from './more-public-services.fixture.ts';
import { PUBLIC_SERVICES } from './public-services.fixture.ts';
import { rest } from './rest.ts';
import { sharedLog } from './shared-log.fixture.ts';
import type { TriedStream } from './try.ts';

const TEXT = ['', 'more-'].map((more) => readFileSync(new URL(`${more}public-services.fixture.yaml`, import.meta.url), 'utf8')).join('');
const SECTIONS = parse(TEXT.replaceAll(/\$\{(\w+)\}/g, 'secret-$1')) as Readonly<Record<string, Section & { readonly use?: string }>>;
const SERVICES = { ...PUBLIC_SERVICES, ...MORE_PUBLIC_SERVICES };
const list = lister(sharedLog());

/** What `guessStream` reads of a JSON response with this body and these headers. */
const guess = (body: unknown, { headers = {}, query = {} }: { headers?: Record<string, string>; query?: Record<string, string> } = {}) =>
  guessStream({ status: 200, headers: { 'content-type': 'application/json', ...headers }, body: Buffer.from(JSON.stringify(body)) }, query);

/** The first response of a service to the first stream of its section, and the request, split into path and parameters. */
async function firstResponse(name: string) {
  const { truth: _, refusals: _r, ...service } = SERVICES[name]?.() ?? { routes: {}, truth: {} };
  await using api = await startApi(service);
  const { use: _u, baseUrl, limit: _l, budgets: _b, credentials, ...section } = SECTIONS[name] as Section & { readonly use?: string };
  const base = new URL(baseUrl).pathname.replace(/\/$/, '');
  const secrets = credentials.map(({ token, ...one }) => ({ ...one, ...(token && { token: { ...token, url: `${api.url}/token` } }) }));
  const given = { limit: { requests: 900, window: '100ms' }, ...section, baseUrl: api.url + base, credentials: secrets };
  const pipeline = rest('api')(given);
  const credits = creditPool({ max: 1 });
  const { signal } = new AbortController();
  const io = { clock: systemClock(), env: {}, signal, journal: unwrittenJournal(() => []), credits, onAttempt: () => undefined };
  const probe = pipeline.probe(io, 0);
  if (probe === undefined) throw new TypeError('a section has a probe');
  try {
    const { request, answer } = (await probe.query()) as TriedStream;
    const url = new URL(request.replace(/^GET /, ''), api.url);
    const { headers } = section;
    return { answer, base, get: url.pathname, query: Object.fromEntries(url.searchParams), headers, credentials, service };
  } finally {
    await probe.source.close();
  }
}

it.each(['wordpress', 'crates', 'klaviyo', 'okta', 'cloudflare', 'confluence', 'pipedrive', 'harvest', 'youtube'])(
  '%s: a stream of guesses reads every record',
  async (name) => {
    const { answer, base, get, query, headers, credentials, service } = await firstResponse(name);
    const { records, key, pages, paged } = guessStream(answer, query);
    const own = Object.fromEntries(Object.entries(query).filter(([one]) => !paged.includes(one)));
    const stream = {
      get,
      query: own,
      ...(records && { records: records.value }),
      ...(key && { key: key.value }),
      ...(pages && { pages: pages.value }),
    };
    const section = { limit: { requests: 900, window: '100ms' }, credentials, ...(headers && { headers }), streams: { all: stream } };
    const { records: read, deadLetters } = await list(section, service, { path: base });
    const { truth = {} } = SERVICES[name]?.() ?? {};
    expect(deadLetters).toEqual([]);
    expect(key).toBeDefined();
    expect(read['all']?.length).toBeGreaterThanOrEqual(Object.values(truth)[0]?.length ?? Infinity);
  },
);

const TWO = [
  { id: 1, name: 'a' },
  { id: 2, name: 'b' },
];

it.each<[what: string, guessed: ReturnType<typeof guess>, expected: readonly [records: unknown, key: unknown, pages: unknown]]>([
  ['a list', guess(TWO), [undefined, '$.id', undefined]],
  ['a record', guess({ id: 1, tags: ['a'], owners: TWO }), [undefined, '$.id', undefined]],
  [
    'a Link header',
    guess(TWO, { headers: { link: '<https://x.example/items?page=2>; rel="next"' } }),
    [undefined, '$.id', { link: 'next' }],
  ],
  [
    'an address, and a page size',
    guess({ count: 2, next: 'https://x.example/items?page=2', results: TWO }, { query: { limit: '2', q: 'a' } }),
    ['$.results[*]', '$.id', { next: '$.next', size: { query: 'limit', is: 2 } }],
  ],
  ['no address yet', guess({ next: null, results: TWO }), ['$.results[*]', '$.id', { next: '$.next' }]],
  [
    'a cursor with a flag',
    guess({ data: TWO, meta: { next_cursor: 'c', has_more: true } }),
    ['$.data[*]', '$.id', { cursor: '$.meta.next_cursor', as: { query: 'cursor' }, while: '$.meta.has_more' }],
  ],
  [
    'the id of the last record',
    guess({ object: 'list', data: TWO, has_more: true }),
    ['$.data[*]', '$.id', { cursor: '$.data[-1].id', as: { query: 'starting_after' }, while: '$.has_more' }],
  ],
  [
    'page numbers from 0, with their number',
    guess({ content: TWO, number: 0, page: 0, totalPages: 3 }),
    ['$.content[*]', '$.id', { page: { query: 'page' }, first: 0, last: '$.totalPages' }],
  ],
  [
    'an offset with a total',
    guess({ posts: TWO, total: 5, skip: 0, limit: 2 }, { query: { limit: '2' } }),
    ['$.posts[*]', '$.id', { offset: { query: 'skip' }, total: '$.total', size: { query: 'limit', is: 2 } }],
  ],
  // As a total, the number of records on the page would end the listing after that page.
  ['a number of records on the page', guess({ items: TWO, count: 2, page: 1 }), ['$.items[*]', '$.id', { page: { query: 'page' } }]],
  [
    'a total in a header',
    guess(TWO, { headers: { 'x-total-count': '9' } }),
    [undefined, '$.id', { page: { query: 'page' }, total: { header: 'x-total-count' } }],
  ],
  ['names with other letters', guess({ 'the-list': TWO }), ["$['the-list'][*]", '$.id', undefined]],
  [
    'ids that are equal',
    guess({
      rows: [
        { id: 1, slug: 'a' },
        { id: 1, slug: 'b' },
      ],
    }),
    ['$.rows[*]', '$.slug', undefined],
  ],
  ['no JSON object or list', guess('text'), [undefined, undefined, undefined]],
])('%s', (_, { records, key, pages }, expected) => {
  expect([records?.value, key?.value, pages?.value]).toEqual(expected);
});

it('compares long ids digit by digit', () => {
  const body = Buffer.from('{"items":[{"id":9007199254740993},{"id":9007199254740992}]}');
  expect(guessStream({ status: 200, headers: { 'content-type': 'application/json' }, body }, {}).key?.value).toBe('$.id');
});
