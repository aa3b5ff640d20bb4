import { LaneHeldError, type NewRecord } from '@headgate/topics';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { definePipeline } from '../definition/define-pipeline.ts';
import { topicNames } from '../topics/names.ts';
import { logWith, temporaryLog } from '../testing/temporary-log.fixture.ts';
import { topicSpecs } from '../topics/topics.ts';
import { countOpenDeadLetters } from './open-dead-letters.ts';
import { type CloseDeadLettersOptions, dismissDeadLetters, replayDeadLetters } from './replay.ts';

const names = topicNames({ prefix: 'test.' });
const pipeline = definePipeline({
  name: 'shelves',
  options: z.strictObject({}),
  request: z.strictObject({ shelf: z.string() }),
  topics: {},
  keyOf({ shelf }) {
    if (shelf === 'keyless') throw new TypeError('no key');
    return shelf;
  },
  check({ shelf }) {
    if (shelf === 'burnt') throw new Error('That shelf burnt down.');
  },
  open: () => {
    throw new Error('nothing runs it');
  },
})({});

const dead = (key: string | null, value: unknown): NewRecord => ({
  topic: 'test.shelves.dead-letters',
  partition: 0,
  key,
  value: typeof value === 'string' ? value : JSON.stringify(value),
});

test('each dead letter’s request is enqueued once, even if the replay was interrupted', async () => {
  const all = Array.from({ length: 450 }, (_, n) => n);
  await using place = await deadLetters(all.map((n) => dead(`k${n}`, { request: { shelf: `s${n}` }, error: {} })));
  const { log, requests, replay } = place;
  const stop = new AbortController();
  const cutShort = logWith(log, {
    async openLane(spec, signal) {
      const writer = await log.openLane(spec, signal);
      const write = writer.transaction.bind(writer);
      return Object.assign(writer, {
        transaction: async (work: Parameters<typeof write>[0]) => {
          await write(work);
          stop.abort();
        },
      });
    },
  });
  await replay({ log: cutShort, signal: stop.signal });
  expect(await requests()).toHaveLength(200);
  expect(await replay()).toEqual({ replayed: 250, left: 0 });
  expect(await replay()).toEqual({ replayed: 0, left: 0 });
  expect(await requests()).toEqual(all.map((n) => [`k${n}`, `{"shelf":"s${n}"}`]));
});

test('a dead letter whose request no run could process stays open, with the reason, until it is dismissed', async () => {
  await using place = await deadLetters([
    dead('large', { request: null, error: {} }),
    dead('part', { record: { no: 'shelf' }, error: {} }),
    dead('foreign', 'not json'),
    dead('misfit', { request: { shelf: 7 } }),
    dead('unworkable', { request: { shelf: 'burnt' } }),
    dead('thrower', { request: { shelf: 'keyless' } }),
    dead(null, { request: { shelf: 'a' } }),
  ]);
  expect(await place.replay()).toEqual({ replayed: 1, left: 6 });
  expect(place.left).toMatchObject([
    { partition: 0, offset: 0, key: 'large', reason: 'It contains no job.' },
    { key: 'part', reason: 'It contains no job.' },
    { key: 'foreign', reason: expect.stringMatching(/JSON/) },
    { key: 'misfit', reason: expect.stringMatching(/^The job is malformed: shelf/) },
    { key: 'unworkable', reason: 'That shelf burnt down.' },
    { key: 'thrower', reason: expect.stringMatching(/no key/) },
  ]);
  expect(await place.requests()).toEqual([[null, '{"shelf":"a"}']]);
  expect(await place.replay()).toEqual({ replayed: 0, left: 6 });
  expect(await place.dismiss()).toBe(6);
  expect(await place.replay()).toEqual({ replayed: 0, left: 0 });
});

const failed = (key: string, code: string): NewRecord => dead(key, { request: { shelf: key }, error: { code, message: `${key} failed` } });

test('open dead letters are counted by code, chosen by a predicate, and closed by a replay or a dismissal, in any order', async () => {
  await using place = await deadLetters([
    failed('a', 'GONE'),
    failed('b', 'DENIED'),
    failed('c', 'GONE'),
    failed('d', 'DENIED'),
    dead('e', 'odd'),
  ]);
  expect(await place.open()).toEqual({ GONE: 2, DENIED: 2, HEADGATE_UNREADABLE_DEAD_LETTER: 1 });
  expect(await place.replay({ where: ({ code }) => code === 'DENIED', dryRun: true })).toEqual({ replayed: 2, left: 0 });
  expect(await place.open()).toEqual({ GONE: 2, DENIED: 2, HEADGATE_UNREADABLE_DEAD_LETTER: 1 });
  expect(await place.replay({ where: ({ code }) => code === 'DENIED' })).toEqual({ replayed: 2, left: 0 });
  expect(await place.open()).toEqual({ GONE: 2, HEADGATE_UNREADABLE_DEAD_LETTER: 1 });
  expect(await place.dismiss({ where: ({ key }) => key === 'c' })).toBe(1);
  expect(await place.open()).toEqual({ GONE: 1, HEADGATE_UNREADABLE_DEAD_LETTER: 1 });
  expect(await place.replay()).toEqual({ replayed: 1, left: 1 });
  expect((await place.requests()).map(([key]) => key)).toEqual(['b', 'd', 'a']);
  await place.log.append([failed('f', 'GONE')]);
  expect(await place.open()).toEqual({ GONE: 1, HEADGATE_UNREADABLE_DEAD_LETTER: 1 });
});

test('each group has its own open dead letters, and without the topics there are none', async () => {
  await using place = await deadLetters([failed('a', 'GONE')]);
  expect(await place.dismiss()).toBe(1);
  const { log } = place;
  expect(await countOpenDeadLetters({ log, pipeline: 'shelves', group: 'other', names })).toEqual({ GONE: 1 });
  expect(await countOpenDeadLetters({ log, pipeline: 'missing', names })).toEqual({});
});

test('the notes stay small if every other one of thousands of dead letters is closed', async () => {
  const all = Array.from({ length: 20_500 }, (_, n) => failed(`k${n}`, n % 2 === 0 ? 'EVEN' : 'ODD'));
  await using place = await deadLetters(all);
  expect(await place.dismiss({ where: ({ code }) => code === 'ODD' })).toBe(10_250);
  expect(await place.open()).toEqual({ EVEN: 10_250 });
  const state = await place.log.readState('test.headgate.state', 0);
  expect(state.size).toBe(11);
  expect(Math.max(...Array.from(state.values(), ({ length }) => length))).toBeLessThan(20_000);
  expect(await place.dismiss()).toBe(10_250);
  expect(await place.open()).toEqual({});
});

test('binary dead letters, and those of binary requests, stay and block nothing; a binary key is re-enqueued unchanged', async () => {
  const bytes = Uint8Array.of(0, 0xff);
  const deadLetter = { ...dead('framed', { request: null, requestBase64: 'AP8=' }), headers: { h: bytes } };
  await using place = await deadLetters([
    { ...dead('bytes', {}), value: bytes },
    deadLetter,
    { ...dead('a', { request: { shelf: 'a' } }), key: bytes },
  ]);
  expect(await place.replay()).toEqual({ replayed: 1, left: 2 });
  expect(place.left).toMatchObject([
    { key: 'bytes', reason: expect.stringMatching(/offset 0 .*contains bytes/) },
    { key: 'framed', reason: expect.stringMatching(/is binary/) },
  ]);
  const [request] = await Array.fromAsync(place.log.readBytes({ topic: 'test.shelves.requests' }));
  expect(request).toMatchObject({ key: bytes, value: new TextEncoder().encode('{"shelf":"a"}') });
  expect(await place.replay()).toEqual({ replayed: 0, left: 2 });
});

test('two replays at once don’t put a request back twice: the second finds the lane held', async () => {
  await using place = await deadLetters([dead('a', { request: { shelf: 'a' } })]);
  const held = await place.log.openLane({ name: 'headgate.replay', state: { topic: 'test.headgate.state', partition: 0 } });
  await expect(place.replay()).rejects.toBeInstanceOf(LaneHeldError);
  await held.close();
  expect(await place.replay()).toEqual({ replayed: 1, left: 0 });
});

async function deadLetters(records: readonly NewRecord[]) {
  const place = await temporaryLog(topicSpecs([pipeline], { lanes: 1, names }));
  const { log } = place;
  await log.append(records);
  const left: unknown[] = [];
  const { signal } = new AbortController();
  return {
    log,
    left,
    open: () => countOpenDeadLetters({ log, pipeline: 'shelves', names }),
    dismiss: (more: Partial<CloseDeadLettersOptions> = {}) => dismissDeadLetters({ log, pipeline: 'shelves', names, ...more }),
    replay: (more: Partial<CloseDeadLettersOptions> = {}) =>
      replayDeadLetters({ log, group: 'headgate', requests: pipeline.requests, names, signal, onLeft: (one) => left.push(one), ...more }),
    requests: async (): Promise<unknown[][]> => {
      const found: unknown[][] = [];
      for await (const { key, value } of log.read({ topic: 'test.shelves.requests' })) found.push([key, value]);
      return found;
    },
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}
