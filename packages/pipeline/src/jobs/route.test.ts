import type { TopicLog } from '@headgate/topics';
import { describe, expect, it, test } from 'vitest';
import {
  type ItemsPage,
  type Shelf,
  type ShelfQuery,
  type ShelvesApi,
  shelfPaging,
  shelves,
  shelvesApi,
  type shelvesTopics,
  valuesOf,
  workedOff,
} from '../testing/shelves.fixture.ts';
import { temporaryLog } from '../testing/temporary-log.fixture.ts';
import type { RunEvent } from '../events/events.ts';
import type { Processor } from '../definition/processor.ts';
import { lookup } from './lookup.ts';
import { route } from './route.ts';
import { walk } from './walk.ts';

type Topics = typeof shelvesTopics;

const kindOf = ({ shelf }: Shelf): 'walk' | 'word' => (/^[A-Z]/.test(shelf) ? 'walk' : 'word');

/** By default, walks requests that start with a capital letter, and looks up the others, with one source. */
function routed(api: ShelvesApi = shelvesApi(), pick = kindOf): Processor<Shelf, Topics> {
  return route((request: Shelf) => [pick(request), request], {
    walk: walk<ShelfQuery, ItemsPage, number, Shelf, Topics>({
      source: api,
      paging: shelfPaging,
      records: ({ shelf, items }, { topics }) => items.map((item) => topics.records({ key: shelf, value: { item } })),
    }),
    word: lookup<ShelvesApi, Shelf, string[], Topics>({
      source: api,
      key: ({ shelf }) => shelf,
      query: (source, keys, options) => source.find(keys, options),
      size: 2,
      records: (answers, { topics }) => ({
        records: answers.map((item, index) => ({ index, record: topics.records({ key: item, value: { item } }) })),
      }),
    }),
  });
}

const itemsOf = async (log: TopicLog): Promise<string[]> =>
  (await valuesOf<{ item: string }>(log, 'shelves.records')).map(({ item }) => item).sort();
const WALKED = ['A-0', 'A-1', 'A-2', 'A-3', 'A-4'];

test('each request is processed by the kind that pick names, and all kinds share one source', async () => {
  await using place = await temporaryLog();
  const api = shelvesApi();
  const { outcome, snapshot } = await workedOff(
    place.log,
    shelves(() => routed(api)),
    ['x', 'A', 'y', 'z'],
  );
  expect(outcome).toBe('done');
  expect(await itemsOf(place.log)).toEqual([...WALKED, 'x', 'y', 'z']);
  expect(api.requested.toSorted()).toEqual(['A 0', 'A 2', 'A 4', 'x+y', 'z']);
  expect(snapshot.pipelines['shelves']).toMatchObject({ walks: { completed: 1 }, keys: { queued: 3, answered: 3 } });
});

test('a stopped run continues requests of every kind', async () => {
  for (let moment = 0; moment < 8; moment += 1) {
    await using place = await temporaryLog();
    const stop = new AbortController();
    let events = 0;
    const first = await workedOff(
      place.log,
      shelves(() => routed()),
      ['A', 'x', 'y', 'z'],
      {
        signal: stop.signal,
        onEvent({ type }) {
          if (type !== 'page-written' && type !== 'keys-answered') return;
          if (events === moment) stop.abort();
          events += 1;
        },
      },
    );
    expect(first.failures).toEqual([]);
    await workedOff(
      place.log,
      shelves(() => routed()),
      [],
    );
    expect(await itemsOf(place.log)).toEqual([...WALKED, 'x', 'y', 'z']);
  }
});

interface Walked {
  readonly carried: string[];
  readonly ends: string[];
  /** If true, `after` waits until the run stops. */
  readonly isStuck?: boolean;
}

function walkOf(source: ShelvesApi, kind: string, { carried, ends, isStuck = false }: Walked): Processor<Shelf, Topics> {
  return walk<ShelfQuery, ItemsPage, number, Shelf, Topics>({
    source,
    paging: (request, { carried: since }) => ({
      ...shelfPaging(request),
      get first() {
        carried.push(`${kind} of ${request.shelf} since ${JSON.stringify(since)}`);
        return 0;
      },
    }),
    records: ({ items }, { topics, key }) => items.map((item) => topics.records({ key, value: { item: `${kind} ${item}` } })),
    carry: ({ items }) => `${kind} ${items.at(-1)}`,
    async *after(crawl, previous, { topics, signal }) {
      if (isStuck) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
      ends.push(`${kind} ${crawl.id} after ${previous?.id ?? 'none'}`);
      yield await Promise.resolve(topics.log({ key: crawl.key, value: kind }));
    },
  });
}

/** Two kinds of walks with the same keys. */
function twoWalks(carried: string[], ends: string[], isStuck = false): Processor<Shelf, Topics> {
  const source = shelvesApi();
  return route((request: Shelf) => (request.shelf.endsWith('!') ? ['loud', { shelf: request.shelf.slice(0, -1) }] : ['low', request]), {
    low: walkOf(source, 'low', { carried, ends, isStuck }),
    loud: walkOf(source, 'loud', { carried, ends, isStuck }),
  });
}

test('a kind of walk sees neither the carried value nor the crawls of another kind, and walks the request that pick returns', async () => {
  await using place = await temporaryLog();
  const carried: string[] = [];
  const ends: string[] = [];
  const pipeline = shelves(
    () => twoWalks(carried, ends),
    ({ shelf }) => shelf.replace('!', ''),
  );
  for (const shelf of ['a', 'a!', 'a', 'a!']) expect(await workedOff(place.log, pipeline, [shelf])).toMatchObject({ outcome: 'done' });
  expect(carried).toEqual([
    'low of a since undefined',
    'loud of a since undefined',
    'low of a since "low a-4"',
    'loud of a since "loud a-4"',
  ]);
  const id = (offset: number): string => `shelves.requests-0-${offset}`;
  expect(ends).toEqual([
    `low ${id(0)} after none`,
    `loud ${id(1)} after none`,
    `low ${id(2)} after ${id(0)}`,
    `loud ${id(3)} after ${id(1)}`,
  ]);
});

test('a job is sized by its kind, with the last crawl of that kind', () => {
  const processor = twoWalks([], []);
  const stateAt = (key: string): unknown => (key === 'last/loud/a' ? { pages: 4, items: 9 } : undefined);
  const sizeOf = (shelf: string) =>
    processor.size({ pipeline: 'shelves', kind: '', record: { offset: 0 }, request: { shelf }, key: 'a', stateAt });
  expect([sizeOf('a!'), sizeOf('a')]).toEqual([
    { kind: 'walk', page: 1, whole: true, last: { pages: 4, items: 9 } },
    { kind: 'walk', page: 1, whole: true },
  ]);
});

test('after a stop, the unfinished work after walks of two kinds is done once for each kind', async () => {
  await using place = await temporaryLog();
  const ends: string[] = [];
  const pipeline = (isStuck: boolean) =>
    shelves(
      () => twoWalks([], ends, isStuck),
      ({ shelf }) => shelf.replace('!', ''),
    );
  const stop = new AbortController();
  let completed = 0;
  await workedOff(place.log, pipeline(true), ['a', 'a!'], {
    signal: stop.signal,
    onEvent({ type }) {
      if (type === 'request-completed' && (completed += 1) === 2) stop.abort();
    },
  });
  expect(ends).toEqual([]);
  await workedOff(place.log, pipeline(false), []);
  expect(ends.toSorted()).toEqual(['loud shelves.requests-0-1 after none', 'low shelves.requests-0-0 after none']);
});

describe('unfinished work after a walk', () => {
  const one = (isStuck: boolean): Processor<Shelf, Topics> => walkOf(shelvesApi(), 'low', { carried: [], ends: [], isStuck });
  const kinds = (kind: string, work: Processor<Shelf, Topics>): Processor<Shelf, Topics> =>
    route((request: Shelf) => [kind, request], { [kind]: work });
  it.each([
    ['continues if the pipeline gained a route', () => one(true), () => kinds('low', one(false)), false],
    ['continues if a kind was renamed', () => kinds('old', one(true)), () => kinds('low', one(false)), false],
    ['continues if a kind was divided', () => kinds('low', one(true)), () => kinds('low', kinds('deep', one(false))), false],
    ['is dropped, with one warning, if the pipeline walks no more', () => one(true), () => kinds('low', routed()), true],
    ['is dropped, with one warning, if it looks up where it walked', () => kinds('word', one(true)), () => routed(), true],
  ])('%s', async (_, before, now, isDropped) => {
    await using place = await temporaryLog();
    const stop = new AbortController();
    await workedOff(place.log, shelves(before), ['a'], {
      signal: stop.signal,
      onEvent: ({ type }) => {
        if (type === 'request-completed') stop.abort();
      },
    });
    const notices: string[] = [];
    const onEvent = (event: RunEvent): void => {
      if (event.type === 'notice') notices.push(event.message);
    };
    await workedOff(place.log, shelves(now), ['b'], { onEvent });
    const dropped =
      'a: the work after its crawl shelves.requests-0-0 was dropped, because the pipeline no longer defines it for this kind of job';
    const said = isDropped ? dropped : 'a: the work after its crawl continues';
    expect(notices).toEqual([said]);
    await workedOff(place.log, shelves(now), ['c'], { onEvent });
    expect(notices).toEqual([said]);
  });
});

describe('only a request of an unknown kind becomes a dead letter:', () => {
  it.each([
    [
      'pick throws',
      ({ shelf }: Shelf) => {
        if (shelf === 'bad') throw new TypeError('boom');
        return 'word' as const;
      },
      /^bad: route of pipeline shelves threw TypeError: boom/,
    ],
    [
      'pick names no work',
      ({ shelf }: Shelf) => (shelf === 'bad' ? ('other' as 'word') : 'word'),
      /^bad: route of pipeline shelves .*: it returned the unknown kind other\. It must return one of walk, word\./,
    ],
  ])('%s', async (_, pick, says) => {
    await using place = await temporaryLog();
    const { outcome, failures } = await workedOff(
      place.log,
      shelves(() => routed(shelvesApi(), pick)),
      ['bad', 'good'],
    );
    expect({ outcome, failures }).toEqual({ outcome: 'done', failures: [] });
    expect(await valuesOf(place.log, 'shelves.dead-letters')).toMatchObject([
      { request: { shelf: 'bad' }, error: { code: 'HEADGATE_USER_FUNCTION', message: expect.stringMatching(says) } },
    ]);
    expect(await itemsOf(place.log)).toEqual(['good']);
  });
});

test.each(['BAD', 'bad'])('a source that rejects with an error that nothing can read ends request %s alone', async (shelf) => {
  await using place = await temporaryLog();
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const onPage = (what: string): void => {
    if (what.startsWith(shelf)) throw proxy as Error;
  };
  const { outcome } = await workedOff(
    place.log,
    shelves(() => routed(shelvesApi({ onPage }))),
    [shelf, 'good', 'more'],
  );
  expect(outcome).toBe('done');
  expect(await itemsOf(place.log)).toContain('more');
  const [dead] = await valuesOf<{ readonly error: { readonly message: string } }>(place.log, 'shelves.dead-letters');
  expect(dead?.error.message).toContain("it threw a value that can't be read");
});
