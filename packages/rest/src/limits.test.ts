import { expect, it } from 'vitest';
import { evidenceOf } from './limits.ts';
import { bearer } from './list.fixture.ts';
import { restOptions } from './language.ts';

const NOW = Date.UTC(2024, 0, 1);

/** The state of the limit that these values at `left` and `reset` say. */
function evidence(left: unknown, reset: unknown) {
  const limit = { ...bearer.limit, left: '$.left', reset: '$.reset' };
  const section = restOptions.parse({ ...bearer, baseUrl: 'http://127.0.0.1', limit, streams: { items: { get: '/items' } } });
  return evidenceOf(section)?.({ status: 200, headers: {}, body: Buffer.from(JSON.stringify({ left, reset })) }, NOW)['rate'];
}

it.each([
  [3, 30],
  ['3', '30'],
  [3.5, NOW / 1_000 + 30],
  [3, '2024-01-01T00:00:30Z'],
  [3, '2024-01-01T00:00:30'],
  [3, '30 s'],
  [3, NOW + 30_000],
])('left %j and reset %j are 3 requests in 30 s', (left, reset) => {
  expect(evidence(left, reset)).toEqual({ remaining: 3, resetInMs: 30_000 });
});

it.each([[''], [' '], [null], [undefined], [false], ['many'], [[]], [-1]])('a left of %j says nothing', (left) => {
  expect(evidence(left, 30)).toBeUndefined();
});

it.each([[''], [' '], [null], [undefined], [false], ['soon'], [[]]])('a reset of %j says nothing', (reset) => {
  expect(evidence(3, reset)).toBeUndefined();
});
