import { expect, it } from 'vitest';
import { verdictOf } from './answer.ts';
import { bearer } from './list.fixture.ts';
import { restOptions } from './language.ts';
import { streamsOf } from './streams.ts';

/** The verdict on a response of a stream with these settings. */
function verdict(stream: object, { status = 200, headers = {}, body = '' }) {
  const section = restOptions.parse({ baseUrl: 'http://127.0.0.1', ...bearer, streams: { items: { get: '/items', ...stream } } });
  const { items } = streamsOf(section);
  if (items === undefined) throw new Error('no stream');
  const context = {
    service: 'api',
    subject: 'items',
    credential: 'app',
    epochMs: Date.UTC(2024, 0, 1),
    query: { stream: 'items', fields: {}, cursor: { at: null } },
    recentlyRefused: false,
    redact: String,
  };
  return verdictOf(items, [], { status, headers, body: Buffer.from(body) }, context);
}

it.each(['retry', 'wait'] as const)('with then: %s, a wait in the headers comes before that of the rule', (then) => {
  const errors = [{ status: 503, then, wait: '1m' }];
  expect(verdict({ errors }, { status: 503, headers: { 'retry-after': '300' } })).toMatchObject({ retryInMs: 300_000 });
  expect(verdict({ errors }, { status: 503 })).toMatchObject({ retryInMs: 60_000 });
});

it.each([
  ["$['line-items']", { 'line-items': [1, 2] }, [1, 2]],
  ["$['line-items']", { 'line-items': [] }, []],
  ["$['line-items']", { 'line-items': null }, []],
  ["$['line-items']", { 'line-items': { id: 1 } }, [{ id: 1 }]],
  ["$['line-items'][*]", { 'line-items': [[1], [2]] }, [[1], [2]]],
  ['$.groups[0]', { groups: [[1, 2], [3]] }, [1, 2]],
  ['$.groups[-1].items', { groups: [{ items: [1] }, { items: [2, 3] }] }, [2, 3]],
  ['$.groups[*].items', { groups: [{ items: [1] }, { items: [2, 3] }, { items: null }] }, [1, 2, 3]],
  ['$..items', { data: { items: [1, 2] } }, [1, 2]],
  ['$.items[?@.id]', { items: [{ id: 1 }, {}] }, [{ id: 1 }]],
  ['$', [1, 2], [1, 2]],
])('the records at %s of %j', (records, body, found) => {
  expect(verdict({ records }, { body: JSON.stringify(body) })).toMatchObject({ kind: 'ok', value: { records: found } });
});

it('half of a body without a content-type is retried, because it may be JSON', () => {
  expect(verdict({}, { body: '{"items":[' })).toMatchObject({ kind: 'transient' });
});
