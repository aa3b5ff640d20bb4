import { type Clock, rateBudget } from '@headgate/throttle';
import { virtualClock } from '@headgate/throttle/testing';
import type { TopicLog } from '@headgate/topics';
import { expect, test } from 'vitest';
import { logWith, shelvesTopics, temporaryLog } from '../testing/temporary-log.fixture.ts';
import { inheritedBudgets, journalReader, laneJournal } from './lane-journal.ts';
import { shelvesLane } from './lane.fixture.ts';
import type { Lane } from './lane.ts';

const WINDOW_MS = 900_000;
const clock = virtualClock();

const budget = () => rateBudget({ limit: 15, windowMs: WINDOW_MS, clock });

function journalled(lane: Lane, of: Clock = clock) {
  const own = budget();
  const entry = laneJournal(lane, of).open('app', () => [own.snapshot()]);
  for (const snapshot of entry.restored ?? []) own.restore(snapshot);
  return { budget: own, entry };
}

const kept = async (log: TopicLog): Promise<unknown> => {
  const state = await log.readState('shelves.state', 0);
  return JSON.parse(state.get('g/budget/app') ?? 'null');
};

test('evidence from a response is written even without other changes, and a settlement with it', async () => {
  await using place = await temporaryLog(shelvesTopics());
  const lane = await shelvesLane({ log: place.log, clock });
  const { budget: own, entry } = journalled(lane);
  own.take().answered();
  entry.settled();
  own.holdUntil(clock.monotonicMs() + 600_000);
  entry.flush();
  await expect.poll(() => kept(place.log)).toMatchObject([{ heldMs: 600_000, busy: [[expect.any(Number), 1]], freedMs: null }]);
  await lane.close();
});

test('a settlement alone waits for the next transaction, at the latest the one that releases the lane', async () => {
  await using place = await temporaryLog(shelvesTopics());
  const lane = await shelvesLane({ log: place.log, clock });
  const { budget: own, entry } = journalled(lane);
  const permit = own.take();
  await entry.granted();
  permit.answered();
  entry.settled();
  const granted = await kept(place.log);
  await lane.close();
  expect(await kept(place.log)).not.toEqual(granted);
});

test("a credential's used requests still count when its lane is opened again", async () => {
  await using place = await temporaryLog(shelvesTopics());
  const used: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const lane = await shelvesLane({ log: place.log, clock });
    const { budget: own, entry } = journalled(lane);
    used.push(own.used);
    own.take(5).answered();
    await entry.granted();
    await lane.close();
  }
  expect(used).toEqual([0, 5, 10]);
});

test.each<readonly [string, string, number]>([
  ['the time since the machine started', 'start-1', 0],
  ['the clock of the log, after another start of the machine', 'start-2', 5],
])('a journal is as old as %s says', async (_, laterBoot, used) => {
  await using place = await temporaryLog(shelvesTopics());
  const first = await shelvesLane({ log: place.log, clock });
  const { budget: own, entry } = journalled(first, { ...clock, boot: () => ({ id: 'start-1', ms: 1_000 }) });
  own.take(5).answered();
  await entry.granted();
  await first.close();
  const second = await shelvesLane({ log: place.log, clock });
  const later = journalled(second, { ...clock, boot: () => ({ id: laterBoot, ms: 1_000 + 2 * WINDOW_MS }) });
  expect(later.budget.used).toBe(used);
  await second.close();
});

test('lanes that are opened together read each journal once, and those that are opened later read it again', async () => {
  await using place = await temporaryLog(shelvesTopics(4));
  const lane = await shelvesLane({ log: place.log, clock, partition: 3 });
  const { budget: own, entry } = journalled(lane);
  own.take(2).answered();
  await entry.granted();
  await lane.close();
  const reads: number[] = [];
  const log = logWith(place.log, {
    async readState(topic, partition) {
      reads.push(partition);
      return await place.log.readState(topic, partition);
    },
  });
  const journals = journalReader(log, 'g', clock);
  const open = async (of: number) => await inheritedBudgets(journals, 'shelves.state', of, 4);
  const found = await Promise.all([0, 1, 2, 3].map(open));
  expect(found.map((records) => records.length)).toEqual([1, 1, 1, 0]);
  expect(reads.toSorted()).toEqual([0, 1, 2, 3]);
  await clock.advance(5_000);
  const [later] = await open(0);
  expect([reads.length, (later?.ageMs ?? 0) - (found[0]?.[0]?.ageMs ?? 0)]).toEqual([4, 5_000]);
  await clock.advance(5_001);
  await open(0);
  expect(reads).toHaveLength(7);
});

test('requests that a credential has used in another lane still count', async () => {
  await using place = await temporaryLog(shelvesTopics(3));
  const { log } = place;
  for (const [partition, requests] of [3, 4, 5].entries()) {
    const lane = await shelvesLane({ log, clock, partition });
    const { budget: own, entry } = journalled(lane);
    // The response in the second lane shows two requests that another program sent.
    own.take(requests).answered(partition === 1 ? { remaining: own.limit - requests - 2, resetInMs: 500_000 } : undefined);
    if (partition === 1) own.holdUntil(clock.monotonicMs() + 60_000);
    await entry.granted();
    await lane.close();
  }
  const lane = await shelvesLane({ log, clock });
  const inherited = await inheritedBudgets(journalReader(log, 'g', clock), 'shelves.state', 0, 3);
  expect(inherited.map(({ credential }) => credential)).toEqual(['app', 'app']);
  const journal = laneJournal(lane, clock, inherited);
  const { restored = [] } = journal.open('app', () => []);
  const own = budget();
  for (const snapshot of restored) own.restore(snapshot);
  expect(own.used).toBe(12 + 2);
  // The second lane's journal has the hold of a minute, less the time that has passed since then on the log's clock.
  const heldMs = Math.max(...restored.map((snapshot) => snapshot.heldMs ?? 0));
  expect(heldMs).toBeGreaterThan(0);
  expect(heldMs).toBeLessThanOrEqual(60_000);
  expect(journal.open('unknown', () => []).restored).toBeUndefined();
  await lane.close();
});

test('journal records age by the time since the lane was opened', async () => {
  await using place = await temporaryLog(shelvesTopics());
  const first = await shelvesLane({ log: place.log, clock });
  const { budget: own, entry } = journalled(first);
  own.holdUntil(clock.monotonicMs() + 600_000);
  await entry.granted();
  await first.close();
  const lane = await shelvesLane({ log: place.log, clock });
  const journal = laneJournal(lane, clock);
  const heldMs = (): number => journal.open('app', () => []).restored?.[0]?.heldMs ?? 0;
  const before = heldMs();
  await clock.advance(200_000);
  expect(before - heldMs()).toBe(200_000);
  await lane.close();
});

test('waits longer for a permit if commits are slow, up to a maximum', async () => {
  await using place = await temporaryLog(shelvesTopics());
  const lane = await shelvesLane({ log: place.log, clock });
  const leaseAt = (slowestCommitMs: number): number => laneJournal({ ...lane, slowestCommitMs }, clock).leaseMs;
  expect([0, 500, 1_000_000].map(leaseAt)).toEqual([1_000, 2_000, 60_000]);
  await lane.close();
});

test('a lane that can’t write evidence fails, even if no request waits for it', async () => {
  await using place = await temporaryLog(shelvesTopics());
  const lane = await shelvesLane({ log: place.log, clock });
  const failed = Promise.withResolvers<unknown>();
  lane.onFailure(failed.resolve);
  const { entry } = journalled(lane);
  lane.beforeCommit(() => {
    throw new Error('disk full');
  });
  entry.flush();
  expect(await failed.promise).toMatchObject({ message: expect.stringContaining('disk full') });
  await lane.close();
});
