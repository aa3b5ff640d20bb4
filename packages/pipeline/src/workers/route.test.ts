import type { TopicLog } from '@headgate/topics';
import { describe, expect, it, test } from 'vitest';
import {
  type ItemsPage,
  type Shelf,
  type ShelvesApi,
  shelves,
  shelvesApi,
  type shelvesTopics,
  valuesOf,
  workedOff,
} from '../shelves.fixture.ts';
import { temporaryLog } from '../temporary-log.fixture.ts';
import type { Work } from '../worker.ts';
import { lookup } from './lookup.ts';
import { route } from './route.ts';
import { walk } from './walk.ts';

type Topics = typeof shelvesTopics;

const kindOf = ({ shelf }: Shelf): 'walk' | 'word' => (/^[A-Z]/.test(shelf) ? 'walk' : 'word');

/** Shelves in capitals are walked, words are looked up, both at one source. */
function routed(api: ShelvesApi = shelvesApi(), pick = kindOf): Work<Shelf, Topics> {
  return route((request: Shelf) => [pick(request), request], {
    walk: walk<ShelvesApi, Shelf, ItemsPage, Topics>({
      source: api,
      pages: (source, { shelf }, from) => source.pages(shelf, typeof from === 'number' ? from : 0),
      records: ({ shelf, items }, { topics }) => items.map((item) => topics.records({ key: shelf, value: { item } })),
      checkpoint: ({ next }) => next,
    }),
    word: lookup<ShelvesApi, Shelf, string[], Topics>({
      source: api,
      keys: ({ shelf }) => shelf.split('+'),
      requestOf: (keys) => ({ shelf: keys.join('+') }),
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

test('each request is worked by the kind that pick names, all of them by one source', async () => {
  await using place = await temporaryLog();
  const api = shelvesApi();
  const { outcome, snapshot } = await workedOff(
    place.log,
    shelves(() => routed(api)),
    ['x', 'A', 'y+z'],
  );
  expect(outcome).toBe('done');
  expect(await itemsOf(place.log)).toEqual([...WALKED, 'x', 'y', 'z']);
  expect(api.requested.toSorted()).toEqual(['A 0', 'A 2', 'A 4', 'x+y', 'z']);
  expect(snapshot.pipelines['shelves']).toMatchObject({ walks: { completed: 1 }, keys: { queued: 3, answered: 3 } });
});

test('a run that is stopped goes on with requests of every kind', async () => {
  for (let moment = 0; moment < 8; moment += 1) {
    await using place = await temporaryLog();
    const stop = new AbortController();
    let events = 0;
    const first = await workedOff(
      place.log,
      shelves(() => routed()),
      ['A', 'x+y', 'z'],
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

describe('only a request of unknown kind is a dead letter:', () => {
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
      /^bad: route of pipeline shelves threw RangeError: there is no work "other" \(walk, word\)/,
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
