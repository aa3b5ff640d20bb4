import { type TopicInfo, type TopicLog, TopicUnknownError } from '@headgate/topics';
import { expect, test } from 'vitest';
import type { TopicsConfig } from '../config/config.ts';
import { assertStateKept, assertStatesKept } from './kept-state.ts';

const TOPICS: TopicsConfig = { driver: 'sqlite', file: 'headgate.db', group: 'readers', lanes: 2 };
const REQUESTS: Omit<TopicInfo, 'offsets'> = { name: 'followers.requests', partitions: 2, compacted: false };

test.for<{ what: string; found: readonly TopicInfo[]; says: RegExp }>([
  {
    what: 'that is not there',
    found: [],
    says: /followers\.requests partition 1 is not there, .* finished all before 5: was it deleted\?/u,
  },
  {
    what: 'without that partition',
    found: [{ ...REQUESTS, partitions: 1, offsets: [{ earliest: 0, end: 9 }] }],
    says: /followers\.requests partition 1 is not there/u,
  },
  {
    what: 'that ends before',
    found: [{ ...REQUESTS, offsets: [9, 3].map((end) => ({ earliest: 0, end })) }],
    says: /partition 1 ends at offset 3, .* was it deleted and made anew\?/u,
  },
])('a topic of wishes $what is not called empty', async ({ found, says }) => {
  const log = logOf({ listTopics: async () => await Promise.resolve(found) });
  await expect(assertStateKept({ log, topics: TOPICS, service: 'followers', lane: 1, next: 5 })).rejects.toThrow(says);
  await expect(assertStateKept({ log, topics: TOPICS, service: 'followers', lane: 1, next: 0 })).resolves.toBeUndefined();
});

test('lanes without a state are looked up at once, and not at all where there is no topic for it', async () => {
  const all = Promise.withResolvers<void>();
  let asked = 0;
  const log = logOf({
    readState: async (topic, partition) => {
      asked += 1;
      if (asked === TOPICS.lanes) all.resolve();
      await all.promise;
      throw new TopicUnknownError({ topic, partition, partitions: 1 });
    },
    groupOffset: async () => await Promise.resolve(undefined),
  });
  const config = { topics: TOPICS, followers: {} as never };
  await assertStatesKept({ log, config, missing: [] });
  await assertStatesKept({ log, config, missing: ['headgate.state'] });
  expect(asked).toBe(TOPICS.lanes);
});

function logOf(parts: Partial<TopicLog>): TopicLog {
  return parts as TopicLog;
}
