import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { transform } from '@headgate/throttle';
import type { LaneWriter, TopicLog } from '@headgate/topics';
import { expect, test } from 'vitest';
import {
  type ItemsPage,
  type Shelf,
  shelfPaging,
  shelves,
  shelvesApi,
  type shelvesTopics,
  valuesOf,
  workedOff,
} from '../testing/shelves.fixture.ts';
import { logWith, temporaryLog } from '../testing/temporary-log.fixture.ts';
import { replayDeadLetters } from '../run/replay.ts';
import type { RunEvent } from '../events/events.ts';
import { walk } from './walk.ts';

type Records = Parameters<typeof walk<{ shelf: string; from: number }, ItemsPage, number, Shelf, typeof shelvesTopics>>[0]['records'];

const records: Records = ({ shelf, items }, { topics }) => items.map((item) => topics.records({ key: shelf, value: { item } }));

/** A pipeline whose transform counts the pages, and whose carried value is the sum of these counts. Its source has no budgets. */
function counting(api: ReturnType<typeof shelvesApi>, of: Records = records) {
  const counted = transform<ItemsPage>({
    name: 'counted',
    open(before) {
      let count = Number(before ?? 0);
      return {
        next: (page) => [{ ...page, items: page.items.map((item) => `${item}/${(count += 1)}`) }],
        state: () => count,
      };
    },
  });
  return shelves(() =>
    walk<{ shelf: string; from: number }, ItemsPage, number, Shelf, typeof shelvesTopics>({
      source: api,
      paging: shelfPaging,
      through: [counted],
      carry: (page, before) => Number(before ?? 0) + page.items.length,
      records: of,
      lifecycle: ({ state, pages, items: walked }, { key, topics }) => [topics.log({ key, value: [state, pages, walked] })],
    }),
  );
}

/** A log whose lane waits before its second transaction until `open` is called. */
function gated(log: TopicLog) {
  const gate = Promise.withResolvers<void>();
  let transactions = 0;
  return {
    open: gate.resolve,
    log: logWith(log, {
      async openLane(spec, signal) {
        const writer = await log.openLane(spec, signal);
        if (spec.writes?.some(({ topic }) => topic === 'shelves.records') !== true) return writer;
        const transaction: LaneWriter['transaction'] = async (write) => {
          if ((transactions += 1) > 1) await gate.promise;
          await writer.transaction(write);
        };
        const close = async (): Promise<void> => await writer.close();
        return { state: writer.state, transaction, close, [Symbol.asyncDispose]: close };
      },
    }),
  };
}

const items = async (log: TopicLog): Promise<readonly string[]> =>
  (await valuesOf<{ item: string }>(log, 'shelves.records')).map(({ item }) => item);
const expected = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `a-${i}/${i + 1}`);
const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate);
};

test('pages aren’t kept in memory while what they became is being written', async () => {
  await using place = await temporaryLog();
  const { log, open } = gated(place.log);
  const api = shelvesApi({ items: 40 });
  const pages: WeakRef<object>[] = [];
  const watched: Records = (page, at) => {
    pages.push(new WeakRef(page));
    return records(page, at);
  };
  const done = workedOff(
    log,
    shelves(() => walk({ source: api, paging: shelfPaging, records: watched })),
    ['a'],
  );
  await expect.poll(() => pages.length).toBeGreaterThan(2);
  await turns(50);
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  expect(pages.map((page) => page.deref())).toEqual(pages.map(() => undefined));
  open();
  await done;
});

test('pages that wait for a transaction together build on each other, and are shown as written only when they are', async () => {
  await using place = await temporaryLog();
  const { log, open } = gated(place.log);
  const api = shelvesApi({ items: 40 });
  const events: RunEvent[] = [];
  const done = workedOff(log, counting(api), ['a'], { onEvent: (event) => void events.push(event) });
  await expect.poll(() => api.requested.length).toBeGreaterThan(4);
  await turns(50);
  // One page is written, and five more are requested.
  const asked = api.requested.length;
  expect(events.filter(({ type }) => type === 'page-written').length).toBeLessThanOrEqual(1);
  expect(asked).toBeLessThanOrEqual(6);
  open();
  expect(await done).toMatchObject({ outcome: 'done', snapshot: { pipelines: { shelves: { pages: 20 } } } });
  expect(await items(place.log)).toEqual(expected(40));
  expect(await valuesOf(place.log, 'shelves.log')).toEqual([
    ['started', 0, 0],
    ['completed', 20, 40],
  ]);
  expect((await place.log.readState('shelves.state', 0)).get('headgate/last/a')).toBe(
    JSON.stringify({ pages: 20, items: 40, carried: 40 }),
  );
  expect(events.flatMap((event) => (event.type === 'page-written' ? [event.page] : []))).toEqual(
    Array.from({ length: 20 }, (_, i) => i + 1),
  );
});

test('a page that can’t be written waits for those before it, and its replay repeats none of them', async () => {
  await using place = await temporaryLog();
  const { log, open } = gated(place.log);
  const api = shelvesApi({ items: 40 });
  const failed = Promise.withResolvers<void>();
  const broken: Records = (page, position) => {
    if (position.page === 5) {
      failed.resolve();
      throw new TypeError('boom');
    }
    return records(page, position);
  };
  const done = workedOff(log, counting(api, broken), ['a']);
  await failed.promise;
  await turns(50);
  open();
  expect(await done).toMatchObject({ outcome: 'done', snapshot: { pipelines: { shelves: { pages: 4, deadLetters: 1 } } } });
  expect(await items(place.log)).toEqual(expected(8));
  expect(await valuesOf(place.log, 'shelves.log')).toEqual([
    ['started', 0, 0],
    ['failed', 4, 8],
  ]);
  const again = shelvesApi({ items: 40 });
  const mended = counting(again);
  await replayDeadLetters({ log: place.log, requests: mended.definition.requests });
  await workedOff(place.log, mended, []);
  expect(again.requested[0]).toBe('a 8');
  expect(await items(place.log)).toEqual(expected(40));
});
