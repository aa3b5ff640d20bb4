import { describe, expect, it } from 'vitest';
import { forecastMs, requestsUntilDone } from './forecast.ts';

describe('requestsUntilDone', () => {
  it('lets crawls take turns', () => {
    expect(requestsUntilDone([1, 3, 10])).toEqual([3, 7, 14]);
    expect(requestsUntilDone([])).toEqual([]);
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
