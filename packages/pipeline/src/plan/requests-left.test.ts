import type { StateReading, TopicLog } from '@headgate/topics';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { offsetRanges } from '../lane/offset-ranges.ts';
import { topicNames } from '../names.ts';
import { requestsLeft } from './requests-left.ts';

it('counts each request that is not finished: those in the topic, and begun walks of requests that it has lost', async () => {
  const offset = fc.nat(40);
  await fc.assert(
    fc.asyncProperty(offset, offset, fc.array(offset), fc.array(offset), async (one, other, finished, begun) => {
      const [earliest, end] = [Math.min(one, other), Math.max(one, other)];
      const there = (at: number): boolean => at >= earliest && at < end;
      const done = new Set(finished.filter((at) => at < end));
      const unfinished = new Set(begun.filter((at) => at < end && !done.has(at)));
      const log = logOf({ earliest, end, finished: done, begun: unfinished });
      const wanted = Array.from({ length: 41 }, (_, at) => at).filter((at) => !done.has(at) && (there(at) || unfinished.has(at)));
      const pipeline = { name: 'shelves', credentials: undefined };
      expect(await requestsLeft({ log, group: 'headgate', pipeline, lanes: 1, names: topicNames() })).toBe(wanted.length);
    }),
  );
});

interface Kept {
  readonly earliest: number;
  readonly end: number;
  readonly finished: ReadonlySet<number>;
  readonly begun: ReadonlySet<number>;
}

/** What is looked at of a log whose requests topic has lost its first requests. */
function logOf({ earliest, end, finished, begun }: Kept): TopicLog {
  const ranges = offsetRanges();
  for (const offset of finished) ranges.add(offset);
  const state = new Map([['headgate/lane', JSON.stringify(ranges.snapshot())]]);
  for (const offset of begun) {
    const walk = { key: 'a', from: '7', page: 2, items: 1, seen: '', request: '{}' };
    state.set(`headgate/walk/${offset}`, JSON.stringify(walk));
  }
  const log: Partial<TopicLog> = {
    listTopics: () => Promise.resolve([{ name: 'shelves.requests', partitions: 1, compacted: false, offsets: [{ earliest, end }] }]),
    readState: () => Promise.resolve<StateReading>(Object.assign(new Map(state), { ageMs: () => 0 })),
  };
  return log as TopicLog;
}
