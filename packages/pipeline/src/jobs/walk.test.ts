import { SourceError } from '@headgate/sources';
import { transform } from '@headgate/throttle';
import { type TopicLog, TopicLogError } from '@headgate/topics';
import { describe, expect, it, test } from 'vitest';
import {
  type ItemsPage,
  type Shelf,
  type ShelfQuery,
  type ShelvesPipeline,
  shelfPaging,
  shelves,
  shelvesApi,
  shelvesTopics,
  valuesOf,
  workedOff,
} from '../testing/shelves.fixture.ts';
import { topicNames } from '../topics/names.ts';
import { replayDeadLetters } from '../run/replay.ts';
import { topicSpecs } from '../topics/topics.ts';
import { logWith, temporaryLog } from '../testing/temporary-log.fixture.ts';
import * as z from 'zod';
import { definePipeline } from '../definition/define-pipeline.ts';
import type { RunEvent } from '../events/events.ts';
import { start } from '../run/start.ts';
import { walk } from './walk.ts';
import type { WalkDefinition } from './walk-definition.ts';

type Definition = WalkDefinition<ShelfQuery, ItemsPage, number, Shelf, ItemsPage, typeof shelvesTopics>;

/** Returns a paging of shelves that gets its next cursor from `next`. */
function nextBy(next: (page: ItemsPage) => number | undefined): Pick<Definition, 'paging'> {
  return {
    paging: (request) => ({
      ...shelfPaging(request),
      next(page) {
        const cursor = next(page);
        return cursor === undefined ? 'last' : { cursor };
      },
    }),
  };
}

function walking(more: Partial<Definition> = {}, api = shelvesApi()) {
  return walk<ShelfQuery, ItemsPage, number, Shelf, typeof shelvesTopics>({
    source: api,
    paging: shelfPaging,
    records: ({ shelf, items }, { topics }) => items.map((item) => topics.records({ key: shelf, value: { item } })),
    ...more,
  });
}

interface DeadLetter {
  readonly request: unknown;
  readonly error: { readonly code: string; readonly message: string };
}

const GOOD = ['good-0', 'good-1', 'good-2', 'good-3', 'good-4'];

function boom(of: { readonly shelf: string }): void {
  if (of.shelf === 'bad') throw new TypeError('boom');
}

describe('a function of the definition that throws ends its request as one dead letter that names it, and no other:', () => {
  const faults: readonly (readonly [name: string, more: Partial<Definition>])[] = [
    [
      'paging',
      {
        paging(request) {
          boom(request);
          return shelfPaging(request);
        },
      },
    ],
    [
      'query of paging',
      {
        paging: (request) => ({
          ...shelfPaging(request),
          query(from) {
            boom(request);
            return { ...request, from };
          },
        }),
      },
    ],
    [
      'records',
      {
        *records(page, { topics }) {
          for (const item of page.items) yield topics.records({ key: page.shelf, value: { item } });
          boom(page);
        },
      },
    ],
    [
      'next of paging',
      nextBy((page) => {
        boom(page);
        return page.next;
      }),
    ],
    [
      'carry',
      {
        carry(page) {
          boom(page);
          return 1;
        },
      },
    ],
    [
      'items',
      {
        items(page) {
          boom(page);
          return 1;
        },
      },
    ],
    [
      'credentialOf',
      {
        credentialOf(page) {
          boom(page);
          return 'app';
        },
      },
    ],
    [
      'whole',
      {
        whole(request) {
          boom(request);
          return true;
        },
      },
    ],
    [
      'lifecycle',
      {
        *lifecycle({ state }, { key, topics, request }) {
          yield topics.log({ key, value: state });
          boom(request);
        },
      },
    ],
    ['transform open', { through: [throwing('open')] }],
    ['transform next', { through: [throwing('next')] }],
    ['transform state', { through: [throwing('state')] }],
  ];
  it.each(faults)('%s', async (name, more) => {
    await using place = await temporaryLog();
    const { outcome, failures, snapshot } = await workedOff(
      place.log,
      shelves(() => walking(more)),
      ['bad', 'good'],
    );
    expect({ outcome, failures }).toEqual({ outcome: 'done', failures: [] });
    const deadLetters = await valuesOf<DeadLetter>(place.log, 'shelves.dead-letters');
    expect(deadLetters.map(({ request, error: { code } }) => [request, code])).toEqual([[{ shelf: 'bad' }, 'HEADGATE_USER_FUNCTION']]);
    const told = name.startsWith('transform') ? 'transform thrower' : name;
    expect(deadLetters[0]?.error.message).toMatch(
      new RegExp(`^bad: ${told} of pipeline shelves threw TypeError: boom \\(at .*walk\\.test`),
    );
    const items = (await valuesOf<{ item: string }>(place.log, 'shelves.records')).map(({ item }) => item).sort();
    // Without `after`, a walk calls `whole` at its last page, so the earlier pages are written.
    expect(items).toEqual([...(name === 'whole' ? ['bad-0', 'bad-1', 'bad-2', 'bad-3'] : []), ...GOOD]);
    expect(snapshot.pipelines['shelves']).toMatchObject({ walks: { completed: 1, failed: 1 }, deadLetters: 1 });
  });

  it('keyOf', async () => {
    await using place = await temporaryLog();
    const pipeline = shelves(
      () => walking(),
      (request) => {
        boom(request);
        return request.shelf;
      },
    );
    const { outcome, failures } = await workedOff(place.log, pipeline, ['bad', 'good']);
    expect({ outcome, failures }).toEqual({ outcome: 'done', failures: [] });
    expect(await valuesOf(place.log, 'shelves.dead-letters')).toMatchObject([
      {
        request: { shelf: 'bad' },
        error: { code: 'HEADGATE_USER_FUNCTION', message: expect.stringMatching(/^bad: keyOf of pipeline shelves threw TypeError: boom/) },
      },
    ]);
    expect(await valuesOf(place.log, 'shelves.records')).toHaveLength(5);
  });

  it.each(['paging', 'records', 'carry', 'items', 'credentialOf', 'whole', 'lifecycle'] as const)(
    '%s, if it returns a promise, whose rejection ends no process',
    async (name) => {
      await using place = await temporaryLog();
      const later = () => Promise.reject(new Error('too late'));
      const { outcome } = await workedOff(
        place.log,
        shelves(() => walking({ [name]: later as never })),
        ['good'],
      );
      expect(outcome).toBe('done');
      const message = expect.stringMatching(
        `^good: ${name} of pipeline shelves can't be used: it returns a promise\\. It must return synchronously\\. Fix it, then`,
      );
      expect(await valuesOf(place.log, 'shelves.dead-letters')).toMatchObject([{ error: { code: 'HEADGATE_USER_FUNCTION', message } }]);
    },
  );

  it.each<[name: string, more: Partial<Definition>, says: RegExp]>([
    [
      'a value that is a promise',
      { records: ({ shelf }, { topics }) => [topics.log({ key: shelf, value: rejected() })] },
      /log: .* is or contains a promise\. Await it/,
    ],
    [
      'a value that holds a promise',
      { records: ({ shelf }, { topics }) => [topics.log({ key: shelf, value: { deep: [{ item: rejected() }] } })] },
      /log: .* is or contains a promise/,
    ],
    [
      'a series of promises',
      { records: ({ shelf }, { topics }) => [topics.log.series({ key: shelf, count: 2, valueAt: rejected })] },
      /log: .* is or contains a promise/,
    ],
    ['records that are promises', { records: () => [rejected() as never] }, /records of .*: it returns a list with a promise/],
    [
      'an asynchronous generator of records',
      { records: async function* () {} as never },
      /records of .*: it returns Object \[AsyncGenerator\]/,
    ],
    [
      'records that no maker made',
      { records: () => [{ topic: 'shelves.log', key: 'a', value: '1' } as never] },
      /records of .*: it returns a record that topics didn't create/,
    ],
    [
      'a record whose topic was changed',
      {
        records(page, { topics }) {
          const one = topics.records({ key: page.shelf, value: { item: '' } });
          return [{ ...one, record: { ...one.record, topic: 'shelves.requests' } }];
        },
      },
      /records of .*: it returns a record that topics didn't create, or that was changed/,
    ],
    [
      'a paging that is none',
      { paging: (() => ({ first: 0 })) as never },
      /paging of .*: it returns \{ first: 0 \}\. It must return a paging/,
    ],
    ['no paging', { paging: (() => undefined) as never }, /paging of .*: it returns undefined/],
    ['a next page that is null', nextBy(() => null as never), /next of paging of .*: it returns the cursor null\. It must return 'last'/],
    ['a next page that is a promise', { paging: later }, /next of paging of .*: it returns a promise/],
    [
      'a held value that JSON can not hold',
      {
        records(_, { refuse }) {
          refuse({ id: 'part', record: {}, held: 1n as never, error: new Error('too blue') });
          return [];
        },
      },
      /records of .* threw TypeError: Do not know how to serialize a BigInt/,
    ],
    ['items that are no number', { items: () => 'many' as never }, /items of .*: it returns many\. It must return a whole number/],
    ['a paging that throws null', { paging: () => throwNull() }, /paging of pipeline shelves threw null/],
    ['a source that throws', { source: { ...shelvesApi(), query: () => throwNull() } }, /source of pipeline shelves threw null/],
  ])('%s', async (_, more, says) => {
    await using place = await temporaryLog();
    const { outcome, failures } = await workedOff(
      place.log,
      shelves(() => walking(more)),
      ['good'],
    );
    expect({ outcome, failures }).toEqual({ outcome: 'done', failures: [] });
    expect(await valuesOf(place.log, 'shelves.dead-letters')).toMatchObject([
      { request: { shelf: 'good' }, error: { message: expect.stringMatching(says) } },
    ]);
    expect(await valuesOf(place.log, 'shelves.records')).toEqual([]);
  });
});

const rejected = (): Promise<string> => Promise.reject(new Error('too late'));

const later: Definition['paging'] = (request) => ({ ...shelfPaging(request), next: rejected as never });

function throwNull(): never {
  // oxlint-disable-next-line typescript/only-throw-error, no-throw-literal -- a user's code can throw null.
  throw null;
}

/** A transform that throws in one of its functions for the shelf `bad`. `open` doesn't get the shelf, so it throws at its first call. */
function throwing(where: 'open' | 'next' | 'state') {
  let opened = 0;
  return transform<ItemsPage>({
    name: 'thrower',
    open() {
      opened += 1;
      if (where === 'open' && opened === 1) throw new TypeError('boom');
      let last = { shelf: '' };
      return {
        next(page) {
          last = page;
          if (where === 'next') boom(page);
          return [page];
        },
        state() {
          if (where === 'state') boom(last);
          return last.shelf;
        },
      };
    },
  });
}

const remembering = transform<ItemsPage>({
  name: 'remembering',
  open() {
    let size = 0;
    return {
      next(page) {
        size = page.shelf === 'bad' ? 2_000 : 1;
        return [page];
      },
      state: () => 'x'.repeat(size),
    };
  },
});

describe('a record that no log accepts ends its request, not the lane:', () => {
  const misfits: readonly (readonly [name: string, more: Partial<Definition>, says: RegExp])[] = [
    [
      'one without a value',
      { records: ({ shelf }, { topics }) => [topics.log({ key: shelf, value: shelf === 'bad' ? undefined : shelf })] },
      /value .*undefined/,
    ],
    [
      'one whose key is no text',
      { records: ({ shelf }, { topics }) => [topics.log({ key: (shelf === 'bad' ? 7 : shelf) as string, value: shelf })] },
      /key .*7/,
    ],
    [
      'one of a lifecycle that is too large',
      {
        *lifecycle(_, { key, topics }) {
          yield topics.log({ key, value: key === 'bad' ? 'x'.repeat(2_000) : key });
        },
      },
      /^bad: the record of its state "started" needs \d+ bytes, but shelves\.log accepts at most 1000 bytes/,
    ],
    [
      'a checkpoint that is too large',
      nextBy(({ shelf, next }) => (next !== undefined && shelf === 'bad' ? ('x'.repeat(2_000) as never) : next)),
      /^bad: its checkpoint after page 1 needs \d+ bytes, but shelves\.state accepts at most 1000 bytes/,
    ],
    [
      'a value to carry on that is too large',
      { carry: ({ shelf, next }) => (next === undefined && shelf === 'bad' ? 'x'.repeat(2_000) : 1) },
      /^bad: the value that page 3 carries over needs \d+ bytes, but shelves\.state accepts/,
    ],
    [
      'a transform’s state that is too large',
      { through: [remembering] },
      /^bad: its checkpoint after page 1 needs \d+ bytes, but shelves\.state accepts/,
    ],
    [
      'one of a series that is too large, in bytes alone',
      {
        records: ({ shelf }, { topics }) => [
          topics.log.series({ key: shelf, count: 3, textAt: (i) => JSON.stringify(shelf === 'bad' && i === 1 ? '本'.repeat(340) : shelf) }),
        ],
      },
      /^bad: .* needs \d+ bytes, but shelves\.log accepts at most 1000 bytes/,
    ],
    [
      'one that is too large, in bytes alone',
      { records: ({ shelf }, { topics }) => [topics.log({ key: shelf, value: shelf === 'bad' ? '本'.repeat(340) : shelf })] },
      /^bad: .* needs \d+ bytes, but shelves\.log accepts at most 1000 bytes/,
    ],
    [
      'a series whose text can’t be made',
      {
        records: ({ shelf }, { topics }) => [
          topics.log.series({
            key: shelf,
            count: 2,
            textAt() {
              boom({ shelf });
              return '{}';
            },
          }),
        ],
      },
      /boom/,
    ],
  ];
  it.each(misfits)('%s', async (_, more, says) => {
    await using place = await temporaryLog();
    const tight = ['shelves.log', 'shelves.state'];
    const small = logWith(place.log, {
      recordLimit: async (name) => (tight.includes(name) ? { bytes: 1_000 } : await place.log.recordLimit(name)),
    });
    const { outcome, failures, snapshot } = await workedOff(
      small,
      shelves(() => walking(more)),
      ['bad', 'good'],
    );
    expect({ outcome, failures }).toEqual({ outcome: 'done', failures: [] });
    expect(snapshot.pipelines['shelves']).toMatchObject({ walks: { completed: 1, failed: 1 }, deadLetters: 1 });
    expect(await valuesOf(place.log, 'shelves.dead-letters')).toMatchObject([
      { request: { shelf: 'bad' }, error: { message: expect.stringMatching(says) } },
    ]);
  });
});

test('an error that is only the stop of a source makes no dead letter', async () => {
  await using place = await temporaryLog();
  const stop = new AbortController();
  const api = shelvesApi({
    async onPage(page) {
      if (page !== 'a 2') return;
      stop.abort();
      await new Promise((resolve) => setImmediate(resolve));
      throw new DOMException('This operation was aborted', 'AbortError');
    },
  });
  const first = await workedOff(
    place.log,
    shelves(() => walking({}, api)),
    ['a'],
    { signal: stop.signal },
  );
  expect(first).toMatchObject({ outcome: 'stopped', failures: [] });
  const again = shelvesApi();
  await workedOff(
    place.log,
    shelves(() => walking({}, again)),
    [],
  );
  expect(again.requested).toEqual(['a 2', 'a 4']);
  expect(await valuesOf(place.log, 'shelves.records')).toHaveLength(5);
  expect(await valuesOf(place.log, 'shelves.dead-letters')).toEqual([]);
});

test('a walk whose source was stopped by other code fails its lane, and the run is not done', async () => {
  await using place = await temporaryLog();
  const api = shelvesApi({ onPage: (page) => void (page === 'a 2' && api.stop()) });
  const { outcome, failures } = await workedOff(
    place.log,
    shelves(() => walking({}, api)),
    ['a'],
  );
  expect(outcome).toBe('failed');
  expect(failures).toMatchObject([{ code: 'HEADGATE_STOPPED' }]);
});

describe('a walk that failed midway', () => {
  /** Fails at its third page until the service is mended. */
  const failing = (service: { isMended: boolean }, more: Partial<Definition> = {}) =>
    shelves(() =>
      walking({
        records({ shelf, items }, { topics }) {
          if (items[0] === `${shelf}-4` && !service.isMended) throw new Error('boom');
          return items.map((item) => topics.records({ key: shelf, value: { item } }));
        },
        *lifecycle({ state, pages, items }, { key, id, topics }) {
          yield topics.log({ key, value: [id, state, pages, items] });
        },
        ...more,
      }),
    );
  const replayed = async (log: TopicLog, pipeline: ShelvesPipeline) =>
    await replayDeadLetters({ log, requests: pipeline.definition.requests });

  it('keeps its pages, and the replay of its dead letter writes the others, as a separate walk', async () => {
    await using place = await temporaryLog();
    const service = { isMended: false };
    const pipeline = failing(service);
    await workedOff(place.log, pipeline, ['good']);
    expect(await valuesOf(place.log, 'shelves.dead-letters')).toMatchObject([{ request: { shelf: 'good' } }]);
    // The replay fails at the same page. Its dead letter must have the same position.
    await replayed(place.log, pipeline);
    await workedOff(place.log, pipeline, []);
    service.isMended = true;
    await replayed(place.log, pipeline);
    const { snapshot } = await workedOff(place.log, pipeline, []);
    expect(snapshot.pipelines['shelves']).toMatchObject({ walks: { started: 1, completed: 1 } });
    expect((await valuesOf<{ item: string }>(place.log, 'shelves.records')).map(({ item }) => item)).toEqual(GOOD);
    const [first, second, third] = [0, 1, 2].map((offset) => `shelves.requests-0-${offset}`);
    expect(await valuesOf(place.log, 'shelves.log')).toEqual([
      [first, 'started', 0, 0],
      [first, 'failed', 2, 4],
      [second, 'started', 0, 0],
      [second, 'failed', 0, 0],
      [third, 'started', 0, 0],
      [third, 'completed', 1, 1],
    ]);
  });

  it('gives its replay the state of its transforms and the carried value, which then counts, and has no work after it', async () => {
    await using place = await temporaryLog();
    const service = { isMended: true };
    const began: unknown[] = [];
    const states: unknown[] = [];
    const wholes: string[] = [];
    const counting = transform<ItemsPage>({
      name: 'counting',
      open(state) {
        states.push(state);
        let count = Number(state ?? 0);
        return {
          next: (page) => ((count += 1), [page]),
          state: () => count,
        };
      },
    });
    const pipeline = failing(service, {
      paging(request, { carried }) {
        began.push(carried);
        return shelfPaging(request);
      },
      carry: ({ items }, carried) => `${typeof carried === 'string' ? carried : ''} ${items.join('+')}`,
      through: [counting],
      // eslint-disable-next-line require-yield
      async *after({ id }) {
        wholes.push(await Promise.resolve(id));
      },
    });
    await workedOff(place.log, pipeline, ['good']);
    const carried = ' good-0+good-1 good-2+good-3 good-4';
    service.isMended = false;
    await workedOff(place.log, pipeline, ['good']);
    service.isMended = true;
    await replayed(place.log, pipeline);
    await workedOff(place.log, pipeline, ['good']);
    expect(began).toEqual([undefined, carried, carried, carried + carried]);
    // The last two states are those of the replay and of the last request.
    expect(states).toEqual([undefined, undefined, 2, undefined]);
    expect(wholes).toEqual(['shelves.requests-0-0', 'shelves.requests-0-3']);
  });

  it('gives its replay the state before the page that failed, even if a transform and `carry` change their state in place', async () => {
    await using place = await temporaryLog();
    const service = { isMended: false };
    const unseen = transform<ItemsPage>({
      name: 'unseen',
      open(state) {
        const seen = (state ?? []) as string[];
        return {
          next(page) {
            const items = page.items.filter((item) => !seen.includes(item));
            seen.push(...items);
            return [{ ...page, items }];
          },
          state: () => seen,
        };
      },
    });
    const began: string[] = [];
    const pipeline = failing(service, {
      paging(request, { carried }) {
        began.push(JSON.stringify(carried));
        return shelfPaging(request);
      },
      carry({ items }, carried) {
        const all = (carried ?? []) as string[];
        all.push(...items);
        return all;
      },
      credentialOf({ items }) {
        if (items[0] === 'good-4' && !service.isMended) throw new Error('boom');
        return 'app';
      },
      records: ({ shelf, items }, { topics }) => items.map((item) => topics.records({ key: shelf, value: { item } })),
      through: [unseen],
    });
    // The replay fails at the same page. Its dead letter must have the same states.
    await workedOff(place.log, pipeline, ['good']);
    await replayed(place.log, pipeline);
    await workedOff(place.log, pipeline, []);
    service.isMended = true;
    await replayed(place.log, pipeline);
    await workedOff(place.log, pipeline, []);
    expect((await valuesOf<{ item: string }>(place.log, 'shelves.records')).map(({ item }) => item)).toEqual(GOOD);
    // A complete walk carries its items over. The next one fails, and the one after it continues it with the same value.
    await workedOff(place.log, pipeline, ['good']);
    service.isMended = false;
    await workedOff(place.log, pipeline, ['good', 'good']);
    const carried = JSON.stringify([...GOOD, ...GOOD]);
    expect(began.slice(3)).toEqual([JSON.stringify(GOOD), carried, carried]);
  });

  it.each(['', 'no JSON', 'null', '{}', '{"cursor":null}'])(
    'and a request that says otherwise where to continue is malformed: %j',
    async (resume) => {
      await using place = await temporaryLog();
      const pipeline = failing({ isMended: true });
      await place.log.createTopics(topicSpecs([pipeline({})], { lanes: 1, names: topicNames() }));
      const forged = { topic: 'shelves.requests', key: 'bad', value: '{"shelf":"bad"}', headers: { 'headgate-resume': resume } };
      await place.log.append([forged]);
      expect(await workedOff(place.log, pipeline, ['good'])).toMatchObject({ outcome: 'done', failures: [] });
      expect(await valuesOf(place.log, 'shelves.dead-letters')).toMatchObject([
        { request: { shelf: 'bad' }, error: { code: 'HEADGATE_MALFORMED_REQUEST', message: expect.stringContaining('headgate-resume') } },
      ]);
      expect((await valuesOf<{ item: string }>(place.log, 'shelves.records')).map(({ item }) => item)).toEqual(GOOD);
    },
  );
});

describe('an incremental walk', () => {
  /** Carries the number of the newest item, and records where each walk began. */
  function incremental(began: [from: number, carried: unknown][], more: Partial<Definition> = {}) {
    return shelves(() =>
      walking({
        paging(request, { carried }) {
          let isBegun = false;
          return {
            ...shelfPaging(request),
            query(from) {
              if (!isBegun) began.push([from, carried]);
              isBegun = true;
              return { ...request, from };
            },
          };
        },
        carry: ({ items }, carried) => Math.max(Number(carried ?? 0), Number(items.at(-1)?.replace(/\D/g, ''))),
        ...more,
      }),
    );
  }

  it('begins with the value that the last complete one of its key carried to its end', async () => {
    await using place = await temporaryLog();
    const began: [number, unknown][] = [];
    for (const shelf of ['ada', 'bert', 'ada']) await workedOff(place.log, incremental(began), [shelf]);
    expect(began).toEqual([
      [0, undefined],
      [0, undefined],
      [0, 4],
    ]);
  });

  it('waits for the active walk of its key, and for no other', async () => {
    await using place = await temporaryLog();
    const began: [number, unknown][] = [];
    const keys: string[] = [];
    const more: Partial<Definition> = { lifecycle: ({ state }, { key }) => (keys.push(`${key} ${state}`), []) };
    await workedOff(place.log, incremental(began, more), ['ada', 'ada', 'bert', 'ada']);
    expect(began.map(([, carried]) => carried)).toEqual([undefined, undefined, 4, 4]);
    expect(keys.filter((key) => key.startsWith('ada'))).toEqual(Array.from({ length: 3 }, () => ['ada started', 'ada completed']).flat());
  });

  it('counts in the forecast while it waits', async () => {
    await using place = await temporaryLog();
    await workedOff(place.log, incremental([]), ['ada']);
    const { promise, resolve } = Promise.withResolvers<void>();
    const pipeline = incremental([], { source: shelvesApi({ onPage: () => promise }) })({});
    await place.log.append(['ada', 'ada', 'ada'].map((key) => ({ topic: 'shelves.requests', key, value: '{"shelf":"ada"}' })));
    await using running = await start({ log: place.log, pipelines: [pipeline] });
    await expect.poll(() => running.snapshot().lanes).toMatchObject([{ inWork: 1, behind: 2 }]);
    await expect.poll(() => running.snapshot().progress).toMatchObject({ left: 9, isExact: true });
    expect(running.snapshot().work).toHaveLength(1);
    resolve();
    await running.done;
  });

  it('leaves the waiting jobs to the next start, if it is stopped', async () => {
    await using place = await temporaryLog();
    const began: [number, unknown][] = [];
    const stop = new AbortController();
    const api = shelvesApi({ onPage: () => stop.abort() });
    await workedOff(place.log, incremental(began, { source: api }), ['ada', 'ada', 'ada'], { signal: stop.signal }).catch(() => undefined);
    await workedOff(place.log, incremental(began), []);
    expect(began).toEqual([
      [0, undefined],
      [2, undefined],
      [0, 4],
      [0, 4],
    ]);
  });

  it('starts no waiting job if the last page of the previous one is written during a stop', async () => {
    await using place = await temporaryLog();
    const stop = new AbortController();
    const started: string[] = [];
    const api = shelvesApi({ onPage: (page) => void (page === 'ada 4' && stop.abort()) });
    const onEvent = ({ type }: RunEvent): void => void (['request-started', 'request-completed'].includes(type) && started.push(type));
    await workedOff(place.log, incremental([], { source: api }), ['ada', 'ada', 'ada'], { signal: stop.signal, onEvent });
    expect(started).toEqual(['request-started', 'request-completed']);
  });

  it('begins with the same value as a previous walk that failed', async () => {
    await using place = await temporaryLog();
    const began: [number, unknown][] = [];
    const failing: Partial<Definition> = {
      credentialOf({ next }) {
        if (next === undefined) throw new Error('boom');
        return '';
      },
    };
    for (const more of [{}, failing, {}]) await workedOff(place.log, incremental(began, more), ['ada']);
    expect(began.map(([, carried]) => carried)).toEqual([undefined, 4, 4]);
  });

  /** A service whose last page is broken or refused. `requested`: the pages that were requested, in all runs. */
  interface Faulty {
    fault: 'refused' | 'broken' | undefined;
    readonly requested: string[];
  }
  const faulty = (began: [number, unknown][], service: Faulty): ShelvesPipeline =>
    incremental(began, {
      source: shelvesApi({
        onPage(page) {
          service.requested.push(page);
          if (page !== 'ada 4' || service.fault === undefined) return;
          const [code, retryable] =
            service.fault === 'refused' ? (['HEADGATE_BAD_REQUEST', false] as const) : (['HEADGATE_UNAVAILABLE', true] as const);
          throw new SourceError({ code, message: 'no', retryable, service: 'shelves', subject: 'ada' });
        },
      }),
    });
  const written = async (log: TopicLog): Promise<readonly string[]> =>
    (await valuesOf<{ item: string }>(log, 'shelves.records')).map(({ item }) => item);
  const ADA = GOOD.map((item) => item.replace('good', 'ada'));

  it('that failed is continued by the next one of its key, and its replay then has nothing to do', async () => {
    await using place = await temporaryLog();
    const service: Faulty = { fault: 'broken', requested: [] };
    const began: [number, unknown][] = [];
    await workedOff(place.log, faulty(began, service), ['ada']);
    await workedOff(place.log, faulty(began, service), ['ada']);
    service.fault = undefined;
    await workedOff(place.log, faulty(began, service), ['ada']);
    expect(await written(place.log)).toEqual(ADA);
    expect(await valuesOf(place.log, 'shelves.dead-letters')).toHaveLength(2);
    const requested = service.requested.length;
    await replayDeadLetters({ log: place.log, requests: faulty(began, service).definition.requests });
    await workedOff(place.log, faulty(began, service), []);
    expect(service.requested).toHaveLength(requested);
    expect(await valuesOf(place.log, 'shelves.dead-letters')).toHaveLength(2);
    await workedOff(place.log, faulty(began, service), ['ada']);
    expect(began).toEqual([
      [0, undefined],
      [4, undefined],
      [4, undefined],
      [0, 4],
    ]);
  });

  it('that failed counts when its replay completes it', async () => {
    await using place = await temporaryLog();
    const service: Faulty = { fault: 'broken', requested: [] };
    const began: [number, unknown][] = [];
    await workedOff(place.log, faulty(began, service), ['ada']);
    service.fault = undefined;
    await replayDeadLetters({ log: place.log, requests: faulty(began, service).definition.requests });
    await workedOff(place.log, faulty(began, service), ['ada']);
    expect(await written(place.log)).toEqual([...ADA, ...ADA]);
    expect(began).toEqual([
      [0, undefined],
      [4, undefined],
      [0, 4],
    ]);
  });

  it('starts over if the service also refused the page at which the failed one was continued', async () => {
    await using place = await temporaryLog();
    const service: Faulty = { fault: 'refused', requested: [] };
    for (const _ of [1, 2, 3]) await workedOff(place.log, faulty([], service), ['ada']);
    expect(service.requested).toEqual(['ada 0', 'ada 2', 'ada 4', 'ada 4', 'ada 0', 'ada 2', 'ada 4']);
  });

  it('does so in the same run, even if the record of completion was what failed', async () => {
    await using place = await temporaryLog();
    const began: [number, unknown][] = [];
    let isBroken = true;
    const pipeline = incremental(began, {
      lifecycle({ state }) {
        if (state === 'completed' && isBroken) throw new Error('boom');
        return [];
      },
    });
    const ended: string[] = [];
    const onEvent = ({ type }: RunEvent): void => {
      if (type !== 'request-failed' && type !== 'request-completed') return;
      ended.push(type);
      isBroken = false;
    };
    await using running = await start({ log: place.log, pipelines: [pipeline({})], follow: true, onEvent });
    for (const _ of [1, 2]) {
      const before = ended.length;
      await running.enqueue('shelves', [{ shelf: 'ada' }]);
      await expect.poll(() => ended.length).toBe(before + 1);
    }
    expect(ended).toEqual(['request-failed', 'request-completed']);
    expect(began.map(([, carried]) => carried)).toEqual([undefined, undefined]);
  });

  it('continues after a stop with both values: from the previous walk, and from its own pages', async () => {
    await using place = await temporaryLog();
    const began: [number, unknown][] = [];
    await workedOff(place.log, incremental(began), ['ada']);
    const carried: unknown[] = [];
    const more: Partial<Definition> = {
      carry(_, before) {
        carried.push(before);
        return Number(before) + 10;
      },
    };
    const stop = new AbortController();
    const api = shelvesApi({ onPage: (page) => (page === 'ada 2' ? stop.abort() : undefined) });
    await workedOff(place.log, incremental(began, { ...more, source: api }), ['ada'], { signal: stop.signal }).catch(() => undefined);
    await workedOff(place.log, incremental(began, more), []);
    await workedOff(place.log, incremental(began, more), ['ada']);
    expect(began).toEqual([
      [0, undefined],
      [0, 4],
      // The page in flight at the stop was written.
      [4, 4],
      [0, 34],
    ]);
    expect(carried.slice(0, 3)).toEqual([4, 14, 24]);
  });

  it('carries nothing over from a walk of some pages', async () => {
    await using place = await temporaryLog();
    const began: [number, unknown][] = [];
    for (const whole of [true, false, true]) await workedOff(place.log, incremental(began, { whole: () => whole }), ['ada']);
    expect(began.map(([, carried]) => carried)).toEqual([undefined, 4, 4]);
  });
});

test('a circular walk keeps its pages and becomes a dead letter whose replay starts over', async () => {
  await using place = await temporaryLog();
  const pipeline = shelves(() => walking(nextBy(({ next = 2 }) => next)));
  await workedOff(place.log, pipeline, ['good']);
  expect(await valuesOf(place.log, 'shelves.records')).toHaveLength(5);
  expect(await valuesOf(place.log, 'shelves.dead-letters')).toMatchObject([
    { request: { shelf: 'good' }, error: { code: 'HEADGATE_CURSOR_LOOP', retryable: true } },
  ]);
  const api = shelvesApi();
  await replayDeadLetters({ log: place.log, requests: pipeline.definition.requests });
  await workedOff(
    place.log,
    shelves(() => walking({}, api)),
    [],
  );
  expect(api.requested).toEqual(['good 0', 'good 2', 'good 4']);
});

test('with validate, a record that does not fit its schema ends its request', async () => {
  const misfit = {
    records: ({ shelf }: ItemsPage, { topics }: Parameters<Definition['records']>[1]) => [
      topics.records({ key: shelf, value: { item: (shelf === 'bad' ? 7 : shelf) as string } }),
    ],
  };
  for (const validate of [false, true]) {
    await using place = await temporaryLog();
    const pipeline = shelves(() => walking(misfit));
    const { outcome } = await workedOff(place.log, pipeline, ['bad', 'good'], { validate });
    expect(outcome).toBe('done');
    const deadLetters = await valuesOf<DeadLetter>(place.log, 'shelves.dead-letters');
    expect(deadLetters.map(({ request, error: { code } }) => [request, code])).toEqual(
      validate ? [[{ shelf: 'bad' }, 'HEADGATE_INVALID_RECORD']] : [],
    );
  }
});

test('two transforms with the same name can’t share a checkpoint', () => {
  const twice = [throwing('next'), throwing('state')];
  expect(() => walking({ through: twice })).toThrow(expect.objectContaining({ code: 'HEADGATE_DEFINITION' }));
});

test('a log that can’t say where a walk’s records begin ends the lane, not the request', async () => {
  await using place = await temporaryLog();
  const failed = new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_FAILED', message: 'no answer' });
  const silent = logWith(place.log, {
    listTopics: (topics, options) =>
      topics?.includes('shelves.requests') ? place.log.listTopics(topics, options) : Promise.reject(failed),
  });
  const pipeline = shelves(() => walking({ async *after() {} }));
  expect(await workedOff(silent, pipeline, ['good'])).toMatchObject({ outcome: 'failed', failures: [failed] });
  expect(await valuesOf(place.log, 'shelves.dead-letters')).toEqual([]);
  await workedOff(place.log, pipeline, []);
  expect(await valuesOf(place.log, 'shelves.records')).toHaveLength(5);
});

test('a refused part of a page becomes a dead letter, the records of the page are written, and the walk continues', async () => {
  await using place = await temporaryLog();
  const refusing: Partial<Definition> = {
    *records({ shelf, items }, { topics, refuse }) {
      for (const item of items) {
        if (item === 'good-1') refuse({ id: item, record: { item }, error: new TypeError('too blue') });
        else yield topics.records({ key: shelf, value: { item } });
      }
    },
  };
  await workedOff(
    place.log,
    shelves(() => walking(refusing)),
    ['good'],
  );
  expect(await valuesOf(place.log, 'shelves.records')).toEqual(GOOD.filter((item) => item !== 'good-1').map((item) => ({ item })));
  expect(await valuesOf(place.log, 'shelves.dead-letters')).toMatchObject([{ record: { item: 'good-1' }, error: { message: 'too blue' } }]);
});

test('a request that becomes invalid after its walk started leaves nothing in the state, and its replay continues the walk', async () => {
  await using place = await temporaryLog();
  const stop = new AbortController();
  const slowBehindThePage = shelvesApi({
    onPage: (page) => (page === 'good 0' ? undefined : new Promise((resolve) => stop.signal.addEventListener('abort', resolve))),
  });
  await workedOff(
    place.log,
    shelves(() => walking({}, slowBehindThePage)),
    ['good'],
    { signal: stop.signal, onEvent: ({ type }) => void (type === 'page-written' && stop.abort()) },
  );
  const read: TopicLog['read'] = (options) => place.log.read(options.topic === 'shelves.requests' ? { ...options, from: 1 } : options);
  const stricter = definePipeline({
    name: 'shelves',
    options: z.strictObject({}),
    request: z.strictObject({ shelf: z.literal('other') }),
    topics: shelvesTopics,
    keyOf: ({ shelf }) => shelf,
    open: () => walking() as never,
  });
  await using running = await start({ log: logWith(place.log, { read }), pipelines: [stricter({})] });
  expect(await running.done).toMatchObject({ outcome: 'done', failures: [] });
  expect(await valuesOf(place.log, 'shelves.dead-letters')).toMatchObject([
    { request: { shelf: 'good' }, error: { code: 'HEADGATE_MALFORMED_REQUEST' } },
  ]);
  expect([...(await place.log.readState('shelves.state', 0))].map(([key]) => key).toSorted()).toEqual([
    'headgate/lane',
    'headgate/requests',
  ]);

  const api = shelvesApi();
  const pipeline = shelves(() => walking({}, api));
  const { requests } = pipeline.definition;
  await replayDeadLetters({ log: place.log, requests });
  // The position also survives a replay that is refused before it has begun.
  await using early = await start({ log: place.log, pipelines: [stricter({})] });
  expect(await early.done).toMatchObject({ outcome: 'done', snapshot: { deadLetters: { total: 1 } } });
  await replayDeadLetters({ log: place.log, requests });
  await workedOff(place.log, pipeline, []);
  expect(api.requested).toEqual(['good 4']);
  expect((await valuesOf<{ item: string }>(place.log, 'shelves.records')).map(({ item }) => item)).toEqual(GOOD);
});
