import { expect, it } from 'vitest';
import { childJobs } from './jobs.ts';
import { restOptions } from './language.ts';
import { bearer } from './list.fixture.ts';
import { type Streams, streamsOf } from './streams.ts';

function parsed(streams: object, section: object = {}): Streams {
  return streamsOf(restOptions.parse({ baseUrl: 'http://127.0.0.1', ...bearer, ...section, streams }));
}

it('a stream has the pages of its section, but not with batch, and its own error rules come first', () => {
  const section = { pages: { link: 'next' }, errors: [{ status: 404, then: 'dead' }] };
  const { items, batch } = parsed(
    {
      items: { get: '/items', errors: [{ status: 404, then: 'empty' }] },
      batch: { get: '/items/{id}', for: { id: ['1'] }, batch: { of: 'id', most: 9, match: ['$.id'] } },
    },
    section,
  );
  expect([items?.pages?.style?.name, batch?.pages]).toEqual(['link', undefined]);
  expect(items?.errors?.map(({ then }) => then)).toEqual(['empty', 'dead']);
});

it('jobs need the fields that their stream or one below it uses, but none that the one below takes from a record', () => {
  const streams = parsed({
    orgs: { get: '/{org}', for: { org: ['a'] } },
    repos: { get: '/repos', for: { each: 'orgs', with: { id: '$.id' } } },
    forks: { get: '/forks/{org}/{id}', for: { each: 'repos', with: { org: '$.owner' } } },
  });
  expect(Object.values(streams).map(({ fields, needed }) => [[...fields], [...needed]])).toEqual([
    [['org'], ['org']],
    [['id', 'org'], ['id']],
    [
      ['org', 'id'],
      ['org', 'id'],
    ],
  ]);
});

it('a record without a field that the child takes from it does not get the value of its parent', () => {
  const { forks } = parsed({
    repos: { get: '/{id}', for: { id: ['a'] } },
    forks: { get: '/forks/{id}', for: { each: 'repos', with: { id: '$.id' } } },
  });
  if (forks === undefined) throw new Error('no stream');
  const above = { stream: 'repos', id: 'a' };
  expect([{ id: 7 }, {}].flatMap((record) => childJobs(forks, record, above))).toEqual([{ stream: 'forks', id: 7 }, { stream: 'forks' }]);
});
