import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@headgate/throttle';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { expect, test } from 'vitest';
import { topicSpecs } from '../records/topic-names.ts';
import { openLane } from './lane.ts';

test('what could not be written is not taken for done by those that come after it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-lane-'));
  await using log = await sqliteTopicLog({ file: join(folder, 'headgate.db') });
  await log.createTopics(topicSpecs(1));
  const open = () => openLane({ log, group: 'g', service: 'followers', partition: 0, clock: systemClock() });
  const lane = await open();
  await lane.commit({ records: [], finished: [0] });
  const refused = lane.commit({ records: [{ topic: 'nobody made this', key: 'k', value: 'v' }], finished: [1] });
  const beside = lane.commit({ records: [], finished: [2] });
  await Promise.allSettled([refused]);
  const after = lane.commit({ records: [], finished: [3] });
  const outcomes = await Promise.allSettled([refused, beside, after]);
  expect(outcomes.map((outcome) => outcome.status === 'rejected' && (outcome.reason as { code: string }).code)).toEqual(
    Array.from({ length: 3 }, () => 'HEADGATE_TOPIC_UNKNOWN'),
  );
  await lane.close();

  const again = await open();
  expect([again.next, again.isFinished(1), again.isFinished(2), again.isFinished(3)]).toEqual([1, false, false, false]);
  await again.close();
  await log.close();
  await rm(folder, { recursive: true });
});
