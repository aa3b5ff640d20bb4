import { apiKey } from '@headgate/auth';
import { type BooksSandbox, type Fault, startBooks } from '@headgate/sandbox';
import { creditPool } from '@headgate/throttle';
import { EMPTY, from, lastValueFrom, NEVER, toArray } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { SourceError } from '../source-error.ts';
import { sourceContract } from '../testing/index.ts';
import type { AuthorPage } from './author-pages.ts';
import { type Books, books } from './books.ts';
import type { BooksOptions } from './options.ts';
import { sampleIsbns } from './sample-isbns.fixture.ts';

const [isbn = '', other = ''] = sampleIsbns(2);
const KEY = 'a-key-that-must-not-show';

/** Opens a client, by default with a window of 20 ms, so that tests needn't wait for the budget. */
function open(server: BooksSandbox, options: Partial<BooksOptions> = {}): Books {
  return books({
    baseUrls: server.urls,
    key: KEY,
    limit: { requests: 5, windowMs: 20 },
    timeoutMs: 30_000,
    random: () => 0,
    env: {},
    ...options,
  });
}
const swift = { window: { limit: 1_000, windowMs: 20 } };

describe.each([
  {
    endpoint: 'a batch',
    body: JSON.stringify({ total: 1, requested: 2, data: [{ isbn13: isbn, pages: [], msrp: 12.5 }] }),
    query: (api: Books, options: Parameters<Books['batch']>[1]) => api.batch([isbn, other], options),
    expected: [
      { kind: 'found', requested: isbn, isbn, record: { isbn13: isbn, pages: [], msrp: 12.5 } },
      { kind: 'missing', requested: other, isbn: other },
    ],
    mismatches: [
      { body: '{"data":"kept to itself"}', where: 'data: expected a list, got text' },
      { body: '{"message":"kept to itself"}', where: 'data: expected a list, got nothing' },
      { body: '["kept to itself"]', where: 'expected an object with data, got a list' },
    ],
  },
  {
    endpoint: 'an author',
    // A page without books is the last one.
    body: JSON.stringify({ author: 'Ada%20Brook', books: [], pages: [12.5] }),
    query: async (api: Books, { credits, signal = new AbortController().signal }: Parameters<Books['batch']>[1]) =>
      (await api.authorPages('Ada Brook').reader({ credits, signal }).read())?.[0],
    expected: {
      author: 'Ada Brook',
      namesAnother: false,
      record: { author: 'Ada%20Brook', books: [], pages: [12.5] },
      page: 1,
      last: true,
      mayBeCut: false,
      read: 0,
      nextCursor: undefined,
      next: 'last',
    },
    endlessWalk: {
      walk: (api: Books) => api.authorPages('Ada Brook', { maxPages: 5 }),
      page: (n: number) => JSON.stringify({ author: 'Ada Brook', books: [{ isbn13: sampleIsbns(n + 1)[n] }] }),
      option: 'maxPages',
    },
    mismatches: [
      { body: '{"author":"kept to itself","books":null}', where: 'books: expected a list, got null' },
      { body: '"kept to itself"', where: 'expected an object with books, got text' },
    ],
  },
  {
    endpoint: 'a book',
    body: JSON.stringify({ book: { isbn13: isbn } }),
    query: async (api: Books, { credits, signal }: Parameters<Books['batch']>[1]) => {
      const credit = credits.reserve(0);
      return { value: await api.book(isbn, { ...(signal !== undefined && { signal }) }), credit };
    },
    expected: { kind: 'found', requested: isbn, isbn, record: { isbn13: isbn } },
    mismatches: [{ body: '{"isbn":"kept to itself"}', where: 'book: expected an object, got nothing' }],
  },
])('the contract of every source, with $endpoint', ({ query, body, expected, mismatches, ...more }) => {
  const endless = 'endlessWalk' in more && { endlessWalk: more.endlessWalk };
  test.each(sourceContract<Books, unknown>({ open: books, query, body, expected, mismatches, ...endless }))('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});

test('250 ISBNs and two authors on the default plan: 3 + 2 requests, never two in one second', async () => {
  const known = sampleIsbns(242);
  const unknown = sampleIsbns(249).slice(242);
  const requested = [...known.slice(0, 100), '978-not-one', ...unknown, ...known.slice(100), known[7] ?? ''];
  await using server = await startBooks({ unknown: [...unknown] });
  await using api = open(server, { limit: { requests: 1, windowMs: 1_000 }, timeoutMs: 10_000 });
  const [answers, plain, odd] = await Promise.all([
    lastValueFrom(
      api
        .lookup(requested)
        .drain((answer) => [answer])
        .pipe(toArray()),
    ),
    api.author('Ada Brook'),
    api.author("A/B? C & é 'D' (E)! *", { page: 1, pageSize: 3 }),
  ]);
  expect(answers.map((answer) => answer.requested)).toEqual(requested);
  const count = Object.groupBy(answers, ({ kind }) => kind);
  expect([count.found?.length, count.missing?.length, count.invalid?.length]).toEqual([243, 7, 1]);
  expect(count.missing?.map((answer) => answer.isbn)).toEqual(unknown);
  for (const answer of count.found ?? []) expect(answer).toMatchObject({ record: { isbn13: answer.isbn } });
  expect(plain).toMatchObject({ author: 'Ada Brook', record: { author: 'Ada%20Brook' } });
  expect(odd.author).toBe("A/B? C & é 'D' (E)! *");
  expect(odd.record.books).toHaveLength(3);
  expect(server.requests.map(({ method, path, status }) => `${method} ${path.split('/')[1]} ${status}`).toSorted()).toEqual([
    'GET author 200',
    'GET author 200',
    'POST books 200',
    'POST books 200',
    'POST books 200',
  ]);
  const at = server.requests.map((request) => request.at);
  for (const [i, ms] of at.entries()) expect(ms - (at[i - 1] ?? -Infinity)).toBeGreaterThanOrEqual(1_000);
});

describe("an author's pages", () => {
  test('come one by one, each for a request of the same budget', async () => {
    await using server = await startBooks();
    await using api = open(server, { limit: { requests: 1, windowMs: 1_000 }, timeoutMs: 10_000 });
    const pages: AuthorPage[] = [];
    for await (const page of api.authorPages('Ada', { pageSize: 20 })) pages.push(page);
    expect(pages.map(({ page, last, record }) => [page, last, record.books.length])).toEqual([
      [1, false, 20],
      [2, false, 19],
      [3, true, 0],
    ]);
    expect(pages.flatMap(({ record }) => record.books)).toEqual((await api.author('Ada', { pageSize: 1_000 })).record.books);
    const [first, second] = server.requests;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1_000);
  });

  test('wait for room downstream, and take turns with other walks', async () => {
    await using server = await startBooks(swift);
    await using api = open(server, { limit: { requests: 1, windowMs: 20 } });
    const stalled = api
      .authorPages('Ada', { pageSize: 10 })
      .drain(() => NEVER, { maxOutstanding: 20 })
      .subscribe();
    await expect
      .poll(() => [api.gauges().queries, server.requests.length])
      .toMatchObject([[{ subject: 'Ada', state: 'queued', for: 'downstream' }], 2]);
    stalled.unsubscribe();
    const read = async (name: string): Promise<void> => {
      for await (const _ of api.authorPages(name, { pageSize: 2 })) continue;
    };
    await Promise.all([read('Ada'), read('Edith Grey')]);
    const order = server.requests.slice(2, 14).map(({ author }) => author);
    expect(order.filter((author) => author === 'Ada')).toHaveLength(6);
  });

  test.each([{ page: 0 }, { pageSize: 1_001 }, { maxPages: 0 }])('%j is refused before a request is spent', async (options) => {
    await using api = books({ baseUrl: 'http://127.0.0.1:1', key: KEY });
    expect(() => api.authorPages('Ada', options)).toThrow(expect.objectContaining({ code: 'HEADGATE_INVALID_OPTION' }));
  });
});

const faults: readonly Fault['name'][] = ['429', '503', 'html', 'html-503', 'reset', 'cut', 'truncated', 'drip', 'hang', 'oversize'];
test.concurrent.each(faults)('%s in the middle of a lookup: every ISBN is answered once', async (name) => {
  const requested = sampleIsbns(60);
  await using server = await startBooks({ ...swift, faults: [{ name, at: 4 }] });
  await using api = open(server, { maxBatch: 5, timeoutMs: 5_000 });
  const answers = await lastValueFrom(api.lookup(from(requested)).pipe(toArray()));
  expect(answers.map((answer) => answer.requested)).toEqual(requested);
  expect(answers.every(({ kind }) => kind === 'found')).toBe(true);
  expect(server.requests).toHaveLength(13);
});

describe('one book', () => {
  test('comes by either form of its ISBN; what isn’t there, or is no ISBN, is said', async () => {
    await using server = await startBooks({ ...swift, unknown: ['9780804429573'] });
    await using api = open(server);
    expect(await api.book('0-306-40615-2')).toMatchObject({
      kind: 'found',
      requested: '0-306-40615-2',
      isbn: '9780306406157',
      record: { isbn13: '9780306406157' },
    });
    await expect(api.book('080442957X')).rejects.toMatchObject({
      code: 'HEADGATE_BOOK_NOT_FOUND',
      subject: '9780804429573',
      status: 404,
      retryable: false,
    });
    await expect(api.book('0306406153')).rejects.toMatchObject({ code: 'HEADGATE_INVALID_ISBN' });
    // The service returns the same 404 at its limit, so a batch settles it, together with an ISBN that the service has.
    expect(server.requests.map(({ path }) => path)).toEqual(['/book/9780306406157', '/book/9780804429573', '/books']);
    expect(server.requests.at(-1)?.isbns).toEqual(['9780804429573', '9780306406157']);
  });

  test('aborting ends the wait with the signal’s reason', async () => {
    await using server = await startBooks({ faults: [{ name: 'hang', at: 1 }] });
    await using api = open(server, { timeoutMs: 30_000 });
    const abort = new AbortController();
    const requested = api.book(isbn, { signal: abort.signal });
    abort.abort(new Error('enough'));
    await expect(requested).rejects.toThrow('enough');
  });
});

test('a key at another plan’s address: the error names the cure and not the key', async () => {
  await using server = await startBooks({ keys: [{ name: 'mine', key: KEY, plan: 'pro' }] });
  await using api = open(server, { plan: 'premium' });
  const error: unknown = await api.book(isbn).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(SourceError);
  expect(error).toMatchObject({
    code: 'HEADGATE_KEY_REFUSED',
    credential: 'key',
    status: 403,
    message: expect.stringContaining('refused at the premium address (403)'),
  });
  await using right = open(server, { plan: 'pro' });
  expect(await right.book(isbn)).toMatchObject({ kind: 'found' });
});

test.each<[BooksOptions['plan'], number]>([
  [undefined, 1],
  ['default', 1],
  ['premium', 3],
  ['pro', 5],
])('the %s plan has its own address and rate', async (plan, limit) => {
  await using api = books({
    baseUrls: { default: 'http://127.0.0.1:1', premium: 'http://127.0.0.1:2', pro: 'http://127.0.0.1:3' },
    key: () => KEY,
    ...(plan !== undefined && { plan }),
  });
  expect(api.gauges()).toMatchObject({ budgets: [{ credential: 'key', limit, windowMs: 1_000, used: 0 }], queries: [], ignoredRecords: 0 });
});

test('a refused batch says how to make it smaller', async () => {
  await using server = await startBooks({ ...swift, maxBatch: 10 });
  await using api = open(server);
  await expect(lastValueFrom(api.lookup(sampleIsbns(11)))).rejects.toMatchObject({ code: 'HEADGATE_BATCH_REFUSED', status: 400 });
});

describe('a daily quota', () => {
  test('is charged for each ISBN: nothing is requested beyond it', async () => {
    await using server = await startBooks(swift);
    await using api = open(server, { perDay: { isbns: 5 }, maxBatch: 3 });
    expect(await lastValueFrom(api.lookup(sampleIsbns(3)).pipe(toArray()))).toHaveLength(3);
    const waiting = api.lookup(sampleIsbns(3)).subscribe();
    await expect.poll(() => api.gauges().queries).toMatchObject([{ state: 'queued', for: 'budget' }]);
    expect(server.requests).toHaveLength(1);
    expect(api.gauges()).toMatchObject({ budgets: [{}, { limit: 5, windowMs: 86_400_000, used: 3 }], queries: [{ for: 'budget' }] });
    waiting.unsubscribe();
    expect(await api.author('Ada Brook')).toMatchObject({ author: 'Ada Brook' });
  });

  test('used up by others, it is waited for until it resets', async () => {
    await using server = await startBooks({ ...swift, dailyQuota: { isbns: 1 } });
    const until: number[] = [];
    await using api = open(server, {
      onAttempt: ({ retryInMs = 0, outcome }) => outcome === 'rate-limited' && until.push(Date.now() + retryInMs),
    });
    await api.book(isbn);
    const abort = new AbortController();
    const requested = api.book(other, { signal: abort.signal });
    requested.catch(() => undefined);
    await expect.poll(() => until.length).toBe(1);
    expect(new Date(until[0] ?? 0).toISOString()).toMatch(/T(?:23:59:5\d|00:00:\d\d)/);
    abort.abort(new Error('enough'));
    await expect(requested).rejects.toThrow('enough');
  });
});

describe('turns', () => {
  const slow = { limit: { requests: 1, windowMs: 20 } };

  test('batches of one walk take theirs together', async () => {
    await using server = await startBooks(swift);
    await using api = open(server, slow);
    const credits = creditPool({ max: 1_000 });
    const [first, second] = [{}, {}];
    const [a = '', b = '', c = '', d = '', ...more] = sampleIsbns(8);
    const batches = [
      ...more.map((one) => api.batch([one], { credits, walk: first })),
      api.batch([a], { credits, walk: second }),
      api.batch([b], { credits, walk: second }),
      ...[c, d].map((one) => api.batch([one], { credits, walk: credits })),
    ];
    for (const { credit } of await Promise.all(batches)) credit.release();
    const [m1, m2, m3, m4] = more;
    expect(server.requests.flatMap(({ isbns = [] }) => isbns)).toEqual([m1, a, c, m2, b, d, m3, m4]);
  });
});

describe('credit', () => {
  test('a batch holds room for its answers, malformed ISBNs’ too, and a stalled downstream stops the requests', async () => {
    await using server = await startBooks(swift);
    await using api = open(server, { maxBatch: 10 });
    const credits = creditPool({ max: 25 });
    const delivery = await api.batch([isbn, isbn, 'nonsense'], { credits });
    expect([delivery.value.length, delivery.credit.items, credits.outstanding]).toEqual([3, 3, 3]);
    delivery.credit.release();
    const nothing = await api.batch(['nonsense', 'more of it'], { credits });
    expect([nothing.value.length, credits.outstanding, server.requests.length]).toEqual([2, 2, 1]);
    nothing.credit.release();
    const stalled = api
      .lookup(sampleIsbns(100))
      .drain(() => NEVER, { credits })
      .subscribe();
    await expect.poll(() => [server.requests.length, credits.outstanding]).toEqual([3, 20]);
    stalled.unsubscribe();
    await expect.poll(() => credits.outstanding).toBe(0);
  });

  test('a list of nothing but malformed ISBNs waits for room like any other', async () => {
    await using api = books({ baseUrl: 'http://127.0.0.1:1', key: KEY, maxBatch: 10 });
    const credits = creditPool({ max: 25 });
    let read = 0;
    const endless = (function* () {
      for (;;) {
        read += 1;
        yield 'nonsense';
      }
    })();
    const stalled = api
      .lookup(endless)
      .drain(() => NEVER, { credits })
      .subscribe();
    await expect.poll(() => [credits.outstanding, read]).toEqual([20, 40]);
    stalled.unsubscribe();
    expect(
      await lastValueFrom(
        api.lookup([]).drain(() => EMPTY),
        { defaultValue: 'empty' },
      ),
    ).toBe('empty');
  });
});

test.each<[string, Partial<BooksOptions>, RegExp]>([
  ['no address', {}, /set baseUrl, or baseUrls\.default for the default plan/],
  ['none for the plan', { baseUrls: { default: 'http://127.0.0.1:1' }, plan: 'pro' }, /baseUrls\.pro/],
  ['a key twice', { baseUrl: 'http://127.0.0.1:1', credentials: [{ name: 'a', signer: apiKey(KEY) }] }, /either key or credentials/],
  ['maxBatch 0', { baseUrl: 'http://127.0.0.1:1', maxBatch: 0 }, /maxBatch must be a whole number from 1, got 0/],
  ['batchWaitMs -1', { baseUrl: 'http://127.0.0.1:1', batchWaitMs: -1 }, /batchWaitMs/],
  [
    'a quota below a batch',
    { baseUrl: 'http://127.0.0.1:1', perDay: { isbns: 99 } },
    /perDay.isbns, which is at least maxBatch, must be a whole number from 100, got 99/,
  ],
  ['no time of day', { baseUrl: 'http://127.0.0.1:1', perDay: { isbns: 100, resetsAt: '24:00' } }, /perDay.resetsAt/],
  ['an address with a password', { baseUrl: `http://a:${KEY}@127.0.0.1:1` }, /baseUrl/],
])('options that can’t be are refused: %s', (_, options, message) => {
  const error = thrownBy(() => books({ key: KEY, ...options }));
  expect(error).toMatchObject({ code: 'HEADGATE_INVALID_OPTION', retryable: false, message: expect.stringMatching(message) });
  expect(String(error)).not.toContain(KEY);
});

test.each([
  ['', {}],
  ['  ', {}],
  ['.', {}],
  ['..', {}],
  [' .. ', {}],
  ['a'.repeat(1_001), {}],
  ['half \uD83D', {}],
  ['Ada', { page: 0 }],
  ['Ada', { pageSize: 1_001 }],
  ['Ada', { pageSize: 1.5 }],
])('an author that can’t be requested is refused before a request is spent: %j %j', async (name, page) => {
  await using server = await startBooks(swift);
  await using api = open(server);
  await expect(api.author(name, page)).rejects.toMatchObject({ code: 'HEADGATE_INVALID_OPTION' });
  expect(server.requests).toHaveLength(0);
});

test('a batch larger than maxBatch is refused before a request is spent', async () => {
  await using api = books({ baseUrl: 'http://127.0.0.1:1', key: KEY, maxBatch: 3 });
  await expect(api.batch(sampleIsbns(4), { credits: creditPool({ max: 10 }) })).rejects.toMatchObject({ code: 'HEADGATE_INVALID_OPTION' });
});

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}

test('a signal ends a lookup and a walk of an author from outside, with its reason', async () => {
  await using server = await startBooks({ ...swift, faults: [{ name: 'hang', at: 1, times: 2 }] });
  await using api = open(server, { timeoutMs: 60_000 });
  const left = new Error('no longer wanted');
  const walks: readonly ((signal: AbortSignal) => Promise<unknown>)[] = [
    (signal) => lastValueFrom(api.lookup(['9780306406157'], { signal })),
    (signal) => lastValueFrom(api.authorPages('Ada', { signal })),
  ];
  for (const [i, walk] of walks.entries()) {
    const abort = new AbortController();
    const ended = expect(walk(abort.signal)).rejects.toBe(left);
    await expect.poll(() => server.requests.length).toBe(i + 1);
    abort.abort(left);
    await ended;
  }
});
