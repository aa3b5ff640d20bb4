import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RateBudget, rateBudget } from '@headgate/throttle';
import { virtualClock } from '@headgate/throttle/testing';
import type { TopicLog } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TOPICS, statePartition, topicSpecs } from '../records/topic-names.ts';
import { bell } from './bell.ts';
import { laneJournal } from './lane-journal.ts';
import { type Lane, openLane } from './lane.ts';
import { type Flow, workLane } from './work-lane.ts';

const clock = virtualClock();
let folder = '';
let log: TopicLog;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-lane-journal-'));
  log = await sqliteTopicLog({ file: join(folder, 'headgate.db') });
  await log.createTopics(topicSpecs(1));
});
afterEach(async () => {
  await log.close();
  await rm(folder, { recursive: true });
});

const open = (): Promise<Lane> => openLane({ log, group: 'g', service: 'followers', partition: 0, clock });

function budgetOf(lane: Lane) {
  const budget = rateBudget({ limit: 15, windowMs: 900_000, clock });
  const entry = laneJournal({ lane, clock }).open('app', () => [budget.snapshot()]);
  return { budget, entry };
}

test('what was learned is written though nothing else is, and what was settled with it', async () => {
  const lane = await open();
  const { budget, entry } = budgetOf(lane);
  budget.take().answered();
  entry.settled();
  budget.holdUntil(clock.monotonicMs() + 600_000);
  entry.learned();
  const written = async (): Promise<unknown> => {
    const state = await log.readState(TOPICS.state, statePartition('followers', 0));
    return JSON.parse(state.get('g/followers/0/budget/app') ?? 'null');
  };
  await expect.poll(written).toMatchObject([{ heldMs: 600_000, busy: [[expect.any(Number), 1]], freedMs: null }]);
  await lane.close();
});

test('a books key goes on under another plan, and counts once', async () => {
  const books = (): Promise<Lane> => openLane({ log, group: 'g', service: 'books', partition: 0, clock });
  const day = (): RateBudget => rateBudget({ limit: 150, windowMs: 86_400_000, clock });
  const used: number[] = [];
  for (const plan of ['default', 'premium', 'premium', 'pro']) {
    const lane = await books();
    const budget = day();
    const entry = laneJournal({ lane, clock }).open(plan, () => [budget.snapshot()]);
    for (const snapshot of entry.restored ?? []) budget.restore(snapshot);
    used.push(budget.used);
    if (plan !== 'premium') {
      budget.take(50).answered();
      await entry.granted();
    }
    await lane.close();
  }
  expect(used).toEqual([0, 50, 50, 50]);
  const state = await log.readState(TOPICS.state, statePartition('books', 0));
  expect([...state].map(([key]) => key).filter((key) => key.includes('budget/'))).toEqual(['g/books/0/budget/pro']);
});

test('a lane that can’t write what was learned fails, though nobody waits for it', async () => {
  const lane = await open();
  const { entry } = budgetOf(lane);
  const waker = bell({ clock });
  const flow: Flow = { load: 0, begun: [], take: () => undefined, flush: () => undefined, stop: () => Promise.resolve() };
  const work = workLane({
    log,
    lane,
    flow,
    bell: waker,
    backlog: 1,
    follow: true,
    clock,
    onHeldBack: () => undefined,
    signal: new AbortController().signal,
  });
  lane.beforeCommit(() => {
    throw new Error('disk full');
  });
  entry.learned();
  await expect(work).rejects.toThrow('disk full');
  await lane.close();
});
