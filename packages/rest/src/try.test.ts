import { expect, it } from 'vitest';
import { verdictOf } from './answer.ts';
import { restOptions } from './language.ts';
import { streamsOf } from './streams.ts';
import { triedStream } from './try.ts';

const ITEMS = [1, 2, 3].map((id) => ({ id, at: `2024-01-0${id}T00:00:00Z` }));

/** The warnings about a response of three items with this next cursor. */
function warnings(next: unknown, more: object = { since: { from: '$.at' } }): readonly string[] {
  const section = restOptions.parse({
    baseUrl: 'http://127.0.0.1',
    credentials: [{ name: 'app' }],
    limit: { requests: 1, window: '1s' },
    streams: {
      items: { get: '/items', records: '$.items[*]', key: '$.id', pages: { cursor: '$.next', as: { query: 'after' } }, ...more },
    },
  });
  const { items: stream } = streamsOf(section);
  if (stream === undefined) throw new Error('no stream');
  const query = { stream: 'items', fields: {}, cursor: { at: null } };
  const answer = { status: 200, headers: {}, body: Buffer.from(JSON.stringify({ items: ITEMS, next })) };
  const context = { service: 'api', subject: 'items', credential: 'app', epochMs: 0, query, redact: String, recentlyRefused: false };
  const verdict = verdictOf(stream, [], answer, context);
  if (verdict.kind !== 'ok') throw new Error(verdict.kind);
  return triedStream(section, stream, query, answer, verdict.value, 0).warnings;
}

it.each([1, 2, 3, '2', '3'])('warns of a cursor that may count pages or records: %j', (next) => {
  expect(warnings(next)).toEqual([
    `pages.cursor: the next cursor is ${next}. If it counts pages or records, write page or offset instead: those lose no record of a list that moves.`,
  ]);
});

it.each([4, 'c3', 'eyJpZCI6M30', null])('warns of no other cursor: %j', (next) => {
  expect(warnings(next)).toEqual([]);
});

it('warns of no cursor in a stream without since, whose next listing returns everything', () => {
  expect(warnings(2, {})).toEqual([]);
});

const permits = 'The service may permit no more.';

it.each([
  ['nothing says more', {}, [`nothing says whether more follow. ${permits} If it permits 9, short: last ends the list here.`]],
  ['a short page is the last', { short: 'last' }, []],
  ['a number of pages says more', { last: '$.pages' }, [`more follow. ${permits}`]],
  ['a total says more', { total: '$.total' }, [`more follow. ${permits}`]],
  ['a flag says more', { while: '$.items' }, [`more follow. ${permits}`]],
])('warns of a page with fewer records than its size: %s', (_, more, follows) => {
  const pages = { page: { query: 'page' }, size: { query: 'limit', is: 9 }, ...more };
  expect(warnings(null, { pages })).toEqual(follows.map((text) => `pages.size: 9 records were requested, 3 came, and ${text}`));
});
