import { describe, expect, it } from 'vitest';
import { type ShopOptions, idsIn, range, rows, shop, textsOf } from './shop.fixture.ts';

// https://github.com/elastic/beats/pull/52996
it('a child that fails stays to be done, and its parent page is not passed over', async () => {
  let isBroken = true;
  await using place = await shop({
    retryFor: '3s',
    streams: {
      parents: { get: '/parents', records: '$.items[*]', key: '$.id', pages: { cursor: '$.next', as: { query: 'page' }, first: 1 } },
      details: { get: '/parents/{id}/detail', for: { each: 'parents', with: { id: '$.id' } }, key: '$.id' },
    },
    answer: ({ path, query }) => {
      const [, , id] = path.split('/');
      if (id === 'c' && isBroken) return { status: 500, body: { error: 'boom' } };
      if (id !== undefined) return { body: { id, v: 1 } };
      const page = Number(query.get('page'));
      return { body: { items: rows([['a', 'b'], ['c', 'd'], ['e']][page - 1] ?? []), ...(page < 3 && { next: page + 1 }) } };
    },
  });
  const first = await place.run();
  expect(idsIn(first, 'shop.details').toSorted()).toEqual(['a', 'b', 'd', 'e']);
  expect(first.deadLetters('shop')).toMatchObject([{ key: 'details/c', message: expect.stringContaining('500') }]);
  expect(place.asked().filter((url) => url.startsWith('/parents?'))).toEqual(['/parents?page=1', '/parents?page=2', '/parents?page=3']);
  isBroken = false;
  const before = place.service.arrivals.length;
  const run = await place.run({ replay: true });
  expect(place.asked().slice(before)).toEqual(['/parents/c/detail']);
  expect([run.outcome, idsIn(run, 'shop.details').toSorted()]).toEqual(['done', ['a', 'b', 'c', 'd', 'e']]);
});

// https://github.com/PostHog/posthog/pull/90205
describe('a cursor of a parent list that expires', () => {
  const section: Pick<ShopOptions, 'streams' | 'credentials' | 'limit'> = {
    streams: {
      pages: {
        post: '/search',
        body: { page_size: 2 },
        records: '$.results[*]',
        key: '$.id',
        pages: { cursor: '$.next_cursor', as: { body: 'start_cursor' }, while: '$.has_more' },
        errors: [{ status: 400, when: { '$.code': 'validation_error' }, then: 'restart' }],
      },
      blocks: { get: '/blocks/{id}/children', for: { each: 'pages', with: { id: '$.id' } }, key: '$.id' },
    },
  };

  /** `recovers`: whether the cursors of a second walk are valid. */
  async function walked(recovers: boolean) {
    let walk = 'x';
    const cursors: (string | undefined)[] = [];
    await using place = await shop({
      ...section,
      answer: ({ path, body }) => {
        if (path !== '/search') return { body: { id: `b-${path.split('/')[2]}` } };
        const { start_cursor: cursor } = JSON.parse(body) as { start_cursor?: string };
        cursors.push(cursor);
        const at = Number(cursor?.slice(1) ?? 0);
        if (at === 2 && walk === 'x') {
          if (recovers) walk = 'y';
          return { status: 400, body: { object: 'error', code: 'validation_error', message: 'The start_cursor provided is invalid' } };
        }
        const results = rows([['P1', 'P2'], ['P3', 'P4'], ['P5']][at] ?? []);
        return { body: { results, next_cursor: at < 2 ? `${walk}${at + 1}` : null, has_more: at < 2 } };
      },
    });
    return { cursors, run: await place.run() };
  }

  it('restarts the listing, and its children are all requested', async () => {
    const { cursors, run } = await walked(true);
    expect(cursors).toEqual([undefined, 'x1', 'x2', undefined, 'y1', 'y2']);
    expect([run.outcome, run.deadLetters('shop')]).toEqual(['done', []]);
    expect(idsIn(run, 'shop.blocks').toSorted()).toEqual(range(5).map((n) => `b-P${n}`));
    expect(new Set(idsIn(run, 'shop.pages'))).toEqual(new Set(range(5).map((n) => `P${n}`)));
  });

  it('always, fails the listing after three restarts', async () => {
    const { cursors, run } = await walked(false);
    expect(cursors).toHaveLength(12);
    expect(run.deadLetters('shop')).toHaveLength(1);
  });
});

// https://github.com/singer-io/tap-zendesk/pull/191
it('a token that expires in the middle is renewed, and no page is lost', async () => {
  const issued: number[] = [];
  const refused = new Map<string, number>();
  await using place = await shop({
    credentials: [{ name: 'app', token: { url: '/oauth/token', id: 'id', secret: 'secret' } }],
    limit: { requests: 1, window: '1s' },
    streams: {
      tickets: { get: '/tickets', records: '$.tickets[*]', key: '$.id', pages: { cursor: '$.next', as: { query: 'cursor' } } },
      comments: { get: '/tickets/{id}/comments', for: { each: 'tickets', with: { id: '$.child' } }, key: '$.id' },
    },
    answer: ({ path, query, authorization = '', at }) => {
      if (path === '/oauth/token') return { body: { access_token: `T${issued.push(at)}`, expires_in: 4 } };
      const token = authorization.replace('Bearer ', '');
      if (!(at - (issued[Number(token.slice(1)) - 1] ?? -Infinity) <= 4_000)) {
        refused.set(token, (refused.get(token) ?? 0) + 1);
        return { status: 401, body: { error: 'invalid_token' } };
      }
      if (path !== '/tickets') return { body: [{ id: `c${path.split('/')[2]}` }] };
      const page = Number(query.get('cursor') ?? 1);
      const tickets =
        page === 1
          ? [
              { id: 1, child: 'a' },
              { id: 101, child: 'b' },
            ]
          : [{ id: page, child: null }];
      return { body: { tickets, next: page < 12 ? page + 1 : null } };
    },
  });
  const run = await place.run();
  expect([...new Set(idsIn(run, 'shop.tickets'))]).toHaveLength(13);
  expect(idsIn(run, 'shop.tickets')).toHaveLength(13);
  expect(idsIn(run, 'shop.comments').toSorted()).toEqual(['ca', 'cb']);
  expect(issued.length).toBeGreaterThanOrEqual(3);
  expect(issued.length).toBeLessThanOrEqual(8);
  expect(Math.max(0, ...refused.values())).toBeLessThanOrEqual(1);
  expect(textsOf(run)).not.toMatch(/\bT\d\b/);
  const times = place.service.arrivals.filter(({ path }) => path !== '/oauth/token').map(({ at }) => at);
  expect(Math.min(...times.slice(1).map((at, i) => at - (times[i] ?? 0)))).toBeGreaterThanOrEqual(1_000);
});

// https://github.com/airbytehq/airbyte/issues/72382
describe('links with a short life', () => {
  const section: Pick<ShopOptions, 'streams' | 'credentials' | 'limit'> = {
    credentials: [{ name: 'app', bearer: 'token' }],
    limit: { requests: 1, window: '1s' },
    streams: {
      files: { get: '/files', records: '$.files[*]', key: '$.id', pages: { page: { query: 'page' }, last: '$.last_page' } },
      metas: {
        get: '/files/{id}/meta',
        query: { sig: '{sig}' },
        for: { each: 'files', with: { id: '$.id', sig: '$.sig' } },
        key: '$.id',
        errors: [{ when: { '$.error': 'expired link' }, then: 'dead' }],
      },
    },
  };

  it('are followed soon, and one that is refused is visible', async () => {
    await using place = await shop({
      ...section,
      answer: ({ path, query, at }) => {
        const [, , id] = path.split('/');
        if (id !== undefined)
          return at - Number(query.get('sig')?.split('-')[1]) <= 3_500
            ? { body: { id, size: 1 } }
            : { status: 401, body: { error: 'expired link' } };
        const page = Number(query.get('page'));
        return { body: { files: [2 * page - 1, 2 * page].map((k) => ({ id: `f${k}`, sig: `${k}-${at}` })), last_page: 4 } };
      },
    });
    const run = await place.run();
    const failed = run.deadLetters('shop').map(({ key }) => key.split('/')[1]);
    expect([...idsIn(run, 'shop.metas'), ...failed].toSorted()).toEqual(range(8).map((k) => `f${k}`));
    expect(new Set(idsIn(run, 'shop.files')).size).toBe(8);
  });

  it('that are broken alone fail alone', async () => {
    await using place = await shop({
      ...section,
      answer: ({ path, query }) => {
        const [, , id] = path.split('/');
        if (id === 'f3') return { status: 401, body: { error: 'expired link' } };
        if (id !== undefined) return { body: { id, size: 1 } };
        const page = Number(query.get('page'));
        return { body: { files: [2 * page - 1, 2 * page].map((k) => ({ id: `f${k}`, sig: 's' })), last_page: 4 } };
      },
    });
    const run = await place.run();
    expect(idsIn(run, 'shop.metas').toSorted()).toEqual(['f1', 'f2', 'f4', 'f5', 'f6', 'f7', 'f8']);
    expect(run.deadLetters('shop')).toMatchObject([{ message: expect.stringContaining('401') }]);
  });
});

// https://github.com/airbytehq/airbyte/issues/70223
describe('a token that is refused before its announced end', () => {
  const section: Pick<ShopOptions, 'streams' | 'credentials' | 'limit'> = {
    credentials: [{ name: 'app', token: { url: '/oauth/token', id: 'id', secret: 'secret' } }],
    streams: {
      mailings: { get: '/mailings', records: '$.mailings[*]', key: '$.id', pages: { cursor: '$.next', as: { query: 'cursor' } } },
    },
  };
  const refusal = { status: 401, body: { errors: [{ id: 'expiredAccessToken' }] } };

  it('is renewed, and the page is repeated', async () => {
    let issued = 0;
    const served = new Map<string, number>();
    await using place = await shop({
      ...section,
      answer: ({ path, query, authorization = '' }) => {
        if (path === '/oauth/token') return { body: { access_token: `T${(issued += 1)}`, expires_in: 3600 } };
        const count = served.get(authorization) ?? 0;
        if (count >= 3 || !authorization.endsWith(`T${issued}`)) return refusal;
        served.set(authorization, count + 1);
        const page = Number(query.get('cursor') ?? 1);
        return { body: { mailings: rows([page]), next: page < 9 ? page + 1 : null } };
      },
    });
    const run = await place.run();
    expect([run.outcome, run.deadLetters('shop'), idsIn(run, 'shop.mailings')]).toEqual(['done', [], range(9)]);
    const pages = place.service.arrivals.filter(({ path }) => path === '/mailings').map(({ query }) => query.get('cursor') ?? '1');
    expect([issued, pages]).toEqual([3, ['1', '2', '3', '4', '4', '5', '6', '7', '7', '8', '9']]);
    expect(run.endedAt).toBeLessThan(10_000);
  });

  it('is asked for once by several requests at a time', async () => {
    let issued = 0;
    let answered = 0;
    await using place = await shop({
      ...section,
      concurrency: 4,
      streams: { mailings: { ...section.streams['mailings'], get: '/mailings/{of}', for: { of: ['a', 'b', 'c', 'd'] } } },
      answer: ({ path, query, authorization = '' }) => {
        if (path === '/oauth/token') return { body: { access_token: `T${(issued += 1)}`, expires_in: 3600 } };
        if (authorization.endsWith('T1') && (answered += 1) > 4) return refusal;
        const page = Number(query.get('cursor') ?? 1);
        return { body: { mailings: rows([`${path}-${page}`]), next: page < 3 ? page + 1 : null } };
      },
    });
    const run = await place.run();
    expect([run.outcome, issued, idsIn(run, 'shop.mailings').length]).toEqual(['done', 2, 12]);
  });

  it('at every request ends visibly, and continues after the repair', async () => {
    let [issued, isBroken, asked] = [0, true, 0];
    await using place = await shop({
      ...section,
      answer: ({ path, query }) => {
        if (path === '/oauth/token') return { body: { access_token: `T${(issued += 1)}`, expires_in: 3600 } };
        asked += 1;
        if (isBroken) return refusal;
        const page = Number(query.get('cursor') ?? 1);
        return { body: { mailings: rows([page]), next: page < 3 ? page + 1 : null } };
      },
    });
    const first = await place.run();
    expect(issued).toBeLessThanOrEqual(3);
    expect(asked).toBeLessThanOrEqual(6);
    expect(first.outcome).toBe('failed');
    expect(textsOf(first)).toMatch(/app/);
    isBroken = false;
    const run = await place.run();
    expect([run.outcome, idsIn(run, 'shop.mailings')]).toEqual(['done', range(3)]);
  });
});
