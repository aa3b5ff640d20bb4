import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Verdict } from '../verdict.ts';
import { classify } from './classify.ts';
import type { FollowersAnswer } from './page.ts';
import { followersPaging } from './query.ts';

const DATE = 'Thu, 01 Jan 2026 00:10:00 GMT';
const epochMs = Date.UTC(2026, 0, 1);

function judge(
  status: number,
  body: string | Buffer,
  headers: Record<string, string> = {},
  direction: 'next' | 'previous' = 'next',
): Verdict<FollowersAnswer> {
  const paging = followersPaging({ screenName: 'alpha', direction });
  const answer = { status, headers: { date: DATE, ...headers }, body: Buffer.from(body) };
  return classify(answer, {
    query: paging.query(paging.first),
    service: 'followers',
    subject: '@alpha',
    credential: 'app',
    epochMs,
    recentlyRefused: false,
    redact: (text: string) => text,
  });
}
test('an unknown field of any depth passes, and crashes nothing', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  expect(judge(200, `{"ids":[12345678901234567890],"next_cursor":0,"deep":${deep}}`)).toMatchObject({
    kind: 'ok',
    value: { ids: ['12345678901234567890'] },
  });
});

test.each(['9007199254740990.6', '0.99999999999999999999', '1e3', '1.0', '1234567890123456.04'])('an id spelled %s does not fit', (id) => {
  const where = expect.stringMatching(/^ids\.1: expected digits of at most 64 bits, got (text|a number)$/);
  expect(judge(200, `{"ids":[12,${id}],"next_cursor":0,"next_cursor_str":"0"}`)).toEqual({ kind: 'schema-mismatch', where });
});

describe('cursors', () => {
  const wide = '8882581338626179201';
  const useless = ['null', '""', '" "', '"onward"', 'true', '{}', '[]', '1.5', '1e3'];

  test.each(useless)('an unused one may be %s', (field) => {
    for (const good of [`"next_cursor":${wide}`, `"next_cursor_str":"${wide}"`]) {
      for (const end of ['', '_str']) {
        const text = `{"ids":["1"],${good},"previous_cursor${end}":${field}}`;
        expect(judge(200, text)).toMatchObject({ kind: 'ok', value: { ids: ['1'], nextCursor: wide, previousCursor: '0' } });
        const back = text.replaceAll(/(next|previous)_/g, (_, name) => (name === 'next' ? 'previous_' : 'next_'));
        expect(judge(200, back, {}, 'previous')).toMatchObject({ kind: 'ok', value: { previousCursor: wide, nextCursor: '0' } });
      }
    }
  });

  test.each(useless)('of the two spellings of one the other may be %s', (field) => {
    for (const text of [
      `{"ids":[1],"next_cursor":${wide},"next_cursor_str":${field}}`,
      `{"ids":[1],"next_cursor":${field},"next_cursor_str":"${wide}"}`,
      `{"ids":[9007199254740993],"next_cursor":${field},"next_cursor_str":"${wide}"}`,
    ]) {
      expect(judge(200, text)).toMatchObject({ kind: 'ok', value: { nextCursor: wide } });
    }
  });

  test.each([undefined, ...useless])('the one that is needed may not be %s', (field) => {
    for (const name of ['next_cursor', 'next_cursor_str']) {
      const cursor = field === undefined ? '' : `,"${name}":${field}`;
      expect(judge(200, `{"ids":["1"],"previous_cursor":7${cursor}}`)).toMatchObject({ kind: 'schema-mismatch' });
      const back = field === undefined ? '' : `,"previous${name.slice(4)}":${field}`;
      expect(judge(200, `{"ids":["1"],"next_cursor":7${back}}`, {}, 'previous')).toMatchObject({ kind: 'schema-mismatch' });
    }
  });
});

const coded = (code: number, message = 'said'): string => JSON.stringify({ errors: [{ code, message }] });

test.each([
  [404, 17, 'not-found', 'HEADGATE_USER_NOT_FOUND'],
  [404, 34, 'not-found', 'HEADGATE_USER_NOT_FOUND'],
  [404, 50, 'not-found', 'HEADGATE_USER_NOT_FOUND'],
  [403, 63, 'not-found', 'HEADGATE_USER_SUSPENDED'],
  [401, 179, 'not-found', 'HEADGATE_USER_PROTECTED'],
  [401, 32, 'unauthorized', 'HEADGATE_AUTHENTICATION_FAILED'],
  [403, 64, 'unauthorized', 'HEADGATE_CREDENTIAL_SUSPENDED'],
  [401, 89, 'unauthorized', 'HEADGATE_TOKEN_INVALID'],
  [400, 215, 'unauthorized', 'HEADGATE_AUTHENTICATION_BAD'],
  [403, 326, 'unauthorized', 'HEADGATE_CREDENTIAL_LOCKED'],
  [401, 999, 'unauthorized', 'HEADGATE_UNAUTHORIZED'],
  [403, 999, 'fatal', 'HEADGATE_FORBIDDEN'],
  [400, 999, 'fatal', 'HEADGATE_BAD_REQUEST'],
  [404, 999, 'not-found', 'HEADGATE_USER_NOT_FOUND'],
  [418, 999, 'fatal', 'HEADGATE_UNEXPECTED_STATUS'],
  [204, 999, 'fatal', 'HEADGATE_UNEXPECTED_STATUS'],
  // The code in the body counts more than the status.
  [200, 34, 'not-found', 'HEADGATE_USER_NOT_FOUND'],
])('%i with code %i: %s, %s', (status, code, kind, named) => {
  expect(judge(status, coded(code))).toMatchObject({
    kind,
    error: { code: named, subject: '@alpha', credential: 'app', status, retryable: false },
  });
});

test('of several errors the one that is known decides', () => {
  expect(judge(403, '{"errors":[{"code":1,"message":"what"},{"code":63,"message":"Suspended"}]}')).toMatchObject({ kind: 'not-found' });
});

test('a protected account, in the other envelope', () => {
  const verdict = judge(401, '{"request":"/1.1/followers/ids.json","error":"Not authorized."}');
  expect(verdict).toMatchObject({ kind: 'not-found', error: { code: 'HEADGATE_USER_PROTECTED' } });
  expect(verdict.kind === 'not-found' && verdict.error.message).toMatch(/^@alpha: the account is protected \(401 "Not authorized\."\)\. /);
});

describe('a refusal for the rate', () => {
  const reset = String(Date.parse(DATE) / 1000 + 60);
  test.each([
    [429, coded(88), { 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': reset }, 61_000],
    [429, coded(88), { 'retry-after': '5', 'x-rate-limit-reset': reset }, 5_000],
    [429, coded(135), { 'retry-after': '80000' }, 80_000_000],
    [420, coded(89), { 'retry-after': '5' }, 5_000],
    [429, 'what?', {}, undefined],
    [420, '', {}, undefined],
    [400, coded(88), {}, undefined],
  ])('%i %s %j', (status, body, headers, retryInMs) => {
    const verdict = judge(status, body, headers);
    expect(verdict).toMatchObject({ kind: 'rate-limited' });
    expect(verdict.kind === 'rate-limited' && verdict.retryInMs).toBe(retryInMs);
  });
});

test.each([
  [500, ''],
  [502, '<html>'],
  [503, coded(130)],
  [403, coded(131)],
  [408, ''],
  [200, '<!DOCTYPE html><html></html>'],
  [200, '  \n<html></html>'],
  [200, ''],
  [200, '{"ids":["1","2"'],
  [200, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])],
])('%i %s is transient', (status, body) => {
  expect(judge(status, body)).toMatchObject({ kind: 'transient', reason: expect.any(String) });
});

describe.each([400, 401, 403, 404, 410, 418])('%i in another form than the service has', (status) => {
  test.each([
    ['HTML', '<!DOCTYPE html><title>Prove that you are human</title>', `got HTML instead of JSON with status ${status}`],
    ['a text', '404 page not found', `the JSON is truncated or malformed with status ${status}`],
    ['other JSON', '{"message":"no Route matched with those values"}', `got JSON of another form with status ${status}`],
    ['JSON without a field', '[]', `got JSON of another form with status ${status}`],
  ])('is the answer of a gateway: %s', (_, body, reason) => {
    expect(judge(status, body)).toEqual({ kind: 'transient', reason });
    expect(judge(status, body, { 'retry-after': '7' })).toEqual({ kind: 'transient', reason, retryInMs: 7_000 });
  });

  test.each(['', '{"errors":[]}', '{"errors":[{}]}', '{"error":"no"}'])('is its own without a word, and with one: %s', (body) => {
    expect(judge(status, body).kind).not.toBe('transient');
  });
});

const digits = 'expected digits of at most 64 bits';
const cursor = 'expected a whole number or its digits';
test.each([
  ['null', 'expected an object with ids, got null'],
  ['[]', 'expected an object with ids, got a list'],
  ['{}', 'ids: expected a list, got nothing'],
  ['{"ids":"1,2","next_cursor_str":"0"}', 'ids: expected a list, got text'],
  ['{"ids":[]}', `next_cursor: ${cursor}, got nothing`],
  ['{"ids":[null],"next_cursor":0}', `ids.0: ${digits}, got null`],
  ['{"ids":[1,-1],"next_cursor":0}', `ids.1: ${digits}, got a number`],
  ['{"ids":[1.5],"next_cursor":0}', `ids.0: ${digits}, got a number`],
  ['{"ids":[1e400],"next_cursor":0}', `ids.0: ${digits}, got text`],
  ['{"ids":["18446744073709551616"],"next_cursor":0}', `ids.0: ${digits}, got text`],
  ['{"ids":["2","1x"],"next_cursor":0}', `ids.1: ${digits}, got text`],
  ['{"ids":[""],"next_cursor":0}', `ids.0: ${digits}, got empty text`],
  ['{"ids":[],"next_cursor_str":"onward"}', `next_cursor: ${cursor}, got text`],
  ['{"ids":[],"next_cursor":1.5}', `next_cursor: ${cursor}, got a number`],
])('%s does not fit', (body, where) => {
  expect(judge(200, body)).toEqual({ kind: 'schema-mismatch', where });
});

test('Retry-After of a service that failed is minded', () => {
  expect(judge(503, '', { 'retry-after': '120' })).toMatchObject({ kind: 'transient', retryInMs: 120_000 });
});

test('a clock that is wrong is measured by the answer’s Date', () => {
  expect(judge(401, coded(135))).toMatchObject({ kind: 'clock-wrong', offsetMs: 600_000, error: { code: 'HEADGATE_CLOCK_WRONG' } });
  expect(judge(401, coded(135), { date: 'noon' })).toMatchObject({ kind: 'unauthorized', error: { code: 'HEADGATE_CLOCK_WRONG' } });
});

test('what a service says is quoted short and without control characters', () => {
  const verdict = judge(403, coded(1, `\u001b[31m${'long '.repeat(1_000)}`));
  const message = verdict.kind === 'fatal' ? verdict.error.message : '';
  expect(message.length).toBeLessThan(400);
  // oxlint-disable-next-line no-control-regex -- the message must not contain control characters.
  expect(message).not.toMatch(/[\u0000-\u001f]/);
});

test('every id and cursor arrives as it was sent, however each is spelled', () => {
  const id = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String);
  const spelled = fc.tuple(id, fc.boolean());
  const write = ([digits, quoted]: readonly [string, boolean]): string => (quoted ? `"${digits}"` : digits);
  const cursor = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
  fc.assert(
    fc.property(fc.array(spelled), cursor, cursor, fc.boolean(), (ids, next, previous, asStrings) => {
      const cursors = asStrings
        ? `"next_cursor":0,"next_cursor_str":"${next}","previous_cursor":0,"previous_cursor_str":"${previous}"`
        : `"next_cursor":${next},"previous_cursor":${previous}`;
      const verdict = judge(200, `{"unknown":{"a":[1]},"ids":[${ids.map(write).join(',')}],${cursors}}`);
      expect(verdict).toMatchObject({ kind: 'ok', value: { nextCursor: next, previousCursor: previous } });
      expect(verdict.kind === 'ok' && verdict.value.ids).toEqual(ids.map(([digits]) => digits));
    }),
  );
});

describe('more ids than requested', () => {
  const listOf = (length: number, id: string): string => `[${Array.from({ length }, () => id).join(',')}]`;

  test('are taken, up to twice as many', () => {
    for (const id of ['9', '"9"', ' 9']) {
      expect(judge(200, `{"ids":${listOf(10_000, id)},"next_cursor":0}`)).toMatchObject({ kind: 'ok', value: { ids: { length: 10_000 } } });
      expect(judge(200, `{"ids":${listOf(10_001, id)},"next_cursor":0}`)).toEqual({
        kind: 'schema-mismatch',
        where: 'ids: expected at most 5,000 (count), got 10,001',
      });
    }
  });

  test.each([
    ['numbers', '{"ids":', '9'],
    ['texts', '{"ids":', '"9"'],
    ['behind another field', '{"next_cursor_str":"0","ids":', '9'],
  ])('are no page, and millions of them (%s) are counted without being built', (_, opening, id) => {
    const body = Buffer.from(`${opening}${listOf(3_000_000, id)},"next_cursor":0}`);
    const parse = vi.spyOn(JSON, 'parse');
    onTestFinished(() => parse.mockRestore());
    expect(judge(200, body)).toEqual({ kind: 'schema-mismatch', where: 'ids: expected at most 5,000 (count), got 3,000,000' });
    expect(parse).not.toHaveBeenCalled();
  });
});
