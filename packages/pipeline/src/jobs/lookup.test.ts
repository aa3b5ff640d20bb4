import { describe, expect, it, test } from 'vitest';
import { SourceError } from '@headgate/sources';
import { creditPool } from '@headgate/throttle';
import { virtualClock } from '@headgate/throttle/testing';
import {
  type Shelf,
  type ShelvesApi,
  shelves,
  shelvesApi,
  type shelvesTopics,
  stopped,
  valuesOf,
  workedOff,
} from '../testing/shelves.fixture.ts';
import { shelvesLane } from '../lane/lane.fixture.ts';
import { logWith, temporaryLog, shelvesTopics as plainTopics } from '../testing/temporary-log.fixture.ts';
import type { JobEvent } from '../events/events.ts';
import { topicNames } from '../topics/names.ts';
import { notifier } from '../lane/notifier.ts';
import type { WorkContext } from '../definition/processor.ts';
import { type PendingRecord, type RecordMakers, type TopicMap, recordMakers } from '../topics/topic.ts';
import type { TopicLog } from '@headgate/topics';
import { LaneJobs } from '../run/lane-jobs.ts';
import { lookup } from './lookup.ts';
import type { LookupDefinition } from './lookup-definition.ts';

type Definition = LookupDefinition<ShelvesApi, Shelf, string[], typeof shelvesTopics>;

/** A lookup of words. */
function looking(more: Partial<Definition> = {}, api = shelvesApi()) {
  return lookup<ShelvesApi, Shelf, string[], typeof shelvesTopics>({
    source: api,
    key: ({ shelf }) => shelf,
    query: (source, keys, options) => source.find(keys, options),
    size: 1,
    records: (answers, { topics }) => ({
      records: answers.map((item, index) => ({ index, record: topics.records({ key: item, value: { item } }) })),
    }),
    ...more,
  });
}

interface DeadLetter {
  readonly request: unknown;
  readonly error: { readonly code: string; readonly message: string };
}

const deadLetters = async (log: Parameters<typeof valuesOf>[0]): Promise<DeadLetter[]> =>
  await valuesOf<DeadLetter>(log, 'shelves.dead-letters');

describe('if a function of the definition throws, the keys it was called for become dead letters that name it, and no others:', () => {
  const boom = (text: string): void => {
    if (text.includes('bad')) throw new TypeError('boom');
  };
  const faults: readonly (readonly [name: string, more: Partial<Definition>])[] = [
    [
      'key',
      {
        key({ shelf }) {
          boom(shelf);
          return shelf;
        },
      },
    ],
    [
      'query',
      {
        query(source, keys, options) {
          boom(keys.join());
          return source.find(keys, options);
        },
      },
    ],
    [
      'records',
      {
        records(answers, { topics }) {
          boom(answers.join());
          return { records: answers.map((item, index) => ({ index, record: topics.records({ key: item, value: { item } }) })) };
        },
      },
    ],
  ];
  it.each(faults)('%s', async (name, more) => {
    await using place = await temporaryLog();
    const { outcome, failures } = await workedOff(
      place.log,
      shelves(() => looking(more)),
      ['bad', 'good'],
    );
    expect({ outcome, failures }).toEqual({ outcome: 'done', failures: [] });
    expect(await deadLetters(place.log)).toMatchObject([
      {
        request: { shelf: 'bad' },
        error: {
          code: 'HEADGATE_USER_FUNCTION',
          message: expect.stringMatching(new RegExp(`^bad: ${name} of pipeline shelves threw TypeError: boom \\(at `)),
        },
      },
    ]);
    expect(await valuesOf(place.log, 'shelves.records')).toEqual([{ item: 'good' }]);
  });

  it('normalize: its error is the reason of the key', async () => {
    await using place = await temporaryLog();
    const pipeline = shelves(() =>
      looking({
        normalize(text) {
          boom(text);
          return text.toLowerCase();
        },
      }),
    );
    expect(await workedOff(place.log, pipeline, ['A', 'bad', 'b'])).toMatchObject({ outcome: 'done', failures: [] });
    expect(await deadLetters(place.log)).toMatchObject([{ request: { shelf: 'bad' }, error: { message: 'boom' } }]);
    expect((await valuesOf<{ item: string }>(place.log, 'shelves.records')).map(({ item }) => item).sort()).toEqual(['a', 'b']);
  });

  it('normalize: its error throws when it is read', async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const error of [proxy, Object.create(null), Object.assign(new Error('no'), { message: Symbol('none') })] as Error[]) {
      await using place = await temporaryLog();
      const pipeline = shelves(() =>
        looking({
          normalize(text) {
            if (text === 'bad') throw error;
            return text;
          },
        }),
      );
      expect(await workedOff(place.log, pipeline, ['a', 'bad', 'b'])).toMatchObject({ outcome: 'done', failures: [] });
      expect(await deadLetters(place.log)).toMatchObject([{ request: { shelf: 'bad' }, error: { code: 'HEADGATE_UNEXPECTED' } }]);
      expect((await valuesOf<{ item: string }>(place.log, 'shelves.records')).map(({ item }) => item).sort()).toEqual(['a', 'b']);
    }
  });

  it('capacity: its error ends all waiting keys', async () => {
    await using place = await temporaryLog();
    let calls = 0;
    const pipeline = shelves(() =>
      looking({
        capacity() {
          calls += 1;
          if (calls === 1) boom('bad');
          return Infinity;
        },
      }),
    );
    expect(await workedOff(place.log, pipeline, ['a', 'b'])).toMatchObject({ outcome: 'done', failures: [] });
    expect(await deadLetters(place.log)).toMatchObject([
      { request: { shelf: 'a' }, error: { message: expect.stringMatching(/^a: capacity of pipeline shelves threw TypeError: boom/) } },
    ]);
    expect(await valuesOf(place.log, 'shelves.records')).toEqual([{ item: 'b' }]);
  });

  it.each<[name: string, more: Partial<Definition>, says: RegExp]>([
    [
      'a key that is none',
      { key: ({ shelf }) => (shelf === 'bad' ? (undefined as never) : shelf) },
      /^bad: key of .*: it returns undefined/,
    ],
    [
      'normalize that gives a promise',
      { normalize: (text) => (text === 'bad' ? (Promise.reject(new Error('too late')) as never) : text) },
      /^bad: normalize of .*: it returns a promise/,
    ],
    [
      'query that gives no delivery',
      { query: async (source, keys, options) => (keys[0] === 'bad' ? (undefined as never) : await source.find(keys, options)) },
      /^bad: query of .*: it returns undefined/,
    ],
    [
      'records that gives nothing',
      {
        records: (answers, { topics }) =>
          answers[0] === 'bad'
            ? (undefined as never)
            : { records: answers.map((item, index) => ({ index, record: topics.records({ key: item, value: { item } }) })) },
      },
      /^bad: records of .*: it returns undefined/,
    ],
  ])('%s', async (_, more, says) => {
    await using place = await temporaryLog();
    expect(
      await workedOff(
        place.log,
        shelves(() => looking(more)),
        ['bad', 'good'],
      ),
    ).toMatchObject({ outcome: 'done', failures: [] });
    expect(await deadLetters(place.log)).toMatchObject([
      { request: { shelf: 'bad' }, error: { code: 'HEADGATE_USER_FUNCTION', message: expect.stringMatching(says) } },
    ]);
    expect(await valuesOf(place.log, 'shelves.records')).toEqual([{ item: 'good' }]);
  });

  it.each([{}, 'much', NaN])('capacity that gives %j', async (capacity) => {
    await using place = await temporaryLog();
    const pipeline = shelves(() => looking({ capacity: () => capacity as never }));
    expect(await workedOff(place.log, pipeline, ['a', 'b'])).toMatchObject({ outcome: 'done', failures: [] });
    expect(await deadLetters(place.log)).toMatchObject([
      { request: { shelf: 'a' }, error: { message: expect.stringMatching(/^a: capacity of .*: it returns/) } },
      { request: { shelf: 'b' } },
    ]);
  });

  it.each([-1, 0.5])('capacity below one key: %d', async (capacity) => {
    await using place = await temporaryLog();
    const api = shelvesApi();
    const pipeline = shelves(() => looking({ size: 2, capacity: () => capacity }, api));
    expect(await workedOff(place.log, pipeline, ['a', 'b', 'c'])).toMatchObject({ outcome: 'done', failures: [] });
    expect(api.requested).toEqual(['a+b', 'c']);
  });

  it('records: it returns a key that was not requested', async () => {
    await using place = await temporaryLog();
    const pipeline = shelves(() =>
      looking({
        records: ([item = ''], { topics }) => ({
          records: [{ index: item === 'bad' ? 1 : 0, record: topics.records({ key: item, value: { item } }) }],
        }),
      }),
    );
    expect(await workedOff(place.log, pipeline, ['bad', 'good'])).toMatchObject({ outcome: 'done', failures: [] });
    expect(await deadLetters(place.log)).toMatchObject([
      {
        request: { shelf: 'bad' },
        error: { message: expect.stringMatching(/^bad: records of pipeline shelves .*: it returned an answer for key 1 of 1/) },
      },
    ]);
    expect(await valuesOf(place.log, 'shelves.records')).toEqual([{ item: 'good' }]);
  });
});

describe('if some records of a key can’t be written, it becomes one dead letter and none of its records is written:', () => {
  const part = { id: 'part', record: { of: 'nobody' } };
  const misfits: readonly (readonly [name: string, misfit: (topics: RecordMakers<typeof shelvesTopics>) => PendingRecord, says: RegExp])[] =
    [
      [
        'one is too large',
        (topics) => topics.log({ key: 'bad', value: 'x'.repeat(2_000) }),
        /^bad: its record needs \d+ bytes, but shelves\.log accepts/,
      ],
      [
        'a series has one that is too large',
        (topics) => topics.log.series({ key: 'bad', count: 3, textAt: (i) => (i === 1 ? 'x'.repeat(2_000) : '{}') }),
        /^bad: its record needs \d+ bytes/,
      ],
      [
        'a series has a beginning that is too large',
        (topics) => topics.log.series({ key: 'bad', count: 3, before: 'x'.repeat(2_000), textAt: String }),
        /^bad: its record needs \d+ bytes/,
      ],
      [
        'a series throws',
        (topics) =>
          topics.log.series({
            key: 'bad',
            count: 2,
            textAt() {
              throw new TypeError('boom');
            },
          }),
        /^bad: records of pipeline shelves threw TypeError: boom/,
      ],
    ];
  it.each(misfits)('%s', async (_, misfit, says) => {
    await using place = await temporaryLog();
    const small = logWith(place.log, {
      recordLimit: async (name) => (name === 'shelves.log' ? { bytes: 1_000 } : await place.log.recordLimit(name)),
    });
    const pipeline = shelves(() =>
      looking({
        size: 2,
        records: (answers, { topics }) => ({
          records: answers.flatMap((item, index) => {
            const record = topics.records({ key: item, value: { item } });
            return item === 'bad'
              ? [
                  { index, record },
                  { index, record: misfit(topics) },
                ]
              : [{ index, record }];
          }),
          deadLetters: [{ index: 0, error: new Error('of nobody'), part }],
        }),
      }),
    );
    expect(await workedOff(small, pipeline, ['bad', 'good'])).toMatchObject({ outcome: 'done', failures: [] });
    expect(await deadLetters(place.log)).toMatchObject([
      { record: part.record, error: { message: 'of nobody' } },
      { request: { shelf: 'bad' }, error: { message: expect.stringMatching(says) } },
    ]);
    expect(await valuesOf(place.log, 'shelves.records')).toEqual([{ item: 'good' }]);
    expect(await valuesOf(place.log, 'shelves.log')).toEqual([]);
  });
});

test('two records of a key have separate IDs, which stay the same when the records are created again', async () => {
  await using place = await temporaryLog();
  const pipeline = shelves(() =>
    looking({
      records: (answers, { topics }) => ({
        records: answers.flatMap((item, index) =>
          ['first', 'second'].map((which) => ({ index, record: topics.records({ key: item, value: { item: which } }) })),
        ),
      }),
    }),
  );
  await workedOff(place.log, pipeline, ['a', 'b']);
  const ids: (string | undefined)[] = [];
  for await (const { headers } of place.log.read({ topic: 'shelves.records' })) ids.push(headers['ce_id']);
  expect(ids).toEqual(['0/a', '0/a/1', '1/b', '1/b/1'].map((id) => `shelves.requests-0-${id}`));
});

test('an error that is only the stop of a source doesn’t turn a key into a dead letter', async () => {
  await using place = await temporaryLog();
  const stop = new AbortController();
  const api = shelvesApi({
    async onPage(keys) {
      if (keys === 'a') return;
      stop.abort();
      await new Promise((resolve) => setImmediate(resolve));
      throw new DOMException('This operation was aborted', 'AbortError');
    },
  });
  const first = await workedOff(
    place.log,
    shelves(() => looking({}, api)),
    ['a', 'b'],
    { signal: stop.signal },
  );
  expect(first).toMatchObject({ outcome: 'stopped', failures: [] });
  await workedOff(
    place.log,
    shelves(() => looking()),
    [],
  );
  expect((await valuesOf<{ item: string }>(place.log, 'shelves.records')).map(({ item }) => item).sort()).toEqual(['a', 'b']);
  expect(await deadLetters(place.log)).toEqual([]);
});

test('keys of many jobs share an HTTP request, and are answered separately', async () => {
  await using place = await temporaryLog();
  const api = shelvesApi();
  const { snapshot } = await workedOff(
    place.log,
    shelves(() => looking({ size: 3 }, api)),
    ['a', 'b', 'c', 'd', 'e'],
  );
  expect(api.requested).toEqual(['a+b+c', 'd+e']);
  expect(snapshot.pipelines['shelves']).toMatchObject({ keys: { queued: 5, answered: 5 } });
  const ids: (string | undefined)[] = [];
  for await (const { headers } of place.log.read({ topic: 'shelves.records' })) ids.push(headers['ce_id']);
  const request = 'shelves.requests-0-';
  expect(ids).toEqual(['a', 'b', 'c', 'd', 'e'].map((key, i) => `${request}${i}/${key}`));
});

describe('a worker alone', () => {
  const working = async (log: TopicLog, more: Partial<Definition> = {}) => {
    const clock = virtualClock();
    const answers: (() => void)[] = [];
    const api = shelvesApi({ onPage: () => new Promise<void>((resolve) => answers.push(resolve)) });
    const pipeline = shelves(() => looking({ size: 4, records: () => ({ records: [] }), ...more }, api))({});
    const [credits, names] = [creditPool({ max: Infinity }), topicNames()];
    const open = () => ({ restored: undefined, granted: () => Promise.resolve(), settled: () => undefined, flush: () => undefined });
    const lane = await shelvesLane({ log, clock });
    const events: JobEvent[] = [];
    const waker = notifier({ clock });
    const [stopping, abandoned] = [new AbortController(), new AbortController()];
    const io = { clock, credits, env: {}, signal: new AbortController().signal, onAttempt: () => undefined };
    const processor = pipeline.open({ ...io, journal: { leaseMs: 1_000, open } }, { lane: 0, lanes: 1 });
    const context: WorkContext<unknown, TopicMap> = {
      ...pipeline.requests,
      pipeline: 'shelves',
      kind: '',
      lane,
      log,
      clock,
      stopping: stopping.signal,
      abandoned: abandoned.signal,
      credits,
      unwrittenPages: 1,
      names,
      topics: recordMakers({
        pipeline: 'shelves',
        topics: pipeline.topics,
        names,
        partition: 0,
        validate: false,
        serializers: new Map(),
      }),
      emit: (event) => void (event.type === 'notice' || events.push(event)),
    };
    const jobs = new LaneJobs(context, processor.open(context), waker);
    const worker = {
      get load() {
        return jobs.size;
      },
      flush: () => jobs.flush(),
      stop() {
        stopping.abort();
        api.stop();
      },
      abandon: () => abandoned.abort(),
    };
    let offset = 0;
    return {
      clock,
      lane,
      credits,
      waker,
      worker,
      events,
      requested: api.requested,
      answers,
      /** Takes a job for each word. */
      take: (words: string): void => {
        for (const shelf of words.split('+')) {
          jobs.take({ offset, key: shelf, value: JSON.stringify({ shelf }) });
          offset += 1;
        }
      },
      /** Answers the oldest HTTP request, and waits until the results are written. */
      answer: async (): Promise<void> => {
        const answered = worker.load - Math.min(4, api.requested[api.requested.length - answers.length]?.split('+').length ?? 0);
        answers.shift()?.();
        await expect.poll(() => worker.load).toBe(answered);
      },
      [Symbol.asyncDispose]: async () => await lane.close(),
    };
  };

  it('lets keys wait for a fuller batch, unless the queue has been read to its end', async () => {
    await using place = await temporaryLog(plainTopics());
    await using scene = await working(place.log);
    const { clock, worker, events, requested, take } = scene;
    take('a');
    take('b+c');
    await clock.advance(199);
    expect(requested).toEqual([]);
    await clock.advance(1);
    expect(requested).toEqual(['a+b+c']);
    take('d+e+f+g+h');
    expect(requested).toEqual(['a+b+c', 'd+e+f+g']);
    worker.flush();
    expect(requested).toEqual(['a+b+c', 'd+e+f+g', 'h']);
    expect(events).toEqual([3, 4, 1].map((count) => ({ type: 'keys-queued', pipeline: 'shelves', count })));
    expect([worker.load, clock.pending]).toEqual([8, 0]);
  });

  it('lets no key wait longer than maxWaitMs, and sends nothing after a stop', async () => {
    await using place = await temporaryLog(plainTopics());
    await using scene = await working(place.log, { maxWaitMs: 50 });
    const { clock, worker, requested, take } = scene;
    take('a');
    await clock.advance(50);
    expect(requested).toEqual(['a']);
    take('b');
    worker.stop();
    // The waiting key is left to the next run at once.
    await expect.poll(() => worker.load).toBe(1);
    worker.flush();
    await clock.advance(50);
    expect([requested, clock.pending]).toEqual([['a'], 0]);
  });

  it('lets keys wait for a fuller batch while another one is in flight', async () => {
    await using place = await temporaryLog(plainTopics());
    await using scene = await working(place.log);
    const { clock, requested, take, answer } = scene;
    take('a+b+c+d+e+f+g+h+i');
    await clock.advance(1_000);
    expect(requested).toEqual(['a+b+c+d', 'e+f+g+h']);
    await answer();
    expect(requested).toEqual(['a+b+c+d', 'e+f+g+h']);
    take('j');
    await clock.advance(200);
    await answer();
    expect([requested, clock.pending]).toEqual([['a+b+c+d', 'e+f+g+h', 'i+j'], 0]);
  });

  it('cuts the last batch to the rest of a quota, and lets one more wait for the reset', async () => {
    await using place = await temporaryLog(plainTopics());
    let quota = 6;
    const sent: string[] = [];
    await using scene = await working(place.log, {
      capacity: () => quota - sent.length,
      async query(api, keys, options) {
        sent.push(...keys);
        return await api.find(keys, options);
      },
    });
    const { clock, worker, events, requested, take, answer } = scene;
    take('a+b+c+d+e+f+g+h+i+j+k+l+m');
    const first = ['a+b+c+d', 'e+f'];
    expect(requested).toEqual(first);
    await clock.advance(200);
    await answer();
    expect(requested).toEqual(first);
    await answer();
    expect(requested).toEqual([...first, 'g+h+i+j']);
    worker.flush();
    take('n');
    expect(requested).toEqual([...first, 'g+h+i+j']);
    // The quota has been reset.
    quota = sent.length + 9;
    worker.flush();
    expect(requested).toEqual([...first, 'g+h+i+j', 'k+l+m+n']);
    expect(events.flatMap((event) => (event.type === 'keys-queued' ? [event.count] : []))).toEqual([4, 4, 5, 1]);
    await answer();
    await answer();
    expect(worker.load).toBe(0);
  });

  it('reports the results of a response when they are durable, and returns its credit', async () => {
    await using place = await temporaryLog(plainTopics());
    await using scene = await working(place.log, {
      records: () => ({ records: [], deadLetters: [{ index: 1, error: new Error('of nobody') }] }),
    });
    const { worker, credits, events, take, answer } = scene;
    take('a+b');
    worker.flush();
    await answer();
    await expect.poll(() => worker.load).toBe(0);
    expect(events).toMatchObject([
      { type: 'keys-queued', count: 2 },
      { type: 'keys-answered', count: 2 },
      { type: 'records-written', kind: 'keys', counts: {} },
      { type: 'dead-letter', key: 'b', error: { message: 'of nobody' } },
    ]);
    expect(credits.outstanding).toBe(0);
  });

  const endless: Definition['query'] = (_, __, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
  it.each<[string, Partial<Definition>]>([
    ['what its source gives up', { query: () => Promise.reject(stopped('a')) }],
    ['what has no answer in time', { query: endless }],
  ])('leaves to the next run at its end: %s', async (_, more) => {
    await using place = await temporaryLog(plainTopics());
    await using scene = await working(place.log, more);
    const { worker, waker, lane, take } = scene;
    take('a+b+c+d');
    worker.stop();
    if (more.query === endless) worker.abandon();
    await expect.poll(() => worker.load).toBe(0);
    await waker.wait(0);
    expect([lane.isFinished(0), await deadLetters(place.log)]).toEqual([false, []]);
  });

  it.each(['while it works', 'while it stops'])('ends its lane with the source’s own reason, %s', async (when) => {
    await using place = await temporaryLog(plainTopics());
    const message = 'the last credential was revoked';
    const ends = new SourceError({ code: 'HEADGATE_AUTH_FAILED', message, retryable: false, service: 'shelves', endsSource: true });
    await using scene = await working(place.log, { query: () => Promise.reject(ends) });
    const { worker, waker, take } = scene;
    take('a+b+c+d');
    if (when === 'while it stops') worker.stop();
    await expect.poll(() => worker.load).toBe(0);
    await expect(waker.wait(0)).rejects.toBe(ends);
    expect(await deadLetters(place.log)).toEqual([]);
  });
});

test('only the unanswered keys are requested again', async () => {
  await using place = await temporaryLog();
  const stop = new AbortController();
  const first = shelvesApi({ onPage: (keys) => (keys === 'b' ? new Promise((resolve) => setTimeout(resolve, 300)) : undefined) });
  const interrupted = await workedOff(
    place.log,
    shelves(() => looking({}, first)),
    ['a', 'b', 'c'],
    { signal: stop.signal, onEvent: ({ type }) => void (type === 'keys-answered' && stop.abort()) },
  );
  expect(interrupted.outcome).toBe('stopped');
  const answered = (await valuesOf<{ item: string }>(place.log, 'shelves.records')).map(({ item }) => item);
  expect(answered.length).toBeGreaterThan(0);
  const second = shelvesApi();
  await workedOff(
    place.log,
    shelves(() => looking({}, second)),
    [],
  );
  expect([...answered, ...second.requested].sort()).toEqual(['a', 'b', 'c']);
  expect((await valuesOf<{ item: string }>(place.log, 'shelves.records')).map(({ item }) => item).sort()).toEqual(['a', 'b', 'c']);
});

test('a dead letter has the key that it is about, or else the key of its request', async () => {
  await using place = await temporaryLog();
  const pipeline = shelves(() =>
    looking({
      size: 2,
      normalize(text) {
        if (text === 'a' || text === 'b') return text;
        throw new Error(`no ${text}`);
      },
      records: () => ({
        records: [],
        deadLetters: [
          { index: 1, error: new Error('not had') },
          { index: 1, error: new Error('not read'), part: { id: 'part', record: 1 } },
        ],
      }),
    }),
  );
  await workedOff(place.log, pipeline, ['a', 'x', ' ', 'b', 'y']);
  const told: unknown[] = [];
  for await (const { key, value } of place.log.read({ topic: 'shelves.dead-letters' }))
    told.push([key, (JSON.parse(value ?? '') as DeadLetter).error.message]);
  expect(told).toEqual([
    ['x', 'no x'],
    [' ', 'no  '],
    ['b', 'not had'],
    ['shelves.requests-0-3', 'not read'],
    ['y', 'no y'],
  ]);
});

test.each([0, -1, 1.5])('a lookup can’t request %s keys at once', (size) => {
  expect(() => looking({ size })).toThrow(expect.objectContaining({ code: 'HEADGATE_DEFINITION' }));
});
