import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { backupSqliteTopicLog, sqliteTopicLog } from './index.ts';
import { temporaryFolder } from './temporary-folder.fixture.ts';

describe('a backup', () => {
  it('is a consistent snapshot, while lanes continue to write', async () => {
    const folder = temporaryFolder();
    const [file, to] = [join(folder, 'log.db'), join(folder, 'copy.db')];
    await using log = await sqliteTopicLog({ file });
    await log.createTopics([
      { name: 'pages', partitions: 1 },
      { name: 'state', partitions: 1, compacted: true },
    ]);
    const lane = await log.openLane({ name: 'lane', state: { topic: 'state', partition: 0 } });
    let page = 0;
    let isOver = false;
    const write = async (): Promise<void> => {
      while (!isOver) {
        page += 1;
        await lane.transaction((tx) => {
          tx.append(Array.from({ length: 50 }, () => ({ topic: 'pages', key: 'k', value: String(page) })));
          tx.checkpoint('page', String(page));
        });
      }
    };
    const writing = write();
    await expect.poll(() => page).toBeGreaterThan(5);
    const before = page;
    const { topics, records, bytes } = await backupSqliteTopicLog({ file, to });
    await expect.poll(() => page).toBeGreaterThan(before + 5);
    isOver = true;
    await writing;

    expect([topics, bytes > 0]).toEqual([2, true]);
    await using copy = await sqliteTopicLog({ file: to });
    const last = Number((await copy.readState('state', 0)).get('page'));
    expect(last).toBeGreaterThanOrEqual(before - 1);
    expect(last).toBeLessThan(page);
    // A checkpoint and its page are one transaction, so the copy has both or neither.
    expect((await copy.listTopics(['pages']))[0]?.offsets).toEqual([{ earliest: 0, end: 50 * last }]);
    expect(records).toBe(50 * last + 1);
    const goesOn = await copy.openLane({ name: 'lane', state: { topic: 'state', partition: 0 } });
    await goesOn.transaction((tx) => tx.append([{ topic: 'pages', key: 'k', value: 'restored' }]));
    expect((await copy.listTopics(['pages']))[0]?.offsets[0]?.end).toBe(50 * last + 1);
  });

  it('overwrites nothing', async () => {
    const folder = temporaryFolder();
    const [file, to] = [join(folder, 'log.db'), join(folder, 'copy.db')];
    await (await sqliteTopicLog({ file })).close();
    writeFileSync(to, 'precious');
    const refused = backupSqliteTopicLog({ file, to });
    await expect(refused).rejects.toThrow(
      `The backup ${to} failed: it already exists, and backup never overwrites a file. Name another one.`,
    );
    expect(readdirSync(folder).toSorted()).toEqual(['copy.db', 'log.db']);
    await expect(backupSqliteTopicLog({ file, to: join(folder, 'none', 'copy.db') })).rejects.toMatchObject({
      code: 'HEADGATE_TOPIC_LOG_OPEN',
      message: expect.stringContaining("its folder doesn't exist. Create it, or name another file."),
    });
  });

  it.each(['-wal', '-journal'])('refuses a name that an earlier file left a %s of, also if that appears meanwhile', async (end) => {
    const folder = temporaryFolder();
    const [file, to] = [join(folder, 'log.db'), join(folder, 'copy.db')];
    await (await sqliteTopicLog({ file })).close();
    const refusal = {
      code: 'HEADGATE_TOPIC_LOG_OPEN',
      message: expect.stringContaining(`${to}${end} is left of an earlier file`) as string,
    };
    const meanwhile = backupSqliteTopicLog({ file, to });
    // During the copy.
    writeFileSync(`${to}${end}`, 'left');
    await expect(meanwhile).rejects.toMatchObject(refusal);
    await expect(backupSqliteTopicLog({ file, to })).rejects.toMatchObject(refusal);
    expect(readdirSync(folder).toSorted()).toEqual([`copy.db${end}`, 'log.db']);
    // SQLite ignores an empty one.
    writeFileSync(`${to}${end}`, '');
    await expect(backupSqliteTopicLog({ file, to })).resolves.toMatchObject({ topics: 0 });
  });

  it('that is stopped leaves no file, and never overwrites a file created meanwhile', async () => {
    const folder = temporaryFolder();
    const [file, to] = [join(folder, 'log.db'), join(folder, 'copy.db')];
    {
      await using log = await sqliteTopicLog({ file });
      await log.createTopics([{ name: 'pages', partitions: 1 }]);
      await log.append(Array.from({ length: 5_000 }, (_, i) => ({ topic: 'pages', key: 'k', value: String(i) })));
    }
    const stop = new AbortController();
    const stopped = backupSqliteTopicLog({ file, to, signal: stop.signal });
    stop.abort(new Error('stopped by SIGTERM'));
    await expect(stopped).rejects.toThrow('stopped by SIGTERM');
    expect(readdirSync(folder).filter((name) => name.startsWith('copy'))).toEqual([]);

    const taken = backupSqliteTopicLog({ file, to });
    // During the copy, there is no file with the final name.
    expect(readdirSync(folder)).not.toContain('copy.db');
    writeFileSync(to, 'precious');
    await expect(taken).rejects.toThrow('never overwrites');
    expect(readFileSync(to, 'utf8')).toBe('precious');
    expect(readdirSync(folder).filter((name) => name.startsWith('copy'))).toEqual(['copy.db']);
  });

  it.each([
    ['record', "UPDATE batches SET value = 'tow' WHERE base_offset = 1"],
    ['group offset', 'UPDATE group_offsets SET next_offset = 3'],
  ])('of a log with a damaged %s fails, and leaves nothing', async (_, damage) => {
    const folder = temporaryFolder();
    const file = join(folder, 'log.db');
    {
      await using log = await sqliteTopicLog({ file });
      await log.createTopics([{ name: 'pages', partitions: 1 }]);
      await log.append(['one', 'two', 'three'].map((value) => ({ topic: 'pages', key: 'k', value })));
      await log.read({ topic: 'pages', group: 'g' }).commit({ topic: 'pages', partition: 0, offset: 0 });
    }
    const db = new DatabaseSync(file);
    db.exec(damage);
    db.close();
    await expect(backupSqliteTopicLog({ file, to: join(folder, 'copy.db') })).rejects.toMatchObject({ code: 'HEADGATE_TOPIC_LOG_CORRUPT' });
    expect(readdirSync(folder)).toEqual(['log.db']);
  });
});
