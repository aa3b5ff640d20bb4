import { virtualClock } from '@headgate/throttle/testing';
import type { LaneWriter } from '@headgate/topics';
import { expect, test } from 'vitest';
import { logWith, shelvesTopics, temporaryLog } from '../testing/temporary-log.fixture.ts';
import { shelvesLane } from './lane.fixture.ts';
import { openLane } from './lane.ts';

const clock = virtualClock();
const deadLetter = { topic: 'shelves.dead-letters', partition: 0, key: 'k', value: 'v' };

test('a reopened lane still has its state and finished requests, and its group the offset', async () => {
  await using place = await temporaryLog(shelvesTopics());
  const { log } = place;
  const lane = await shelvesLane({ log, clock });
  expect([lane.hasState, lane.next]).toEqual([false, 0]);
  await lane.commit({ records: [deadLetter], state: [['job/1', { page: 2 }]], finished: [0, 2] });
  expect(await log.groupOffset({ group: 'g', topic: 'shelves.requests', partition: 0 })).toBe(1);
  await lane.commit({ records: [], state: [['job/3', 'other']] });
  await lane.close();

  const again = await shelvesLane({ log, clock });
  expect([again.hasState, again.next, again.isFinished(1), again.isFinished(2)]).toEqual([true, 1, false, true]);
  expect(again.stateUnder('job/').map(({ key, value }) => [key, value])).toEqual([
    ['1', { page: 2 }],
    ['3', 'other'],
  ]);
  // The row of a job that is finished goes in the same transaction.
  await again.commit({ records: [], finished: [1] });
  await again.close();
  const third = await shelvesLane({ log, clock });
  expect([third.next, third.stateUnder('job/').map(({ key }) => key)]).toEqual([3, ['3']]);
  await third.close();
});

test('a group does not see the state of another group', async () => {
  await using place = await temporaryLog(shelvesTopics());
  const { log } = place;
  const lane = await shelvesLane({ log, clock });
  await lane.commit({ records: [], state: [['job/0', 'g']], finished: [0] });
  await lane.close();
  const other = await openLane({
    log,
    group: 'h',
    topic: 'shelves.requests',
    partition: 0,
    state: { topic: 'shelves.state', partition: 0 },
    writes: [],
    clock,
  });
  expect([other.hasState, other.next, other.stateUnder('job/')]).toEqual([false, 0, []]);
  await other.close();
});

test('a later commit does not finish requests whose records could not be written', async () => {
  await using place = await temporaryLog(shelvesTopics());
  const { log } = place;
  const lane = await shelvesLane({ log, clock });
  const failures: unknown[] = [];
  lane.onFailure((error) => failures.push(error));
  await lane.commit({ records: [], finished: [0] });
  const refused = lane.commit({ records: [{ topic: 'no such topic', key: 'k', value: 'v' }], finished: [1] });
  const beside = lane.commit({ records: [], finished: [2] });
  await Promise.allSettled([refused]);
  const after = lane.commit({ records: [], finished: [3] });
  const outcomes = await Promise.allSettled([refused, beside, after]);
  expect(outcomes.map((outcome) => outcome.status === 'rejected' && (outcome.reason as { code: string }).code)).toEqual(
    Array.from({ length: 3 }, () => 'HEADGATE_TOPIC_UNKNOWN'),
  );
  expect(failures).toMatchObject([{ code: 'HEADGATE_TOPIC_UNKNOWN' }]);
  await lane.close();

  const again = await shelvesLane({ log, clock });
  expect([again.next, again.isFinished(1), again.isFinished(2), again.isFinished(3)]).toEqual([1, false, false, false]);
  await again.close();
});

test('commits made while a transaction is in flight share the next transaction', async () => {
  await using place = await temporaryLog(shelvesTopics());
  const lane = await shelvesLane({ log: place.log, clock });
  let transactions = 0;
  let later: Promise<unknown> | undefined;
  lane.beforeCommit(() => {
    transactions += 1;
    later ??= Promise.all([1, 2, 3].map((offset) => lane.commit({ records: [deadLetter], finished: [offset] })));
    return [];
  });
  await lane.commit({ records: [deadLetter], finished: [0] });
  expect(lane.isFinished(1)).toBe(false);
  await later;
  expect([transactions, lane.next]).toEqual([2, 4]);
  await lane.close();
});

test('commits made before the writer can begin a transaction are part of it', async () => {
  await using place = await temporaryLog(shelvesTopics());
  const previous = Promise.withResolvers<void>();
  const log = logWith(place.log, {
    async openLane(spec, signal) {
      const writer = await place.log.openLane(spec, signal);
      const transaction: LaneWriter['transaction'] = async (write) => {
        await previous.promise;
        await writer.transaction(write);
      };
      const close = async (): Promise<void> => await writer.close();
      return { state: writer.state, transaction, close, [Symbol.asyncDispose]: close };
    },
  });
  const lane = await shelvesLane({ log, clock });
  let transactions = 0;
  lane.beforeCommit(() => ((transactions += 1), []));
  const first = lane.commit({ records: [deadLetter], finished: [0] });
  await new Promise(setImmediate);
  const second = lane.commit({ records: [deadLetter], finished: [1] });
  previous.resolve();
  await Promise.all([first, second]);
  expect([transactions, lane.next]).toEqual([1, 2]);
  await lane.close();
});

test('a transaction writes only changes; the first one also records that the state exists', async () => {
  await using place = await temporaryLog(shelvesTopics());
  const written: unknown[] = [];
  const log = logWith(place.log, {
    async openLane(spec, signal) {
      const writer = await place.log.openLane(spec, signal);
      const write = writer.transaction.bind(writer);
      const transaction: LaneWriter['transaction'] = (work) =>
        write((tx) => {
          const calls: unknown[] = [];
          written.push(calls);
          work({
            append: (records) => (calls.push(['append', records.length]), tx.append(records)),
            checkpoint: (key, value) => (calls.push([key, value]), tx.checkpoint(key, value)),
            commitOffset: (offset) => (calls.push(['offset', offset.nextOffset]), tx.commitOffset(offset)),
          });
        });
      return Object.assign(writer, { transaction });
    },
  });
  const lane = await shelvesLane({ log, clock });
  await lane.commit({ records: [] });
  await lane.commit({ records: [] });
  await lane.commit({ records: [deadLetter], state: [['job/7', 2]], finished: [1] });
  await lane.commit({ records: [], finished: [0] });
  const again = await (await lane.close(), shelvesLane({ log, clock }));
  await again.close();
  expect([again.hasState, again.stateAt('requests')]).toEqual([true, 'shelves.requests']);
  expect(written).toEqual([
    [
      ['g/lane', '{"next":0,"done":[]}'],
      ['g/requests', '"shelves.requests"'],
      ['offset', 0],
    ],
    [],
    [
      ['append', 1],
      ['g/job/7', '2'],
      ['g/lane', '{"next":0,"done":[[1,1]]}'],
    ],
    [
      ['g/lane', '{"next":2,"done":[]}'],
      ['offset', 2],
    ],
  ]);
  expect(await log.groupOffset({ group: 'g', topic: 'shelves.requests', partition: 0 })).toBe(2);
});

test('offsets without a request are skipped', async () => {
  await using place = await temporaryLog(shelvesTopics());
  const lane = await shelvesLane({ log: place.log, clock });
  lane.skip(0, 5);
  lane.skip(5, 5);
  expect([lane.next, lane.isFinished(5)]).toEqual([5, false]);
  await lane.close();
});

test('a lane reports the slowest of its last 50 commits', async () => {
  await using place = await temporaryLog(shelvesTopics());
  let nowMs = 100;
  let commitMs = 700;
  const lane = await shelvesLane({ log: place.log, clock: { ...clock, monotonicMs: () => nowMs } });
  lane.beforeCommit(() => ((nowMs += commitMs), []));
  const slowest = [lane.slowestCommitMs];
  for (const [commits, ms] of [
    [1, 700],
    [49, 5],
    [1, 5],
  ] as const) {
    commitMs = ms;
    for (let i = 0; i < commits; i += 1) await lane.commit({ records: [] });
    slowest.push(lane.slowestCommitMs);
  }
  expect(slowest).toEqual([0, 700, 700, 5]);
  await lane.close();
});

test('the size of a record is the bytes of its key, value and headers, checked against the limit of its topic', async () => {
  await using place = await temporaryLog(shelvesTopics());
  const log = logWith(place.log, {
    recordLimit: (topic) => Promise.resolve({ bytes: topic === 'shelves.state' ? 9 : 20 }),
  });
  const lane = await shelvesLane({ log, clock });
  const record = { ...deadLetter, key: 'é', value: Uint8Array.of(1, 2, 3), headers: { h: '123', other: '123456' } };
  const long = { ...deadLetter, key: null, value: 'x'.repeat(21) };
  const limits = [record, { ...record, key: 'é1' }, long, { ...long, topic: 'of another' }].map((one) => lane.tooLarge(one));
  expect(limits).toEqual([undefined, 20, 20, undefined]);
  const just = 'x'.repeat(20);
  for (const one of [
    { key: null, value: just },
    { key: just, value: null },
  ])
    expect(lane.tooLarge({ ...deadLetter, ...one })).toBeUndefined();
  const change = lane.stateRecord(['a', { page: 2 }]);
  expect([change, lane.tooLarge(change), lane.recordLimit('shelves.state')?.bytes]).toEqual([
    { topic: 'shelves.state', key: 'g/a', value: '{"page":2}' },
    9,
    9,
  ]);
  await lane.close();
});
