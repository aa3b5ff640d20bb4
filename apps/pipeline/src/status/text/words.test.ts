import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { bar } from './cells.ts';
import { durationWords, elapsedWords } from './duration-words.ts';
import { countWords, groupedNumber, numberWords, percentWords, singularOf } from './number-words.ts';
import { createTimeWords } from './time-words.ts';

it.each([
  ['ids', 'id'],
  ['statuses', 'status'],
  ['matches', 'match'],
  ['queries', 'query'],
  ['movies', 'movie'],
  ['boxes', 'box'],
  ['addresses', 'address'],
  ['houses', 'house'],
  ['series', 'series'],
  ['missing', 'missing'],
  ['status', 'status'],
])('the singular of %s is %s', (plural, singular) => expect(singularOf(plural)).toBe(singular));

describe('numbers', () => {
  it.each([
    [0, '0'],
    [412, '412'],
    [20_000, '20,000'],
    [999_999, '999,999'],
    [1_000_000, '1.00 M'],
    [2_060_000, '2.06 M'],
    [9_996_000, '10.0 M'],
    [99_960_000, '100 M'],
    [999_400_000, '999 M'],
    [999_600_000, '1.00 bn'],
    [12_340_000_000, '12.3 bn'],
    [Number.NaN, '?'],
  ])('writes %d as %s', (value, words) => expect(numberWords(value)).toBe(words));

  it('writes at most three digits and a unit, never more than 1 % off', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1_000_000, max: 999_000_000_000 }), (value) => {
        const [, digits, unit] = /^([\d.]{3,4}) (M|bn)$/.exec(numberWords(value)) ?? [];
        const said = Number(digits) * (unit === 'M' ? 1e6 : 1e9);
        expect(Math.abs(said - value) / value).toBeLessThan(0.01);
      }),
    );
  });

  it('groups digits, adds nouns and writes shares', () => {
    expect(groupedNumber(-0.4)).toBe('0');
    expect(countWords(1, 'page')).toBe('1 page');
    expect(countWords(1204, 'page')).toBe('1,204 pages');
    expect(percentWords(1)).toBe('100 %');
    expect(percentWords(0.99987)).toBe('99.9 %');
    expect(percentWords(0.5)).toBe('50 %');
  });
});

describe('durations', () => {
  it.each([
    [0, '0 ms'],
    [350, '350 ms'],
    [999.6, '1 s'],
    [2_400, '2.4 s'],
    [9_949, '9.9 s'],
    [9_960, '10 s'],
    [59_600, '1 m'],
    [134_000, '2 m 14 s'],
    [3_600_000, '1 h'],
    [14_580_000, '4 h 3 m'],
    [183_600_000, '2 d 3 h'],
    [-5, '0 ms'],
  ])('writes %d ms as %s', (ms, words) => expect(durationWords(ms)).toBe(words));

  it('counts up like a clock', () => {
    expect(elapsedWords(872_999)).toBe('00:14:32');
    expect(elapsedWords(360_000_000)).toBe('100:00:00');
  });
});

describe('instants', () => {
  const now = Date.UTC(2026, 2, 10, 22, 0, 0);
  const times = createTimeWords({ timeZone: 'UTC' });

  it('are a time today and tomorrow, and a date after that', () => {
    expect(times.when(now + 60_000, now)).toBe('22:01:00');
    expect(times.when(now + 16 * 3_600_000, now)).toBe('tomorrow 14:00');
    expect(times.when(now + 40 * 3_600_000, now)).toBe('12 Mar 14:00');
    expect(times.time(Number.POSITIVE_INFINITY)).toBe('?');
  });

  it('are in the time zone of the machine by default', () => {
    vi.stubEnv('TZ', 'Asia/Tokyo');
    const local = createTimeWords();
    expect(local.time(now)).toBe('07:00:00');
    expect(local.when(now + 16 * 3_600_000, now)).toBe('23:00:00');
    expect(local.when(now + 17 * 3_600_000, now)).toBe('tomorrow 00:00');
    vi.unstubAllEnvs();
  });

  it('are written as Intl writes them', () => {
    const format = new Intl.DateTimeFormat('en-GB', {
      day: 'numeric',
      month: 'short',
      hour: '2-digit',
      minute: '2-digit',
      timeZone: 'UTC',
    });
    fc.assert(
      fc.property(fc.integer({ min: -8.6e15, max: 8.6e15 }), (at) => {
        expect(times.when(at, now < at ? at - 1e10 : at + 1e10)).toBe(format.format(at).replace(',', ''));
      }),
    );
  });
});

describe('bars', () => {
  it('have exactly their width, and are empty only at 0 and full only at 1', () => {
    fc.assert(
      fc.property(fc.double({ min: -1, max: 2 }), fc.integer({ min: 2, max: 40 }), (share, width) => {
        const drawn = bar(share, width);
        expect(drawn).toHaveLength(width);
        expect(drawn.includes('█')).toBe(share > 0);
        expect(drawn.includes('░')).toBe(!(share >= 1));
      }),
    );
  });
});
