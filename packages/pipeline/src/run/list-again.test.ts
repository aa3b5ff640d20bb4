import { virtualClock } from '@headgate/throttle/testing';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { definePipeline } from '../definition/define-pipeline.ts';
import { topicNames } from '../topics/names.ts';
import { ONCE } from '../topics/job.ts';
import { topicSpecs } from '../topics/topics.ts';
import { temporaryLog } from '../testing/temporary-log.fixture.ts';
import { enqueueLists } from './job-list.ts';

const names = topicNames();

const shelves = (words: readonly string[]) =>
  definePipeline({
    name: 'shelves',
    options: z.strictObject({}),
    request: z.strictObject({ word: z.string() }),
    topics: {},
    keyOf: ({ word }) => word,
    credentials: () => [{ name: 'one' }, { name: 'two' }],
    listed: () => words.map((word) => ({ word })),
    open: () => {
      throw new Error('nothing runs it');
    },
  })({});

async function place(words: readonly string[], lanes: number) {
  const clock = virtualClock();
  const pipelines = [shelves(words)];
  const place = await temporaryLog(topicSpecs(pipelines, { lanes, names }));
  const { log } = place;
  const unfinished: string[] = [];
  const onUnfinished = (_: unknown, requests: Iterable<{ readonly key: string }>): void =>
    void unfinished.push(...Array.from(requests, ({ key }) => key));
  const again = { pipeline: 'shelves', lanes, onUnfinished };
  const options = { log, group: 'headgate', pipelines, names, clock, signal: new AbortController().signal, onNoneNoted: () => undefined };
  const lane = async (partition: number) =>
    await log.openLane({ name: `lane ${partition}`, state: { topic: 'shelves.state', partition }, writes: [] });
  return {
    log,
    enqueue: async () => await enqueueLists(options),
    async again() {
      unfinished.length = 0;
      const before = await ends();
      await enqueueLists({ ...options, again });
      return { unfinished: [...unfinished], added: (await ends()) - before };
    },
    /** Marks the first `count` requests of a partition as finished, and those in the ranges of `done`. */
    async finish(partition: number, count: number, done: readonly (readonly [from: number, to: number])[] = []) {
      await using writer = await lane(partition);
      await writer.transaction((tx) => tx.checkpoint('headgate/lane', JSON.stringify({ next: count, done })));
    },
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
  async function ends(): Promise<number> {
    return (await log.listTopics(['shelves.requests']))[0]?.offsets.reduce((sum, { end }) => sum + end, 0) ?? 0;
  }
}

it('unfinished jobs are found in every lane', async () => {
  await using log = await place(['a', 'b', 'c', 'd'], 2);
  await log.enqueue();
  const all = await log.again();
  expect([all.added, all.unfinished.toSorted()]).toEqual([0, ['a', 'b', 'c', 'd']]);
  const lanes = [0, 1].map(async (partition) =>
    Array.fromAsync(log.log.read({ topic: 'shelves.requests', partitions: [partition] }), ({ key }) => key),
  );
  const [first, second] = await Promise.all(lanes);
  await log.finish(1, second?.length ?? 0);
  const some = await log.again();
  expect([some.added, some.unfinished]).toEqual([second?.length, first]);
});

it('a job that another job created counts as unfinished work of the whole list, if the pipeline has no groups', async () => {
  await using log = await place(['a', 'b'], 1);
  await log.enqueue();
  await log.finish(0, 2);
  await log.log.append([{ topic: 'shelves.requests', key: 'other', value: '{"word":"other"}' }]);
  expect(await log.again()).toEqual({ unfinished: [], added: 2 });
  await log.finish(0, 5);
  await log.log.append([{ topic: 'shelves.requests', key: 'x', value: '{"word":"x"}', headers: { [ONCE]: '0' } }]);
  expect(await log.again()).toEqual({ unfinished: ['a', 'b'], added: 0 });
});

it('thousands of jobs, each listed twice, are added again once', async () => {
  const words = Array.from({ length: 2_345 }, (_, i) => `word ${i}`);
  await using log = await place([...words, ...words], 1);
  await log.enqueue();
  await log.finish(0, words.length);
  expect(await log.again()).toEqual({ unfinished: [], added: words.length });
});

it('a record that is no request is not unfinished work', async () => {
  await using log = await place(['a'], 1);
  await log.log.append([{ topic: 'shelves.requests', key: 'a', value: '{"word":1}' }]);
  expect(await log.again()).toEqual({ unfinished: [], added: 1 });
});

it('a finished job after an unfinished one is added again', async () => {
  await using log = await place(['a', 'b', 'c'], 1);
  await log.enqueue();
  await log.finish(0, 0, [[1, 1]]);
  expect(await log.again()).toEqual({ unfinished: ['a', 'c'], added: 1 });
});
