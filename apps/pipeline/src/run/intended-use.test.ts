import { expect, it } from 'vitest';
import type { BooksConfig, FollowersConfig, TopicsConfig } from '../config/config.ts';
import { runsUse } from './intended-use.ts';

const topics = { driver: 'kafka', group: 'crew', lanes: 2 } as TopicsConfig;
const http = { baseUrl: 'http://127.0.0.1:9', timeoutMs: 1, maxBodyBytes: 1, maxDelayMs: 0, retryForMs: 0 };
const followers: FollowersConfig = {
  ...http,
  credentials: [{ name: 'app', bearer: () => 't' }],
  limit: { requests: 15, windowMs: 900_000 },
  count: 5_000,
  stringifyIds: true,
  maxEmptyPages: 100,
  maxOutstanding: 20_000,
  users: [],
  emit: ['pages'],
  dropBoundaryDuplicates: false,
};
const books: BooksConfig = {
  ...http,
  plan: 'default',
  key: () => 'k',
  maxBatch: 100,
  isbns: [],
  authors: ['Somebody'],
  pageSize: 100,
  maxPages: 500,
  maxOutstanding: 1_000,
};

function sorted(config: Parameters<typeof runsUse>[0]) {
  const { topics: all = [], groups, lanes } = runsUse(config);
  return {
    reads: all.filter(({ reads }) => reads).map(({ name }) => name),
    writes: all.filter(({ writes }) => writes).map(({ name }) => name),
    looks: all.length,
    groups,
    lanes,
  };
}

it('a service needs its own topics and lanes; its requests are written where it has a list', () => {
  expect(sorted({ topics, followers })).toEqual({
    reads: ['followers.requests', 'followers.state', 'headgate.state'],
    writes: [
      'followers.pages',
      'followers.ids',
      'followers.changes',
      'followers.crawls',
      'followers.dead-letters',
      'followers.state',
      'headgate.state',
    ],
    looks: 14,
    groups: ['crew'],
    lanes: ['crew.followers.requests.0', 'crew.followers.requests.1'],
  });
  const { reads, writes, lanes } = sorted({ topics, books });
  expect(reads).toEqual(['books.requests', 'books.state', 'headgate.state']);
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

it('changes are made from the pages that are there', () =>
  expect(sorted({ topics, followers: { ...followers, emit: ['pages', 'changes'] } }).reads).toContain('followers.pages'));

it('without services topics are looked at alone', () => expect(sorted({ topics })).toMatchObject({ reads: [], writes: [], looks: 14 }));
