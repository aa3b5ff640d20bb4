import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@headgate/throttle';
import type { TopicLog } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { bell } from '../lanes/bell.ts';
import { type Lane, openLane } from '../lanes/lane.ts';
import { TOPICS, topicSpecs } from '../records/topic-names.ts';
import type { RunEvent } from '../status/run-event.ts';
import { type CrawlComparisons, crawlComparisons } from './crawl-comparisons.ts';
import { pageRecord } from './followers-records.ts';

const clock = systemClock();

test('each change is written once, in chunks, however often the comparison is stopped', async () => {
  await using place = await temporaryLog();
  const ids = fc.uniqueArray(fc.integer({ min: 1, max: 40 }).map(String), { maxLength: 30 });
  let user = 0;
  await fc.assert(
    fc.asyncProperty(ids, ids, fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 6 }), async (before, after, stops) => {
      const name = `@user${(user += 1)}`;
      const earlier = await changesOf(place.log, name);
      expect(earlier).toEqual([]);
      await inLane(place.log, async (work) => {
        await work.crawl(name, `${name}-1`, before);
        await work.crawl(name, `${name}-2`, after, stops[0]);
      });
      for (const stop of [...stops.slice(1), undefined]) await inLane(place.log, (work) => work.finish(stop));
      const changes = await changesOf(place.log, name);
      const ofKind = (kind: string): string[] => changes.filter(({ change }) => change === kind).map(({ id }) => id);
      expect(ofKind('followed')).toEqual(after.filter((id) => !before.includes(id)));
      expect(ofKind('unfollowed').toSorted()).toEqual(before.filter((id) => !after.includes(id)).toSorted());
    }),
    { numRuns: 25 },
  );
});

test('what a run has written it does not write again after a restart, and each says what it has written', async () => {
  await using place = await temporaryLog();
  const stopped = await inLane(place.log, async (work) => {
    await work.crawl('@alpha', 'one', ['1', '2', '3', '4', '5']);
    await work.crawl('@alpha', 'two', ['5', '6', '7'], 2);
  });
  expect(stopped).toEqual([{ type: 'changes-written', user: '@alpha', crawl: 'two', followed: 2, unfollowed: 2 }]);
  expect(await changesOf(place.log, '@alpha')).toHaveLength(4);
  const events = await inLane(place.log, (work) => work.finish());
  expect(events).toEqual([
    { type: 'notice', level: 'info', message: '@alpha: the comparison of its last two crawls goes on' },
    { type: 'changes-written', user: '@alpha', crawl: 'two', followed: 0, unfollowed: 2 },
  ]);
  expect(await changesOf(place.log, '@alpha')).toHaveLength(6);
  expect(await inLane(place.log, (work) => work.finish())).toEqual([]);
});

test.each([
  ['at once', false],
  ['after a restart', true],
])('comparisons of a user that wait for each other are made once and in the order of its crawls, %s', async (_, isStopped) => {
  await using place = await temporaryLog();
  await inLane(place.log, async (work) => {
    if (isStopped) work.comparisons.stop();
    for (let crawl = 1; crawl <= 12; crawl += 1) await work.crawl('@alpha', String(crawl), [String(crawl)]);
  });
  expect((await changesOf(place.log, '@alpha')).length === 0).toBe(isStopped);
  await inLane(place.log, (work) => work.finish());
  expect((await changesOf(place.log, '@alpha')).map(({ change, id }) => `${change} ${id}`)).toEqual(
    Array.from({ length: 11 }, (_, i) => [`followed ${i + 2}`, `unfollowed ${i + 1}`]).flat(),
  );
});

test('an earlier crawl that has lost pages ends its comparison with a warning, and the next crawl is compared with the later one', async () => {
  await using place = await temporaryLog();
  const events = await inLane(place.log, async (work) => {
    await work.crawl('@alpha', 'one', ['1', '2', '3', '4', '5'], undefined, 1);
    await work.crawl('@alpha', 'two', ['1', '2']);
    await work.settle();
    await work.crawl('@alpha', 'three', ['2', '3']);
  });
  expect(events).toEqual([
    {
      type: 'notice',
      level: 'warn',
      message: expect.stringMatching(/@alpha: crawls one and two .*Page 1 of 3 of crawl one .*Keep that topic/),
    },
    { type: 'changes-written', user: '@alpha', crawl: 'three', followed: 1, unfollowed: 1 },
  ]);
  expect((await changesOf(place.log, '@alpha')).map(({ crawl }) => crawl)).toEqual(['three', 'three']);
});

test('a walk that began at a cursor, or before its changes were asked for, is no whole crawl', async () => {
  await using place = await temporaryLog();
  await inLane(place.log, async ({ comparisons }) => {
    const at = { user: '@alpha', ids: 0 };
    expect(await comparisons.pagesFrom({ ...at, cursor: '-1', page: 1 })).toBe(0);
    expect(await comparisons.pagesFrom({ ...at, cursor: '77', page: 1 })).toBeUndefined();
    expect(await comparisons.pagesFrom({ ...at, cursor: '77', page: 2 })).toBeUndefined();
    expect(await comparisons.pagesFrom({ ...at, cursor: '77', page: 2, pagesFrom: 5 })).toBe(5);
  });
});

interface LaneWork {
  readonly comparisons: CrawlComparisons;
  /** Writes a crawl of two ids a page; compares it with the one before, and stops after so many chunks. `lost`: so many pages at its beginning are there no longer. */
  crawl(user: string, crawl: string, ids: readonly string[], stopAfter?: number, lost?: number): Promise<void>;
  /** Lets comparisons go on to their end, or for so many chunks. */
  finish(stopAfter?: number): Promise<void>;
  settle(): Promise<void>;
}

const CHUNK = 2;

/** Holds the lane for as long as the work takes, and returns what was told meanwhile. */
async function inLane(log: TopicLog, use: (work: LaneWork) => Promise<void>): Promise<RunEvent[]> {
  const lane = await openLane({ log, group: 'g', service: 'followers', partition: 0, clock });
  const waker = bell({ clock });
  const events: RunEvent[] = [];
  let chunksLeft = Infinity;
  const stopping: Lane = {
    ...lane,
    // A log promises no order of keys.
    stateUnder: (prefix) => lane.stateUnder(prefix).toReversed(),
    async commit(contribution) {
      await lane.commit(contribution);
      if (contribution.records.some(({ topic }) => topic === TOPICS.followersChanges) && (chunksLeft -= 1) <= 0) comparisons.stop();
    },
  };
  const comparisons = crawlComparisons({ log, lane: stopping, bell: waker, clock, emit: (event) => void events.push(event), chunk: CHUNK });
  const settle = async (): Promise<void> => {
    while (comparisons.isBusy) await waker.wait();
  };
  await use({
    comparisons,
    settle,
    async finish(stopAfter = Infinity) {
      chunksLeft = stopAfter;
      await settle();
    },
    async crawl(user, crawl, ids, stopAfter = Infinity, lost = 0) {
      chunksLeft = stopAfter;
      const from = (await comparisons.pagesFrom({ user, cursor: '-1', page: 1, ids: 0 })) ?? 0;
      const pages = Math.max(1, Math.ceil(ids.length / 2));
      const ending = comparisons.ending(user, { crawl, pages, from });
      const records = Array.from({ length: pages }, (_, i) => {
        const [page, cursors] = [i + 1, { cursor: '-1', nextCursor: '0', previousCursor: '0' }];
        return pageRecord({ user, crawl, partition: 0 }, page, {
          ...cursors,
          user,
          page,
          ids: ids.slice(2 * i, 2 * i + 2),
          credential: 'app',
        });
      });
      await lane.commit({ records: records.slice(lost), state: ending.state });
      ending.start();
    },
  });
  await settle();
  await lane.close();
  return events;
}

async function changesOf(log: TopicLog, user: string): Promise<{ change: string; id: string; crawl: string }[]> {
  const changes: { change: string; id: string; crawl: string }[] = [];
  for await (const { key, value } of log.read({ topic: TOPICS.followersChanges })) {
    if (key === user) changes.push(JSON.parse(value ?? '') as (typeof changes)[number]);
  }
  return changes;
}

async function temporaryLog(): Promise<AsyncDisposable & { readonly log: TopicLog }> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-changes-'));
  const log = await sqliteTopicLog({ file: join(folder, 'headgate.db') });
  await log.createTopics(topicSpecs(1));
  return {
    log,
    async [Symbol.asyncDispose]() {
      await log.close();
      await rm(folder, { recursive: true });
    },
  };
}
