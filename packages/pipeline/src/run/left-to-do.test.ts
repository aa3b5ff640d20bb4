import { virtualClock } from '@headgate/throttle/testing';
import { partitionForKey } from '@headgate/topics';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { definePipeline } from '../definition/define-pipeline.ts';
import type { RunEvent } from '../events/events.ts';
import {
  type Shelf,
  type ShelvesApi,
  shelfPaging,
  shelves,
  shelvesApi,
  type shelvesTopics,
  workedOff,
} from '../testing/shelves.fixture.ts';
import { topicNames } from '../topics/names.ts';
import { temporaryLog } from '../testing/temporary-log.fixture.ts';
import { replayDeadLetters } from './replay.ts';
import { topicSpecs } from '../topics/topics.ts';
import { lookup } from '../jobs/lookup.ts';
import type { After } from '../jobs/walk-definition.ts';
import { walk } from '../jobs/walk.ts';
import { leftToDo } from './left-to-do.ts';

function walking(api: ShelvesApi = shelvesApi(), after?: After<typeof shelvesTopics>) {
  return shelves(() =>
    walk({
      source: api,
      paging: shelfPaging,
      records: ({ shelf, items }, { topics }) => items.map((item) => topics.records({ key: shelf, value: { item } })),
      whole: ({ shelf }: Shelf) => shelf !== 'some',
      ...(after !== undefined && { after }),
    }),
  );
}

/** Stops a run as soon as it requests this page. */
const stoppedAt = (page: string) => {
  const stop = new AbortController();
  return { api: shelvesApi({ onPage: (one) => (one === page ? stop.abort() : undefined) }), signal: stop.signal };
};

describe('leftToDo', () => {
  it('finds listed requests on an empty log, and opens and closes sources without sending a request', async () => {
    await using place = await temporaryLog();
    const calls: string[] = [];
    const api: ShelvesApi = {
      ...shelvesApi({ onPage: (page) => calls.push(page) }),
      stop: () => void calls.push('stop'),
      close: async () => await Promise.resolve(void calls.push('close')),
    };
    const pipeline = walking(api)({ shelves: ['ada', 'some'] });
    await place.log.createTopics(topicSpecs([pipeline], { lanes: 1, names: topicNames() }));
    expect(await leftToDo({ log: place.log, pipelines: [pipeline], clock: virtualClock() })).toEqual([
      {
        pipeline: 'shelves',
        after: 0,
        journals: [],
        lanes: [
          {
            pipeline: 'shelves',
            lane: 0,
            keys: 0,
            keysPerRequest: 1,
            budgets: [],
            walks: ['ada', 'some'].map((key) => ({
              key,
              request: JSON.stringify({ shelf: key }),
              page: 1,
              whole: key === 'ada',
            })),
          },
        ],
      },
    ]);
    expect(calls).toEqual(['stop', 'close']);
  });

  it('finds the listed requests of each pipeline', async () => {
    await using place = await temporaryLog();
    const others = definePipeline({
      name: 'others',
      options: z.strictObject({}),
      request: z.strictObject({ shelf: z.string() }),
      topics: {},
      keyOf: ({ shelf }) => shelf,
      listed: () => [{ shelf: 'other' }],
      open: () =>
        walk({
          source: shelvesApi(),
          paging: shelfPaging,
          records: () => [],
        }),
    });
    const pipelines = [walking()({ shelves: ['ada'] }), others({})];
    await place.log.createTopics(topicSpecs(pipelines, { lanes: 1, names: topicNames() }));
    const left = await leftToDo({ log: place.log, pipelines, clock: virtualClock() });
    expect(left.map(({ lanes }) => lanes.flatMap(({ walks }) => walks.map(({ key }) => key)))).toEqual([['ada'], ['other']]);
  });

  it('knows where a walk continues, and how many pages the last complete one of its key had', async () => {
    await using place = await temporaryLog();
    await workedOff(place.log, walking(), ['ada', 'bert']);
    const { api, signal } = stoppedAt('ada 2');
    await workedOff(place.log, walking(api), ['ada', 'some', 'cleo'], { signal });
    const [left] = await leftToDo({ log: place.log, pipelines: [walking()({})] });
    expect(left?.lanes).toMatchObject([
      {
        walks: [
          // Page 2 was in flight at the stop, and was written.
          { key: 'ada', page: 3, pages: 3, whole: true },
          { key: 'some', whole: false },
          { key: 'cleo', whole: true },
        ],
      },
    ]);
    expect(left?.lanes[0]?.walks.map((one) => 'pages' in one)).toEqual([true, false, false]);
  });

  it('knows where the replay of a failed walk continues, and that it is only a part', async () => {
    await using place = await temporaryLog();
    const onPage = (page: string): void => {
      if (page === 'ada 4') throw new Error('boom');
    };
    await workedOff(place.log, walking(), ['ada']);
    await workedOff(place.log, walking(shelvesApi({ onPage })), ['ada']);
    await replayDeadLetters({ log: place.log, requests: walking().definition.requests });
    const [left] = await leftToDo({ log: place.log, pipelines: [walking()({})] });
    expect(left?.lanes[0]?.walks).toMatchObject([{ key: 'ada', page: 1, whole: false }]);
    expect(left?.lanes[0]?.walks[0]).not.toHaveProperty('pages');
  });

  it('leaves out a finished walk after an unfinished one', async () => {
    await using place = await temporaryLog();
    const stop = new AbortController();
    const isOneDone = Promise.withResolvers<void>();
    const onPage = async (page: string) => (page === 'ada 2' ? await isOneDone.promise.then(() => stop.abort()) : undefined);
    const onEvent = ({ type }: RunEvent) => (type === 'request-completed' ? isOneDone.resolve() : undefined);
    await workedOff(place.log, walking(shelvesApi({ onPage })), ['ada', 'bert'], { signal: stop.signal, onEvent });
    const [left] = await leftToDo({ log: place.log, pipelines: [walking()({})] });
    expect(left?.lanes[0]?.walks.map(({ key, page }) => [key, page])).toEqual([['ada', 3]]);
  });

  it('leaves out a malformed request', async () => {
    await using place = await temporaryLog();
    const pipeline = walking()({});
    await place.log.createTopics(topicSpecs([pipeline], { lanes: 1, names: topicNames() }));
    await place.log.append(
      ['{"shelf":7}', 'no JSON', '{"shelf":"ada"}'].map((value) => ({ topic: 'shelves.requests', key: 'any', value })),
    );
    const [left] = await leftToDo({ log: place.log, pipelines: [pipeline] });
    expect(left?.lanes[0]?.walks.map(({ key }) => key)).toEqual(['ada']);
  });

  it('counts a listed request only in its own lane', async () => {
    await using place = await temporaryLog();
    const listed = ['ada', 'bert', 'cleo', 'dora'];
    const pipeline = { ...walking()({ shelves: listed }), credentials: ['one', 'another'] };
    await place.log.createTopics(topicSpecs([pipeline], { lanes: 2, names: topicNames() }));
    const [left] = await leftToDo({ log: place.log, pipelines: [pipeline], lanes: 2 });
    const inLane = (lane: number) => listed.filter((key) => partitionForKey(key, 2) === lane);
    expect(left?.lanes.map(({ walks }) => walks.map(({ key }) => key))).toEqual([inLane(0), inLane(1)]);
    expect([inLane(0).length, inLane(1).length]).not.toContain(0);
  });

  it('counts keys of lookups, and the work after walks', async () => {
    await using place = await temporaryLog();
    const looking = shelves(() =>
      lookup<ShelvesApi, Shelf, string[], typeof shelvesTopics>({
        source: shelvesApi(),
        key: ({ shelf }) => shelf,
        query: (source, keys, options) => source.find(keys, options),
        size: 4,
        records: () => ({ records: [] }),
      }),
    );
    const pipeline = looking({ shelves: ['a', 'b', 'c', 'd'] });
    await place.log.createTopics(topicSpecs([pipeline], { lanes: 1, names: topicNames() }));
    const [listed] = await leftToDo({ log: place.log, pipelines: [pipeline] });
    expect(listed?.lanes).toMatchObject([{ walks: [], keys: 4, keysPerRequest: 4 }]);
    await using other = await temporaryLog();
    const stop = new AbortController();
    const behind: After<typeof shelvesTopics> = async function* (_, __, { signal }) {
      stop.abort();
      yield* await new Promise<never[]>((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
    };
    await workedOff(other.log, walking(shelvesApi(), behind), ['ada', 'bert'], { signal: stop.signal });
    const [left] = await leftToDo({ log: other.log, pipelines: [walking(shelvesApi(), behind)({})] });
    expect(left?.after).toBeGreaterThan(0);
  });
});
