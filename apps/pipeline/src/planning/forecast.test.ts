import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { forecastMs, requestsUntilDone } from './forecast.ts';

describe('requestsUntilDone', () => {
  it('lets crawls take turns', () => {
    expect(requestsUntilDone([1, 3, 10])).toEqual([3, 7, 14]);
    expect(requestsUntilDone([])).toEqual([]);
  });

  it('counts of each other crawl as many pages as its own has, or all', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 30 })), (pages) => {
        const oneByOne = pages.map((own) => pages.reduce((sum, other) => sum + Math.min(own, other), 0));
        expect(requestsUntilDone(pages)).toEqual(oneByOne);
      }),
    );
  });

  it('looks at twice as many crawls twice as often', () => {
    expect(looks(2_000)).toBeLessThanOrEqual(2 * looks(1_000));
  });
});

describe('forecastMs', () => {
  it.each([
    { requests: 0, ms: 0 },
    { requests: 15, ms: 0 },
    { requests: 16, ms: 900_000 },
    { requests: 46, ms: 2_700_000 },
    { requests: 46, credentials: 2, ms: 900_000 },
  ])('$requests requests with $credentials credentials', ({ requests, credentials = 1, ms }) => {
    expect(forecastMs({ requests, limit: 15, windowMs: 900_000, credentials })).toBe(ms);
  });
});

/** How often the pages of so many crawls are looked at. */
function looks(crawls: number): number {
  let count = 0;
  const get = (pages: number[], property: string | symbol): unknown => {
    if (typeof property === 'string' && property !== 'length' && property in pages) count += 1;
    return Reflect.get(pages, property);
  };
  requestsUntilDone(
    new Proxy(
      Array.from({ length: crawls }, (_, i) => 1 + (i % 400)),
      { get },
    ),
  );
  return count;
}
