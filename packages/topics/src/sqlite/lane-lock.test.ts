import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LaneHeldError, LaneLostError } from '../lane-errors.ts';
import { startChild } from './child.fixture.ts';
import { sqliteTopicLog } from './index.ts';
import { temporaryFolder } from './temporary-folder.fixture.ts';

const CONTENDER = new URL('./lane-contender.fixture.ts', import.meta.url);
const LANE = { name: 'lane', state: { topic: 'state', partition: 0 } };

describe('a lane of the sqlite driver', () => {
  it('goes to exactly one of several processes that open a new file and the lane at once', async () => {
    for (let round = 0; round < 2; round++) {
      const file = join(temporaryFolder(), 'new', 'log.db');
      const atMs = String(Date.now() + 500);
      const contenders = Array.from({ length: 4 }, () => startChild({ script: CONTENDER, args: [file, atMs] }));
      const results = await Promise.all(contenders.map((contender) => contender.line('result')));
      const held = results.filter((line) => line.startsWith('result held'));
      expect(held).toHaveLength(1);
      const holder = held[0]?.split(' ')[2] ?? '';
      for (const line of results.filter((result) => result !== held[0]))
        expect([`result refused ${holder}`, 'result refused null']).toContain(line);
      contenders.forEach((contender) => contender.process.stdin?.end());
      await Promise.all(contenders.map((contender) => contender.ended));
    }
  });

  it('names its holder and when it was taken, and is free as soon as that process is killed', async () => {
    const file = join(temporaryFolder(), 'log.db');
    const started = Date.now();
    const holder = startChild({ script: CONTENDER, args: [file, '0'] });
    await holder.line('result held');
    await using log = await sqliteTopicLog({ file });
    const error: unknown = await log.openLane(LANE).catch((refusal: unknown) => refusal);
    if (!(error instanceof LaneHeldError)) throw new Error('not refused', { cause: error });
    expect(error.pid).toBe(holder.process.pid);
    expect(error.sinceMs).toBeGreaterThanOrEqual(started);
    expect(error.message).toContain(`process ${holder.process.pid} since 20`);
    await holder.kill();
    await using lane = await log.openLane(LANE);
    expect([...lane.state]).toEqual([[String(holder.process.pid), 'held']]);
  });

  it('never commits for a holder that lost its lock because the lock files were deleted', async () => {
    const file = join(temporaryFolder(), 'log.db');
    await using older = await sqliteTopicLog({ file });
    await older.createTopics([{ name: 'state', partitions: 1, compacted: true }]);
    const lost = await older.openLane(LANE);
    await lost.transaction((tx) => tx.checkpoint('by', 'older'));
    rmSync(`${file}-lanes`, { recursive: true });
    await using newer = await sqliteTopicLog({ file });
    const lane = await newer.openLane(LANE);
    await expect(lost.transaction((tx) => tx.checkpoint('by', 'lost'))).rejects.toThrow(LaneLostError);
    await expect(lost.transaction(() => {})).rejects.toMatchObject({ code: 'HEADGATE_LANE_LOST', lane: 'lane', retryable: false });
    expect(lost.state.get('by')).toBe('older');
    await lost.close();
    await lane.transaction((tx) => tx.checkpoint('more', 'newer'));
    expect(Object.fromEntries(await newer.readState('state', 0))).toEqual({ by: 'older', more: 'newer' });
    // Closing the lane of the older holder must neither have freed the lane nor have removed the newer holder's entry.
    await expect(older.openLane(LANE)).rejects.toMatchObject({ code: 'HEADGATE_LANE_HELD', pid: process.pid });
  });

  it('keeps lanes with similar file names apart, and leaves nothing in the lock files', async () => {
    const file = join(temporaryFolder(), 'log.db');
    await using log = await sqliteTopicLog({ file });
    const names = ['a/b', 'a:b', 'A:b', '..', 'ü'.repeat(300)];
    await log.createTopics([{ name: 'state', partitions: names.length, compacted: true }]);
    await Promise.all(names.map((name, partition) => log.openLane({ name, state: { topic: 'state', partition } })));
    const files = readdirSync(`${file}-lanes`);
    expect(files).toHaveLength(names.length);
    for (const name of files) expect(statSync(join(`${file}-lanes`, name)).size).toBe(0);
  });
});
