import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type ApiAnswer, type ApiCall, type ApiOptions, after, pageOf } from './api.fixture.ts';
import { type Section, lister } from './list.fixture.ts';

const list = lister();

/** Twelve services with sections as users would write them. Each runs against an emulator, so `baseUrl` and limits are replaced. */
const TEXT = readFileSync(new URL('rest-examples.fixture.yaml', import.meta.url), 'utf8');
const SECTIONS = parse(withLines(TEXT.replaceAll(/\$\{(\w+)\}/g, 'secret-$1'))) as Readonly<Record<string, { use: string } & Section>>;

/** Replaces each `{ file: … }` in the YAML with the lines of the file, as the command does when it reads a configuration. */
function withLines(yaml: string): string {
  const files: Readonly<Record<string, string>> = { databases: 'd1', users: 'beta', authors: 'x y', isbns: 'i1, i2, i3' };
  return yaml.replaceAll(/\{ file: (\w+)\.txt \}/g, (_, name: string) => files[name] ?? '');
}

const items = Array.from({ length: 5 }, (_, i) => ({ id: i + 1, name: `n${i + 1}`, ts: `${1_700_000_000 + i}.000100` }));
const at = (i: number): string => new Date(Date.UTC(2024, 0, 1, 0, i)).toISOString();
const linked = (all: readonly unknown[], { query, url, path }: ApiCall): ApiAnswer => {
  const page = Number(query.get('page') ?? 1);
  query.set('page', String(page + 1));
  const link = page * 2 < all.length ? { link: `<${url}${path}?${query.toString()}>; rel="next"` } : {};
  return { headers: link, body: pageOf(all, page, 2) };
};
const authorized =
  (value: string) =>
  ({ headers }: ApiCall): boolean =>
    headers['authorization'] === value;
const basic = (text: string) => authorized(`Basic ${Buffer.from(text).toString('base64')}`);
const since = (call: ApiCall, name: string): string | null => call.query.get(name);
const ids = (all: readonly { readonly id: unknown }[]): string[] => all.map(({ id }) => String(id));

interface Emulated extends Pick<ApiOptions, 'routes' | 'knows'> {
  /** The keys of each topic, sorted. */
  readonly keys: Readonly<Record<string, readonly string[]>>;
  readonly deadLetters?: readonly string[];
}

const issues = [1, 2, 3].map((number) => ({ id: 100 + number, number, updated_at: at(number) }));

const SERVICES: Readonly<Record<string, Emulated>> = {
  github: {
    knows: authorized('Bearer secret-GITHUB'),
    routes: {
      'GET /orgs/{org}/repos': (call) => linked([{ id: 1, name: 'node', owner: { login: 'nodejs' } }], call),
      'GET /repos/{owner}/{repo}/issues': (call) =>
        linked(
          issues.filter(({ updated_at: updated }) => call.params['owner'] === 'nodejs' && updated >= (since(call, 'since') ?? '')),
          call,
        ),
      'GET /repos/{owner}/{repo}/issues/{number}/comments': (call) => linked([{ id: `c${call.params['number']}` }], call),
    },
    keys: { repos: ['1'], issues: ids(issues), comments: ['c1', 'c2', 'c3'] },
  },
  stripe: {
    knows: basic('secret-STRIPE:'),
    routes: {
      'GET /v1/charges': ({ query }) => {
        const rest = after(items, query.get('starting_after'));
        return { body: { data: rest.slice(0, 2).map(({ id }) => ({ id, created: 1_700_000_000 + id })), has_more: rest.length > 2 } };
      },
    },
    keys: { charges: ids(items) },
  },
  zendesk: {
    knows: basic('me@acme.com/token:secret-ZD'),
    routes: {
      'GET /api/v2/incremental/tickets/cursor.json': (call) => {
        const cursor = call.query.get('cursor');
        if ((cursor === null) === (since(call, 'start_time') === null) || (cursor !== null && call.query.size > 1))
          return { status: 400, body: {} };
        const from = Number(cursor ?? 0);
        const tickets = items.slice(from, from + 2).map(({ id }) => ({ id, updated_at: at(id) }));
        return { body: { tickets, after_cursor: String(from + 2), end_of_stream: from + 2 >= items.length } };
      },
    },
    keys: { tickets: ids(items) },
  },
  hubspot: {
    knows: authorized('Bearer secret-HS'),
    routes: {
      'GET /crm/v3/objects/contacts': ({ query }) => {
        const from = Number(query.get('after') ?? 0);
        const next = from + 2 < items.length ? { paging: { next: { after: String(from + 2) } } } : {};
        return { body: { results: items.slice(from, from + 2), ...next } };
      },
    },
    keys: { contacts: ids(items) },
  },
  notion: {
    knows: (call) => authorized('Bearer secret-NOTION')(call) && call.headers['notion-version'] === '2022-06-28',
    routes: {
      'POST /v1/databases/{db}/query': ({ body, params }) => {
        const { start_cursor: cursor, page_size: size, sorts } = body as { start_cursor?: string; page_size: number; sorts: unknown[] };
        if (size !== 100 || sorts.length !== 1 || params['db'] !== 'd1') return { status: 400, body: {} };
        const rest = after(items, cursor);
        return {
          body: { results: rest.slice(0, 2), has_more: rest.length > 2, next_cursor: rest.length > 2 ? String(rest[1]?.id) : null },
        };
      },
    },
    keys: { rows: ids(items) },
  },
  slack: {
    knows: authorized('Bearer secret-SLACK'),
    routes: {
      'GET /api/conversations.list': ({ query }) => ({
        body: {
          ok: true,
          channels: [{ id: query.get('cursor') === null ? 'C1' : 'C2' }],
          response_metadata: { next_cursor: query.get('cursor') === null ? 'more' : '' },
        },
      }),
      'GET /api/conversations.history': ({ query }) =>
        query.get('channel') === 'C2'
          ? { body: { ok: false, error: 'channel_not_found' } }
          : { body: { ok: true, messages: items.map(({ ts }) => ({ ts })) } },
    },
    keys: { channels: ['C1', 'C2'], messages: items.map(({ ts }) => ts) },
    deadLetters: ['HEADGATE_NOT_FOUND'],
  },
  pokeapi: {
    routes: {
      'GET /api/v2/pokemon': ({ query, url }) => {
        const from = Number(query.get('offset') ?? 0);
        return { body: { results: items.slice(from, from + 3), next: from === 0 ? `${url}/api/v2/pokemon?offset=3&limit=100` : null } };
      },
      'GET /api/v2/pokemon/{name}': ({ params }) => ({ body: { id: `#${params['name']}` } }),
    },
    keys: { list: items.map(({ name }) => name), pokemon: items.map(({ name }) => `#${name}`) },
  },
  hackernews: {
    routes: {
      'GET /v0/topstories.json': () => ({ body: [11, 12, 13] }),
      'GET /v0/item/{id}.json': ({ params }) => ({ body: { id: Number(params['id']) } }),
    },
    keys: { top: ['11', '12', '13'], items: ['11', '12', '13'] },
  },
  jira: {
    knows: basic('me@acme.com:secret-JIRA'),
    routes: {
      'GET /rest/api/2/search': ({ query }) => {
        const [, day, minute] = /^updated >= "(\S+) (\S+)" order by updated asc$/.exec(query.get('jql') ?? '') ?? [];
        if (day === undefined) return { status: 400, body: {} };
        const found = items.filter(({ id }) => at(id) >= `${day.replaceAll('/', '-')}T${minute}`);
        const from = Number(query.get('startAt'));
        return {
          body: { total: found.length, issues: found.slice(from, from + 2).map(({ id }) => ({ id, fields: { updated: at(id) } })) },
        };
      },
    },
    keys: { issues: ids(items) },
  },
  paypal: {
    knows: (call) => call.path === '/v1/oauth2/token' || authorized('Bearer granted')(call),
    routes: {
      'POST /v1/oauth2/token': (call) =>
        basic('secret-ID:secret-SECRET')(call) && (call.body as { grant_type: string }).grant_type === 'client_credentials'
          ? { body: { access_token: 'granted', expires_in: 3_600 } }
          : { status: 401, body: {} },
      'GET /v1/reporting/transactions': (call) => {
        if (call.query.get('start_date') !== '2024-01-01') return { body: { transaction_details: [], total_pages: 0 } };
        const details = items.map(({ id }) => ({ transaction_info: { transaction_id: id, transaction_updated_date: at(id) } }));
        return { body: { transaction_details: pageOf(details, Number(call.query.get('page')), 2), total_pages: 3 } };
      },
    },
    keys: { transactions: ids(items) },
  },
  followers: {
    knows: authorized('Bearer secret-TOKEN'),
    routes: {
      'GET /1.1/followers/ids.json': ({ query }) => {
        if (query.get('screen_name') === 'beta') return { status: 401, body: { error: 'Not authorized.' } };
        const pages = { '-1': ['1', '2', '77'], '77': ['3', '4', '0'] }[query.get('cursor') ?? ''] ?? ['', '', '0'];
        return { body: { ids: pages.slice(0, 2), next_cursor_str: pages[2] } };
      },
    },
    keys: { ids: ['alpha', 'alpha', 'alpha', 'alpha'] },
    deadLetters: ['HEADGATE_NOT_FOUND'],
  },
  authors: {
    knows: authorized('secret-KEY'),
    routes: {
      'GET /author/{author}': ({ params, query }) => {
        const books = pageOf([{ isbn13: 'a' }, { isbn13: 'b' }, { isbn13: 'c' }], Number(query.get('page')), 2);
        return params['author'] === 'x y' && books.length > 0 ? { body: { books } } : { status: 404, body: { message: 'none' } };
      },
      'POST /books': ({ body }) => ({
        body: { data: (body as { isbns: string[] }).isbns.filter((one) => one !== 'i2').map((isbn13) => ({ isbn13 })) },
      }),
    },
    keys: { books: ['a', 'b', 'c'], isbns: ['i1', 'i3'] },
    deadLetters: ['HEADGATE_NOT_FOUND'],
  },
};

it('are twelve sections', () => {
  expect(Object.keys(SECTIONS)).toEqual(Object.keys(SERVICES));
});

describe('each section runs as written, apart from its address and windows', () => {
  it.each(Object.entries(SERVICES))('%s', async (name, { routes, knows = () => true, keys, deadLetters: expected = [] }) => {
    const { use, baseUrl, limit, budgets, ...section } = SECTIONS[name] ?? ({} as never);
    expect(use).toBe('rest');
    expect(limit ?? budgets).toBeDefined();
    const { pathname } = new URL(baseUrl);
    const fast = { requests: 500, window: '100ms' };
    const { records, deadLetters } = await list({ ...section, limit: fast }, { routes, knows }, { path: pathname.replace(/\/$/, '') });
    const found = Object.fromEntries(Object.keys(keys).map((stream) => [stream, records[stream]?.map(([key]) => key).toSorted()]));
    expect(found).toEqual(Object.fromEntries(Object.entries(keys).map(([stream, some]) => [stream, [...some].toSorted()])));
    expect(deadLetters.map(({ code }) => code)).toEqual(expected);
  });
});
