import { virtualClock } from '@headgate/throttle/testing';
import { expect, test } from 'vitest';
import { pendingDeadLetter } from '../jobs/pending-dead-letter.ts';
import { topicNames } from '../topics/names.ts';
import { lookupRequests } from '../jobs/lookup-requests.ts';
import { logWith, shelvesTopics, temporaryLog } from '../testing/temporary-log.fixture.ts';
import { shelvesLane } from './lane.fixture.ts';

const LONG = 'x'.repeat(10_000);

test('a limit that is raised while a lane is open applies after the next dead letter, or lookup, that exceeds the old one', async () => {
  await using place = await temporaryLog(shelvesTopics());
  let bytes = 8_000;
  const log = logWith(place.log, { recordLimit: () => Promise.resolve({ bytes }) });
  const clock = virtualClock();
  const lane = await shelvesLane({ log, clock });
  const context = { pipeline: 'shelves', lane, names: topicNames(), clock, emit: () => undefined };
  const isWhole = () => {
    const { record } = pendingDeadLetter(context, { key: 'a', id: '1', content: { record: LONG }, error: new Error('boom') });
    return String(record.value).includes(LONG);
  };
  const requests = lookupRequests('shelves', lane);
  const check = () => requests.check({ offset: 0, key: 'a', value: null }, { valid: ['a', LONG], invalid: [] });

  expect(isWhole()).toBe(false);
  expect(check).toThrow('one of its keys needs');
  bytes = 20_000;
  await clock.settle();
  expect(isWhole()).toBe(false);
  expect(check).toThrow('one of its keys needs');
  await clock.settle();
  expect(isWhole()).toBe(true);
  expect(check).not.toThrow();
  await lane.close();
});
