import { LaneHeldError } from '@headgate/topics';
import { expect, test } from 'vitest';
import { logWith, shelvesTopics, temporaryLog } from '../testing/temporary-log.fixture.ts';
import { cancelJobs } from './cancel-jobs.ts';

const pipeline = { name: 'shelves', topics: {}, credentials: undefined, usualBytes: {} };
const state = { topic: 'shelves.state', partition: 0 };
const LANE = 'headgate.shelves.requests.0';

test('withdraws the requests of a key that no run has started, and no others', async () => {
  await using place = await temporaryLog(shelvesTopics());
  const { log } = place;
  await log.append(['a', 'b', 'a', 'c', 'a'].map((key) => ({ topic: 'shelves.requests', key, value: '{}' })));
  {
    await using lane = await log.openLane({ name: LANE, state });
    await lane.transaction((tx) => tx.checkpoint('headgate/job/2', '{}'));
  }
  expect(await cancelJobs({ log, pipeline, key: 'a' })).toEqual({ canceled: 2, begun: 1 });
  expect(await cancelJobs({ log, pipeline, key: 'a' })).toEqual({ canceled: 0, begun: 1 });
  expect(await cancelJobs({ log, pipeline, key: 'none' })).toEqual({ canceled: 0, begun: 0 });
  const finished = (await log.readState('shelves.state', 0)).get('headgate/lane');
  expect(JSON.parse(finished ?? 'null')).toEqual({ next: 1, done: [[4, 4]] });
});

test('rejects if it is aborted while it reads, and withdraws nothing', async () => {
  await using place = await temporaryLog(shelvesTopics());
  await place.log.append(['a', 'b', 'a'].map((key) => ({ topic: 'shelves.requests', key, value: '{}' })));
  const stop = new AbortController();
  const log = logWith(place.log, {
    readBytes(options) {
      stop.abort(new Error('stopped'));
      return place.log.readBytes(options);
    },
  });
  await expect(cancelJobs({ log, pipeline, key: 'a', signal: stop.signal })).rejects.toThrow('stopped');
  expect(await cancelJobs({ log: place.log, pipeline, key: 'a' })).toEqual({ canceled: 2, begun: 0 });
});

test('withdraws nothing from the other lanes while a run works on one of them', async () => {
  await using place = await temporaryLog(shelvesTopics(2));
  const { log } = place;
  const two = { ...pipeline, credentials: [] };
  await log.append([0, 1].map((partition) => ({ topic: 'shelves.requests', partition, key: 'a', value: '{}' })));
  {
    await using _ = await log.openLane({ name: 'headgate.shelves.requests.1', state: { topic: 'shelves.state', partition: 1 } });
    await expect(cancelJobs({ log, pipeline: two, key: 'a', lanes: 2 })).rejects.toBeInstanceOf(LaneHeldError);
  }
  expect(await cancelJobs({ log, pipeline: two, key: 'a', lanes: 2 })).toEqual({ canceled: 2, begun: 0 });
});

test('withdraws nothing while a run works on the requests', async () => {
  await using place = await temporaryLog(shelvesTopics());
  await place.log.append([{ topic: 'shelves.requests', key: 'a', value: '{}' }]);
  await using _ = await place.log.openLane({ name: LANE, state });
  await expect(cancelJobs({ log: place.log, pipeline, key: 'a' })).rejects.toBeInstanceOf(LaneHeldError);
});
