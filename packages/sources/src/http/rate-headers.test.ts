import { describe, expect, test } from 'vitest';
import { budgetEvidence, refusalWaitMs } from './rate-headers.ts';

const DATE = 'Sun, 06 Nov 1994 08:49:37 GMT';
const AT = Date.UTC(1994, 10, 6, 8, 49, 37);
/** Our own clock is an hour off. That must not matter if the response has a Date. */
const epochMs = AT + 3_600_000;

describe('a refusal', () => {
  const wait = (status: number, headers: Record<string, string>, recentlyRefused = false): number | undefined =>
    refusalWaitMs({ answer: { status, headers: { date: DATE, ...headers }, body: Buffer.alloc(0) }, epochMs, recentlyRefused });
  const reset = String(AT / 1000 + 30);

  test('waits for the reset by the service’s clock, and a second for its rounding', () => {
    expect(wait(429, { 'x-rate-limit-reset': reset })).toBe(31_000);
    expect(wait(429, { 'x-rate-limit-reset': reset, 'x-rate-limit-remaining': '0' })).toBe(31_000);
    expect(wait(403, { 'x-rate-limit-reset': reset, 'x-rate-limit-remaining': '0' })).toBe(31_000);
    expect(wait(403, { 'x-ratelimit-reset': reset, 'x-ratelimit-remaining': '0' })).toBe(31_000);
    expect(wait(429, { 'x-ratelimit-reset-after': '0.35', 'x-ratelimit-reset': reset })).toBe(1_350);
    expect(wait(429, { 'x-ratelimit-reset': String(AT + 30_000) })).toBe(31_000);
    expect(wait(429, { 'x-ratelimit-reset': '1994-11-06T08:50:07Z', 'x-ratelimit-remaining': '0' })).toBe(31_000);
    expect(wait(429, { 'x-ratelimit-reset': 'Sun, 06 Nov 1994 08:50:07 GMT' })).toBe(31_000);
    expect(wait(429, { 'x-ratelimit-reset': '29.5s' })).toBe(30_500);
  });

  test('with status 403 says nothing of the reset while requests remain', () => {
    expect(wait(403, { 'x-rate-limit-reset': reset, 'x-rate-limit-remaining': '3' })).toBeUndefined();
    expect(wait(403, { 'x-rate-limit-reset': reset })).toBeUndefined();
  });

  test('with status 429 waits for the reset although requests remain, but not if that was tried', () => {
    const remaining = { 'x-rate-limit-reset': reset, 'x-rate-limit-remaining': '3' };
    expect(wait(429, remaining)).toBe(31_000);
    expect(wait(429, remaining, true)).toBeUndefined();
    expect(wait(429, { 'x-rate-limit-reset': reset }, true)).toBe(31_000);
    expect(wait(429, { ...remaining, 'x-rate-limit-remaining': '0' }, true)).toBe(31_000);
  });

  test('Retry-After wins', () => {
    expect(wait(429, { 'x-rate-limit-reset': reset, 'retry-after': '7' })).toBe(7_000);
  });

  test.each(['', 'soon', '-1', '1e9', '9'.repeat(20)])('a reset of %j is no reset', (value) => {
    expect(wait(429, { 'x-rate-limit-reset': value })).toBeUndefined();
  });
});

describe('what remains of a budget', () => {
  const evidence = (status: number, headers: Record<string, string>) =>
    budgetEvidence({ head: { status, headers: { date: DATE, ...headers } }, epochMs });
  const at = AT / 1000 + 30;
  test.each<[string, Record<string, string>, number, number]>([
    ['as X has it', { 'x-rate-limit-remaining': '7', 'x-rate-limit-reset': `${at}` }, 7, 30_000],
    ['as GitHub has it', { 'x-ratelimit-remaining': '4999', 'x-ratelimit-reset': `${at}`, 'x-ratelimit-used': '1' }, 4_999, 30_000],
    ['as Reddit has it', { 'x-ratelimit-remaining': '598.7', 'x-ratelimit-reset': '30', 'x-ratelimit-used': '2' }, 598, 30_000],
    ['as Discord has it', { 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': `${at}.2`, 'x-ratelimit-reset-after': '29.5' }, 1, 29_500],
    ['as the draft has it', { ratelimit: '"default";r=50;t=30' }, 50, 30_000],
    ['as an older draft has it', { ratelimit: 'limit=100, remaining=50, reset=30' }, 50, 30_000],
    ['as GitLab has it', { 'ratelimit-remaining': '599', 'ratelimit-reset': `${at}` }, 599, 30_000],
    ['in milliseconds', { 'x-ratelimit-remaining': '7', 'x-ratelimit-reset': `${AT + 30_000}` }, 7, 30_000],
    ['for two windows', { 'x-ratelimit-remaining': '0, 100', 'x-ratelimit-reset': '30, 3600' }, 0, 30_000],
    ['for two windows that are both used up', { 'ratelimit-remaining': '0, 0', 'ratelimit-reset': '30, 3600' }, 0, 3_600_000],
    ['from now', { 'ratelimit-remaining': '599', 'ratelimit-reset': '30' }, 599, 30_000],
  ])('%s', (_, headers, remaining, resetInMs) => {
    expect(evidence(200, headers)).toMatchObject({ remaining, resetInMs });
  });

  test.each<Record<string, string>>([
    {},
    { 'x-ratelimit-remaining': '7' },
    { 'x-ratelimit-reset': '30' },
    { 'x-ratelimit-remaining': '-1', 'x-ratelimit-reset': '30' },
    { 'x-ratelimit-remaining': 'many', 'x-ratelimit-reset': '30' },
    { 'x-ratelimit-remaining': '7', 'x-ratelimit-reset': 'soon' },
  ])('%j says nothing', (headers) => {
    expect(evidence(200, headers)).toBeUndefined();
  });

  test('a refusal says it, too, unless its Retry-After comes before the reset', () => {
    const told = { 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': `${at}` };
    expect(evidence(429, told)).toEqual({ remaining: 0, resetInMs: 30_000, refused: true });
    expect(evidence(429, { ...told, 'retry-after': '30' })).toEqual({ remaining: 0, resetInMs: 30_000, refused: true });
    expect(evidence(429, { ...told, 'retry-after': '2' })).toBeUndefined();
  });
});
