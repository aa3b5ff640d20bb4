import { describe, expect, it, test } from 'vitest';
import { virtualClock } from '@headgate/throttle/testing';
import { type Shelf, type ShelvesApi, shelves, shelvesApi, type shelvesTopics, valuesOf, workedOff } from '../shelves.fixture.ts';
import { shelvesLane } from '../lane/lane.fixture.ts';
import { logWith, temporaryLog, shelvesTopics as plainTopics } from '../temporary-log.fixture.ts';
import type { PendingRecord, RecordMakers } from '../topic.ts';
import type { TopicLog } from '@headgate/topics';
import { type LookupDefinition, lookup } from './lookup.ts';
import { keptLookups, lookupRequests, resumedLookups } from './lookup-requests.ts';

type Definition = LookupDefinition<ShelvesApi, Shelf, string[], typeof shelvesTopics>;

/** Looks words up: a request names some, joined by +. */
function looking(more: Partial<Definition> = {}, api = shelvesApi()) {
  return lookup<ShelvesApi, Shelf, string[], typeof shelvesTopics>({
    source: api,
    keys: ({ shelf }) => shelf.split('+'),
    requestOf: (keys) => ({ shelf: keys.join('+') }),
    ask: (source, keys, options) => source.find(keys, options),
    size: 1,
    records: (answers, { topics }) => ({
      records: answers.map((item, asked) => ({ asked, record: topics.records({ key: item, value: { item } }) })),
    }),
    ...more,
  });
}

interface DeadLetter {
  readonly request: unknown;
  readonly error: { readonly code: string; readonly message: string };
}

const letters = async (log: Parameters<typeof valuesOf>[0]): Promise<DeadLetter[]> =>
  await valuesOf<DeadLetter>(log, 'shelves.dead-letters');

describe('a function of the definition that throws ends the keys it was called for as dead letters that name it, and no others:', () => {
  const boom = (text: string): void => {
    if (text.includes('bad')) throw new TypeError('boom');
  };
  const faults: readonly (readonly [name: string, more: Partial<Definition>])[] = [
    [
      'keys',
      {
        keys({ shelf }) {
          boom(shelf);
          return [shelf];
        },
      },
    ],
    [
      'ask',
      {
        ask(source, keys, options) {
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
          return { records: answers.map((item, asked) => ({ asked, record: topics.records({ key: item, value: { item } }) })) };
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
    expect(await letters(place.log)).toMatchObject([
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

  it('normalize, whose error is the key’s own reason', async () => {
    await using place = await temporaryLog();
    const pipeline = shelves(() =>
      looking({
        normalize(text) {
          boom(text);
          return text.toLowerCase();
        },
      }),
    );
    expect(await workedOff(place.log, pipeline, ['A+bad+a', 'b'])).toMatchObject({ outcome: 'done', failures: [] });
    expect(await letters(place.log)).toMatchObject([{ request: { shelf: 'bad' }, error: { message: 'boom' } }]);
    expect((await valuesOf<{ item: string }>(place.log, 'shelves.records')).map(({ item }) => item).sort()).toEqual(['a', 'b']);
  });

  it('requestOf, for which the whole request stands', async () => {
    await using place = await temporaryLog();
    const pipeline = shelves(() =>
      looking({
        ask: () => Promise.reject(new Error('no answer')),
        requestOf(keys) {
          boom(keys.join());
          return { shelf: keys.join() };
        },
      }),
    );
    expect(await workedOff(place.log, pipeline, ['bad+other'])).toMatchObject({ outcome: 'done', failures: [] });
    expect((await letters(place.log)).map(({ request }) => request)).toEqual([{ shelf: 'bad+other' }, { shelf: 'other' }]);
  });

  it('room, whose error ends all keys that wait', async () => {
    await using place = await temporaryLog();
    let calls = 0;
    const pipeline = shelves(() =>
      looking({
        room() {
          calls += 1;
          if (calls === 1) boom('bad');
          return Infinity;
        },
      }),
    );
    expect(await workedOff(place.log, pipeline, ['a', 'b'])).toMatchObject({ outcome: 'done', failures: [] });
    expect(await letters(place.log)).toMatchObject([
      { request: { shelf: 'a' }, error: { message: expect.stringMatching(/^a: room of pipeline shelves threw TypeError: boom/) } },
    ]);
    expect(await valuesOf(place.log, 'shelves.records')).toEqual([{ item: 'b' }]);
  });

  it('records that answers a key that was not requested', async () => {
    await using place = await temporaryLog();
    const pipeline = shelves(() =>
      looking({
        records: ([item = ''], { topics }) => ({
          records: [{ asked: item === 'bad' ? 1 : 0, record: topics.records({ key: item, value: { item } }) }],
        }),
      }),
    );
    expect(await workedOff(place.log, pipeline, ['bad', 'good'])).toMatchObject({ outcome: 'done', failures: [] });
    expect(await letters(place.log)).toMatchObject([
      {
        request: { shelf: 'bad' },
        error: { message: expect.stringMatching(/^bad: records of pipeline shelves threw RangeError: .*key 1 of 1/) },
      },
    ]);
    expect(await valuesOf(place.log, 'shelves.records')).toEqual([{ item: 'good' }]);
  });
});

describe('a key whose records can’t all be written is one dead letter, and none of its records is written:', () => {
  const part = { id: 'part', record: { of: 'nobody' } };
  const misfits: readonly (readonly [name: string, misfit: (topics: RecordMakers<typeof shelvesTopics>) => PendingRecord, says: RegExp])[] =
    [
      [
        'one is too large',
        (topics) => topics.log({ key: 'bad', value: 'x'.repeat(2_000) }),
        /^bad: its record needs \d+ bytes, more than shelves\.log takes/,
      ],
      [
        'a series has one that is too large',
        (topics) => topics.log.series({ key: 'bad', count: 3, textAt: (i) => (i === 1 ? 'x'.repeat(2_000) : '{}') }),
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
      recordRoom: async (name) => (name === 'shelves.log' ? { bytes: 1_000 } : await place.log.recordRoom(name)),
    });
    const pipeline = shelves(() =>
      looking({
        size: 2,
        records: (answers, { topics }) => ({
          records: answers.flatMap((item, asked) => {
            const record = topics.records({ key: item, value: { item } });
            return item === 'bad'
              ? [
                  { asked, record },
                  { asked, record: misfit(topics) },
                ]
              : [{ asked, record }];
          }),
          deadLetters: [{ asked: 0, error: new Error('of nobody'), part }],
        }),
      }),
    );
    expect(await workedOff(small, pipeline, ['bad+good'])).toMatchObject({ outcome: 'done', failures: [] });
    expect(await letters(place.log)).toMatchObject([
      { record: part.record, error: { message: 'of nobody' } },
      { request: { shelf: 'bad' }, error: { message: expect.stringMatching(says) } },
    ]);
    expect(await valuesOf(place.log, 'shelves.records')).toEqual([{ item: 'good' }]);
    expect(await valuesOf(place.log, 'shelves.log')).toEqual([]);
  });
});

test('two records of a key have ids of their own, which are the same when they are made again', async () => {
  await using place = await temporaryLog();
  const pipeline = shelves(() =>
    looking({
      records: (answers, { topics }) => ({
        records: answers.flatMap((item, asked) =>
          ['first', 'second'].map((which) => ({ asked, record: topics.records({ key: item, value: { item: which } }) })),
        ),
      }),
    }),
  );
  await workedOff(place.log, pipeline, ['a+b']);
  const ids: (string | undefined)[] = [];
  for await (const { headers } of place.log.read({ topic: 'shelves.records' })) ids.push(headers['ce_id']);
  expect(ids).toEqual(['a', 'a/1', 'b', 'b/1'].map((id) => `shelves.requests-0-0/${id}`));
});

/** Answers one key, and leaves the lane with the rest of a request that its topic loses. */
async function partlyAnswered(log: TopicLog): Promise<TopicLog> {
  const stop = new AbortController();
  const api = shelvesApi({ onPage: (keys) => (keys === 'a' ? undefined : new Promise((resolve) => setTimeout(resolve, 100))) });
  await workedOff(
    log,
    shelves(() => looking({}, api)),
    ['a+b+c'],
    { signal: stop.signal, onEvent: ({ type }) => void (type === 'keys-answered' && stop.abort()) },
  );
  return logWith(log, { readBytes: (options) => log.readBytes(options.topic === 'shelves.requests' ? { ...options, from: 1 } : options) });
}

test('a request that its topic has lost, and that requestOf can’t make again, ends as a dead letter of its keys; the state forgets it', async () => {
  await using place = await temporaryLog();
  const lost = await partlyAnswered(place.log);
  const pipeline = shelves(() =>
    looking({
      requestOf() {
        throw new TypeError('boom');
      },
    }),
  );
  expect(await workedOff(lost, pipeline, ['d'])).toMatchObject({ outcome: 'done', failures: [] });
  expect(await letters(place.log)).toMatchObject([
    { request: ['a', 'b', 'c'], error: { message: expect.stringMatching(/^a: requestOf of pipeline shelves threw TypeError: boom/) } },
  ]);
  expect([...(await place.log.readState('shelves.state', 0))].map(([key]) => key).toSorted()).toEqual([
    'headgate/lane',
    'headgate/requests',
  ]);
});

test('a request with a key that the state can’t keep ends as a dead letter', async () => {
  await using place = await temporaryLog();
  const small = logWith(place.log, {
    recordRoom: async (name) => (name === 'shelves.state' ? { bytes: 1_000 } : await place.log.recordRoom(name)),
  });
  const long = 'x'.repeat(2_000);
  const { outcome, failures } = await workedOff(
    small,
    shelves(() => looking()),
    [`a+${long}`, 'b', long],
  );
  expect({ outcome, failures }).toEqual({ outcome: 'done', failures: [] });
  expect(await letters(place.log)).toMatchObject([
    {
      request: { shelf: `a+${long}` },
      error: { code: 'HEADGATE_RECORD_TOO_LARGE', message: expect.stringMatching(/one of its keys needs/) },
    },
  ]);
  expect((await valuesOf<{ item: string }>(place.log, 'shelves.records')).map(({ item }) => item)).toEqual(['b', long]);
});

test('keys of many requests share an HTTP request, each once, and are answered by themselves', async () => {
  await using place = await temporaryLog();
  const api = shelvesApi();
  const { snapshot } = await workedOff(
    place.log,
    shelves(() => looking({ size: 3 }, api)),
    ['a+b', 'c', 'd+d+e'],
  );
  expect(api.asked).toEqual(['a+b+c', 'd+e']);
  expect(snapshot.pipelines['shelves']).toMatchObject({ keys: { queued: 5, answered: 5 } });
  const ids: (string | undefined)[] = [];
  for await (const { headers } of place.log.read({ topic: 'shelves.records' })) ids.push(headers['ce_id']);
  const request = 'shelves.requests-0-';
  expect(ids).toEqual([`${request}0/a`, `${request}0/b`, `${request}1/c`, `${request}2/d`, `${request}2/e`]);
});

test('a request without a key is finished as it is', async () => {
  await using place = await temporaryLog();
  const pipeline = shelves(() => looking({ keys: ({ shelf }) => (shelf === 'none' ? [] : [shelf]) }));
  expect(await workedOff(place.log, pipeline, ['none', 'a'])).toMatchObject({ outcome: 'done' });
  expect([await letters(place.log), await valuesOf(place.log, 'shelves.records')]).toEqual([[], [{ item: 'a' }]]);
});

test('a request that is partly answered asks for the rest only, also when its topic has lost it', async () => {
  await using place = await temporaryLog();
  const stop = new AbortController();
  const first = shelvesApi({ onPage: (keys) => (keys === 'b' ? new Promise((resolve) => setTimeout(resolve, 300)) : undefined) });
  const pipeline = shelves(() => looking({}, first));
  const interrupted = await workedOff(place.log, pipeline, ['a+b+c'], {
    signal: stop.signal,
    onEvent: ({ type }) => void (type === 'keys-answered' && stop.abort()),
  });
  expect(interrupted.outcome).toBe('stopped');
  const answered = (await valuesOf<{ item: string }>(place.log, 'shelves.records')).map(({ item }) => item);
  expect(answered.length).toBeGreaterThan(0);
  const second = shelvesApi();
  await workedOff(
    place.log,
    shelves(() => looking({}, second)),
    [],
  );
  expect([...answered, ...second.asked].sort()).toEqual(['a', 'b', 'c']);
  expect((await valuesOf<{ item: string }>(place.log, 'shelves.records')).map(({ item }) => item).sort()).toEqual(['a', 'b', 'c']);
});

test('a request is in flight until the last of its batches is durable', async () => {
  await using place = await temporaryLog(plainTopics());
  const lane = await shelvesLane({ log: place.log, clock: virtualClock() });
  const requests = lookupRequests<Shelf>('shelves', lane);
  const of = requests.open({ offset: 0, key: null, value: null }, { shelf: 'a+b' }, { valid: ['a', 'b'], invalid: [] });
  let second: Promise<void> | undefined;
  // The second batch comes while the first is being committed.
  lane.beforeCommit(() => {
    second ??= requests.write([{ of, index: 1 }], []);
    return [];
  });
  await requests.write([{ of, index: 0 }], []);
  expect([requests.load, requests.has(0), lane.isFinished(0)]).toEqual([1, true, false]);
  await second;
  expect([requests.load, requests.has(0), lane.isFinished(0)]).toEqual([0, false, true]);
  await requests.finish(requests.open({ offset: 1, key: null, value: null }, { shelf: '' }, { valid: [], invalid: [] }));
  expect([requests.load, requests.has(1), lane.isFinished(1)]).toEqual([0, false, true]);
  await lane.close();
});

test('the keys of a long request are kept in parts of half of the smallest state record at most, and forgotten whole', async () => {
  await using place = await temporaryLog(plainTopics());
  const clock = virtualClock();
  // Each character has three bytes.
  const keys = Array.from({ length: 25_000 }, (_, i) => `書${9_780_000_000_000 + i}`);
  const lane = await shelvesLane({ log: place.log, clock });
  const requests = lookupRequests<Shelf>('shelves', lane);
  const of = requests.open({ offset: 3, key: null, value: null }, { shelf: '' }, { valid: keys, invalid: ['x'] });
  await requests.write([{ of, index: 25_000 }], []);
  await lane.close();

  const state = await place.log.readState('shelves.state', 0);
  expect(Math.max(...[...state].map(([, text]) => Buffer.byteLength(text)))).toBeLessThan(32_800);
  const again = await shelvesLane({ log: place.log, clock });
  expect(keptLookups(again.stateUnder).keys(3)).toEqual(keys);
  expect(resumedLookups(again.stateUnder, (all) => ({ shelf: all.length }))).toEqual([{ offset: 3, key: null, value: '{"shelf":25000}' }]);
  const resumed = lookupRequests<Shelf>('shelves', again);
  const goesOn = resumed.open({ offset: 3, key: null, value: null }, { shelf: '' }, { valid: keys, invalid: [] });
  await resumed.write(
    keys.map((_, index) => ({ of: goesOn, index })),
    [],
  );
  await again.close();
  const left = await place.log.readState('shelves.state', 0);
  expect([...left].map(([key]) => key).toSorted()).toEqual(['g/lane', 'g/requests']);
});

test.each([0, -1, 1.5])('a lookup can’t ask for %s keys at once', (size) => {
  expect(() => looking({ size })).toThrow(expect.objectContaining({ code: 'HEADGATE_DEFINITION' }));
});
