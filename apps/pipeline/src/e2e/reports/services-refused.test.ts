import { rest } from '@headgate/rest';
import { describe, expect, it } from 'vitest';
import { followers } from '../../pipelines/followers.ts';
import { type Answer, type SteppedClock, itemsSection, loggingService, steppedClock, steppedRun } from './stepped-run.fixture.ts';

// https://github.com/apify/crawlee-python/pull/1995
it('a 429 with a negative Retry-After slows down all listings of its credential', async () => {
  const clock = steppedClock();
  const answer = ({ at, path, query }: { readonly at: number; readonly path: string; readonly query: URLSearchParams }): Answer => {
    if (at < 4_000) return { status: 429, headers: { 'retry-after': '-5' } };
    const page = Number(query.get('page'));
    return { body: { data: [{ id: `${path}/${page}` }], last: 5 } };
  };
  await using service = await loggingService({ clock, answer });
  const pages = { page: { query: 'page' }, last: '$.last' };
  const stream = { key: '$.id', records: '$.data[*]', pages };
  const streams = { a: { get: '/a', ...stream }, b: { get: '/b', ...stream } };
  const run = await steppedRun({
    clock,
    services: [service],
    pipelines: [itemsSection(service.url, { limit: { requests: 100, window: '1s' }, streams })],
  });
  expect(run.outcome).toBe('done');
  const refused = service.arrivals.filter(({ at }) => at < 4_000).map(({ at }) => at);
  expect(refused.length).toBeLessThanOrEqual(8);
  const gaps = refused.slice(1).map((at, i) => at - (refused[i] ?? 0));
  // Both of the first two can be sent before the first refusal is known.
  for (const gap of gaps.slice(1)) expect(gap).toBeGreaterThanOrEqual(50);
  for (const topic of ['a', 'b']) {
    const ids = run.records(`shop.${topic}`).map(({ value }) => value);
    expect(ids).toEqual([1, 2, 3, 4, 5].map((page) => ({ id: `/${topic}/${page}` })));
  }
  expect(run.endedAt).toBeLessThan(60_000);
});

// https://github.com/seanboyce/ubiblio/pull/50
it('a service that is out of quota holds up no other service, and its jobs are not missing', async () => {
  const clock = steppedClock();
  await using throttled = await loggingService({ clock, answer: () => ({ status: 429, body: { message: 'Limit Exceeded' } }) });
  const isbnOf = (path: string): string => path.slice('/book/'.length);
  await using well = await loggingService({
    clock,
    answer: ({ path }) => ({ body: { book: { isbn13: isbnOf(path), title: `T-${isbnOf(path)}` } } }),
  });
  const isbn = ['9780140328721', '9780792712305', '9780743273565'];
  const books = (name: string, baseUrl: string) =>
    rest(name)({
      baseUrl,
      credentials: [{ name: 'key', key: 'k' }],
      limit: { requests: 1, window: '1s' },
      retryFor: '10s',
      streams: { books: { get: '/book/{isbn}', for: { isbn }, records: '$.book', key: '$.isbn13' } },
    });
  const run = await steppedRun({
    clock,
    services: [throttled, well],
    pipelines: [books('one', throttled.url), books('two', well.url)],
    stopAfterMs: 30_000,
  });
  const found = run.records('two.books');
  expect(found.map(({ key }) => key).toSorted()).toEqual(isbn.toSorted());
  expect(Math.max(...found.map(({ at }) => at)) - run.snapshot.startedAt).toBeLessThan(10_000);
  const early = throttled.arrivals.filter(({ at }) => at < 10_000);
  expect(early.length).toBeGreaterThanOrEqual(1);
  expect(early.length).toBeLessThanOrEqual(12);
  expect(run.records('one.books')).toEqual([]);
  // A job that is out of quota isn't failed: the run says why it waits, and the next run continues.
  expect(run.deadLetters('one')).toEqual([]);
  expect(run.outcome).toBe('stopped');
  const attempts = run.events.filter(({ type, ...event }) => type === 'attempt' && 'pipeline' in event && event.pipeline === 'one');
  expect(attempts).not.toEqual([]);
  for (const attempt of attempts) expect(attempt).toMatchObject({ outcome: 'rate-limited', status: 429 });
});

// https://github.com/elizaOS/agent-twitter-client/issues/68
describe('a 429 with requests remaining', () => {
  const services = {
    followers: {
      prefix: 'x-rate-limit',
      body: { errors: [{ message: 'Rate limit exceeded', code: 88 }] },
      page: { ids: ['11', '12', '13'], next_cursor: 0, next_cursor_str: '0', previous_cursor: 0, previous_cursor_str: '0' },
      topic: 'followers.ids',
      pipeline: (url: string) =>
        followers({
          baseUrl: url,
          credentials: [{ name: 'app', bearer: 'a-token' }],
          users: ['alpha'],
          limit: { requests: 900, window: '15m' },
          emit: ['ids'],
        }),
    },
    'a section': {
      prefix: 'x-ratelimit',
      body: { message: 'slow down' },
      page: [{ id: '11' }, { id: '12' }, { id: '13' }],
      topic: 'shop.items',
      pipeline: (url: string) => itemsSection(url, { limit: { requests: 900, window: '15m' } }),
    },
  };

  it.each(['followers', 'a section'] as const)('is retried after the reset: %s', async (kind) => {
    const { prefix, body, page, topic, pipeline } = services[kind];
    const clock: SteppedClock = steppedClock();
    let remaining = 800;
    let resetS: number | undefined;
    const answer = (): Answer => {
      resetS ??= Math.floor(clock.epochMs() / 1_000) + 6;
      if (clock.epochMs() >= resetS * 1_000) return { body: page };
      const headers = { [`${prefix}-limit`]: '900', [`${prefix}-remaining`]: String(remaining), [`${prefix}-reset`]: String(resetS) };
      remaining -= 1;
      return { status: 429, headers, body };
    };
    await using service = await loggingService({ clock, answer });
    const run = await steppedRun({ clock, services: [service], pipelines: [pipeline(service.url)] });
    expect(run.outcome).toBe('done');
    expect(run.records(topic).map(({ value }) => (value as { id: string }).id)).toEqual(['11', '12', '13']);
    expect(service.arrivals).toHaveLength(2);
    const [first, second] = service.arrivals.map(({ at }) => at);
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(6_000);
    expect((second ?? 0) - (first ?? 0)).toBeLessThanOrEqual(11_000);
  });
});
