import { expect, test } from 'vitest';
import { forecastCrawls } from './crawl-forecast.ts';
import type { FreeSlots } from './forecast.ts';
import type { CrawlLeft } from './left-to-do.ts';

const MINUTE = 60_000;
const WINDOW = 15 * MINUTE;

test('a crawl has the credentials of its lane, and one more credential goes to one lane', () => {
  const crawls = [crawl(0, 40), crawl(1, 10)];
  const forecast = forecastCrawls({ ...setup(['a', 'b', 'c']), lanes: 2, crawls });
  expect(forecast.crawls).toEqual([
    { inMs: WINDOW, isExact: true, pages: 40, credentials: ['a', 'c'] },
    { inMs: 0, isExact: true, pages: 10, credentials: ['b'] },
  ]);
  // The next one would be lane 1's, which isn't waited for.
  expect(forecast).toMatchObject({ all: { inMs: WINDOW, isExact: true, requests: 50 }, savedMs: 0 });
  expect(forecastCrawls({ ...setup(['a', 'b']), lanes: 2, crawls })).toMatchObject({ all: { inMs: 2 * WINDOW }, savedMs: WINDOW });
});

test('what was used comes free when it does', () => {
  const used = [
    { inMs: 0, count: 5 },
    { inMs: 7 * MINUTE, count: 10 },
  ];
  const forecast = (pages: number) => forecastCrawls({ ...setup(['a'], used), lanes: 1, crawls: [crawl(0, pages)] });
  expect([5, 6, 15, 16, 21].map((pages) => forecast(pages).all.inMs / MINUTE)).toEqual([0, 7, 7, 15, 22]);
  expect([6, 16].map((pages) => forecast(pages).savedMs)).toEqual([7 * MINUTE, 15 * MINUTE]);
});

test('a size that is not known makes the times of its lane the earliest ones', () => {
  const crawls = [crawl(0, 20), crawl(0), crawl(1, 20)];
  const forecast = forecastCrawls({ ...setup(['a', 'b']), lanes: 2, crawls });
  expect(forecast.crawls.map(({ isExact, pages }) => [isExact, pages])).toEqual([
    [false, 20],
    [false, undefined],
    [true, 20],
  ]);
  expect(forecast).toMatchObject({ all: { isExact: false, requests: 41 }, savedMs: undefined });
});

test('only the first crawls are told, all are counted', () => {
  const crawls = [crawl(0, 10), crawl(0, 10), crawl(0, 10, 8)];
  const forecast = forecastCrawls({ ...setup(['a']), lanes: 1, crawls, first: 1 });
  expect([forecast.crawls.length, forecast.crawls[0]?.inMs, forecast.all]).toEqual([
    1,
    WINDOW,
    { inMs: WINDOW, isExact: true, requests: 23 },
  ]);
});

function crawl(lane: number, pagesLastTime?: number, page = 1): CrawlLeft {
  return { user: '@alpha', page, cursor: '-1', lane, ...(pagesLastTime !== undefined && { pagesLastTime }) };
}

function setup(names: readonly string[], slots: readonly FreeSlots[] = [{ inMs: 0, count: 15 }]) {
  const followers = { credentials: names.map((name) => ({ name })), limit: { requests: 15, window: WINDOW } };
  return { followers, free: new Map(names.map((name) => [name, slots])), first: 50 };
}
