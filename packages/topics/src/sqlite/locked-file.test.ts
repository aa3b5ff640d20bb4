import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import type { AvailabilityChange } from '../availability.ts';
import type { LaneWriter } from '../topic-log.ts';
import { sqliteTopicLog } from './index.ts';
import { temporaryFolder } from './temporary-folder.fixture.ts';

test('a lane waits for a file that another process keeps locked, and reports it', async () => {
  await using place = await lockable({ telling: true });
  place.lock();
  const written = place.write('1');
  await expect
    .poll(() => place.told)
    .toEqual([
      { available: false, reason: expect.stringContaining('locked by another process') as string, sinceMs: expect.any(Number) as number },
    ]);
  place.unlock();
  await written;
  expect(place.lane.state.get('done')).toBe('1');
  expect(place.told.at(-1)).toEqual({ available: true });
});

test('closing ends the wait without reporting the log as available', async () => {
  await using place = await lockable({ telling: true });
  place.lock();
  const written = place.write('1').catch((error: unknown) => error);
  await expect.poll(() => place.told).toHaveLength(1);
  await place.lane.close();
  expect(await written).toMatchObject({ code: 'HEADGATE_TOPIC_LOG_BUSY' });
  expect(place.told).toHaveLength(1);
  place.unlock();
});

test('closing a lane doesn’t wait for a locked file, and the next writes do', async () => {
  const file = join(temporaryFolder(), 'log.db');
  const other = new DatabaseSync(file);
  await using log = await sqliteTopicLog({ file, busyTimeoutMs: 2 ** 31 - 1 });
  await log.createTopics([{ name: 'state', partitions: 1, compacted: true }]);
  const spec = { name: 'lane', state: { topic: 'state', partition: 0 } };
  const lane = await log.openLane(spec);
  other.exec('BEGIN IMMEDIATE');
  await lane.close();
  const written = log.append([{ topic: 'state', key: 'k', value: 'v' }]);
  other.close();
  await written;
  await using again = await log.openLane(spec);
  expect([...again.state]).toEqual([['k', 'v']]);
});

test('a log without onAvailability throws the error', async () => {
  await using place = await lockable({ telling: false });
  place.lock();
  await expect(place.write('1')).rejects.toThrow(expect.objectContaining({ code: 'HEADGATE_TOPIC_LOG_BUSY' }));
  place.unlock();
  await place.write('2');
});

interface Lockable extends AsyncDisposable {
  readonly lane: LaneWriter;
  readonly told: readonly AvailabilityChange[];
  write(done: string): Promise<void>;
  lock(): void;
  unlock(): void;
}

async function lockable({ telling }: { readonly telling: boolean }): Promise<Lockable> {
  const file = join(temporaryFolder(), 'log.db');
  const told: AvailabilityChange[] = [];
  const log = await sqliteTopicLog({ file, busyTimeoutMs: 100, ...(telling && { onAvailability: (change) => void told.push(change) }) });
  await log.createTopics([{ name: 'state', partitions: 1, compacted: true }]);
  const lane = await log.openLane({ name: 'lane', state: { topic: 'state', partition: 0 } });
  const other = new DatabaseSync(file);
  return {
    lane,
    told,
    write: (done) => lane.transaction((tx) => tx.checkpoint('done', done)),
    lock: () => other.exec('BEGIN IMMEDIATE'),
    unlock: () => other.exec('ROLLBACK'),
    async [Symbol.asyncDispose]() {
      other.close();
      await log.close();
    },
  };
}
