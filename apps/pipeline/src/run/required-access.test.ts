import { expect, it } from 'vitest';
import type { TopicsConfig } from '../config/topics-section.ts';
import { books } from '../pipelines/books.ts';
import { followers } from '../pipelines/followers.ts';
import { accessOfRun } from './required-access.ts';

const topics = { driver: 'kafka', group: 'crew', lanes: 2, prefix: '', names: {} } as unknown as TopicsConfig;
const baseUrl = 'http://127.0.0.1:9';
const credentials = [
  { name: 'app', bearer: () => 't' },
  { name: 'reader', bearer: () => 'u' },
];

function sorted(config: Parameters<typeof accessOfRun>[0]) {
  const { topics: all = [], groups, lanes } = accessOfRun(config);
  return {
    reads: all.filter(({ reads }) => reads).map(({ name }) => name),
    writes: all.filter(({ writes }) => writes).map(({ name }) => name),
    looks: all.length,
    groups,
    lanes,
  };
}

it('a service needs its own topics and lanes, to read and to write; its requests are written where it has a list', () => {
  expect(sorted({ topics, pipelines: [followers({ baseUrl, credentials })] })).toEqual({
    reads: [
      'followers.requests',
      'followers.pages',
      'followers.ids',
      'followers.changes',
      'followers.crawls',
      'followers.dead-letters',
      'followers.state',
      'headgate.state',
    ],
    writes: [
      'followers.pages',
      'followers.ids',
      'followers.changes',
      'followers.crawls',
      'followers.dead-letters',
      'followers.state',
      'headgate.state',
    ],
    looks: 8,
    groups: ['crew'],
    lanes: ['crew.followers.requests.0', 'crew.followers.requests.1'],
  });
  const { reads, writes, lanes } = sorted({ topics, pipelines: [books({ baseUrl, key: () => 'k', authors: ['Ada'] })] });
  expect(reads).toEqual(writes);
  expect(writes).toEqual([
    'books.requests',
    'books.records',
    'books.authors',
    'books.missing',
    'books.dead-letters',
    'books.state',
    'headgate.state',
  ]);
  expect(lanes).toEqual(['crew.books.requests.0', 'crew.request-list']);
});

it('without services topics are looked at alone', () =>
  expect(sorted({ topics, pipelines: [] })).toMatchObject({ reads: [], writes: [], looks: 14 }));

it('topics are called as the configuration says', () => {
  const named = { ...topics, prefix: 'prod.', names: { 'followers.pages': 'pages' } };
  const { writes, lanes } = sorted({ topics: named, pipelines: [followers({ baseUrl, credentials })] });
  expect(writes.slice(0, 2)).toEqual(['pages', 'prod.followers.ids']);
  expect(lanes).toEqual(['crew.prod.followers.requests.0', 'crew.prod.followers.requests.1']);
});
