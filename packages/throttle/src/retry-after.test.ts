import { describe, expect, test } from 'vitest';
import { httpDate, retryAfterMs, waitMs } from './retry-after.ts';

const DATE = 'Sun, 06 Nov 1994 08:49:37 GMT';
const AT = Date.UTC(1994, 10, 6, 8, 49, 37);
/** Our own clock is an hour off. That must not matter if the response has a Date. */
const epochMs = AT + 3_600_000;

test.each([
  ['Sun, 06 Nov 1994 08:49:37 GMT', AT],
  ['Sunday, 06-Nov-94 08:49:37 GMT', AT],
  ['Sun Nov  6 08:49:37 1994', AT],
  ['Fri, 23 Jan 2015 13:38:32 UTC', Date.UTC(2015, 0, 23, 13, 38, 32)],
  ['5', undefined],
  ['soon', undefined],
  ['Sun, the 6th', undefined],
  ['', undefined],
  [undefined, undefined],
])('the date %j', (text, expected) => {
  expect(httpDate(text)).toBe(expected);
});

describe('Retry-After', () => {
  test.each([
    ['120', 120_000],
    [' 0 ', 0],
    ['Sun, 06 Nov 1994 08:50:37 GMT', 60_000],
    ['Sun, 06 Nov 1994 08:00:00 GMT', 0],
    ['-5', undefined],
    ['1.5', 1_500],
    ['0.493', 493],
    ['5.0', 5_000],
    ['5 seconds', 5_000],
    ['2.7s', 2_700],
    ['500 ms', 500],
    ['6m0s', 360_000],
    ['1h', 3_600_000],
    ['5 parsecs', undefined],
    ['1994-11-06T08:50:37Z', 60_000],
    ['1994-11-06 08:50:37.5+00:00', 60_500],
    ['1994-11-06T08:50:37', undefined],
    [String(AT / 1_000 + 60), 60_000],
    [String(AT + 60_000), 60_000],
    [String((AT + 60_000) * 1_000), 60_000],
    [`${AT / 1_000 + 60}.25`, 60_250],
    ['99999999999999999999', undefined],
    ['later', undefined],
  ])('%j', (value, expected) => {
    expect(retryAfterMs({ headers: { 'retry-after': value, date: DATE }, epochMs })).toBe(expected);
  });

  test.each(['retry-after-ms', 'x-ms-retry-after-ms'])('%s is more precise', (name) => {
    expect(retryAfterMs({ headers: { 'retry-after': '1', [name]: '250' }, epochMs })).toBe(250);
    expect(retryAfterMs({ headers: { 'retry-after': '1', [name]: 'soon' }, epochMs })).toBe(1_000);
  });

  test('without a Date our own clock counts', () => {
    expect(retryAfterMs({ headers: { 'retry-after': DATE }, epochMs: AT - 5_000 })).toBe(5_000);
  });
});

test('a wait is never negative', () => {
  expect(waitMs({ text: String(AT / 1_000 - 60), headers: { date: DATE }, epochMs })).toBe(0);
  expect(waitMs({ text: '-5', headers: {}, epochMs })).toBeUndefined();
});

test.each([NaN, undefined, '0'])('a clock that is %j is refused by its name', (clock) => {
  expect(() => waitMs({ text: '5', headers: {}, epochMs: clock as number })).toThrow(/waitMs.*epochMs/);
});
