import { expect, test } from 'vitest';
import { forecastBooks } from './book-forecast.ts';

const SECOND = 1_000;
const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 0, 1, 12);
const FREE = { requests: [{ inMs: 0, count: 1 }] };

test('a batch or an author takes a request of the rate', () => {
  const forecast = forecastBooks({ books: config(), isbns: 1_000, authors: 5, free: FREE, now: NOON });
  expect(forecast).toEqual({ batches: 10, batch: 100, inMs: 14 * SECOND, savedMs: 12 * SECOND });
});

test('a quota lets so many go a day', () => {
  const days = (isbns: number, today: number, authors = 0) => {
    const used = { inMs: 12 * HOUR + 5 * SECOND, count: 100 - today };
    const free = { ...FREE, isbns: [...(today > 0 ? [{ inMs: 0, count: today }] : []), ...(today < 100 ? [used] : [])] };
    return forecastBooks({ books: config(100), isbns, authors, free, now: NOON });
  };
  expect(days(1_000, 100).inMs).toBe((12 + 8 * 24) * HOUR);
  expect(days(100, 100).inMs).toBe(0);
  expect(days(40, 40).inMs).toBe(0);
  expect(days(41, 40).inMs).toBe(12 * HOUR);
  expect(days(140, 40).inMs).toBe(12 * HOUR);
  expect(days(141, 40).inMs).toBe(36 * HOUR);
  expect(days(100, 0).inMs).toBe(12 * HOUR + 5 * SECOND);
  // Each author is a request of its own, one a second on each day.
  expect(days(0, 100, 130).inMs).toBe(12 * HOUR + 29 * SECOND);
  expect(days(1_000, 100).savedMs).toBe(0);
  expect([days(40, 40), days(41, 40), days(140, 40), days(141, 40)].map(({ batches }) => batches)).toEqual([1, 2, 2, 3]);
});

test('the last batch of a day is cut', () => {
  const free = { ...FREE, isbns: [{ inMs: 0, count: 150 }] };
  const { batches, inMs } = forecastBooks({ books: config(150), isbns: 500, authors: 0, free, now: NOON });
  expect([batches, inMs]).toEqual([7, 60 * HOUR]);
});

test('days change at the time of their zone, also where one is shorter', () => {
  const perDay = { isbns: 10, resetsAt: '00:00', zone: 'Europe/Berlin' };
  const now = Date.UTC(2026, 2, 28, 11);
  const free = { ...FREE, isbns: [{ inMs: 0, count: 10 }] };
  const inMs = (isbns: number) => forecastBooks({ books: { ...config(), perDay }, isbns, authors: 0, free, now }).inMs;
  expect([20, 30, 40].map((isbns) => inMs(isbns) / HOUR)).toEqual([12, 12 + 23, 12 + 23 + 24]);
});

test('a hold is waited for', () => {
  const free = { ...FREE, isbns: [{ inMs: 3 * HOUR, count: 100 }] };
  expect(forecastBooks({ books: config(100), isbns: 5, authors: 0, free, now: NOON }).inMs).toBe(3 * HOUR);
});

function config(isbns?: number) {
  return { plan: 'default', maxBatch: 100, ...(isbns !== undefined && { perDay: { isbns, resetsAt: '00:00', zone: 'UTC' } }) } as const;
}
