import { describe, expect, it } from 'vitest';
import { type ApiCall, startApi } from './api.fixture.ts';
import { runCut, valuesOf } from './cut-runs.fixture.ts';
import { type Section, bearer, lister } from './list.fixture.ts';
import { rest } from './rest.ts';
import { sharedLog } from './shared-log.fixture.ts';

const shareOfLog = sharedLog();
const list = lister(shareOfLog);

const POSTS = [
  { id: 1, author: 'ann' },
  { id: 2, author: 'bob' },
  { id: 3, author: 'ann' },
  { id: 4, author: 'bob' },
];
const TEAM: Readonly<Record<string, string>> = { ann: 'red', bob: 'red' };

const ROUTES = {
  'GET /blogs/{blog}/posts': ({ query }: ApiCall) => {
    const page = Number(query.get('page'));
    return { body: POSTS.slice((page - 1) * 2, page * 2) };
  },
  'GET /authors/{author}': ({ params }: ApiCall) => ({ body: { id: params['author'], team: TEAM[params['author'] ?? ''] } }),
  'GET /teams/{team}': ({ params }: ApiCall) => ({ body: { id: params['team'] } }),
};

const STREAMS: Section['streams'] = {
  posts: { get: '/blogs/{blog}/posts', for: { blog: ['one', 'two'] }, key: '$.id', pages: { page: { query: 'page' } } },
  authors: { get: '/authors/{author}', for: { each: 'posts', with: { author: '$.author' } }, key: '$.id' },
  teams: { get: '/teams/{team}', for: { each: 'authors', with: { team: '$.team' } }, key: '$.id' },
};

const requestsOf = (paths: readonly { readonly path: string }[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { path } of paths) if (!path.startsWith('/blogs')) counts[path] = (counts[path] ?? 0) + 1;
  return counts;
};

const idsOf = (records: readonly unknown[]): string[] => records.map((record) => String((record as { id: unknown }).id)).toSorted();

describe('a child that several records refer to', () => {
  it('is requested once, including for records of another listing and at the next level', async () => {
    const { records, deadLetters, api } = await list({ ...bearer, streams: STREAMS }, { routes: ROUTES });
    expect(deadLetters).toEqual([]);
    expect(requestsOf(api.answered)).toEqual({ '/authors/ann': 1, '/authors/bob': 1, '/teams/red': 1 });
    expect(records['authors']?.map(([key]) => key).toSorted()).toEqual(['ann', 'bob']);
  });

  it('is requested again by the next listing', async () => {
    const { api } = await list({ ...bearer, streams: STREAMS }, { routes: ROUTES }, { runs: 3 });
    expect(requestsOf(api.answered)).toEqual({ '/authors/ann': 3, '/authors/bob': 3, '/teams/red': 3 });
  });

  it.each(Array.from({ length: 12 }, (_, i) => [i * 2 + 1]))('is written once, with three interruptions: %i', async (at) => {
    await using api = await startApi({ routes: ROUTES });
    const log = shareOfLog();
    const pipeline = rest('api')({ ...bearer, baseUrl: api.url, streams: STREAMS });
    const cuts = [at, at + 3, at + 1].map((one, i) => ({ at: one, isDurable: i % 2 === 0 }));
    await runCut(log, pipeline, cuts);
    expect(idsOf(await valuesOf(log, 'api.authors'))).toEqual(['ann', 'bob']);
    expect(idsOf(await valuesOf(log, 'api.teams'))).toEqual(['red']);
    expect(await valuesOf(log, 'api.dead-letters')).toEqual([]);
  });

  it('is requested for each listing whose field it uses', async () => {
    const streams = { ...STREAMS, authors: { ...STREAMS['authors'], add: { blog: '{blog}' } } } as Section['streams'];
    const { records, api } = await list({ ...bearer, streams }, { routes: ROUTES });
    expect(records['authors']).toHaveLength(4);
    expect(requestsOf(api.answered)).toEqual({ '/authors/ann': 2, '/authors/bob': 2, '/teams/red': 1 });
  });

  it('is requested again for a record that changed meanwhile, if the listing returns only changes', async () => {
    const changes = [
      { id: 1, at: '2024-01-01T00:00:00Z' },
      { id: 2, at: '2024-01-01T00:01:00Z' },
      { id: 1, at: '2024-01-01T00:02:00Z' },
    ];
    const { api } = await list(
      {
        ...bearer,
        streams: {
          issues: { get: '/issues', key: '$.id', since: { from: '$.at', order: 'fixed' }, pages: { page: { query: 'page' } } },
          comments: { get: '/comments/{issue}', for: { each: 'issues', with: { issue: '$.id' } }, key: '$.id' },
        },
      },
      {
        routes: {
          'GET /issues': ({ query }) => ({ body: changes.slice(Number(query.get('page')) - 1, Number(query.get('page'))) }),
          'GET /comments/{issue}': ({ params }) => ({ body: { id: `of ${params['issue']}` } }),
        },
      },
    );
    expect(requestsOf(api.answered.filter(({ path }) => path !== '/issues'))).toEqual({ '/comments/1': 2, '/comments/2': 1 });
  });

  it.each(['changed', 'all', undefined] as const)('is requested for records that changed, or for all: children: %s', async (children) => {
    const issues = [1, 2, 3, 4].map((id) => ({ id, at: `2024-01-01T00:0${id}:00Z` }));
    let listings = 0;
    const streams: Section['streams'] = {
      issues: {
        get: '/issues',
        query: { since: '{since}' },
        key: '$.id',
        since: { from: '$.at', order: 'fixed', ...(children && { children }) },
        pages: { page: { query: 'page' } },
      },
      comments: { get: '/comments/{issue}', for: { each: 'issues', with: { issue: '$.id' } }, key: '$.id' },
    };
    const { records, api } = await list(
      { ...bearer, streams },
      {
        routes: {
          'GET /issues': ({ query }) => {
            const page = Number(query.get('page'));
            if (page === 1 && (listings += 1) === 2) issues[0] = { id: 1, at: '2024-01-01T00:09:00Z' };
            const found = issues.filter(({ at }) => at >= (query.get('since') ?? ''));
            return { body: found.slice((page - 1) * 2, page * 2) };
          },
          'GET /comments/{issue}': ({ params }) => ({ body: { id: params['issue'] } }),
        },
      },
      { runs: 2 },
    );
    expect(records['issues']?.map(([key]) => key)).toEqual(['1', '2', '3', '4', '1']);
    expect(records['comments']?.map(([key]) => key).toSorted()).toEqual(
      children === 'all' ? ['1', '1', '2', '2', '3', '3', '4', '4'] : ['1', '1', '2', '3', '4'],
    );
    expect(api.answered.filter(({ path }) => path === '/issues').map(({ query }) => query.has('since'))).toEqual(
      children === 'all' ? [false, false, false, false, false, false] : [false, false, false, true, true],
    );
    const { warnings } = rest('api')({ ...bearer, baseUrl: api.url, streams });
    expect(warnings).toEqual(
      children === undefined
        ? [
            {
              path: ['streams', 'comments', 'for'],
              message:
                'is requested only for records of issues that changed. If comments can change without them, write children: all in since of issues, whose listings then read the whole list. Otherwise write children: changed.',
            },
          ]
        : [],
    );
  });

  it('is requested once for a number and its text', async () => {
    const { records, api } = await list(
      {
        ...bearer,
        streams: { posts: { get: '/posts' }, tags: { get: '/tags/{tag}', for: { each: 'posts', with: { tag: '$.tag' } }, key: '$.id' } },
      },
      {
        routes: {
          'GET /posts': () => ({ body: [{ tag: 7 }, { tag: '7' }, { tag: '07' }] }),
          'GET /tags/{tag}': ({ params }) => ({ body: { id: params['tag'] } }),
        },
      },
    );
    expect(records['tags']?.map(([key]) => key).toSorted()).toEqual(['07', '7']);
    expect(requestsOf(api.answered)).toEqual({ '/posts': 1, '/tags/7': 1, '/tags/07': 1 });
  });

  it('is one dead letter if the service lacks it, and one per record without its field', async () => {
    const { deadLetters, api } = await list(
      {
        ...bearer,
        streams: {
          posts: { get: '/posts', key: '$.id' },
          authors: { get: '/authors/{author}', for: { each: 'posts', with: { author: '$.author' } }, key: '$.id' },
        },
      },
      { routes: { 'GET /posts': () => ({ body: [...POSTS, { id: 5 }, { id: 6 }] }) } },
    );
    expect(deadLetters.map(({ code }) => code).toSorted()).toEqual([
      'HEADGATE_MALFORMED_REQUEST',
      'HEADGATE_MALFORMED_REQUEST',
      'HEADGATE_NOT_FOUND',
      'HEADGATE_NOT_FOUND',
    ]);
    expect(requestsOf(api.answered)).toEqual({ '/posts': 1, '/authors/ann': 1, '/authors/bob': 1 });
  });

  it('is requested for records of a batch, too', async () => {
    const { records, deadLetters } = await list(
      {
        ...bearer,
        streams: {
          books: {
            post: '/books',
            for: { isbn: ['1', '2', '3'] },
            batch: { of: 'isbn', most: 2, match: ['$.isbn'] },
            body: { isbns: '{isbn}' },
            records: '$.data[*]',
            key: '$.isbn',
          },
          authors: { get: '/authors/{author}', for: { each: 'books', with: { author: '$.author' } }, key: '$.id' },
        },
      },
      {
        routes: {
          ...ROUTES,
          'POST /books': ({ body }) => ({ body: { data: (body as { isbns: string[] }).isbns.map((isbn) => ({ isbn, author: 'ann' })) } }),
        },
      },
    );
    expect(deadLetters).toEqual([]);
    expect(records['books']).toHaveLength(3);
    expect(records['authors']?.map(([key]) => key)).toEqual(['ann']);
  });
});
