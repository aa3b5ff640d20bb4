import type { TopicSpec } from '@headgate/topics';

/** Every topic by its name on the log. */
export const TOPICS = {
  followersRequests: 'followers.requests',
  followersPages: 'followers.pages',
  followersIds: 'followers.ids',
  followersChanges: 'followers.changes',
  followersCrawls: 'followers.crawls',
  followersDeadLetters: 'followers.dead-letters',
  booksRequests: 'books.requests',
  booksRecords: 'books.records',
  booksAuthors: 'books.authors',
  booksMissing: 'books.missing',
  booksDeadLetters: 'books.dead-letters',
  state: 'headgate.state',
} as const;

/**
 * All topics: those of followers with a partition per lane, those of books with one, since a key's budget can't be split.
 * The state topic has one per lane and service, and one for what no lane owns.
 */
export function topicSpecs(lanes: number): TopicSpec[] {
  return Object.values(TOPICS).map((name) => {
    if (name === TOPICS.state) return { name, partitions: 2 * lanes + 1, compacted: true };
    return { name, partitions: name.startsWith('followers.') ? lanes : 1 };
  });
}

/** The partition of the state topic that a lane of a service writes. */
export function statePartition(service: 'followers' | 'books', lane: number): number {
  return service === 'followers' ? 2 * lane : 2 * lane + 1;
}

/** The partition of the state topic for what belongs to no lane. */
export function sharedStatePartition(lanes: number): number {
  return 2 * lanes;
}
