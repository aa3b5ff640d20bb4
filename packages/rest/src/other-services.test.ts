import { expect, it } from 'vitest';
import { type ApiOptions, pageOf } from './api.fixture.ts';
import { type Section, bearer, knowsBearer, lister } from './list.fixture.ts';

const list = lister();

const items = Array.from({ length: 5 }, (_, i) => ({ id: String(i + 1) }));
const ids = items.map(({ id }) => id);

interface Service extends Pick<ApiOptions, 'routes'> {
  readonly streams: Section['streams'];
  readonly requests: number;
}

const SERVICES: Readonly<Record<string, Service>> = {
  'Airtable: a text called offset': {
    streams: {
      items: {
        get: '/v0/app1/Tasks',
        records: '$.records[*]',
        key: '$.id',
        pages: { cursor: '$.offset', as: { query: 'offset' }, size: { query: 'pageSize', is: 2 } },
      },
    },
    routes: {
      'GET /v0/app1/Tasks': ({ query }) => {
        const from = Number(query.get('offset')?.split('/')[1] ?? 0);
        return { body: { records: items.slice(from, from + 2), ...(from + 2 < 5 && { offset: `itr/${from + 2}` }) } };
      },
    },
    requests: 3,
  },
  'Discourse: pages from 0, while there is an address': {
    streams: {
      items: {
        get: '/latest.json',
        records: '$.topic_list.topics[*]',
        key: '$.id',
        pages: { page: { query: 'page' }, first: 0, while: '$.topic_list.more_topics_url' },
      },
    },
    routes: {
      'GET /latest.json': ({ query }) => {
        const page = Number(query.get('page'));
        return {
          body: { topic_list: { topics: pageOf(items, page + 1, 2), ...(page < 2 && { more_topics_url: `/latest?page=${page + 1}` }) } },
        };
      },
    },
    requests: 3,
  },
  'Mastodon: a Link header with max_id': {
    streams: { items: { get: '/api/v1/timelines/public', key: '$.id', pages: { link: 'next', size: { query: 'limit', is: 2 } } } },
    routes: {
      'GET /api/v1/timelines/public': ({ query, url }) => {
        const from = query.get('max_id') === null ? 0 : ids.indexOf(query.get('max_id') ?? '') + 1;
        const page = items.slice(from, from + 2);
        const address = `${url}/api/v1/timelines/public`;
        const link =
          page.length === 0
            ? {}
            : { link: `<${address}?limit=2&max_id=${page.at(-1)?.id}>; rel="next", <${address}?min_id=${page[0]?.id}>; rel="prev"` };
        return { headers: link, body: page };
      },
    },
    requests: 4,
  },
  'OpenAlex: a first cursor of *': {
    streams: {
      items: {
        get: '/works',
        query: { filter: 'publication_year:2024' },
        records: '$.results[*]',
        key: '$.id',
        pages: { cursor: '$.meta.next_cursor', as: { query: 'cursor' }, first: '*' },
      },
    },
    routes: {
      'GET /works': ({ query }) => {
        const cursor = query.get('cursor');
        if (cursor === null) return { status: 400, body: {} };
        const from = cursor === '*' ? 0 : Number(cursor);
        return { body: { results: items.slice(from, from + 2), meta: { next_cursor: from + 2 < 5 ? String(from + 2) : null } } };
      },
    },
    requests: 3,
  },
  'Twitch: an empty object behind the last page': {
    streams: {
      items: { get: '/helix/streams', records: '$.data[*]', key: '$.id', pages: { cursor: '$.pagination.cursor', as: { query: 'after' } } },
    },
    routes: {
      'GET /helix/streams': ({ query }) => {
        const from = Number(query.get('after') ?? 0);
        return { body: { data: items.slice(from, from + 2), pagination: from + 2 < 5 ? { cursor: String(from + 2) } : {} } };
      },
    },
    requests: 3,
  },
  'Jira Cloud: a token in the body of a POST, and isLast': {
    streams: {
      items: {
        post: '/rest/api/3/search/jql',
        body: { jql: 'order by created', fields: ['summary'] },
        records: '$.issues[*]',
        key: '$.id',
        pages: { cursor: '$.nextPageToken', as: { body: 'nextPageToken' }, until: '$.isLast', size: { body: 'maxResults', is: 2 } },
      },
    },
    routes: {
      'POST /rest/api/3/search/jql': ({ body }) => {
        const { nextPageToken: token = '0', maxResults: size } = body as { nextPageToken?: string; maxResults: number };
        const from = Number(token);
        return { body: { issues: items.slice(from, from + size), isLast: from + size >= 5, nextPageToken: String(from + size) } };
      },
    },
    requests: 3,
  },
  'Salesforce: an address from the root of the host, and done': {
    streams: {
      items: {
        get: '/services/data/v59.0/query',
        query: { q: 'SELECT Id FROM Lead' },
        records: '$.records[*]',
        key: '$.id',
        pages: { next: '$.nextRecordsUrl', until: '$.done' },
      },
    },
    routes: {
      'GET /services/data/v59.0/query': () => ({
        body: { records: items.slice(0, 3), done: false, nextRecordsUrl: '/services/data/v59.0/query/01g-3' },
      }),
      'GET /services/data/v59.0/query/{cursor}': () => ({ body: { records: items.slice(3), done: true } }),
    },
    requests: 2,
  },
  'GraphQL: a cursor among variables': {
    streams: {
      items: {
        post: '/graphql',
        body: { query: 'query ($after: String) {{ items(after: $after) {{ nodes {{ id }} }} }}', variables: { first: 2 } },
        records: '$.data.items.nodes[*]',
        key: '$.id',
        errors: [{ when: '$.errors[*]', then: 'dead', code: '$.errors[0].type' }],
        pages: { cursor: '$.data.items.pageInfo.endCursor', as: { body: '$.variables.after' }, while: '$.data.items.pageInfo.hasNextPage' },
      },
    },
    routes: {
      'POST /graphql': ({ body }) => {
        const { query, variables } = body as { query: string; variables: { first: number; after?: string } };
        if (query !== 'query ($after: String) { items(after: $after) { nodes { id } } }') return { body: { errors: [{ type: 'SYNTAX' }] } };
        const from = Number(variables.after ?? 0);
        const end = from + variables.first;
        return { body: { data: { items: { nodes: items.slice(from, end), pageInfo: { endCursor: String(end), hasNextPage: end < 5 } } } } };
      },
    },
    requests: 3,
  },
};

it.each(Object.entries(SERVICES))('%s', async (_, { streams, routes, requests }) => {
  const { records, deadLetters, api } = await list({ ...bearer, streams }, { routes, knows: knowsBearer });
  expect(deadLetters).toEqual([]);
  expect(records['items']?.map(([key]) => key)).toEqual(ids);
  expect(api.requests()).toBe(requests);
});
