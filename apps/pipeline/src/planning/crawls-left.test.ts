import { virtualClock } from '@headgate/throttle/testing';
import type { TopicLog } from '@headgate/topics';
import { expect, it } from 'vitest';
import type { TopicsConfig } from '../config/topics-section.ts';
import { crawlsLeft } from './crawls-left.ts';

const topics: TopicsConfig = { driver: 'sqlite', file: 'headgate.db', group: 'headgate', lanes: 1, prefix: '', names: {} };

it('gives up in time where the log does not answer, and at once where it fails', async () => {
  const clock = virtualClock();
  const silent: Partial<TopicLog> = { listTopics: () => new Promise(() => undefined) };
  const counting = crawlsLeft({ log: silent as TopicLog, topics, clock, withinMs: 1_000 });
  await clock.advance(1_000);
  expect(await counting).toBeUndefined();
  const failing: Partial<TopicLog> = { listTopics: () => Promise.reject(new Error('gone')) };
  expect(await crawlsLeft({ log: failing as TopicLog, topics, clock, withinMs: 1_000 })).toBeUndefined();
  expect(clock.pending).toBe(0);
});
