import { expect, test } from 'vitest';
import type { HttpResponse } from '../http/response.ts';
import type { Verdict } from '../verdict.ts';
import { classifyBooks } from './classify.ts';
import { batchEntry, type BooksQuery } from './query.ts';
import type { BooksValue } from './results.ts';

const book: BooksQuery = { kind: 'book', isbn: { requested: '0306406152', isbn: '9780306406157' } };
const author: BooksQuery = { kind: 'author', name: 'Ada / Brook? & é' };
const batch: BooksQuery = { kind: 'batch', entries: ['9780306406157', '080442957X'].map(batchEntry) };
const KEY = 'key-that-must-not-show';

interface Given {
  readonly body?: unknown;
  readonly headers?: HttpResponse['headers'];
  readonly epochMs?: number;
}

function judged(
  query: BooksQuery,
  status: number,
  { body = '', headers = {}, epochMs = Date.UTC(2026, 0, 1, 18) }: Given = {},
): Verdict<BooksValue> {
  const classify = classifyBooks({ plan: 'premium', maxBatch: 100, quotaReset: { resetsAt: '00:00', zone: 'UTC' } });
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return classify(
    { status, headers, body: bytes },
    { query, service: 'books', subject: 'it', credential: 'reader', epochMs, recentlyRefused: false, redact: (text) => text },
  );
}

test('a book comes untouched: order of fields, unknown ones, numbers that JavaScript would spell otherwise', () => {
  const text =
    '{"zeta":1,"isbn13":"9780306406157","msrp":12.50,"pages":[],"big":12345678901234567890,"date_published":1992,"__proto__":{"x":1},"dimensions":""}';
  const verdict = judged(book, 200, { body: `{"book":${text}}` });
  expect(verdict).toMatchObject({
    kind: 'ok',
    value: { kind: 'book', answer: { kind: 'found', requested: '0306406152', isbn: '9780306406157' } },
  });
  expect(verdict.kind === 'ok' && verdict.value.kind === 'book' && JSON.stringify(verdict.value.answer.record)).toBe(text);
});

test('an author comes untouched, under the requested name', () => {
  const body = { author: 'Ada%20%2F%20Brook%3F%20%26%20%C3%A9', books: [{ isbn: '0306406152' }], extra: 1 };
  expect(judged(author, 200, { body })).toEqual({
    kind: 'ok',
    value: { kind: 'author', answer: { author: 'Ada / Brook? & é', namesAnother: false, record: body } },
  });
});

test('an author under another name comes untouched, and says so', () => {
  const body = { author: 'Somebody%20Else', books: [{ isbn: '0306406152' }] };
  expect(judged(author, 200, { body })).toEqual({
    kind: 'ok',
    value: { kind: 'author', answer: { author: 'Ada / Brook? & é', namesAnother: true, record: body } },
  });
});

test.each([undefined, null, 7, ['Somebody Else']])('an author whose name is %j is the requested one', (name) => {
  const verdict = judged(author, 200, { body: { author: name, books: [] } });
  expect(verdict).toMatchObject({ kind: 'ok', value: { answer: { namesAnother: false } } });
});

test('a batch is laid to the requested ISBNs', () => {
  const verdict = judged(batch, 200, { body: { total: 1, requested: 2, data: [{ isbn13: '9780804429573' }] } });
  expect(verdict).toMatchObject({
    kind: 'ok',
    value: { kind: 'batch', ignored: 0, answers: [{ kind: 'missing' }, { kind: 'found', requested: '080442957X' }] },
  });
});

test.each([
  ['HTML', '<!doctype html><title>Over capacity</title>'],
  ['nothing', ''],
  ['half of it', '{"book":{"isbn13":"97803'],
  ['no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])],
  ['a bomb', '{"book":'.concat('['.repeat(1_000_000))],
])('200 with %s may go better next time', (_, body) => {
  for (const query of [book, author, batch]) expect(judged(query, 200, { body })).toMatchObject({ kind: 'transient' });
});

test.each([
  ['7', 'expected an object with book, got a number', 'expected an object with books, got a number'],
  ['null', 'expected an object with book, got null', 'expected an object with books, got null'],
  ['[]', 'expected an object with book, got a list', 'expected an object with books, got a list'],
  ['{"ok":true}', 'book: expected an object, got nothing', 'books: expected a list, got nothing'],
  ['{"data":{},"books":{}}', 'book: expected an object, got nothing', 'books: expected a list, got an object'],
])('200 with %s does not fit', (body, asBook, asAuthor) => {
  expect(judged(book, 200, { body })).toEqual({ kind: 'schema-mismatch', where: asBook });
  expect(judged(author, 200, { body })).toEqual({ kind: 'schema-mismatch', where: asAuthor });
  expect(judged(batch, 200, { body })).toMatchObject({ kind: 'schema-mismatch', where: expect.stringContaining('data') });
});

test.each([
  [book, { book: null }],
  [book, { book: 'gentle' }],
  [book, { book: { title: 'no ISBN' } }],
  [book, { book: { isbn13: '9780804429573' } }],
])('a record that does not match the request is refused for good: %#', (query, body) => {
  expect(judged(query, 200, { body })).toMatchObject({ kind: 'fatal', error: { code: 'HEADGATE_INVALID_RECORD', retryable: false } });
});

test.each([['errorMessage'], ['error_message'], ['message']])('404 with a limit in its %s is a limit', (field) => {
  for (const words of ['Limit Exceeded', 'You have reached your request limit.', 'Too many requests', 'Quota used up', 'Rate limited']) {
    for (const query of [book, author, batch]) {
      expect(judged(query, 404, { body: { [field]: words } })).toEqual({
        kind: 'rate-limited',
        reason: 'the request limit is reached (404)',
      });
    }
  }
});

test.each([
  ['the words of the documentation', { errorMessage: 'Not Found' }],
  ['them in another field', { message: 'Not Found' }],
  ['no body', ''],
  ['empty words', { errorMessage: '  ' }],
  ['words of another type', { errorMessage: 404 }],
  ['a name with limit words in it', { errorMessage: 'Author "Too Many Limits" was not found' }],
  ['other text', 'Not Found'],
  ['HTML', '<h1>Not Found</h1>'],
])('404 with %s is ambiguous, whatever was requested', (_, body) => {
  for (const [query, subject] of [
    [book, '9780306406157'],
    [author, 'Ada / Brook? & é'],
    [batch, '2 ISBNs from 9780306406157'],
  ] as const) {
    expect(judged(query, 404, { body })).toMatchObject({
      kind: 'ambiguous',
      isAskedAgain: true,
      error: { code: 'HEADGATE_AMBIGUOUS', retryable: true, subject, status: 404 },
    });
  }
});

test('404 to a batch with an ISBN that the service has is the limit, and with another one it is not settled', () => {
  const control = { isbn: '9780140449136', isKnown: true };
  expect(judged({ ...batch, control }, 404)).toMatchObject({ kind: 'rate-limited' });
  expect(judged({ ...batch, control: { ...control, isKnown: false } }, 404)).toMatchObject({ kind: 'ambiguous' });
});

test('the last 404 from a service that has answered nothing else names the three causes', () => {
  const verdict = judged({ ...batch, isLast: true }, 404);
  expect(verdict).toMatchObject({ kind: 'ambiguous', error: { code: 'HEADGATE_AMBIGUOUS', retryable: true } });
  expect(verdict).not.toHaveProperty('isAskedAgain');
  expect('error' in verdict && verdict.error.message).toBe(
    '2 ISBNs from 9780306406157: the books service returned 404 to everything so far. It does so at its request limit, for unknown books, ' +
      'and at a wrong base address. Check baseUrl, or retry after the limit resets.',
  );
});

test.each([400, 401, 403, 410, 413])('%s with HTML is the answer of a gateway, and another text counts as its status', (status) => {
  for (const query of [book, author, batch]) {
    const reason = `got HTML instead of JSON (${status})`;
    expect(judged(query, status, { body: '<h1>Not Found</h1>' })).toEqual({ kind: 'transient', reason });
    expect(judged(query, status, { body: '<h1>Not Found</h1>', headers: { 'retry-after': '7' } })).toMatchObject({
      kind: 'transient',
      retryInMs: 7_000,
    });
    expect(judged(query, status, { body: 'page not found' }).kind).toBe(judged(query, status, { body: '' }).kind);
  }
});

test.each<[string, Given, number | undefined]>([
  ['no word', {}, undefined],
  ['Limit Exceeded', { body: { message: 'Limit Exceeded' } }, undefined],
  ['Retry-After', { headers: { 'retry-after': '7' } }, 7_000],
  ['a minute', { body: { message: 'Per minute quota exceeded, please try again later' } }, 60_000],
  ['a day: six hours to midnight', { body: { message: 'Daily quota exceeded, please try again later' } }, 6 * 3_600_000 + 1_000],
  [
    'a day, by the service’s clock',
    { body: { message: 'Daily quota exceeded' }, headers: { date: 'Thu, 01 Jan 2026 23:59:00 GMT' } },
    61_000,
  ],
  ['a day, and longer than that', { body: { message: 'Daily quota exceeded' }, headers: { 'retry-after': '50000' } }, 50_000_000],
])('429 with %s', (_, given, retryInMs) => {
  const verdict = judged(batch, 429, given);
  expect(verdict.kind).toBe('rate-limited');
  expect(verdict.kind === 'rate-limited' && verdict.retryInMs).toBe(retryInMs);
});

test.each([401, 403])('%s names the cure', (status) => {
  expect(judged(batch, status, { body: { message: `bad ${KEY}` } })).toMatchObject({
    kind: 'unauthorized',
    error: {
      code: 'HEADGATE_KEY_REFUSED',
      credential: 'reader',
      status,
      message: expect.stringContaining(
        `books: the key was refused at the premium address (${status}). A key works only at the address of its plan: ` +
          'set the plan option of books to the plan of the key.',
      ),
    },
  });
});

test.each([400, 413, 422])('%s to a batch names maxBatch', (status) => {
  expect(judged(batch, status)).toMatchObject({
    kind: 'fatal',
    error: { code: 'HEADGATE_BATCH_REFUSED', message: expect.stringContaining('set maxBatch below its current 100') },
  });
});

test.each([204, 206, 408, 425, 500, 502, 503, 504, 599])('%s may go better next time', (status) => {
  expect(judged(book, status, { body: '<html>' })).toMatchObject({ kind: 'transient' });
});

test.each([304, 400, 405, 410, 414, 451])('%s is for good', (status) => {
  expect(judged(book, status)).toMatchObject({ kind: 'fatal', error: { code: 'HEADGATE_UNEXPECTED_STATUS', status } });
});

test('a limit with status 200 is a limit', () => {
  expect(judged(batch, 200, { body: { message: 'Limit Exceeded' } })).toMatchObject({ kind: 'rate-limited' });
});

test('whatever the service says of the key, no verdict repeats it', () => {
  for (const status of [200, 400, 401, 403, 404, 410, 429, 500]) {
    for (const query of [book, author, batch]) {
      for (const words of [KEY, `limit of ${KEY}`, `<p>${KEY}`]) {
        const verdict = judged(query, status, { body: { message: words, errorMessage: words } });
        expect(JSON.stringify([verdict, 'error' in verdict && verdict.error.message])).not.toContain(KEY);
      }
    }
  }
});
