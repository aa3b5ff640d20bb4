import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseExact } from './exact-json.ts';
import { statusVerdict } from './status-verdict.ts';

const context = {
  query: {},
  service: 'toy',
  subject: '/x',
  credential: 'app',
  epochMs: Date.UTC(2026, 0, 1),
  redact: (text: string) => text,
  recentlyRefused: false,
};
const judged = (status: number, body = '{}', headers: Readonly<Record<string, string>> = {}) =>
  statusVerdict({ status, headers, body: Buffer.from(body) }, context, z.object({ id: z.string() }), { parse: parseExact });

test.each([
  [200, 'schema-mismatch', undefined],
  [204, 'schema-mismatch', undefined],
  [304, 'fatal', 'HEADGATE_UNEXPECTED_STATUS'],
  [400, 'fatal', 'HEADGATE_BAD_REQUEST'],
  [401, 'unauthorized', 'HEADGATE_UNAUTHORIZED'],
  [403, 'fatal', 'HEADGATE_FORBIDDEN'],
  [404, 'not-found', 'HEADGATE_NOT_FOUND'],
  [408, 'transient', undefined],
  [410, 'not-found', 'HEADGATE_NOT_FOUND'],
  [418, 'fatal', 'HEADGATE_UNEXPECTED_STATUS'],
  [420, 'rate-limited', undefined],
  [422, 'fatal', 'HEADGATE_UNEXPECTED_STATUS'],
  [425, 'transient', undefined],
  [429, 'rate-limited', undefined],
  [500, 'transient', undefined],
  [503, 'transient', undefined],
])('%i is %s', (status, kind, code) => {
  const verdict = judged(status);
  expect(verdict.kind).toBe(kind);
  const error = { code, service: 'toy', status, subject: '/x', credential: 'app' };
  expect('error' in verdict ? verdict.error : error).toMatchObject(error);
});

test('a 403 whose headers name a wait is a refusal for the rate, and one of a gateway is an outage', () => {
  expect(judged(403, '{}', { 'retry-after': '7' })).toMatchObject({ kind: 'rate-limited', retryInMs: 7_000 });
  expect(judged(403, '{}', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '30' })).toMatchObject({
    kind: 'rate-limited',
    retryInMs: 31_000,
  });
  expect(judged(403, '{}', { 'x-ratelimit-remaining': '9', 'x-ratelimit-reset': '30' })).toMatchObject({ kind: 'fatal' });
  expect(judged(403, '<html>')).toEqual({ kind: 'transient', reason: 'got HTML instead of JSON (403)', retryInMs: undefined });
});

test.each([400, 401, 403, 404, 410, 422])('%i counts, whatever other text the body is', (status) => {
  const { kind } = judged(status);
  for (const body of ['', '404 page not found', '{"half', '[]', 'null', '{"type":"about:blank","title":"no"}']) {
    expect(judged(status, body).kind).toBe(kind);
  }
  expect(judged(status, '\n<html>').kind).toBe('transient');
});

test('a 401 may be about the clock if the answer’s Date differs by minutes', () => {
  const at = (date: string) => judged(401, '', { date });
  expect(at('Thu, 01 Jan 2026 01:00:00 GMT')).toMatchObject({
    kind: 'clock-wrong',
    offsetMs: 3_600_000,
    error: { code: 'HEADGATE_UNAUTHORIZED' },
  });
  expect(at('Thu, 01 Jan 2026 00:03:59 GMT').kind).toBe('unauthorized');
  expect(judged(403, '', { date: 'Thu, 01 Jan 2026 01:00:00 GMT' }).kind).toBe('fatal');
});

test('Retry-After of a service that failed is passed on', () => {
  expect(judged(503, '', { 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' })).toMatchObject({ kind: 'transient', retryInMs: 30_000 });
});

test('a body is parsed as the service spells it, where that is asked for', () => {
  expect(judged(200, '{"id":12345678901234567890}')).toEqual({ kind: 'ok', value: { id: '12345678901234567890' } });
});
