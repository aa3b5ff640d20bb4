import { virtualClock } from '@headgate/throttle/testing';
import type { LaneWriter } from '@headgate/topics';
import { expect, test } from 'vitest';
import * as z from 'zod';
import type { Pipeline } from '../definition/pipeline.ts';
import { definePipeline } from '../definition/define-pipeline.ts';
import { topicNames } from '../topics/names.ts';
import { logWith, temporaryLog } from '../testing/temporary-log.fixture.ts';
import { topicSpecs } from '../topics/topics.ts';
import { enqueueLists, listedAndDue } from './job-list.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const names = topicNames();

type Entry = { readonly word: string } | { readonly phrase: string };

/** A pipeline with a list. No test runs it. `spelling`: converts each text in the schema. */
function listing(name: string, words: readonly (string | Entry)[], every?: string, spelling = (text: string): string => text): Pipeline {
  return definePipeline({
    name,
    options: z.strictObject({ note: z.string().optional() }),
    request: z.union([
      z.strictObject({ word: z.string().transform(spelling) }),
      z.strictObject({ phrase: z.string().transform(spelling) }),
    ]),
    topics: {},
    keyOf: (request) => ('word' in request ? request.word : request.phrase),
    listed: () => words.map((word) => (typeof word === 'string' ? { word } : word)),
    open: () => {
      throw new Error('nothing runs it');
    },
  })(every === undefined ? {} : { every });
}

const shelves = listing('shelves', ['alpha', 'beta'], '24h');
const items = listing('items', ['one', { phrase: 'Ada' }], '7h');

test('a list is due one period after it was enqueued, according to its marker', async () => {
  await using place = await listPlace();
  const { options, clock, count } = place;
  const start = clock.epochMs();
  expect(await enqueueLists(options)).toEqual({ from: start - 7 * HOUR, until: start + 7 * HOUR });
  expect(await count()).toEqual([2, 2]);

  await clock.advance(7 * HOUR - 1);
  expect(await enqueueLists(options)).toEqual({ from: start - 7 * HOUR, until: start + 7 * HOUR });
  expect(await count()).toEqual([2, 2]);
  await clock.advance(1);
  const state = await options.log.readState('headgate.state', 0);
  expect(listedAndDue({ ...options, state }).map(({ key }) => key)).toEqual(['one', 'Ada']);
  expect(await enqueueLists(options)).toEqual({ from: start, until: start + 14 * HOUR });
  expect(await count()).toEqual([2, 4]);
  await clock.advance(17 * HOUR);
  await enqueueLists(options);
  expect(await count()).toEqual([4, 6]);
});

test("a request's own period replaces that of its list", async () => {
  await using place = await listPlace();
  const { options, clock, count } = place;
  const pipeline = definePipeline({
    name: 'shelves',
    options: z.strictObject({ note: z.string().optional() }),
    request: z.strictObject({ word: z.string() }),
    topics: {},
    keyOf: ({ word }) => word,
    listed: () => [{ word: 'hourly' }, { word: 'daily' }],
    every: ({ word }) => (word === 'hourly' ? HOUR : undefined),
    open: () => {
      throw new Error('nothing runs it');
    },
  })({ every: '24h' });
  const counts: unknown[] = [];
  for (const hours of [1, 1, 22, 24]) {
    await enqueueLists({ ...options, pipelines: [pipeline] });
    counts.push((await count())[0]);
    await clock.advance(hours * HOUR);
  }
  expect(counts).toEqual([2, 3, 4, 6]);
});

test('a list without a period is enqueued once, and so is each later addition', async () => {
  await using place = await listPlace();
  const { options, clock, count } = place;
  for (const words of [
    ['a', 'b'],
    ['a', 'b'],
    ['a', 'b', 'c', 'c'],
  ]) {
    expect(await enqueueLists({ ...options, pipelines: [listing('shelves', words)] })).toEqual({ from: -Infinity, until: Infinity });
    await clock.advance(60 * DAY);
  }
  expect(await count()).toEqual([3, 0]);
});

test('requests that differ in anything are separate requests, even with the same key', async () => {
  await using place = await listPlace();
  const pipeline = definePipeline({
    name: 'shelves',
    options: z.strictObject({}),
    request: z.strictObject({ kind: z.string(), key: z.string(), page: z.int().default(1) }),
    topics: {},
    keyOf: ({ key }) => key,
    listed: () => [
      { kind: 'orders', key: 'a' },
      { kind: 'products', key: 'a' },
      { page: 1, key: 'a', kind: 'orders' },
      { kind: 'orders', key: 'a', page: 2 },
    ],
    open: () => {
      throw new Error('nothing runs it');
    },
  })({});
  const options = { ...place.options, pipelines: [pipeline] };
  const written = ['{"kind":"orders","key":"a"}', '{"kind":"products","key":"a"}', '{"kind":"orders","key":"a","page":2}'];
  const state = await options.log.readState('headgate.state', 0);
  expect(listedAndDue({ ...options, state }).map(({ value }) => value)).toEqual(written);
  await enqueueLists(options);
  await enqueueLists(options);
  const values: (string | null)[] = [];
  for await (const { key, value } of options.log.read({ topic: 'shelves.requests' })) values.push(`${key} ${value}`);
  expect(values).toEqual(written.map((value) => `a ${value}`));
});

test('a marker is deleted after its request was off the list for 30 days, and no earlier', async () => {
  await using place = await listPlace();
  const { options, clock } = place;
  const enqueue = async (...words: string[]): Promise<readonly string[]> => {
    await enqueueLists({ ...options, pipelines: [listing('shelves', words)] });
    const state = await options.log.readState('headgate.state', 0);
    return [...state].map(([key]) => key.slice(key.lastIndexOf('/') + 1)).sort();
  };
  expect(await enqueue('stays', 'goes')).toEqual(['goes', 'stays']);
  await clock.advance(40 * DAY);
  expect(await enqueue('stays', 'new')).toEqual(['goes', 'new', 'stays']);
  await clock.advance(30 * DAY);
  expect(await enqueue('stays', 'new')).toEqual(['goes', 'new', 'stays']);
  await clock.advance(1);
  expect(await enqueue('stays', 'new')).toEqual(['new', 'stays']);
});

test('a request that is in its list again keeps its marker, and the 30 days start again when it leaves', async () => {
  await using place = await listPlace();
  const { options, clock, count } = place;
  const enqueue = async (...words: string[]): Promise<number | undefined> => {
    await enqueueLists({ ...options, pipelines: [listing('shelves', words)] });
    return (await count())[0];
  };
  expect(await enqueue('goes')).toBe(1);
  await clock.advance(40 * DAY);
  expect(await enqueue('new')).toBe(2);
  await clock.advance(20 * DAY);
  expect(await enqueue('goes', 'new')).toBe(2);
  await clock.advance(20 * DAY);
  expect(await enqueue('new', 'newer')).toBe(3);
  await clock.advance(20 * DAY);
  expect(await enqueue('goes', 'new', 'newer')).toBe(3);
});

test('a run of one pipeline keeps the markers of the others', async () => {
  await using place = await listPlace();
  const { options, clock, count } = place;
  const pipelines = [listing('shelves', ['a', 'b']), listing('items', ['one'])];
  await enqueueLists({ ...options, pipelines });
  for (const words of [
    ['one', 'two'],
    ['one', 'two', 'three'],
  ]) {
    await clock.advance(31 * DAY);
    await enqueueLists({ ...options, pipelines: [listing('items', words)] });
  }
  await enqueueLists({ ...options, pipelines });
  expect(await count()).toEqual([2, 3]);
});

test('a marker of another group is kept, because its list is separate', async () => {
  await using place = await listPlace();
  const { options, clock, count } = place;
  const pipelines = [listing('shelves', ['a'])];
  await enqueueLists({ ...options, pipelines, group: 'other' });
  await clock.advance(40 * DAY);
  await enqueueLists({ ...options, pipelines });
  await enqueueLists({ ...options, pipelines, group: 'other' });
  expect(await count()).toEqual([2, 0]);
});

test('a marker more than a period in the future is due', async () => {
  await using place = await listPlace();
  const { options, clock, count } = place;
  clock.stepEpoch(10 * HOUR);
  await enqueueLists(options);
  clock.stepEpoch(-10 * HOUR);
  const now = clock.epochMs();
  const nothingDue = await enqueueLists(options);
  expect(await count()).toEqual([2, 4]);
  expect(nothingDue).toEqual({ from: now - 7 * HOUR, until: now + 7 * HOUR });
});

test('waits for another process that writes a list, until a signal', async () => {
  await using place = await listPlace();
  const { options, clock, count } = place;
  const held = await options.log.openLane({ name: 'headgate.request-list', state: { topic: 'headgate.state', partition: 0 } });
  const stop = new AbortController();
  const stopped = enqueueLists({ ...options, signal: stop.signal });
  const patient = enqueueLists(options);
  await expect.poll(() => clock.pending).toBe(2);
  stop.abort(new Error('stopped'));
  expect(await stopped).toEqual({ from: -Infinity, until: Infinity });
  expect([await count(), clock.pending]).toEqual([[0, 0], 1]);
  await held.close();
  // `enqueueLists` waits at least 100 ms before it tries to take the lane again.
  await clock.advance(99);
  expect([await count(), clock.pending]).toEqual([[0, 0], 1]);
  await clock.advance(401);
  await patient;
  expect([await count(), clock.pending]).toEqual([[2, 2], 0]);
});

test('a request listed twice is written and forecast once, in its first spelling', async () => {
  await using place = await listPlace();
  const twice = listing('shelves', ['Ada', { phrase: 'Ada' }, 'ADA', { phrase: 'ADA' }], undefined, (text) => text.toLowerCase());
  const options = { ...place.options, pipelines: [twice] };
  const state = await options.log.readState('headgate.state', 0);
  const due = listedAndDue({ ...options, state }).map(({ value }) => value);
  await enqueueLists(options);
  const written: (string | null)[] = [];
  for await (const { value } of options.log.read({ topic: 'shelves.requests' })) written.push(value);
  expect([written, due]).toEqual(Array.from({ length: 2 }, () => ['{"word":"Ada"}', '{"phrase":"Ada"}']));
});

test('thousands of requests, each listed twice, are written once, even if a signal interrupts the write', async () => {
  await using place = await listPlace();
  const words = Array.from({ length: 2_345 }, (_, i) => `word ${i}`);
  const options = { ...place.options, pipelines: [listing('shelves', [...words, ...words])] };
  const stop = new AbortController();
  const log = logWith(options.log, {
    async openLane(lane) {
      const writer = await options.log.openLane(lane);
      const write = writer.transaction.bind(writer);
      const transaction: LaneWriter['transaction'] = async (work) => {
        await write(work);
        stop.abort(new Error('stopped'));
      };
      return Object.assign(writer, { transaction });
    },
  });
  await enqueueLists({ ...options, log, signal: stop.signal });
  expect(await place.count()).toEqual([1_000, 0]);
  await enqueueLists(options);
  await enqueueLists(options);
  const keys: (string | null)[] = [];
  for await (const { key } of options.log.read({ topic: 'shelves.requests' })) keys.push(key);
  expect(keys).toEqual(words);
});

test('throws an error of the log, unless a signal has arrived', async () => {
  await using place = await listPlace();
  const failing = (stop?: AbortController) =>
    enqueueLists({
      ...place.options,
      log: logWith(place.options.log, {
        openLane() {
          stop?.abort();
          return Promise.reject(new Error('disk full'));
        },
      }),
      ...(stop !== undefined && { signal: stop.signal }),
    });
  await expect(failing()).rejects.toThrow('disk full');
  await failing(new AbortController());
});

/** Opens an embedded log with two lists, and a clock that only the test advances. */
async function listPlace() {
  const clock = virtualClock();
  const place = await temporaryLog(topicSpecs([shelves, items], { lanes: 1, names }));
  const { log } = place;
  const ends = async (topic: string): Promise<number> => (await log.listTopics([topic]))[0]?.offsets[0]?.end ?? 0;
  return {
    options: {
      log,
      group: 'headgate',
      pipelines: [shelves, items],
      names,
      clock,
      signal: new AbortController().signal,
      onNoneNoted: () => undefined,
    },
    clock,
    count: async () => [await ends('shelves.requests'), await ends('items.requests')],
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}
