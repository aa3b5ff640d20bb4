import { expect, it } from 'vitest';
import type { BooksConfig, FollowersConfig, TopicsConfig } from '../config/config.ts';
import { runsUse } from './intended-use.ts';

const topics = { driver: 'kafka', group: 'crew', lanes: 2 } as TopicsConfig;
const followers = { users: [], emit: ['pages'] } as unknown as FollowersConfig;
const books = { isbns: [], authors: ['Somebody'] } as unknown as BooksConfig;

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
    reads: ['followers.requests', 'headgate.state'],
    writes: ['followers.pages', 'followers.ids', 'followers.changes', 'followers.crawls', 'followers.dead-letters', 'headgate.state'],
    looks: 12,
    groups: ['crew'],
    lanes: ['crew.followers.requests.0', 'crew.followers.requests.1'],
  });
  const { reads, writes, lanes } = sorted({ topics, books });
  expect(reads).toEqual(['books.requests', 'headgate.state']);
  expect(writes).toEqual(['books.requests', 'books.records', 'books.authors', 'books.missing', 'books.dead-letters', 'headgate.state']);
  expect(lanes).toEqual(['crew.books.requests.0', 'crew.wish-list']);
});

it('changes are made from the pages that are there', () =>
  expect(sorted({ topics, followers: { ...followers, emit: ['changes'] } }).reads).toContain('followers.pages'));

it('without services topics are looked at alone', () =>
  expect(sorted({ topics })).toEqual({ reads: [], writes: [], looks: 12, groups: [], lanes: [] }));
