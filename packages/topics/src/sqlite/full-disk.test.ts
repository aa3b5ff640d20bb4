import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AvailabilityChange } from '../availability.ts';
import type { NewRecord, TopicLog } from '../topic-log.ts';
import { startChild } from './child.fixture.ts';
import { sqliteTopicLog } from './index.ts';
import { temporaryFolder } from './temporary-folder.fixture.ts';

/** Linux tool that sets the resource limits of a process. */
const LIMIT = 'prlimit';

describe('without space to write', () => {
  it('nothing committed is lost, reading continues, and writing resumes when there is space again', async () => {
    const file = join(temporaryFolder(), 'log.db');
    let done = 0;
    {
      await using log = await sqliteTopicLog({ file, maxFileBytes: 400_000 });
      await log.createTopics([
        { name: 'topic', partitions: 1 },
        { name: 'state', partitions: 1, compacted: true },
      ]);
      await using lane = await log.openLane({ name: 'lane', state: { topic: 'state', partition: 0 } });
      const write = (): Promise<void> =>
        lane.transaction((tx) => {
          tx.append(page(done));
          tx.checkpoint('done', String(done + 1));
        });
      const error = await fill(write, () => done++);
      expect(error).toMatchObject({ code: 'HEADGATE_TOPIC_LOG_FULL' });
      expect(error).toMatchObject({ code: 'HEADGATE_TOPIC_LOG_FULL', retryable: true });
      expect(String(error)).toContain(file);
      await expect(write()).rejects.toThrow(expect.objectContaining({ code: 'HEADGATE_TOPIC_LOG_FULL' }));
      expect(done).toBeGreaterThan(2);
      expect(lane.state.get('done')).toBe(String(done));
      expect(await readBack(log)).toEqual(expected(done));
      // A small transaction still fits, so the log isn't stuck.
      await lane.transaction((tx) => tx.checkpoint('small', 'fits'));
    }
    await using log = await sqliteTopicLog({ file });
    expect(Object.fromEntries(await log.readState('state', 0))).toEqual({ done: String(done), small: 'fits' });
    await log.append(page(done));
    expect(await readBack(log)).toEqual(expected(done + 1));
  });

  it('a waiting lane reports the full file and what to do, and closing it does not report the log as available', async () => {
    const file = join(temporaryFolder(), 'log.db');
    const told: AvailabilityChange[] = [];
    await using log = await sqliteTopicLog({ file, maxFileBytes: 400_000, onAvailability: (change) => void told.push(change) });
    await log.createTopics([
      { name: 'topic', partitions: 1 },
      { name: 'state', partitions: 1, compacted: true },
    ]);
    const lane = await log.openLane({ name: 'lane', state: { topic: 'state', partition: 0 } });
    const filled = fill(
      () => lane.transaction((tx) => tx.append(page(0))),
      () => undefined,
    );
    const reason = `no space to write ${file}: free some space on that disk, or raise its quota or size limit`;
    await expect.poll(() => told).toMatchObject([{ available: false, reason }]);
    await lane.close();
    expect(await filled).toMatchObject({ code: 'HEADGATE_TOPIC_LOG_FULL' });
    expect(told).toHaveLength(1);
  });

  it.skipIf(!canLimitFileSize())('the same process continues when the system has space again', async () => {
    const file = join(temporaryFolder(), 'log.db');
    const script = new URL('./full-disk-writer.fixture.ts', import.meta.url);
    const writer = startChild({ script, args: [file], wrap: [LIMIT, '--fsize=600000:unlimited'] });
    await writer.line('full');
    execFileSync(LIMIT, ['--pid', String(writer.process.pid), '--fsize=unlimited:unlimited']);
    const count = Number((await writer.line('done')).split(' ')[1]);
    await writer.ended;
    await using log = await sqliteTopicLog({ file });
    const found = await readBack(log);
    expect(found).toHaveLength(count * 100);
    for (const [index, value] of found.entries()) expect(value).toBe(`${Math.floor(index / 100)}/${index % 100}`);
  });
});

async function fill(write: () => Promise<void>, written: () => void): Promise<unknown> {
  for (let attempt = 0; attempt < 1_000; attempt++) {
    try {
      await write();
      written();
    } catch (error) {
      return error;
    }
  }
  return undefined;
}

function page(number: number): NewRecord[] {
  return Array.from({ length: 100 }, (_, index) => ({ topic: 'topic', partition: 0, key: 'k', value: `${number}/${index}`.padEnd(400) }));
}

function expected(pages: number): string[] {
  return Array.from({ length: pages * 100 }, (_, index) => `${Math.floor(index / 100)}/${index % 100}`);
}

async function readBack(log: TopicLog): Promise<string[]> {
  const found: string[] = [];
  for await (const record of log.read({ topic: 'topic' })) found.push((record.value ?? '').trimEnd());
  return found;
}

function canLimitFileSize(): boolean {
  try {
    execFileSync(LIMIT, ['--fsize=600000:unlimited', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
