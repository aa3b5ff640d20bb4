import { chmodSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startChild } from './child.fixture.ts';
import { sqliteTopicLog } from './index.ts';
import { LogStore } from './log-store.ts';
import { temporaryFolder } from './temporary-folder.fixture.ts';

const WRITER = new URL('./crashing-writer.fixture.ts', import.meta.url);
const WORKER = new URL('./worker.ts', import.meta.url);

/** A user ID without write permission. Root can write whatever the permissions are. */
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

async function written(): Promise<{ readonly folder: string; readonly file: string }> {
  const folder = temporaryFolder();
  const file = join(folder, 'log.db');
  await using log = await sqliteTopicLog({ file });
  await log.createTopics([{ name: 'pages', partitions: 1 }]);
  await log.append(['a', 'b'].map((value) => ({ topic: 'pages', key: 'k', value })));
  return { folder, file };
}

async function read(file: string): Promise<unknown[]> {
  await using log = await sqliteTopicLog({ file, readOnly: true });
  return (await Array.fromAsync(log.read({ topic: 'pages' }))).map(({ value }) => value);
}

/** Takes the write permission on a log from the rest of this test. Root becomes another user, who must be able to load the worker thread. */
function withoutRights(folder: string, file: string, skip: (reason: string) => never): void {
  chmodSync(file, 0o444);
  chmodSync(folder, 0o555);
  onTestFinished(() => {
    if (isRoot) process.seteuid?.(0);
    chmodSync(folder, 0o755);
  });
  if (!isRoot) return;
  process.seteuid?.(NOBODY);
  try {
    readFileSync(WORKER);
  } catch {
    skip('other users may not enter the folder of this clone, so root cannot test as one of them');
  }
}

/** Does with write permission what another user would do. */
function asOwner<T>(folder: string, file: string, work: () => T): T {
  if (isRoot) process.seteuid?.(0);
  try {
    chmodSync(folder, 0o755);
    chmodSync(file, 0o644);
    return work();
  } finally {
    if (isRoot) process.seteuid?.(NOBODY);
  }
}

function storeOf(file: string, readOnly = false): LogStore {
  return new LogStore({ file, busyTimeoutMs: 0, tombstoneRetentionMs: 0, maxFileBytes: 0, readOnly });
}

/** Deletes all records, and appends as many others, so that their pages replace those of the deleted ones. Then closes the log. */
function replaceRecords(file: string, values: string[]): void {
  const store = storeOf(file);
  while (store.deleteOld('pages', Infinity));
  const none = values.map(() => null);
  store.write(null, { topics: values.map(() => 'pages'), partitions: none, keys: none, values, headers: none }, [], 0);
  store.close();
}

it('reads a log without write permission, and creates nothing next to it', async ({ skip }) => {
  const { folder, file } = await written();
  withoutRights(folder, file, skip);
  await expect(sqliteTopicLog({ file })).rejects.toThrow(/read-only|can.t read and write it/);
  expect(await read(file)).toEqual(['a', 'b']);
  expect(readdirSync(folder).filter((name) => !name.endsWith('-lanes'))).toEqual(['log.db']);
});

/** The error of a log that is read as immutable, and that a process has written since. */
const WRITTEN = {
  code: 'HEADGATE_TOPIC_LOG_FAILED',
  retryable: true,
  message: expect.stringContaining('a process began to write it') as string,
};

describe('a log opened without write permission, and written afterwards', () => {
  it('ends a follower, and can be opened again', async ({ skip }) => {
    const { folder, file } = await written();
    withoutRights(folder, file, skip);
    await using log = await sqliteTopicLog({ file, readOnly: true, pollMs: 10 });
    await using reading = log.read({ topic: 'pages', follow: true });
    const records = reading[Symbol.asyncIterator]();
    expect([(await records.next()).value?.value, (await records.next()).value?.value]).toEqual(['a', 'b']);
    const waiting = records.next();
    waiting.catch(() => undefined);
    const writer = asOwner(folder, file, () => startChild({ script: WRITER, args: [file] }));
    await expect(waiting).rejects.toMatchObject(WRITTEN);
    await expect(log.listTopics()).rejects.toMatchObject(WRITTEN);
    await writer.line('page 1');
    expect((await read(file)).slice(0, 3)).toEqual(['a', 'b', '1']);
  });

  it('shows a reader no record of the changed file', async ({ skip }) => {
    const folder = temporaryFolder();
    const file = join(folder, 'log.db');
    const some = (text: string): string[] => Array.from({ length: 3_000 }, (_, index) => text.repeat(3_000) + index);
    {
      await using log = await sqliteTopicLog({ file });
      await log.createTopics([{ name: 'pages', partitions: 1 }]);
      await log.append(some('a').map((value) => ({ topic: 'pages', key: null, value })));
    }
    withoutRights(folder, file, skip);
    await using log = await sqliteTopicLog({ file, readOnly: true });
    const values: (string | null)[] = [];
    const readAll = async (): Promise<void> => {
      for await (const { value } of log.read({ topic: 'pages' })) {
        if (values.length === 0) asOwner(folder, file, () => replaceRecords(file, some('b')));
        values.push(value);
      }
    };
    await expect(readAll()).rejects.toMatchObject(WRITTEN);
    expect(values).toEqual(some('a').slice(0, values.length));
    expect(await read(file)).toEqual(some('b'));
  });

  it('is not copied', async ({ skip }) => {
    const { folder, file } = await written();
    const to = join(temporaryFolder(), 'copy.db');
    writeFileSync(to, '');
    chmodSync(to, 0o666);
    chmodSync(dirname(to), 0o777);
    withoutRights(folder, file, skip);
    const store = storeOf(file, true);
    const prepared = vi.spyOn(DatabaseSync.prototype, 'prepare').mockImplementationOnce(function (this: DatabaseSync, sql) {
      prepared.mockRestore();
      const statement = this.prepare(sql);
      const run = statement.run.bind(statement);
      statement.run = () => {
        const result = run(to);
        asOwner(folder, file, () => replaceRecords(file, ['c']));
        return result;
      };
      return statement;
    });
    expect(() => store.backup(to)).toThrow('a process began to write it');
    store.close();
  });

  it('says which permissions are missing if its last commits can’t be read', async ({ skip }) => {
    const { folder, file } = await written();
    withoutRights(folder, file, skip);
    const writer = asOwner(folder, file, () => startChild({ script: WRITER, args: [file] }));
    await writer.line('page 1');
    await writer.kill();
    asOwner(folder, file, () => {
      rmSync(`${file}-shm`);
      if (isRoot) return;
      chmodSync(file, 0o444);
      chmodSync(folder, 0o555);
    });
    const message: unknown = expect.stringContaining('permissions on log.db, log.db-wal');
    await expect(read(file)).rejects.toMatchObject({ code: 'HEADGATE_TOPIC_LOG_OPEN', message });
  });
});

it('refuses to write, also with write permission', async () => {
  const { folder, file } = await written();
  const before = readdirSync(folder);
  const lane = { name: 'lane', state: { topic: 'state', partition: 0 } };
  {
    await using log = await sqliteTopicLog({ file, readOnly: true });
    const refusal = { code: 'HEADGATE_TOPIC_LOG_OPEN', message: expect.stringContaining('it was opened with readOnly') };
    await expect(log.append([{ topic: 'pages', key: 'k', value: 'c' }])).rejects.toMatchObject(refusal);
    await expect(log.createTopics([{ name: 'more', partitions: 1 }])).rejects.toMatchObject(refusal);
    await expect(log.openLane(lane)).rejects.toMatchObject(refusal);
    expect(await log.createTopics([{ name: 'pages', partitions: 1 }], { validateOnly: true })).toMatchObject({ created: [] });
  }
  expect(readdirSync(folder)).toEqual(before);
  expect(await read(file)).toEqual(['a', 'b']);
});

it('reads a log during writes, and doesn’t create a missing one', async () => {
  const { folder, file } = await written();
  await using writer = await sqliteTopicLog({ file });
  await writer.append([{ topic: 'pages', key: 'k', value: 'c' }]);
  expect(await read(file)).toEqual(['a', 'b', 'c']);
  await expect(sqliteTopicLog({ file: join(folder, 'none.db'), readOnly: true })).rejects.toThrow("it doesn't exist");
  expect(statSync(join(folder, 'none.db'), { throwIfNoEntry: false })).toBeUndefined();
});

it.each(['an empty file', 'a file whose first writer has only turned on WAL'])(
  '%s is refused until a writer creates the log in it',
  async (what) => {
    const file = join(temporaryFolder(), 'log.db');
    writeFileSync(file, '');
    if (what !== 'an empty file') {
      const db = new DatabaseSync(file);
      db.exec('PRAGMA journal_mode = WAL');
      db.close();
    }
    const before = readFileSync(file);
    const refusal = {
      code: 'HEADGATE_TOPIC_LOG_OPEN',
      message: expect.stringContaining('it is empty: no process has created the log') as string,
    };
    await expect(sqliteTopicLog({ file, readOnly: true })).rejects.toMatchObject(refusal);
    expect(readFileSync(file).equals(before)).toBe(true);
    await (await sqliteTopicLog({ file })).close();
    await using log = await sqliteTopicLog({ file, readOnly: true });
    expect(await log.createTopics([{ name: 'pages', partitions: 1 }], { validateOnly: true })).toMatchObject({ created: ['pages'] });
    expect(await log.listTopics()).toEqual([]);
  },
);

it('finds the last commits of a log that is named by a link', async ({ skip }) => {
  const { folder, file } = await written();
  // SQLite creates the `-wal` with the file's mode.
  chmodSync(file, 0o644);
  await using writer = await sqliteTopicLog({ file });
  await writer.append([{ topic: 'pages', key: 'k', value: 'c' }]);
  const linked = join(temporaryFolder(), 'linked.db');
  symlinkSync(file, linked);
  chmodSync(dirname(linked), 0o755);
  withoutRights(folder, file, skip);
  expect(await read(linked)).toEqual(['a', 'b', 'c']);
});
