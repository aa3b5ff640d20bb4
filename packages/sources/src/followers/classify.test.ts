import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Verdict } from '../verdict.ts';
import { classify } from './classify.ts';
import type { FollowersAnswer } from './page.ts';
import { followersPaging } from './query.ts';

const DATE = 'Thu, 01 Jan 2026 00:10:00 GMT';
const EXACT_DATE = 'Thu, 01 Jan 2026 00:00:00 GMT';
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
  [404, 108, 'not-found', 'HEADGATE_USER_NOT_FOUND'],
  [403, 179, 'not-found', 'HEADGATE_USER_PROTECTED'],
  [401, 136, 'fatal', 'HEADGATE_FORBIDDEN'],
  [401, 32, 'unauthorized', 'HEADGATE_AUTHENTICATION_FAILED'],
  [403, 64, 'unauthorized', 'HEADGATE_CREDENTIAL_SUSPENDED'],
  [403, 87, 'unauthorized', 'HEADGATE_CREDENTIAL_FORBIDDEN'],
  [401, 89, 'unauthorized', 'HEADGATE_TOKEN_INVALID'],
  [403, 99, 'unauthorized', 'HEADGATE_AUTHENTICATION_FAILED'],
  [400, 215, 'unauthorized', 'HEADGATE_AUTHENTICATION_BAD'],
  [403, 220, 'unauthorized', 'HEADGATE_CREDENTIAL_FORBIDDEN'],
  [403, 231, 'unauthorized', 'HEADGATE_CREDENTIAL_LOCKED'],
  [403, 261, 'unauthorized', 'HEADGATE_CREDENTIAL_FORBIDDEN'],
  [403, 326, 'unauthorized', 'HEADGATE_CREDENTIAL_LOCKED'],
  [401, 416, 'unauthorized', 'HEADGATE_CREDENTIAL_SUSPENDED'],
  [403, 453, 'unauthorized', 'HEADGATE_CREDENTIAL_FORBIDDEN'],
  [403, 477, 'unauthorized', 'HEADGATE_CREDENTIAL_FORBIDDEN'],
  [401, 999, 'unauthorized', 'HEADGATE_UNAUTHORIZED'],
  [403, 999, 'fatal', 'HEADGATE_FORBIDDEN'],
  [400, 999, 'fatal', 'HEADGATE_BAD_REQUEST'],
  [404, 999, 'not-found', 'HEADGATE_USER_NOT_FOUND'],
  [418, 999, 'fatal', 'HEADGATE_UNEXPECTED_STATUS'],
  [204, 999, 'fatal', 'HEADGATE_UNEXPECTED_STATUS'],
  // The code in the body counts more than the status.
  [200, 34, 'not-found', 'HEADGATE_USER_NOT_FOUND'],
])('%i with code %i: %s, %s', (status, code, kind, named) => {
  expect(judge(status, coded(code), { date: EXACT_DATE })).toMatchObject({
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

/** The forms in which services and gateways have been seen to send an error without a code. */
const FORMS: readonly (readonly [name: string, body: string])[] = [
  ['an empty body', ''],
  ['text', '404 page not found'],
  ['half of some JSON', '{"errors":[{"co'],
  ['a list of no errors', '{"errors":[]}'],
  ['an error without fields', '{"errors":[{}]}'],
  ['an error with a message', '{"errors":[{"message":"no"}]}'],
  ['an error whose code is text', '{"errors":[{"code":"NO","message":"no"}]}'],
  ['errors that are text', '{"errors":["no"]}'],
  ['errors in an object', '{"errors":{"message":"no"}}'],
  ['an error that is text', '{"error":"no"}'],
  ['an error that is an object', '{"error":{"message":"no"}}'],
  ['problem details (RFC 9457)', '{"type":"about:blank","title":"no","status":401}'],
  ['problem details in errors', '{"errors":[{"title":"no","detail":"no","type":"https://api.example/problems/other"}]}'],
  ['another object', '{"message":"no Route matched with those values"}'],
  ['a list', '[]'],
  ['null', 'null'],
  ['a number', '404'],
];

describe.each([
  [400, 'fatal', 'HEADGATE_BAD_REQUEST', undefined],
  [401, 'unauthorized', 'HEADGATE_UNAUTHORIZED', undefined],
  [402, 'fatal', 'HEADGATE_UNEXPECTED_STATUS', undefined],
  [403, 'fatal', 'HEADGATE_FORBIDDEN', true],
  [404, 'not-found', 'HEADGATE_USER_NOT_FOUND', undefined],
  [410, 'fatal', 'HEADGATE_UNEXPECTED_STATUS', undefined],
  [422, 'fatal', 'HEADGATE_UNEXPECTED_STATUS', undefined],
])('%i counts, and not the form of the error', (status, kind, code, perCredential) => {
  test.each(FORMS)('%s', (_, body) => {
    const verdict = judge(status, body, { date: EXACT_DATE, 'content-type': 'application/problem+json' });
    expect(verdict).toMatchObject({ kind, error: { code, status } });
    expect('perCredential' in verdict ? verdict.perCredential : undefined).toBe(perCredential);
    expect('error' in verdict && verdict.error.message.includes('"no')).toBe(body.includes('"no'));
  });

  test.each(['<!DOCTYPE html><title>Prove that you are human</title>', '\ufeff \n<h1>Not Found</h1>'])(
    'but HTML comes from a gateway: %s',
    (body) => {
      const reason = `got HTML instead of JSON with status ${status}`;
      expect(judge(status, body)).toEqual({ kind: 'transient', reason });
      expect(judge(status, body, { 'retry-after': '7' })).toEqual({ kind: 'transient', reason, retryInMs: 7_000 });
    },
  );
});

describe.each([
  [429, 'rate-limited'],
  [420, 'rate-limited'],
  [408, 'transient'],
  [500, 'transient'],
  [503, 'transient'],
])('%i counts, whatever its body contains:', (status, kind) => {
  test.each([...FORMS, ['HTML', '<h1>no</h1>'] as const])('%s', (_, body) => {
    expect(judge(status, body)).toMatchObject({ kind });
  });
});

test.each([
  [403, 'client-forbidden', 'unauthorized', 'HEADGATE_CREDENTIAL_FORBIDDEN', undefined],
  [403, 'client-not-enrolled', 'unauthorized', 'HEADGATE_CREDENTIAL_FORBIDDEN', undefined],
  [403, 'oauth1-permissions', 'unauthorized', 'HEADGATE_CREDENTIAL_FORBIDDEN', undefined],
  [403, 'unsupported-authentication', 'unauthorized', 'HEADGATE_CREDENTIAL_FORBIDDEN', undefined],
  [403, 'usage-capped', 'unauthorized', 'HEADGATE_CREDENTIAL_FORBIDDEN', undefined],
  [401, 'not-authorized-for-resource', 'not-found', 'HEADGATE_USER_PROTECTED', true],
  [403, 'not-authorized-for-resource', 'not-found', 'HEADGATE_USER_PROTECTED', true],
  [403, 'disallowed-resource', 'fatal', 'HEADGATE_FORBIDDEN', true],
  [404, 'resource-not-found', 'not-found', 'HEADGATE_USER_NOT_FOUND', undefined],
  [200, 'resource-not-found', 'not-found', 'HEADGATE_USER_NOT_FOUND', undefined],
  [400, 'invalid-request', 'fatal', 'HEADGATE_BAD_REQUEST', undefined],
])('%i with the problem type %s: %s, %s', (status, problem, kind, code, perCredential) => {
  const title = 'Sorry';
  for (const type of [`https://api.example/2/problems/${problem}`, `https://developer.example/error-troubleshooting#${problem}`]) {
    for (const body of [
      { title, detail: 'said', type, status },
      { errors: [{ title, detail: 'said', type }] },
      { title, reason: problem },
    ]) {
      const verdict = judge(status, JSON.stringify(body), { date: EXACT_DATE });
      expect(verdict).toMatchObject({ kind, error: { code } });
      expect('perCredential' in verdict ? verdict.perCredential : undefined).toBe(perCredential);
    }
  }
});

test('an error in a 200 counts, and another object there is no page', () => {
  for (const body of ['{"errors":[{"message":"no"}]}', '{"error":"no"}', '{"error":{"message":"no"}}']) {
    expect(judge(200, body)).toMatchObject({ kind: 'fatal', error: { code: 'HEADGATE_UNEXPECTED_STATUS' } });
  }
  for (const body of ['{"message":"no"}', '{"title":"no","type":"about:blank"}', '"no"', '{"errors":[]}']) {
    expect(judge(200, body)).toMatchObject({ kind: 'schema-mismatch', where: expect.stringContaining('ids') as string });
  }
});

test('a usage cap that is reached with 429 may end, so the credential waits', () => {
  const body =
    '{"title":"UsageCapExceeded","detail":"Usage cap exceeded: Monthly product cap","type":"https://api.example/problems/usage-capped"}';
  expect(judge(429, body)).toMatchObject({ kind: 'rate-limited', reason: "the credential's usage cap is reached (429)" });
});

test('an error about the user ends neither the credential nor the request before each other credential was tried', () => {
  expect(judge(401, '{"request":"/1.1/x","error":"Not authorized."}')).toMatchObject({ kind: 'not-found', perCredential: true });
  expect(judge(401, '{"title":"Not authorized","status":401}', { date: EXACT_DATE })).toMatchObject({ kind: 'unauthorized' });
  expect(judge(403, coded(63))).not.toHaveProperty('perCredential');
});

test('no error of 4xx is retried without an end, unless it is HTML or asks for it by its code', () => {
  const status = fc.integer({ min: 400, max: 499 }).filter((one) => ![408, 420, 425, 429].includes(one));
  const text = fc.string().filter((one) => !/^\s*</.test(one));
  const body = fc.oneof(
    fc.json(),
    text,
    fc
      .record({ errors: fc.array(fc.record({ code: fc.anything(), message: fc.anything() }, { requiredKeys: [] })) })
      .map((one) => fc.stringify(one)),
  );
  fc.assert(
    fc.property(status, body, (given, said) => {
      fc.pre(!/"code":\s*"?(?:88|130|131)\b/.test(said));
      expect(['unauthorized', 'not-found', 'fatal']).toContain(judge(given, said, { date: EXACT_DATE }).kind);
    }),
    { numRuns: 2_000 },
  );
});

const digits = 'expected digits of at most 64 bits';
const cursor = 'expected a whole number or its digits';
test.each([
  ['null', 'expected an object with ids, got null'],
  ['[]', 'expected an object with ids, got a list'],
  ['{}', 'ids: expected a list, got nothing'],
  ['{"ids":"1,2","next_cursor_str":"0"}', 'ids: expected a list, got text'],
  ['{"ids":[null],"next_cursor":0}', `ids.0: ${digits}, got null`],
  ['{"ids":[1,-1],"next_cursor":0}', `ids.1: ${digits}, got a number`],
  ['{"ids":[1.5],"next_cursor":0}', `ids.0: ${digits}, got a number`],
  ['{"ids":[1e400],"next_cursor":0}', `ids.0: ${digits}, got text`],
  ['{"ids":["18446744073709551616"],"next_cursor":0}', `ids.0: ${digits}, got text`],
  ['{"ids":["2","1x"],"next_cursor":0}', `ids.1: ${digits}, got text`],
  ['{"ids":[""],"next_cursor":0}', `ids.0: ${digits}, got empty text`],
])('%s does not fit', (body, where) => {
  expect(judge(200, body)).toEqual({ kind: 'schema-mismatch', where });
});

test.each([
  ['', `next_cursor: ${cursor}, got nothing`],
  [',"next_cursor":null', `next_cursor: ${cursor}, got null`],
  [',"next_cursor_str":""', `next_cursor: ${cursor}, got empty text`],
  [',"next_cursor":null,"next_cursor_str":""', `next_cursor: ${cursor}, got empty text`],
  [',"next_cursor_str":"onward"', `next_cursor: ${cursor}, got text`],
  [',"next_cursor":1.5', `next_cursor: ${cursor}, got a number`],
  [',"next_cursor":5,"next_cursor_str":"7"', 'next_cursor: expected the number of next_cursor_str, got another one'],
])('a page whose next cursor is unusable keeps its ids: %s', (fields, where) => {
  const body = `{"ids":[9007199254740993,"2"]${fields}}`;
  expect(judge(200, body)).toMatchObject({
    kind: 'schema-mismatch',
    where,
    value: { ids: ['9007199254740993', '2'], cursor: '-1', nextCursor: '', previousCursor: '0', credential: 'app' },
  });
  expect(judge(200, body.replaceAll('next_', 'previous_'), {}, 'previous')).toMatchObject({
    kind: 'schema-mismatch',
    where: where.replaceAll('next_', 'previous_'),
    value: { nextCursor: '0', previousCursor: '' },
  });
});

test('a cursor that is spelled as no cursor is ignored, whether the ids are numbers or texts', () => {
  for (const id of ['1', '"1"', '9007199254740993']) {
    const body = `{"ids":[${id}],"next_cursor":5,"previous_cursor":70e1,"previous_cursor_str":"9"}`;
    expect(judge(200, body)).toMatchObject({ kind: 'ok', value: { nextCursor: '5', previousCursor: '9' } });
  }
});

test.each([
  ['0', '8882581338626179201', '8882581338626179201'],
  ['8882581338626179201', '0', '8882581338626179201'],
  ['8882581338626179000', '8882581338626179201', '8882581338626179201'],
  ['0', '0', '0'],
])('of the cursors %s and "%s" the one that loses no page counts', (number, text, nextCursor) => {
  const body = `{"ids":[1],"next_cursor":${number},"next_cursor_str":"${text}"}`;
  expect(judge(200, body)).toMatchObject({ kind: 'ok', value: { nextCursor } });
  expect(judge(200, ` ${body}`)).toMatchObject({ kind: 'ok', value: { nextCursor } });
});

test('Retry-After of a service that failed is minded', () => {
  expect(judge(503, '', { 'retry-after': '120' })).toMatchObject({ kind: 'transient', retryInMs: 120_000 });
});

test.each([
  [401, coded(32), 'HEADGATE_AUTHENTICATION_FAILED'],
  [403, coded(99), 'HEADGATE_AUTHENTICATION_FAILED'],
  [401, '', 'HEADGATE_UNAUTHORIZED'],
  [401, '{"title":"Unauthorized","status":401}', 'HEADGATE_UNAUTHORIZED'],
])('%i %s may be about the clock if the answer’s Date differs by minutes', (status, body, code) => {
  const at = (date: string): Verdict<FollowersAnswer> => judge(status, body, { date });
  expect(at(DATE)).toMatchObject({ kind: 'clock-wrong', offsetMs: 600_000, error: { code } });
  expect(at('Wed, 31 Dec 2025 23:00:00 GMT')).toMatchObject({ kind: 'clock-wrong', offsetMs: -3_600_000 });
  for (const close of [EXACT_DATE, 'Thu, 01 Jan 2026 00:03:59 GMT', 'Wed, 31 Dec 2025 23:56:30 GMT', 'noon']) {
    expect(at(close)).toMatchObject({ kind: 'unauthorized', error: { code } });
  }
});

test('other errors of a credential are not about the clock', () => {
  for (const code of [64, 89, 215, 326, 453]) expect(judge(401, coded(code))).toMatchObject({ kind: 'unauthorized' });
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
});
