import { describe, expect, it } from 'vitest';
import { idsIn, range, rows, shop, textsOf } from './shop.fixture.ts';

/** Seconds since 1970. */
const DAY = Date.parse('2026-01-01T00:00:00Z') / 1_000;

// https://github.com/openclaw/notcrawl/pull/109
describe('a cursor that comes again', () => {
  const streams = {
    users: {
      get: '/users',
      records: '$.results[*]',
      key: '$.id',
      pages: { cursor: '$.next_cursor', as: { query: 'start_cursor' }, while: '$.has_more' },
    },
  };

  it('never is no limit of a longer list', async () => {
    await using place = await shop({
      streams,
      answer: ({ query }) => {
        const at = Number(query.get('start_cursor')?.slice(1) ?? 0);
        return { body: { results: [{ id: at }], next_cursor: at === 124 ? null : `u${at + 1}`, has_more: at < 124 } };
      },
    });
    const run = await place.run();
    expect([run.outcome, place.asked().length]).toEqual(['done', 125]);
    expect(idsIn(run, 'shop.users')).toEqual(range(125, 0));
    expect(run.deadLetters('shop')).toEqual([]);
  });

  it.each([
    ['at once', { '': 'stuck', stuck: 'stuck' }, [1, 2], 3],
    ['after another', { '': 'secretA', secretA: 'secretB', secretB: 'secretA' }, [1, 2, 3], 4],
  ])('%s fails the listing, and is not in its error', async (_, next: Readonly<Record<string, string>>, ids, most) => {
    const numbers = Object.keys(next);
    await using place = await shop({
      streams,
      answer: ({ query }) => {
        const at = query.get('start_cursor') ?? '';
        return { body: { results: [{ id: numbers.indexOf(at) + 1 }], next_cursor: next[at], has_more: true } };
      },
    });
    const run = await place.run();
    expect(place.asked().length).toBeLessThanOrEqual(most);
    expect(idsIn(run, 'shop.users')).toEqual(ids);
    expect(run.deadLetters('shop')).toHaveLength(1);
    expect(textsOf(run)).not.toMatch(/stuck|secret/);
  });

  it('is sent exactly as it came', async () => {
    const cursor = ' c 1+/=&%20 ';
    await using place = await shop({
      streams,
      answer: ({ query }) =>
        query.has('start_cursor')
          ? { body: { results: rows([2]), next_cursor: null, has_more: false } }
          : { body: { results: rows([1]), next_cursor: cursor, has_more: true } },
    });
    expect(idsIn(await place.run(), 'shop.users')).toEqual([1, 2]);
    expect(place.service.arrivals.map(({ query }) => query.get('start_cursor'))).toEqual([null, cursor]);
  });
});

// https://github.com/atlassian/atlassian-mcp-server/issues/221
describe('an offset in a list whose pages are shorter than asked for', () => {
  const list = (size: { total?: boolean; ends?: number }) => ({
    streams: {
      issues: {
        get: '/search',
        records: '$.issues[*]',
        key: '$.id',
        pages: { offset: { query: 'startAt' }, size: { query: 'maxResults', is: 44 }, ...(size.total === true && { total: '$.total' }) },
      },
    },
    answer: ({ query }: { readonly query: URLSearchParams }) => {
      const at = Number(query.get('startAt'));
      const issues = rows(
        range(12)
          .slice(at, at + 5)
          .filter((id) => id <= (size.ends ?? 12)),
      );
      return { body: { startAt: at, maxResults: 44, ...(size.total === true && { total: 12 }), issues } };
    },
  });
  const offsets = (place: Awaited<ReturnType<typeof shop>>) => place.service.arrivals.map(({ query }) => Number(query.get('startAt')));

  it.each([
    ['with a total', { total: true }, [0, 5, 10]],
    ['without a total', {}, [0, 5, 10, 12]],
  ])('counts what came, %s', async (_, given, expected) => {
    await using place = await shop(list(given));
    const run = await place.run();
    expect([run.outcome, offsets(place), idsIn(run, 'shop.issues')]).toEqual(['done', expected, range(12)]);
    expect(run.deadLetters('shop')).toEqual([]);
  });

  it('that ends before its total says so', async () => {
    await using place = await shop(list({ total: true, ends: 5 }));
    const run = await place.run();
    expect(idsIn(run, 'shop.issues')).toEqual(range(5));
    expect(textsOf(run)).toMatch(/has 12 records, but returned 5/);
    expect(run.records('shop.walks').at(-1)?.value).toMatchObject({ state: 'completed', records: 5 });
  });
});

// https://github.com/n8n-io/n8n/issues/34618
describe('a cursor beside a bearer token and other parameters', () => {
  it.each([
    ['said on each page', [false, false, true]],
    ['said on the last page only', [undefined, undefined, true]],
  ])('is followed until the end, %s', async (_, done) => {
    await using place = await shop({
      credentials: [{ name: 'app', bearer: 's3cret' }],
      streams: {
        orders: {
          get: '/orders',
          query: { status: 'open', limit: '2' },
          records: '$.orders[*]',
          key: '$.id',
          pages: { cursor: '$.paging.after', as: { query: 'after' }, until: '$.paging.done' },
        },
      },
      answer: ({ query, authorization }) => {
        if (authorization !== 'Bearer s3cret') return { status: 401 };
        if (String(query.getAll('status')) !== 'open' || String(query.getAll('limit')) !== '2') return { status: 400 };
        const page = [null, 'k2', 'k4'].indexOf(query.get('after'));
        const orders = rows([[1, 2], [3, 4], [5]][page] ?? []);
        return { body: { orders, paging: { after: ['k2', 'k4', 'k5'][page], done: done[page] } } };
      },
    });
    const run = await place.run();
    expect(place.service.arrivals.map(({ query }) => query.get('after'))).toEqual([null, 'k2', 'k4']);
    expect([run.outcome, idsIn(run, 'shop.orders'), run.deadLetters('shop')]).toEqual(['done', range(5), []]);
  });
});

// https://github.com/apache/iceberg-go/pull/1484
describe('page tokens in a circle', () => {
  const streams = {
    tables: {
      get: '/tables',
      records: '$.identifiers[*]',
      key: '$.id',
      pages: { cursor: '$["next-page-token"]', as: { query: 'pageToken' } },
    },
  };

  it.each([
    ['A, B, A', { '': 'A', A: 'B', B: 'A' }, ['t', 'tA', 'tB'], 4],
    ['B, C, D, B', { '': 'B', B: 'C', C: 'D', D: 'B' }, ['t', 'tB', 'tC', 'tD'], 5],
  ])('%s fail the listing', async (_, next: Readonly<Record<string, string>>, ids, most) => {
    await using place = await shop({
      streams,
      answer: ({ query }) => {
        const token = query.get('pageToken') ?? '';
        return { body: { identifiers: rows([`t${token}`]), 'next-page-token': next[token] } };
      },
    });
    const run = await place.run();
    expect(place.asked().length).toBeLessThanOrEqual(most);
    expect(idsIn(run, 'shop.tables')).toEqual(ids);
    expect(run.deadLetters('shop')).toMatchObject([{ message: expect.stringMatching(/repeated|again/) }]);
  });
});

// https://github.com/airbytehq/airbyte/pull/81516
describe('an export that always has a next page', () => {
  const legs = [
    [1, 100],
    [2, 101],
    [3, 102],
    [4, 103],
    [5, 105],
    [6, 105],
  ].map(([id = 0, time = 0]) => ({ id, time }));
  const exported =
    (all: readonly { readonly id: number; readonly time: number }[]) =>
    ({ query }: { readonly query: URLSearchParams }, _: number, url: string) => {
      const found = all.filter(({ time }) => time >= Number(query.get('start_time'))).slice(0, 3);
      const end = found.at(-1)?.time ?? query.get('start_time');
      return { body: { legs: found, count: found.length, next_page: `${url}/export?start_time=${end}`, end_time: end } };
    };
  const stream = { get: '/export', query: { start_time: '100' }, records: '$.legs[*]', key: '$.id' };

  it.each([
    ['a short page is the last one', { short: 'last', size: { query: 'size', is: 3 }, repeats: 'drop' }, 3],
    ['a repeated page is the end', { repeats: 'end' }, 4],
  ] as const)('ends where %s', async (_, pages, most) => {
    await using place = await shop({
      streams: { legs: { ...stream, pages: { next: '$.next_page', ...pages } } },
      answer: exported(legs),
    });
    const run = await place.run();
    expect(place.asked().length).toBeLessThanOrEqual(most);
    expect([run.outcome, run.deadLetters('shop')]).toEqual(['done', []]);
    expect(idsIn(run, 'shop.legs')).toEqual(range(6));
  });

  it('ends without a setting, and says why', async () => {
    await using place = await shop({ streams: { legs: { ...stream, pages: { next: '$.next_page' } } }, answer: exported(legs) });
    const run = await place.run();
    expect(place.asked().length).toBeLessThanOrEqual(5);
    expect(run.deadLetters('shop')).toMatchObject([{ message: expect.stringMatching(/repeated|again|twice/) }]);
  });

  // Three records of one time would fill a page that names itself as the next one, and no client would get the eighth record.
  it('continues with what is new', async () => {
    const all = [...legs];
    await using place = await shop({
      streams: {
        legs: {
          ...stream,
          query: { start_time: '{since:seconds}' },
          since: { from: '$.time', first: 100, order: 'ascending' },
          pages: { next: '$.next_page', repeats: 'end' },
        },
      },
      answer: (arrival, number, url) => exported(all)(arrival, number, url),
    });
    expect(idsIn(await place.run(), 'shop.legs')).toEqual(range(6));
    all.push({ id: 7, time: 106 }, { id: 8, time: 110 });
    const run = await place.run({ again: true });
    expect([run.outcome, idsIn(run, 'shop.legs')]).toEqual(['done', range(8)]);
  });
});

// https://github.com/n8n-io/n8n/pull/29690
describe('a service that caps the page size', () => {
  it('is read to its end by a cursor', async () => {
    await using place = await shop({
      streams: {
        rows: {
          post: '/databases/d1/query',
          body: {},
          records: '$.results[*]',
          key: '$.id',
          pages: { cursor: '$.next_cursor', as: { body: 'start_cursor' }, size: { body: 'page_size', is: 150 }, while: '$.has_more' },
        },
      },
      answer: ({ body }) => {
        const { start_cursor: cursor, page_size: size } = JSON.parse(body) as { start_cursor?: string; page_size: number };
        const at = Number(cursor?.slice(1) ?? 0);
        const end = Math.min(at + Math.min(size, 100), 250);
        return { body: { results: rows(range(end - at, at + 1)), has_more: end < 250, next_cursor: end < 250 ? `n${end}` : null } };
      },
    });
    const run = await place.run();
    const cursors = place.service.arrivals.map(({ body }) => (JSON.parse(body) as { start_cursor?: string }).start_cursor);
    expect([run.outcome, cursors, idsIn(run, 'shop.rows')]).toEqual(['done', [undefined, 'n100', 'n200'], range(250)]);
  });

  it.each([
    ['offsets', { offset: { query: 'at' }, total: '$.total' }, ['0', '100', '200']],
    ['page numbers', { page: { query: 'at' }, last: '$.pages' }, ['1', '2', '3']],
  ] as const)('is read to its end by %s', async (kind, pages, expected) => {
    await using place = await shop({
      streams: { rows: { get: '/rows', records: '$.rows[*]', key: '$.id', pages: { ...pages, size: { query: 'limit', is: 150 } } } },
      answer: ({ query }) => {
        const at = kind === 'offsets' ? Number(query.get('at')) : (Number(query.get('at')) - 1) * 100;
        return { body: { rows: rows(range(Math.min(100, 250 - at), at + 1)), total: 250, pages: 3 } };
      },
    });
    const run = await place.run();
    expect(place.service.arrivals.map(({ query }) => query.get('at'))).toEqual(expected);
    expect([run.outcome, idsIn(run, 'shop.rows')]).toEqual(['done', range(250)]);
  });
});

// https://github.com/dlt-hub/dlt/issues/3685
describe('listings of several parents', () => {
  const counts = [1, 5, 0, 3];
  const expected = counts.flatMap((count, i) => range(count).map((n) => `${i + 1}-${n}`)).toSorted();

  it.each([
    ['the Link header', { link: 'next' }, 1, 8],
    ['the Link header', { link: 'next' }, 4, 8],
    ['page numbers', { page: { query: 'page' } }, 4, 12],
    ['offsets', { offset: { query: 'offset' } }, 4, 12],
  ] as const)('each have their own place, by %s, %i at a time', async (_, pages, concurrency, most) => {
    await using place = await shop({
      concurrency,
      streams: {
        projects: { get: '/projects', key: '$.id' },
        merges: {
          get: '/projects/{id}/merge_requests',
          for: { each: 'projects', with: { id: '$.id' } },
          key: '$.id',
          pages: { ...pages, size: { query: 'per_page', is: 2 } },
        },
      },
      answer: ({ path, query }, _number, url) => {
        if (path === '/projects') return { body: rows(range(4)) };
        const project = Number(path.split('/')[2]);
        const from = Number(query.get('offset') ?? 2 * (Number(query.get('page') ?? 1) - 1));
        const page = 1 + from / 2;
        const all = range(counts[project - 1] ?? 0).map((n) => `${project}-${n}`);
        const more = from + 2 < all.length;
        const link = `<${url}${path}?per_page=2&page=${page + 1}>; rel="next"`;
        return { body: rows(all.slice(from, from + 2)), ...(more && 'link' in pages && { headers: { link } }) };
      },
    });
    const run = await place.run();
    expect([run.outcome, run.deadLetters('shop')]).toEqual(['done', []]);
    expect(idsIn(run, 'shop.merges').map(String).toSorted()).toEqual(expected);
    expect(place.asked().length).toBeLessThanOrEqual(most);
    expect(place.asked().join(' ')).not.toMatch(/None|null|undefined/);
    for (const project of range(4)) {
      const [first] = place.service.arrivals.filter(({ path }) => path === `/projects/${project}/merge_requests`);
      expect([first?.query.get('page') ?? '1', first?.query.get('offset') ?? '0']).toEqual(['1', '0']);
    }
  });
});

// https://github.com/dlt-hub/verified-sources/issues/659
describe('records at the border of two pages', () => {
  const times = [10, 11, 12, 12, 13, 14, 15];
  const streams = {
    tickets: {
      get: '/tickets',
      query: { start_time: '10' },
      records: '$.tickets[*]',
      key: '$.id',
      pages: { next: '$.next_page', until: '$.end_of_stream', repeats: 'drop' },
    },
  } as const;
  const tickets =
    (isChanged: boolean) =>
    ({ query }: { readonly query: URLSearchParams }, _: number, url: string) => {
      const start = Number(query.get('start_time'));
      const found = times
        .flatMap((time, i) => (time < start ? [] : [{ id: i + 1, time, status: isChanged && i === 2 && start === 12 ? 'solved' : 'open' }]))
        .slice(0, 3);
      const isLast = found.length < 3;
      return {
        body: { tickets: found, next_page: `${url}/tickets?start_time=${found.at(-1)?.time}`, ...(isLast && { end_of_stream: true }) },
      };
    };

  it('are written once', async () => {
    await using place = await shop({ streams, answer: tickets(false) });
    const run = await place.run();
    expect([run.outcome, place.asked().length, idsIn(run, 'shop.tickets')]).toEqual(['done', 4, range(7)]);
  });

  it('are written again if they have changed', async () => {
    await using place = await shop({ streams, answer: tickets(true) });
    const run = await place.run();
    const third = run
      .records('shop.tickets')
      .flatMap(({ value }) => ((value as { id: number }).id === 3 ? [(value as { status: string }).status] : []));
    expect([run.outcome, third]).toEqual(['done', ['open', 'solved']]);
  });
});

// https://github.com/n8n-io/n8n/issues/18841
describe('two listings in sequence', () => {
  const page = (letter: string, query: URLSearchParams, group: (n: number) => string) => {
    const start = Number(query.get('start'));
    return {
      body: {
        items: range(10, start + 1).map((n) => ({ id: `${letter}${n}`, group: group(n) })),
        ...(start < 20 && { next: start + 10 }),
      },
    };
  };
  const pages = { cursor: '$.next', as: { query: 'start' }, first: 0 };
  const first = { get: '/endpoint1', query: { next: '10' }, records: '$.items[*]', key: '$.id', pages };
  const second = { get: '/endpoint2', query: { next: '10', group: '{group}' }, records: '$.items[*]', key: '$.id', pages };
  const starts = (place: Awaited<ReturnType<typeof shop>>, path: string) =>
    place.service.arrivals.flatMap((arrival) =>
      arrival.path === path ? [`${arrival.query.get('group')} ${arrival.query.get('start')}`] : [],
    );

  it.each([
    ['one group', () => 'g1', ['g1']],
    ['two groups', (n: number) => (n <= 20 ? 'g1' : 'g2'), ['g1', 'g2']],
  ])('read the second once for %s of the first', async (_, group, groups) => {
    await using place = await shop({
      streams: { ones: first, twos: { ...second, for: { each: 'ones', with: { group: '$.group' } } } },
      answer: ({ path, query }) => page(path === '/endpoint1' ? 'a' : `b${query.get('group')}-`, query, group),
    });
    const run = await place.run();
    expect([run.outcome, run.deadLetters('shop')]).toEqual(['done', []]);
    expect(starts(place, '/endpoint1')).toEqual(['null 0', 'null 10', 'null 20']);
    expect(starts(place, '/endpoint2').toSorted()).toEqual(groups.flatMap((name) => [`${name} 0`, `${name} 10`, `${name} 20`]));
    expect([new Set(idsIn(run, 'shop.ones')).size, idsIn(run, 'shop.ones').length]).toEqual([30, 30]);
    expect([new Set(idsIn(run, 'shop.twos')).size, idsIn(run, 'shop.twos').length]).toEqual([30 * groups.length, 30 * groups.length]);
  });

  it('that are independent are each read once', async () => {
    await using place = await shop({
      streams: { ones: first, twos: { ...first, get: '/endpoint2' } },
      answer: ({ path, query }) => page(path === '/endpoint1' ? 'a' : 'b', query, () => 'g1'),
    });
    const run = await place.run();
    expect([run.outcome, place.asked().length]).toEqual(['done', 6]);
    expect([idsIn(run, 'shop.ones').length, idsIn(run, 'shop.twos').length]).toEqual([30, 30]);
  });
});

// https://github.com/dlt-hub/verified-sources/issues/629
describe('a last page that names itself as the next one', () => {
  const stream = { get: '/calls', query: { start_time: '1000' }, records: '$.calls[*]', key: '$.id' };
  const own: Readonly<Record<string, (url: string, number: number) => string>> = {
    'its address': (url) => `${url}/calls?start_time=2000`,
    'a relative address': () => '/calls?start_time=2000',
    'its parameters in another order': (url, number) => `${url}/calls?${number % 2 === 0 ? 'a=1&start_time=2000' : 'start_time=2000&a=1'}`,
  };
  const answerOf =
    (name: string) =>
    ({ query }: { readonly query: URLSearchParams }, number: number, url: string) => {
      const calls = query.get('start_time') === '1000' ? rows([1, 2, 3]) : rows([4]);
      return { body: { calls, count: calls.length, next_page: own[name]?.(url, number) } };
    };

  it.each(Object.keys(own))('by %s ends where repeats: end says so', async (name) => {
    await using place = await shop({
      streams: { calls: { ...stream, pages: { next: '$.next_page', repeats: 'end' } } },
      answer: answerOf(name),
    });
    const run = await place.run();
    expect(place.asked().length).toBeLessThanOrEqual(name === 'its address' ? 3 : 4);
    expect([run.outcome, run.deadLetters('shop'), idsIn(run, 'shop.calls')]).toEqual(['done', [], range(4)]);
  });

  it.each(Object.keys(own))('by %s fails the listing without that setting', async (name) => {
    await using place = await shop({ streams: { calls: { ...stream, pages: { next: '$.next_page' } } }, answer: answerOf(name) });
    const run = await place.run();
    expect(place.asked().length).toBeLessThanOrEqual(name === 'its address' ? 3 : 4);
    expect(run.deadLetters('shop')).toMatchObject([{ message: expect.stringMatching(/repeated|again|twice/) }]);
    expect(idsIn(run, 'shop.calls')).toEqual(range(4));
  });

  it('is asked again later, for what is new', async () => {
    const calls = [1000, 1500, 1900, 2000].map((time, i) => ({ id: i + 1, time: DAY + time }));
    await using place = await shop({
      streams: {
        calls: {
          ...stream,
          query: { start_time: '{since:seconds}' },
          since: { from: '$.time', first: DAY, order: 'ascending' },
          pages: { next: '$.next_page', repeats: 'end' },
        },
      },
      answer: ({ query }, _, url) => {
        const found = calls.filter(({ time }) => time >= Number(query.get('start_time'))).slice(0, 3);
        return { body: { calls: found, next_page: `${url}/calls?start_time=${found.at(-1)?.time ?? query.get('start_time')}` } };
      },
    });
    expect(idsIn(await place.run(), 'shop.calls')).toEqual(range(4));
    calls.push({ id: 5, time: DAY + 2500 });
    const run = await place.run({ again: true });
    expect([run.outcome, idsIn(run, 'shop.calls')]).toEqual(['done', range(5)]);
  });
});
