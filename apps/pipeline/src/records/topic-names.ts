import type { TopicPartition, TopicSpec } from '@headgate/topics';

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
 * The state topic has one for what no lane owns, and one per lane and service: it only grows when lanes are added.
 */
export function topicSpecs(lanes: number): TopicSpec[] {
  return Object.values(TOPICS).map((name) => {
    if (name === TOPICS.state) return { name, partitions: 2 * lanes + 1, compacted: true };
    return { name, partitions: name.startsWith('followers.') ? lanes : 1 };
  });
}

/** Where a service's wishes are. */
export function requestsTopic(service: 'followers' | 'books'): string {
  return service === 'followers' ? TOPICS.followersRequests : TOPICS.booksRequests;
}

/** A lane's name on the log: on Kafka its transactional id. */
export function laneName(group: string, service: 'followers' | 'books', lane: number): string {
  return `${group}.${requestsTopic(service)}.${lane}`;
}

/** The lane of those who enqueue the config's lists. */
export function wishListLane(group: string): string {
  return `${group}.wish-list`;
}

/** The lane, and the group, of those who replay dead letters. */
export function replayName(group: string): string {
  return `${group}.replay`;
}

/** The partition of the state topic for what belongs to no lane. */
export const SHARED_STATE_PARTITION = 0;

/** The partition of the state topic that a lane of a service writes. */
export function statePartition(service: 'followers' | 'books', lane: number): number {
  return service === 'followers' ? 2 * lane + 1 : 2 * lane + 2;
}

/** Every partition that a lane of a service writes, but for its state: its own number in each of the service's topics. */
export function lanePartitions(service: 'followers' | 'books', lane: number): TopicPartition[] {
  const topics: string[] = Object.values(TOPICS).filter((name) => name.startsWith(`${service}.`) && !name.endsWith('.requests'));
  return topics.map((topic) => ({ topic, partition: lane }));
}
