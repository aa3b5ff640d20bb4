import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sampleIsbn } from '@headgate/sandbox';
import { systemClock } from '@headgate/throttle';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { expect, test } from 'vitest';
import { openLane } from '../lanes/lane.ts';
import { topicSpecs } from '../records/topic-names.ts';
import { bookWishes } from './book-wishes.ts';

test('a wish is under way until the last of its batches is durable', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-book-wishes-'));
  try {
    await using log = await sqliteTopicLog({ file: join(folder, 'headgate.db') });
    await log.createTopics(topicSpecs(1));
    const lane = await openLane({ log, group: 'g', service: 'books', partition: 0, clock: systemClock() });
    const wishes = bookWishes(lane);
    const wish = wishes.openList({ offset: 0, key: null, value: null }, [sampleIsbn(1), sampleIsbn(2)]);
    let second: Promise<void> | undefined;
    // The second batch comes while the first is being committed.
    lane.beforeCommit(() => {
      second ??= wishes.write([{ wish, place: 1 }], []);
      return [];
    });
    await wishes.write([{ wish, place: 0 }], []);
    expect([wishes.load, wishes.has(0), lane.isFinished(0)]).toEqual([1, true, false]);
    await second;
    expect([wishes.load, wishes.has(0), lane.isFinished(0)]).toEqual([0, false, true]);
    await lane.close();
  } finally {
    await rm(folder, { recursive: true });
  }
});
