import { virtualClock } from '@headgate/throttle/testing';
import type { StateReading, TopicLog } from '@headgate/topics';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { TopicsConfig } from '../config/config.ts';
import { offsetRanges } from '../lanes/offset-ranges.ts';
import { crawlsLeft } from './crawls-left.ts';

const topics: TopicsConfig = { driver: 'sqlite', file: 'headgate.db', group: 'headgate', lanes: 1 };

it('counts each crawl that is not finished: of wishes in the topic, and begun ones of wishes that it has lost', async () => {
  const offset = fc.nat(40);
  await fc.assert(
    fc.asyncProperty(offset, offset, fc.array(offset), fc.array(offset), async (one, other, finished, begun) => {
      const [earliest, end] = [Math.min(one, other), Math.max(one, other)];
      const there = (at: number): boolean => at >= earliest && at < end;
      const done = new Set(finished.filter((at) => at < end));
      const unfinished = new Set(begun.filter((at) => at < end && !done.has(at)));
      const log = logOf({ earliest, end, finished: done, begun: unfinished });
      const wanted = Array.from({ length: 41 }, (_, at) => at).filter((at) => !done.has(at) && (there(at) || unfinished.has(at)));
      expect(await crawlsLeft({ log, topics, clock: virtualClock(), withinMs: 1_000 })).toEqual({ count: wanted.length, isExact: true });
    }),
  );
});

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

interface Kept {
  readonly earliest: number;
  readonly end: number;
  readonly finished: ReadonlySet<number>;
  readonly begun: ReadonlySet<number>;
}

/** What is looked at of a log whose requests topic has lost its first wishes. */
function logOf({ earliest, end, finished, begun }: Kept): TopicLog {
  const ranges = offsetRanges();
  for (const offset of finished) ranges.add(offset);
  const state = new Map([['headgate/followers/0/lane', JSON.stringify(ranges.snapshot())]]);
  for (const offset of begun) {
    const checkpoint = { user: '@a', cursor: '7', page: 2, ids: 1, wish: { screenName: 'a' } };
    state.set(`headgate/followers/0/crawl/${offset}`, JSON.stringify(checkpoint));
  }
  const log: Partial<TopicLog> = {
    listTopics: () => Promise.resolve([{ name: 'followers.requests', partitions: 1, compacted: false, offsets: [{ earliest, end }] }]),
    readState: () => Promise.resolve<StateReading>(Object.assign(new Map(state), { ageMs: () => 0 })),
  };
  return log as TopicLog;
}
