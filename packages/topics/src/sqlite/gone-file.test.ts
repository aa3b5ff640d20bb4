import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { LaneWriter, TopicLog } from '../topic-log.ts';
import { startChild } from './child.fixture.ts';
import { sqliteTopicLog } from './index.ts';
import { LogStore } from './log-store.ts';
import { temporaryFolder } from './temporary-folder.fixture.ts';

const LANE = { name: 'lane', state: { topic: 'state', partition: 0 } };
const CONTENDER = new URL('./lane-contender.fixture.ts', import.meta.url);

const WAYS: Record<string, (file: string) => RegExp> = {
  'is deleted with all that belongs to it': (file) => {
    for (const part of ['', '-wal', '-shm', '-lanes']) rmSync(file + part, { recursive: true });
    // The worker can check the files while only some of them are deleted.
    return /log\.db(?:-wal|-shm)? was deleted or moved while/;
  },
  'is moved': (file) => {
    renameSync(file, `${file}.moved`);
    return /log\.db was deleted or moved while/;
  },
  'is replaced by a copy of itself': (file) => {
    copyFileSync(file, `${file}.copy`);
    renameSync(`${file}.copy`, file);
    return /log\.db was replaced while/;
  },
  'loses its -wal': (file) => {
    rmSync(`${file}-wal`);
    return /log\.db-wal was deleted or moved while/;
  },
  'loses its -shm': (file) => {
    rmSync(`${file}-shm`);
    return /log\.db-shm was deleted or moved while/;
  },
};

describe('a log whose file disappears while it is in use', () => {
  it.each(Object.entries(WAYS))('%s: nothing is acknowledged or read any more, and the error says why', async (_, vanish) => {
    const { file, log, lane } = await lanesLog();
    await using following = log.read({ topic: 'topic', follow: true, from: 'latest' });
    const waiting = following[Symbol.asyncIterator]().next();
    waiting.catch(() => undefined);
    await lane.transaction((tx) => tx.checkpoint('page', '1'));
    const said = vanish(file);

    const error: unknown = await lane.transaction((tx) => tx.checkpoint('page', '2')).catch((refusal: unknown) => refusal);
    expect(error).toMatchObject({ code: 'HEADGATE_TOPIC_LOG_GONE', retryable: false, message: expect.stringContaining(file) as string });
    expect(String(error)).toMatch(said);
    expect(String(error)).toMatch(/later writes are not confirmed.*put log\.db back/);
    expect(lane.state.get('page')).toBe('1');
    await expect(waiting).rejects.toThrow(expect.objectContaining({ code: 'HEADGATE_TOPIC_LOG_GONE' }));
    for (const call of callsOf(log)) await expect(call()).rejects.toThrow(expect.objectContaining({ code: 'HEADGATE_TOPIC_LOG_GONE' }));
    await log.close();
  });

  it('is noticed by a reader that continues', async () => {
    const { file, log } = await lanesLog();
    await log.append(Array.from({ length: 3_000 }, (_, i) => ({ topic: 'topic', key: 'k', value: String(i) })));
    await using reading = log.read({ topic: 'topic' });
    const records = reading[Symbol.asyncIterator]();
    await records.next();
    renameSync(file, `${file}.moved`);
    const readOn = async (): Promise<void> => {
      while ((await records.next()).done !== true);
    };
    await expect(readOn()).rejects.toThrow(expect.objectContaining({ code: 'HEADGATE_TOPIC_LOG_GONE' }));
    await log.close();
  });

  it('is noticed by a reader that waits while no process writes', async () => {
    const { file, log } = await lanesLog();
    await using following = log.read({ topic: 'topic', follow: true, from: 'latest' });
    const waiting = following[Symbol.asyncIterator]().next();
    waiting.catch(() => undefined);
    // The reader has its place, because calls are answered in order.
    await log.listTopics();
    renameSync(file, `${file}.moved`);
    await expect(waiting).rejects.toThrow(expect.objectContaining({ code: 'HEADGATE_TOPIC_LOG_GONE' }));
    await log.close();
  });

  it('is noticed if it disappears between begin and commit of a transaction', () => {
    const { file, store } = storeWithTopic();
    const spec = {
      get name() {
        if (existsSync(file)) renameSync(file, `${file}.moved`);
        return 'more';
      },
      partitions: 1,
    };
    expect(() => store.createTopics([spec], false)).toThrow(GONE);
    store.close();
  });

  it('stays unusable if the file comes back, because commits may be lost', async () => {
    const { file, log, lane } = await lanesLog();
    renameSync(file, `${file}.moved`);
    await expect(log.listTopics()).rejects.toThrow(expect.objectContaining({ code: 'HEADGATE_TOPIC_LOG_GONE' }));
    renameSync(`${file}.moved`, file);
    await expect(lane.transaction((tx) => tx.checkpoint('page', '2'))).rejects.toThrow(
      expect.objectContaining({ code: 'HEADGATE_TOPIC_LOG_GONE' }),
    );
    await log.close();
    await using again = await sqliteTopicLog({ file });
    expect([...(await again.readState('state', 0))]).toEqual([['page', '0']]);
  });

  it('has every acknowledged record where it was moved to, and a new log can be created in its place', async () => {
    const { file, log, lane } = await lanesLog();
    await lane.transaction((tx) => tx.checkpoint('page', '1'));
    const moved = join(temporaryFolder(), 'moved.db');
    renameSync(file, moved);
    await expect(lane.transaction((tx) => tx.checkpoint('page', '2'))).rejects.toThrow(
      expect.objectContaining({ code: 'HEADGATE_TOPIC_LOG_GONE' }),
    );
    await log.close();
    {
      await using there = await sqliteTopicLog({ file: moved });
      expect([...(await there.readState('state', 0))]).toEqual([['page', '1']]);
    }
    await using fresh = await sqliteTopicLog({ file });
    expect(await fresh.listTopics()).toEqual([]);
  });

  it('is not recreated next to a -wal with commits, as kill -9 and a move leave it', async () => {
    const file = join(temporaryFolder(), 'log.db');
    const holder = startChild({ script: CONTENDER, args: [file, '0'] });
    await holder.line('result held');
    await holder.kill();
    renameSync(file, `${file}.moved`);
    const wal = readFileSync(`${file}-wal`);
    expect(wal.length).toBeGreaterThan(0);
    for (const empty of [false, true]) {
      if (empty) writeFileSync(file, '');
      const error: unknown = await sqliteTopicLog({ file }).catch((refusal: unknown) => refusal);
      expect(error).toMatchObject({ code: 'HEADGATE_TOPIC_LOG_OPEN' });
      expect(String(error)).toMatch(/log\.db-wal contains its last commits.*Put the file back/);
      expect(readFileSync(`${file}-wal`).equals(wal)).toBe(true);
      expect(existsSync(file) ? statSync(file).size : 0).toBe(0);
    }
    renameSync(`${file}.moved`, file);
    await using log = await sqliteTopicLog({ file });
    expect([...(await log.readState('state', 0))]).toEqual([[String(holder.process.pid), 'held']]);
  });
});

const GONE = expect.objectContaining({ code: 'HEADGATE_TOPIC_LOG_GONE' }) as Error;

/** Opens a store with one topic, without the log's thread. */
function storeWithTopic(): { readonly file: string; readonly store: LogStore } {
  const file = join(temporaryFolder(), 'log.db');
  const store = new LogStore({ file, busyTimeoutMs: 0, tombstoneRetentionMs: 0, maxFileBytes: 0 });
  store.createTopics([{ name: 'topic', partitions: 1 }], false);
  return { file, store };
}

async function lanesLog(): Promise<{ readonly file: string; readonly log: TopicLog; readonly lane: LaneWriter }> {
  const file = join(temporaryFolder(), 'log.db');
  const log = await sqliteTopicLog({ file, pollMs: 10 });
  await log.createTopics([
    { name: 'topic', partitions: 1 },
    { name: 'state', partitions: 1, compacted: true },
  ]);
  const lane = await log.openLane(LANE);
  await lane.transaction((tx) => tx.checkpoint('page', '0'));
  return { file, log, lane };
}

function callsOf(log: TopicLog): readonly (() => Promise<unknown>)[] {
  return [
    () => log.append([{ topic: 'topic', key: 'k', value: 'x' }]),
    () => log.createTopics([{ name: 'more', partitions: 1 }]),
    () => log.createTopics([{ name: 'more', partitions: 1 }], { validateOnly: true }),
    () => log.openLane({ ...LANE, name: 'another' }),
    () => log.listTopics(),
    () => log.readState('state', 0),
    () => log.groupOffset({ group: 'g', topic: 'topic', partition: 0 }),
    () => log.read({ topic: 'topic', group: 'g' }).commit({ topic: 'topic', partition: 0, offset: 0 }),
    () => log.read({ topic: 'topic' })[Symbol.asyncIterator]().next(),
  ];
}
