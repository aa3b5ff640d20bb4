import { virtualClock } from '@headgate/throttle/testing';
import { LaneLostError, type TopicLog } from '@headgate/topics';
import * as fc from 'fast-check';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import * as z from 'zod';
import type { JobEvent, RunEvent } from '../events/events.ts';
import type { Lane } from '../lane/lane.ts';
import { openLane } from '../lane/lane.ts';
import { topicNames } from '../topics/names.ts';
import { notifier } from '../lane/notifier.ts';
import { PipelineError } from '../settings/pipeline-error.ts';
import { logWith, temporaryLog } from '../testing/temporary-log.fixture.ts';
import { recordMakers, topic } from '../topics/topic.ts';
import { topicSpecs } from '../topics/topics.ts';
import { RESUME, type JobRecord } from '../topics/job.ts';
import { type AfterStage, type AfterWork, afterRow, afterWork } from './after.ts';
import { LastCrawls } from './last-crawls.ts';
import { afterStageOf, walkStates } from './walk-state.ts';
import type { After } from './walk-definition.ts';

const names = topicNames();
const clock = virtualClock();
const topics = { records: topic({ value: z.string() }) };
const DAY = 86_400_000;
/** Maximum records in one transaction. Must equal `CHUNK` in after.ts. */
const CHUNK = 5_000;

type Work = After<typeof topics>;

/** Returns work that yields `count` records, which name the compared crawls. */
function writing(count: number): Work {
  return async function* (crawl, previous, io) {
    await Promise.resolve();
    for (let i = 0; i < count; i += 1) {
      yield io.topics.records({ key: crawl.key, value: `${crawl.id} after ${previous?.id ?? 'none'} ${i}`, kind: 'compared' });
    }
  };
}

test('each record is written once and in order, however often the work is stopped between its chunks', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 3 * CHUNK + 1 }),
      fc.array(fc.integer({ min: 1, max: 2 }), { maxLength: 3 }),
      async (count, stops) => {
        await using place = await afterPlace();
        await inLane(place.log, writing(count), async ({ crawl }) => await crawl('one'), stops[0]);
        for (const stop of [...stops.slice(1), undefined])
          await inLane(place.log, writing(count), async () => await Promise.resolve(), stop);
        expect(await written(place.log)).toEqual(Array.from({ length: count }, (_, i) => `one after none ${i}`));
      },
    ),
    { numRuns: 6 },
  );
});

test('stopped work continues, and each run reports which records it has written', async () => {
  await using place = await afterPlace();
  const told = (events: readonly (JobEvent | RunEvent)[]) =>
    events.map((event) =>
      event.type === 'after-written' ? [event.counts, event.kinds] : event.type === 'notice' ? event.message : event.type,
    );
  expect(told(await inLane(place.log, writing(CHUNK + 7), async ({ crawl }) => await crawl('one'), 1))).toEqual([
    [{ records: CHUNK }, { compared: CHUNK }],
  ]);
  expect(told(await inLane(place.log, writing(CHUNK + 7), async () => await Promise.resolve()))).toEqual([
    'a: the comparison continues',
    [{ records: 7 }, { compared: 7 }],
  ]);
  expect(told(await inLane(place.log, writing(CHUNK + 7), async () => await Promise.resolve()))).toEqual([]);
  // This stop comes after the work's last record, so the next run has nothing more to write.
  await inLane(place.log, writing(CHUNK), async ({ crawl }) => await crawl('two'), 1);
  expect(told(await inLane(place.log, writing(CHUNK), async () => await Promise.resolve()))).toEqual(['a: the comparison continues']);
});

test('work without a record reports that it is done, and its warnings', async () => {
  await using place = await afterPlace();
  const warning: Work = async function* (_, __, io) {
    io.warn('the walk before is gone');
    yield* await Promise.resolve([]);
  };
  expect(await inLane(place.log, warning, async ({ crawl }) => await crawl('one'))).toEqual([
    { type: 'notice', level: 'warn', message: 'a: the walk before is gone' },
    { type: 'after-written', pipeline: 'shelves', key: 'a', request: 'one', counts: {}, kinds: {} },
  ]);
});

test('a walk that ends during the work waits for it, and none of its work is done twice', async () => {
  await using place = await afterPlace();
  const gate = Promise.withResolvers<void>();
  let [running, most] = [0, 0];
  const waiting: Work = async function* (crawl, previous, io) {
    running += 1;
    most = Math.max(most, running);
    await gate.promise;
    yield* writing(1)(crawl, previous, io);
    running -= 1;
  };
  await inLane(place.log, waiting, async ({ crawl }) => {
    await crawl('1');
    await crawl('2');
    await setImmediate();
    gate.resolve();
  });
  expect(await written(place.log)).toEqual(['1 after none 0', '2 after 1 0']);
  expect(most).toBe(1);
});

test('after a restart a walk is compared with the one before it, whose work is not forgotten', async () => {
  await using place = await afterPlace();
  const stuck: Work = async function* (_, __, { signal }) {
    yield* await new Promise<never[]>((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
  };
  for (const id of ['1', '2', '3']) {
    await inLane(place.log, stuck, async ({ crawl, stop }) => {
      await crawl(id);
      stop();
    });
  }
  await inLane(place.log, writing(1), async () => await Promise.resolve());
  expect(await written(place.log)).toEqual(['1 after none 0', '2 after 1 0', '3 after 2 0']);
  await inLane(place.log, writing(1), async ({ work }) => expect(await work.offsets()).toEqual({ records: 3 }));
});

test('work that the log refuses ends the lane', async () => {
  await using place = await afterPlace();
  const lost: Work = async function* () {
    await setImmediate();
    yield* await Promise.reject<never[]>(new LaneLostError({ lane: 'shelves-0' }));
  };
  await expect(inLane(place.log, lost, async ({ crawl }) => await crawl('one'))).rejects.toThrow(LaneLostError);
});

test.each([
  ['at once', false],
  ['after a restart', true],
])('pieces of work that wait for each other are done once and in the order of the walks, %s', async (_, isStopped) => {
  await using place = await afterPlace();
  await inLane(place.log, writing(1), async ({ crawl, stop }) => {
    if (isStopped) stop();
    for (let id = 1; id <= 12; id += 1) await crawl(String(id));
  });
  expect((await written(place.log)).length === 0).toBe(isStopped);
  await inLane(place.log, writing(1), async () => await Promise.resolve());
  expect(await written(place.log)).toEqual(Array.from({ length: 12 }, (_, i) => `${i + 1} after ${i === 0 ? 'none' : i} 0`));
});

test('work that throws is a dead letter with its place, whose replay does the rest; the next walk does not wait for it', async () => {
  await using place = await afterPlace();
  const failing: Work = async function* (crawl, previous, io) {
    yield* writing(CHUNK)(crawl, previous, io);
    if (crawl.id === 'two') throw new Error('boom.');
  };
  const events = await inLane(place.log, failing, async ({ crawl }) => {
    for (const id of ['one', 'two', 'three']) await crawl(id);
  });
  const message = 'a: the comparison failed (two): boom. Fix it, then replay the job: a replay does only this work.';
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'dead-letter', key: 'a', error: expect.objectContaining({ code: 'HEADGATE_USER_FUNCTION', message }) }),
  );
  const all = (id: string, previous: string, count: number) => Array.from({ length: count }, (_, i) => `${id} after ${previous} ${i}`);
  const before = [...all('one', 'none', CHUNK), ...all('two', 'one', CHUNK), ...all('three', 'two', CHUNK)];
  expect(await written(place.log)).toEqual(before);
  expect(await inLane(place.log, failing, async () => await Promise.resolve())).toEqual([]);
  await inLane(place.log, writing(CHUNK + 2), async ({ replay }) => await replay());
  expect(await written(place.log)).toEqual([...before, ...all('two', 'one', CHUNK + 2).slice(CHUNK)]);
  expect(await inLane(place.log, writing(2), async () => await Promise.resolve())).toEqual([]);
});

test('work whose records are gone is dropped, with a warning', async () => {
  await using place = await afterPlace();
  const gone: Work = () => {
    throw new PipelineError({ code: 'HEADGATE_STATE_LOST', message: 'Page 1 is gone.' });
  };
  expect((await inLane(place.log, gone, async ({ crawl }) => await crawl('one')))[0]).toEqual({
    type: 'notice',
    level: 'warn',
    message: 'a: the comparison was dropped (one): Page 1 is gone.',
  });
  expect(await inLane(place.log, gone, async () => await Promise.resolve())).toEqual([]);
  expect(await deadLetters(place.log)).toEqual([]);
});

test('work that fails midway continues after its series, whatever their lengths', async () => {
  const count = CHUNK + 3;
  const series = (breaksAt: number): Work =>
    async function* (crawl, _, io) {
      await Promise.resolve();
      for (let nth = 0; nth < count; nth += 1) {
        if (nth === breaksAt) throw new Error('boom');
        yield io.topics.records.series({ key: crawl.key, count: nth % 3, valueAt: (i) => `${nth} ${i}` });
      }
    };
  await using place = await afterPlace();
  await inLane(place.log, series(CHUNK + 1), async ({ crawl }) => await crawl('one'));
  await inLane(place.log, series(count), async ({ replay }) => await replay());
  const wanted = Array.from({ length: count }, (_, nth) => Array.from({ length: nth % 3 }, (_value, i) => `${nth} ${i}`));
  expect(await written(place.log)).toEqual(wanted.flat());
});

test('unfinished work of a pipeline that no longer has any is dropped, with a warning', async () => {
  await using place = await afterPlace();
  await inLane(place.log, writing(1), async ({ crawl, stop }) => {
    stop();
    await crawl('one');
  });
  const events = await inLane(place.log, undefined, async () => await Promise.resolve());
  expect(events).toEqual([
    {
      type: 'notice',
      level: 'warn',
      message: 'a: the work after its crawl one was dropped, because the pipeline no longer defines it for this kind of job',
    },
  ]);
  expect(await inLane(place.log, writing(1), async () => await Promise.resolve())).toEqual([]);
});

test('work whose record its topic does not accept fails, and its lane continues', async () => {
  await using place = await afterPlace();
  const small = logWith(place.log, { recordLimit: () => Promise.resolve({ bytes: 1_000 }) });
  const large: Work = async function* (crawl, _, io) {
    await Promise.resolve();
    yield io.topics.records({ key: crawl.key, value: crawl.id === 'one' ? 'x'.repeat(1_000) : 'small' });
  };
  const events = await inLane(small, large, async ({ crawl }) => {
    await crawl('one');
    await crawl('two');
  });
  expect(events).toContainEqual(
    expect.objectContaining({
      type: 'dead-letter',
      error: expect.objectContaining({
        code: 'HEADGATE_RECORD_TOO_LARGE',
        message: expect.stringMatching(/failed \(one\): .*but shelves\.records accepts at most 1000 bytes/),
      }),
    }),
  );
  expect(await written(place.log)).toEqual(['small']);
});

test('the last walk of a key is forgotten after 90 days without a walk, and no earlier', async () => {
  await using place = await afterPlace();
  await inLane(place.log, writing(0), async ({ crawl }) => {
    await crawl('0', 'gone');
    await crawl('1', 'kept');
    await crawl('2', 'old');
    await crawl('3', 'again');
  });
  const ages: Record<string, number> = { kept: 90 * DAY, old: 90 * DAY + 1, again: 91 * DAY, gone: 91 * DAY };
  await inLane(place.log, writing(1), async ({ crawl }) => await crawl('4', 'again'), undefined, ages);
  // The earlier walk of this key is forgotten, so this walk was compared with none.
  expect(await written(place.log)).toEqual(['4 after none 0']);
  const state = await place.log.readState('shelves.state', 0);
  expect(
    [...state]
      .map(([key]) => key)
      .filter((key) => key.startsWith('g/last/'))
      .sort(),
  ).toEqual(['g/last/again', 'g/last/kept']);
});

test('a lane that is held for years forgets keys as well', async () => {
  await using place = await afterPlace();
  await inLane(place.log, writing(0), async ({ crawl, last }) => {
    await crawl('1', 'old');
    await clock.advance(60 * DAY);
    await crawl('2', 'kept');
    await clock.advance(30 * DAY + 1);
    expect([last.of('old'), last.of('kept')]).toEqual([undefined, expect.anything()]);
    await crawl('3', 'new');
    const state = await place.log.readState('shelves.state', 0);
    expect([...state.keys()].filter((key) => key.startsWith('g/last/')).sort()).toEqual(['g/last/kept', 'g/last/new']);
  });
});

async function deadLetters(log: TopicLog): Promise<readonly string[]> {
  const notes: string[] = [];
  for await (const { headers } of log.read({ topic: 'shelves.dead-letters' })) notes.push(headers[RESUME] ?? '');
  return notes;
}

async function afterPlace() {
  return await temporaryLog(topicSpecs([{ name: 'shelves', topics, credentials: undefined, usualBytes: {} }], { lanes: 1, names }));
}

interface Use {
  readonly lane: Lane;
  readonly last: LastCrawls;
  readonly work: AfterWork;
  readonly stop: () => void;
  readonly crawl: (id: string, key?: string) => Promise<void>;
  /** Replays the newest dead letter. */
  readonly replay: () => Promise<void>;
}

/**
 * Opens a lane and runs the work after its walks, until the work is done or `stopAfter` chunks are written. Returns the events. `ages`:
 * ages of the last walks by key, in ms.
 */
async function inLane(
  log: TopicLog,
  after: Work | undefined,
  use: (use: Use) => Promise<void>,
  stopAfter = Infinity,
  ages: Readonly<Record<string, number>> = {},
): Promise<(JobEvent | RunEvent)[]> {
  const lane = await openLane({
    log,
    group: 'g',
    topic: 'shelves.requests',
    partition: 0,
    state: { topic: 'shelves.state', partition: 0 },
    writes: ['records', 'dead-letters'].map((name) => ({ topic: `shelves.${name}`, partition: 0 })),
    clock,
  });
  const waker = notifier({ clock });
  const events: (JobEvent | RunEvent)[] = [];
  let chunksLeft = stopAfter;
  const stopped = new AbortController();
  const stop = (): void => stopped.abort();
  const stopping: Lane = {
    ...lane,
    // A log guarantees no order of keys, so reverse their order.
    stateUnder: (prefix) =>
      lane
        .stateUnder(prefix)
        .map((value) => ({ ...value, ageMs: ages[value.key] ?? value.ageMs }))
        .toReversed(),
    async commit(contribution) {
      await lane.commit(contribution);
      if (contribution.records.length > 0 && (chunksLeft -= 1) <= 0) stop();
    },
  };
  const makers = recordMakers({
    pipeline: 'shelves',
    topics,
    names,
    partition: 0,
    validate: false,
    serializers: new Map(),
  });
  const context = {
    pipeline: 'shelves',
    kind: '',
    lane: stopping,
    log,
    names,
    stopping: stopped.signal,
    clock,
    emit: (event: JobEvent | RunEvent) => void events.push(event),
    topics: makers as never,
  } as never;
  const last = new LastCrawls(context);
  const work = afterWork<typeof topics>({ ...(after !== undefined && { after }), afterName: 'the comparison' }, context);
  let busy = 0;
  let offset = lane.next;
  const run = (record: JobRecord, stage: AfterStage, isResumed = false): void => {
    busy += 1;
    work
      .run({ record, row: undefined }, stage, isResumed)
      .catch((error: unknown) => waker.fail(error))
      .finally(() => {
        busy -= 1;
        waker.notify();
      });
  };
  const recordAt = (key: string): JobRecord => {
    offset += 1;
    return { offset: offset - 1, key, value: '{}' };
  };
  for (const [at, { key, request, after: stage }] of [...walkStates(lane.stateUnder)].toSorted(([one], [other]) => one - other)) {
    offset = at + 1;
    if (stage !== undefined) run({ offset: at, key, value: request }, stage, true);
  }
  await use({
    lane,
    last,
    work,
    stop,
    async crawl(id, key = 'a') {
      const crawl = { id, pages: 1, items: 2, offsets: await work.offsets() };
      const previous = last.of(key)?.crawl;
      const stage = { crawl: { key, ...crawl }, ...(previous !== undefined && { previous: { key, ...previous } }), written: 0 };
      const record = recordAt(key);
      await lane.commit({ records: [], state: [last.ended(key, { pages: 1, items: 2, crawl }), afterRow(record, stage)] });
      run(record, stage);
    },
    async replay() {
      const record = { ...recordAt('a'), resume: (await deadLetters(log)).at(-1) ?? '' };
      const stage = afterStageOf(undefined, record);
      if (stage !== undefined) run(record, stage);
    },
  });
  while (busy > 0) await waker.wait();
  await lane.close();
  return events;
}

async function written(log: TopicLog): Promise<string[]> {
  const values: string[] = [];
  for await (const { value } of log.read({ topic: 'shelves.records' })) values.push(JSON.parse(value ?? '""') as string);
  return values;
}
