import { apiKey } from '@headgate/auth';
import { creditPool } from '@headgate/throttle';
import { type VirtualClock, virtualClock } from '@headgate/throttle/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { SourceError } from '../source-error.ts';
import type { AttemptEvent } from '../source-options.ts';
import { type Books, books } from './books.ts';
import { Catalogue, type CatalogueOptions, REFUSALS } from './catalogue.fixture.ts';
import type { BooksOptions } from './options.ts';
import type { BookAnswer } from './results.ts';
import { sampleIsbns } from './sample-isbns.fixture.ts';
import { seededRandom } from './seeded-random.fixture.ts';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

interface Scene {
  readonly clock: VirtualClock;
  readonly service: Catalogue;
  readonly api: Books;
  readonly events: readonly AttemptEvent[];
  /** Resolves to the promise's value, or its error, in virtual time. Throws if it hasn't settled after `withinMs`, by default 3 hours. */
  readonly end: <T>(promise: Promise<T>, withinMs?: number) => Promise<T | SourceError>;
  /** Returns the requests to the service as `kind name,name`. */
  readonly asked: () => readonly string[];
  /** Lets another program take the next window. */
  readonly busy: () => Promise<void>;
}

function open(catalogue: Partial<CatalogueOptions> = {}, options: Partial<BooksOptions> = {}, seed = 1): Scene {
  const clock = virtualClock();
  const random = seededRandom(seed);
  const limit = { requests: catalogue.limit ?? 1, windowMs: SECOND_MS };
  const service = new Catalogue({ clock, knows: () => true, limit: 1, latencyMs: () => 10 + 80 * random(), ...catalogue });
  const events: AttemptEvent[] = [];
  const onAttempt = (event: AttemptEvent): void => void events.push(event);
  const { credentials, ...rest } = options;
  const api = books({
    baseUrl: 'http://books.invalid',
    ...(credentials === undefined ? { key: 'mine' } : { credentials }),
    limit,
    clock,
    random,
    onAttempt,
    dispatcher: service.dispatcher,
    env: {},
    ...rest,
  });
  onTestFinished(async () => {
    await api.close();
    await clock.settle();
    expect(clock.pending, 'timers that are left').toBe(0);
    expect(api.gauges().queries).toEqual([]);
  });
  return {
    clock,
    service,
    api,
    events,
    end: (promise, withinMs = 3 * HOUR_MS) => ended(clock, promise, withinMs),
    asked: () => service.requests.map(({ kind, names }) => `${kind} ${names.join(',')}`),
    busy: async () => {
      await clock.advance(2 * SECOND_MS);
      expect(service.take('mine')).toBe(true);
    },
  };
}

async function ended<T>(clock: VirtualClock, promise: Promise<T>, withinMs: number): Promise<T | SourceError> {
  let end: { readonly value: T | SourceError } | undefined;
  promise.then(
    (value) => (end = { value }),
    (error: SourceError) => (end = { value: error }),
  );
  const until = clock.monotonicMs() + withinMs;
  for (;;) {
    await clock.advance(250);
    if (end !== undefined) return end.value;
    if (clock.monotonicMs() >= until) throw new Error(`not settled after ${withinMs} ms`);
  }
}

const [known = '', unknown = '', ...more] = sampleIsbns(500);
const WELL_KNOWN = '9780140449136';
const except =
  (...names: readonly string[]) =>
  (name: string): boolean =>
    !names.includes(name);
const outcomes = (events: readonly AttemptEvent[]): readonly string[] => events.map(({ outcome }) => outcome);

describe('one book', () => {
  test('an unknown one costs two requests: its own, and a batch with an ISBN that the service has', async () => {
    const { api, end, asked, events } = open({ knows: except(unknown) });
    await end(api.book(known));
    expect(await end(api.book(unknown))).toMatchObject({
      code: 'HEADGATE_BOOK_NOT_FOUND',
      retryable: false,
      subject: unknown,
      status: 404,
    });
    expect(asked()).toEqual([`book ${known}`, `book ${unknown}`, `books ${unknown},${known}`]);
    expect(outcomes(events)).toEqual(['ok', 'ambiguous', 'ok']);
  });

  test('a known one at the limit is found', async () => {
    const { api, end, events, busy } = open();
    await end(api.book(known));
    await busy();
    expect(await end(api.book(unknown))).toMatchObject({ kind: 'found', requested: unknown });
    expect(outcomes(events)).toEqual(['ok', 'ambiguous', 'ok']);
  });

  test('nothing is known yet: the batch alone settles it', async () => {
    const { api, end, asked } = open({ knows: except(unknown, WELL_KNOWN) });
    expect(await end(api.book(unknown))).toMatchObject({ code: 'HEADGATE_BOOK_NOT_FOUND' });
    expect(asked()).toEqual([`book ${unknown}`, `books ${unknown},${WELL_KNOWN}`]);
  });
});

test("an ISBN that the service no longer has isn't a control any more", async () => {
  const gone = new Set([unknown, more[0], WELL_KNOWN]);
  const { api, end, asked } = open({ knows: (isbn) => !gone.has(isbn) });
  await end(api.book(known));
  gone.add(known);
  for (const isbn of [unknown, more[0] ?? '']) expect(await end(api.book(isbn))).toMatchObject({ code: 'HEADGATE_BOOK_NOT_FOUND' });
  expect(asked().filter((request) => request.startsWith('books'))).toEqual([`books ${unknown},${known}`, `books ${more[0]},${WELL_KNOWN}`]);
});

describe('a batch', () => {
  const lookUp = async (api: Books, isbns: readonly string[]): Promise<readonly BookAnswer[]> => {
    const { value, credit } = await api.batch(isbns, { credits });
    credit.release();
    return value;
  };
  const credits = creditPool({ max: 1_000 });

  test.each([
    ['knows another book', known, 2],
    ['knows none of its books, but a well-known one', WELL_KNOWN, 2],
  ])('of unknown ISBNs, which the service answers with 404: settled if it %s', async (_, has, requests) => {
    const { api, end, service } = open({ knows: (isbn) => isbn === has, isEmptyBatchUnknown: true });
    if (has === known) await end(api.book(known));
    const before = service.requests.length;
    expect(await end(lookUp(api, more.slice(0, 10)))).toMatchObject(Array.from({ length: 10 }, () => ({ kind: 'missing' })));
    expect(service.requests.length - before).toBe(requests);
  });

  test.each([2, 3, 10])('that is full (%i) has no room for a control: one ISBN goes apart, and the order stays', async (maxBatch) => {
    const isbns = more.slice(0, maxBatch);
    const gone = isbns.slice(0, Math.ceil(maxBatch / 2));
    const { api, end, service, busy } = open({}, { maxBatch });
    await end(lookUp(api, [known]));
    await busy();
    const found = await end(lookUp(api, [...isbns, isbns[0] ?? '']));
    expect(found).toMatchObject([...isbns, isbns[0] ?? ''].map((isbn) => ({ kind: 'found', isbn })));
    expect(service.requests.every(({ names }) => names.length <= maxBatch)).toBe(true);
    const strict = open({ knows: except(...gone), isEmptyBatchUnknown: true }, { maxBatch }, 2);
    await strict.end(lookUp(strict.api, [known]));
    expect(await strict.end(lookUp(strict.api, gone))).toMatchObject(gone.map((isbn) => ({ kind: 'missing', isbn })));
    expect(credits.outstanding).toBe(0);
  });

  test('of at most one ISBN has no room for a control: a 404 that stays is said to be either', async () => {
    const { api, end } = open({ knows: except(unknown), isEmptyBatchUnknown: true }, { maxBatch: 1 });
    await end(lookUp(api, [known]));
    expect(await end(lookUp(api, [unknown]))).toMatchObject({
      code: 'HEADGATE_AMBIGUOUS',
      retryable: true,
      message: `${unknown}: the books service returned 404, either at its request limit or because it doesn't know this.`,
    });
    expect(credits.outstanding).toBe(0);
  });

  test('that is looked up as two has its unreadable records after all answers, and credit for all of them', async () => {
    const { api, end, busy } = open({ additional: [{ title: 'without an ISBN' }, { isbn13: more[9] }] }, { maxBatch: 4 });
    await end(lookUp(api, [known]));
    const before = api.gauges().ignoredRecords;
    await busy();
    const delivery = await end(api.batch(more.slice(0, 4), { credits }));
    if (!('credit' in delivery)) throw delivery;
    expect(delivery.value.map(({ kind }) => kind)).toEqual([...Array(4).fill('found'), 'unreadable', 'unreadable']);
    expect([delivery.credit.items, api.gauges().ignoredRecords - before]).toEqual([6, 2]);
    delivery.credit.release();
    expect(credits.outstanding).toBe(0);
  });

  test('that is looked up as two waits for capacity for all of it', async () => {
    const { api, end, clock, service, busy } = open({}, { maxBatch: 4 });
    await end(lookUp(api, [known]));
    await busy();
    const own = creditPool({ max: 4 });
    const batch = api.batch(more.slice(0, 4), { credits: own });
    while (own.outstanding > 0 || service.requests.length < 2) await clock.advance(10);
    const others = own.reserve(1);
    expect(await end(Promise.race([batch, idle()]))).toBe('idle');
    expect(own.outstanding).toBe(1);
    others.release();
    expect(await end(batch)).toMatchObject({ credit: { items: 4 } });
  });

  test('holds credit for its own ISBNs and not for the control', async () => {
    const { api, end } = open({ knows: except(unknown), isEmptyBatchUnknown: true });
    await end(api.book(known));
    const own = creditPool({ max: 1 });
    const delivery = await end(api.batch([unknown], { credits: own }));
    expect(own.outstanding).toBe(1);
    if ('credit' in delivery) delivery.credit.release();
    expect([own.outstanding, api.gauges().ignoredRecords]).toEqual([0, 0]);
  });

  test('waits for a quota that is used up, however long, once the service has returned a book', async () => {
    const { api, end, service, events } = open({ quota: 5 });
    await end(api.book(known));
    service.take('mine', 4);
    expect(await end(lookUp(api, more.slice(0, 3)), 25 * HOUR_MS)).toMatchObject([{ kind: 'found' }, { kind: 'found' }, { kind: 'found' }]);
    expect(outcomes(events)).not.toContain('gone');
    expect(service.requests.length).toBeLessThan(130);
  });
});

describe('404 to everything', () => {
  const nothing = (): boolean => false;
  const MESSAGE =
    /: the books service returned 404 to everything so far\. It does so at its request limit, for unknown books, and at a wrong base address\. Check baseUrl, or retry after the limit resets\.$/;

  test.each<[string, (api: Books) => Promise<unknown>]>([
    ['a book', (api) => api.book(known)],
    ['a batch', (api) => api.batch([known, unknown], { credits: creditPool({ max: 10 }) })],
    ['an author', (api) => api.author('Ada')],
  ])('%s ends after retryFor, with growing waits and an error of its own', async (_, ask) => {
    const { api, end, service, clock, events } = open({ knows: nothing, isEmptyBatchUnknown: true }, { retryForMs: 600_000 });
    const error = await end(ask(api), 20 * 60_000);
    expect(error).toMatchObject({ code: 'HEADGATE_AMBIGUOUS', retryable: true, message: expect.stringMatching(MESSAGE) as string });
    expect(clock.monotonicMs()).toBeGreaterThan(600_000);
    expect(service.requests.length).toBeLessThan(45);
    expect(new Set(outcomes(events))).toEqual(new Set(['ambiguous']));
  });

  test('without time for retries, a batch ends after one request', async () => {
    const { api, end, asked } = open({ knows: nothing, isEmptyBatchUnknown: true }, { retryForMs: 0 });
    expect(await end(api.batch([known], { credits: creditPool({ max: 10 }) }))).toMatchObject({ code: 'HEADGATE_AMBIGUOUS' });
    expect(asked()).toEqual([`books ${known}`]);
  });

  test('ends the source after as many requests as stopAfterFailures says', async () => {
    const { api, end } = open({ knows: nothing, isEmptyBatchUnknown: true }, { retryForMs: SECOND_MS, stopAfterFailures: 3 });
    const ends: unknown[] = [];
    for (const isbn of more.slice(0, 4)) ends.push(await end(api.batch([isbn], { credits: creditPool({ max: 10 }) })));
    expect(ends).toMatchObject([
      { code: 'HEADGATE_AMBIGUOUS' },
      { code: 'HEADGATE_AMBIGUOUS' },
      { code: 'HEADGATE_AMBIGUOUS' },
      { code: 'HEADGATE_FAILURES_IN_A_ROW', endsSource: true },
    ]);
  });
});

describe('an author', () => {
  test('who is unknown is reported after ten tries beside 30 controls', async () => {
    const { api, end, service, events } = open({ knows: except('Nobody') });
    await end(api.book(known));
    expect(await end(api.author('Nobody'))).toMatchObject({ code: 'HEADGATE_AUTHOR_NOT_FOUND', retryable: false, subject: 'Nobody' });
    expect(service.requests.filter(({ kind }) => kind === 'author')).toHaveLength(11);
    expect(service.requests).toHaveLength(1 + 11 + 30);
    // The author's place among the controls is random, because another program may send in the same rhythm.
    const places = service.requests.slice(2).flatMap(({ kind }, i) => (kind === 'author' ? [i % 4] : []));
    expect(places).toHaveLength(10);
    expect(new Set(places).size).toBeGreaterThan(2);
    expect(outcomes(events).filter((outcome) => outcome === 'ambiguous')).toHaveLength(11);
  });

  test('who is known is found in spite of a 404, and waits for capacity downstream', async () => {
    const { api, end, events, busy } = open();
    await end(api.book(known));
    await busy();
    const credits = creditPool({ max: 1 });
    const held = credits.reserve(1);
    const page = api.query({ name: 'Ada', cursor: { page: 1, pageSize: 1 } }, { credits });
    expect(await end(Promise.race([page, idle()]))).toBe('idle');
    held.release();
    expect(await end(page)).toMatchObject({ value: { author: 'Ada' }, credit: { items: 1 } });
    expect(outcomes(events)).not.toContain('gone');
  });

  test('stays undecided if others are refused as often, and is retryable', async () => {
    // Enough time for the rounds that would do if no control was refused.
    const { api, end, clock, service } = open({ knows: except('Nobody') }, { retryForMs: 25_000 });
    await end(api.book(known));
    const random = seededRandom(7);
    let stop = (): void => undefined;
    const sends = (): void => {
      service.take('mine');
      stop = clock.schedule(300 * random(), sends);
    };
    sends();
    const error = await end(api.author('Nobody'), 48 * HOUR_MS);
    stop();
    expect(service.requests.filter(({ names }) => names[0] === 'Nobody').length).toBeGreaterThan(14);
    expect(error).toMatchObject({ code: 'HEADGATE_AMBIGUOUS', retryable: true, subject: 'Nobody' });
    expect((error as SourceError).message).toMatch(
      /^Nobody: \d+ requests were answered with 404, .* Retry when no other program uses the key\.$/,
    );
  });

  test('takes more tries if controls are refused that the service may not know either', async () => {
    const { api, end, clock, service } = open({ knows: () => false });
    const random = seededRandom(7);
    let stop = (): void => undefined;
    const sends = (): void => {
      service.take('mine');
      stop = clock.schedule(900 * random(), sends);
    };
    sends();
    await end(api.author('Nobody'), 48 * HOUR_MS);
    stop();
    // Eleven would do if no control was refused.
    expect(service.requests.filter(({ names }) => names[0] === 'Nobody').length).toBeGreaterThan(11);
  });

  test('a later page that is a 404 is the end of the list only after a trial', async () => {
    const pageOf = (_: string, page: number): readonly unknown[] => (page === 3 ? [] : Array.from({ length: 2 }, (__, i) => ({ page, i })));
    const isBeyond = (path: string): boolean => path.includes('page=3');
    const { api, end, service } = open({ pageOf, isBeyond, limit: 5 });
    await end(api.book(known));
    const pages = await end(
      (async () => {
        const all = [];
        for await (const { page, last } of api.authorPages('Ada', { pageSize: 2 })) all.push([page, last]);
        return all;
      })(),
    );
    expect(pages).toEqual([
      [1, false],
      [2, false],
      [3, true],
    ]);
    expect(service.requests.filter(({ kind }) => kind === 'author')).toHaveLength(2 + 11);
  });

  test('is compared to requests of the same credential', async () => {
    const credentials = ['one', 'two'].map((name) => ({ name, signer: apiKey(name) }));
    const { api, end, service } = open({ knows: except('Nobody') }, { credentials });
    await end(Promise.all([api.book(known), api.book(more[0] ?? '')]));
    const before = service.requests.length;
    expect(await end(api.author('Nobody'))).toMatchObject({ code: 'HEADGATE_AUTHOR_NOT_FOUND' });
    expect(new Set(service.requests.slice(before).map(({ credential }) => credential)).size).toBe(1);
  });
});

test("an author's trial begins again with another key if its own is revoked", async () => {
  const revoked = new Set<string>();
  const credentials = ['one', 'two'].map((name) => ({ name, signer: apiKey(name) }));
  const { api, end, clock, service } = open({ knows: except('Nobody'), revoked }, { credentials });
  await end(api.book(known));
  const author = api.author('Nobody').catch((error: unknown) => error);
  while (service.requests.length < 4) await clock.advance(50);
  const first = service.requests[1]?.credential ?? '';
  revoked.add(first);
  const before = service.requests.length;
  expect(await end(author)).toMatchObject({ code: 'HEADGATE_AUTHOR_NOT_FOUND', credential: first === 'one' ? 'two' : 'one' });
  expect(service.requests.slice(before).filter(({ kind }) => kind === 'author')).toHaveLength(11);
});

describe('the end of a doubt', () => {
  const scene = () => open({ knows: () => false, isEmptyBatchUnknown: true });
  const asks: [string, (api: Books, signal?: AbortSignal) => Promise<unknown>][] = [
    ['a book', (api, signal) => api.book(known, { ...(signal && { signal }) })],
    ['a batch', (api, signal) => api.batch([known], { credits: creditPool({ max: 10 }), ...(signal && { signal }) })],
    ['an author', (api, signal) => api.author('Ada', { ...(signal && { signal }) })],
  ];

  test.each(asks)('%s: stop and close end the wait at once, and gauges show it until then', async (_, ask) => {
    for (const [how, code] of [
      ['stop', 'HEADGATE_STOPPED'],
      ['close', 'HEADGATE_CLOSED'],
    ] as const) {
      const { api, clock, end } = scene();
      const asked = ask(api).catch((error: unknown) => error);
      await clock.advance(60_000);
      expect(api.gauges().queries).toContainEqual(
        expect.objectContaining({ state: 'retrying', reason: expect.stringContaining('404') as string }),
      );
      void api[how]();
      await clock.settle();
      expect(await end(asked, SECOND_MS)).toMatchObject({ code });
    }
  });

  test('a 404 that arrives after stop starts no wait', async () => {
    const { api, clock, service } = scene();
    const asked = api.batch([known], { credits: creditPool({ max: 10 }) }).catch((error: unknown) => error);
    while (service.requests.length === 0) await clock.advance(1);
    api.stop();
    await clock.advance(100);
    expect(await Promise.race([asked, idle()])).toMatchObject({ code: 'HEADGATE_STOPPED' });
  });

  test.each(asks)('%s: an abort ends it with its reason, and nothing more is sent', async (_, ask) => {
    const { api, clock, service, events, end } = scene();
    const abort = new AbortController();
    const asked = ask(api, abort.signal).catch((error: unknown) => error);
    await clock.advance(60_000);
    const reason = new Error('enough');
    abort.abort(reason);
    expect(await end(asked, SECOND_MS)).toBe(reason);
    const { length } = service.requests;
    await clock.advance(60_000);
    expect(service.requests).toHaveLength(length);
    expect(events).toHaveLength(length);
  });
});

test.each(Object.entries(REFUSALS))('the limit in the form %s is never the answer about a book or an author', async (_, refusal) => {
  const { api, end, busy } = open({ knows: except(unknown, 'Nobody'), refusals: [refusal], isEmptyBatchUnknown: true });
  await end(api.book(known));
  for (let i = 0; i < 3; i += 1) {
    await busy();
    expect(await end(api.book(more[i] ?? ''))).toMatchObject({ kind: 'found' });
    await busy();
    expect(await end(api.author('Ada'))).toMatchObject({ author: 'Ada' });
  }
  expect(await end(api.book(unknown))).toMatchObject({ code: 'HEADGATE_BOOK_NOT_FOUND' });
  expect(await end(api.author('Nobody'))).toMatchObject({ code: 'HEADGATE_AUTHOR_NOT_FOUND' });
});

async function idle(): Promise<'idle'> {
  for (let i = 0; i < 200; i += 1) await new Promise((resolve) => setImmediate(resolve));
  return 'idle';
}
