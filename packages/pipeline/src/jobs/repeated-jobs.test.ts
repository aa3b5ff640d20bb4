import type { ReadOptions, TopicRecord } from '@headgate/topics';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { ONCE, jobRecord } from '../topics/job.ts';
import { repeatedJobs } from './repeated-jobs.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);

/** A topic whose records have a name and, if given, the offset of a root. */
function topicOf(all: readonly (readonly [name: string | number | boolean, root?: number | string])[]) {
  const records = all.map(([name, root], offset): TopicRecord<Uint8Array> => ({
    topic: 'tree.requests',
    partition: 0,
    offset,
    timestampMs: 0,
    key: bytes(String(name)),
    value: bytes(JSON.stringify({ name })),
    headers: root === undefined ? {} : { [ONCE]: bytes(String(root)) },
  }));
  let reads = 0;
  const log = {
    // oxlint-disable-next-line typescript/require-await -- a log reads asynchronously.
    async *readBytes({ from }: ReadOptions) {
      reads += 1;
      yield* records.slice(Number(from));
    },
  };
  const repeatedFrom = async (from: number, forgetAt: readonly number[] = []): Promise<number[]> => {
    const repeated = repeatedJobs({ log, topic: 'tree.requests', partition: 0, from });
    const found: number[] = [];
    for (const record of records.slice(from)) {
      if (forgetAt.includes(record.offset)) repeated.forget(record.offset);
      if (await repeated.has(jobRecord(record))) found.push(record.offset);
    }
    return found;
  };
  return { repeatedFrom, reads: () => reads };
}

it('finds the second of two equal requests of a root, and those of another root that is older', async () => {
  const { repeatedFrom } = topicOf([['a'], ['b'], ['x', 0], ['x', 0], ['x', 1], ['y', 1]]);
  expect(await repeatedFrom(0)).toEqual([3, 4]);
});

it('finds the second of a number and its text, but not of other texts', async () => {
  const { repeatedFrom } = topicOf([['a'], [7, 0], ['7', 0], ['7.0', 0], ['07', 0], [true, 0], ['true', 0]]);
  expect(await repeatedFrom(0)).toEqual([2]);
});

it('lets a root that was added after the first one request it again', async () => {
  const { repeatedFrom } = topicOf([['a'], ['x', 0], ['a'], ['x', 2], ['x', 2]]);
  expect(await repeatedFrom(0)).toEqual([4]);
});

it('counts only requests that are not repetitions themselves', async () => {
  // The last x has the root b. The x after b is itself a repetition, so the last x isn't one.
  const { repeatedFrom } = topicOf([['a'], ['x', 0], ['b'], ['x', 0], ['x', 2]]);
  expect(await repeatedFrom(0)).toEqual([3]);
});

it('treats requests without a root, or with one that no page wrote, as roots', async () => {
  const { repeatedFrom } = topicOf([['a'], ['x'], ['x'], ['x', 3], ['x', 9], ['x', 'none'], ['x', -1], ['x', '1e0']]);
  expect(await repeatedFrom(0)).toEqual([]);
});

it('reads nothing while the roots are known', async () => {
  const { repeatedFrom, reads } = topicOf([['a'], ['x', 0], ['x', 0]]);
  await repeatedFrom(0);
  expect(reads()).toBe(0);
});

it('finds the same repetitions wherever it starts, and whenever it drops its cache', async () => {
  const requests = fc
    .array(fc.record({ name: fc.constantFrom('x', 'y', 'z'), back: fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined }) }), {
      maxLength: 30,
    })
    .map((all) => all.map(({ name, back }, i) => (back === undefined || back > i ? ([name] as const) : ([name, i - back] as const))));
  await fc.assert(
    fc.asyncProperty(requests, fc.nat(30), fc.array(fc.nat(30), { maxLength: 3 }), async (all, from, forgetAt) => {
      const { repeatedFrom } = topicOf(all);
      const whole = await repeatedFrom(0);
      expect(await repeatedFrom(from, forgetAt)).toEqual(whole.filter((offset) => offset >= from));
    }),
    { numRuns: 500 },
  );
});
