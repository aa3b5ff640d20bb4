import { chmodSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type SqliteTopicLogOptions, sqliteTopicLog } from './index.ts';
import { openDatabase } from './database.ts';
import { checkSchema, makeSchema } from './schema.ts';
import { temporaryFolder } from './temporary-folder.fixture.ts';

describe('opening', () => {
  it.each<[string, Partial<SqliteTopicLogOptions>]>([
    ...[Number.NaN, -1].flatMap<[string, Partial<SqliteTopicLogOptions>]>((wrong) => [
      ['retention.maxAgeMs', { retention: { maxAgeMs: wrong } }],
      ['pollMs', { pollMs: wrong }],
      ['tombstoneRetentionMs', { tombstoneRetentionMs: wrong }],
      ['maxFileBytes', { maxFileBytes: wrong }],
    ]),
    ...[Number.NaN, -1, 0.5, Infinity].map<[string, Partial<SqliteTopicLogOptions>]>((wrong) => [
      'busyTimeoutMs',
      { busyTimeoutMs: wrong },
    ]),
  ])('refuses a wrong %s, and creates nothing: %o', async (name, options) => {
    const folder = temporaryFolder();
    const refused = sqliteTopicLog({ file: join(folder, 'log.db'), ...options });
    await expect(refused).rejects.toThrow(RangeError);
    await expect(refused).rejects.toThrow(`sqliteTopicLog: ${name} must be a`);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('creates the folder and the file', async () => {
    const file = join(temporaryFolder(), 'a', 'b', 'log.db');
    await using log = await sqliteTopicLog({ file });
    expect(await log.listTopics()).toEqual([]);
    expect(readFileSync(file).subarray(0, 15).toString()).toBe('SQLite format 3');
  });

  // Windows doesn't have these permissions.
  it.skipIf(process.platform === 'win32')(
    "makes all that belongs to a log its owner's alone, whatever the umask, and leaves what is there",
    async () => {
      const umask = process.umask(0);
      onTestFinished(() => void process.umask(umask));
      const file = join(temporaryFolder(), 'a', 'b', 'log.db');
      await using log = await sqliteTopicLog({ file });
      await log.createTopics([{ name: 'state', partitions: 1, compacted: true }]);
      await using lane = await log.openLane({ name: 'lane', state: { topic: 'state', partition: 0 } });
      await lane.transaction((tx) => tx.checkpoint('k', 'v'));
      const [lock = ''] = readdirSync(`${file}-lanes`);
      expect([file, `${file}-wal`, `${file}-shm`, join(`${file}-lanes`, lock)].map(modeOf)).toEqual([0o600, 0o600, 0o600, 0o600]);
      expect([join(file, '..'), join(file, '../..'), `${file}-lanes`].map(modeOf)).toEqual([0o700, 0o700, 0o700]);

      await log.close();
      chmodSync(file, 0o660);
      await using again = await sqliteTopicLog({ file });
      await again.listTopics();
      expect([file, `${file}-wal`].map(modeOf)).toEqual([0o660, 0o660]);
    },
  );

  it('has pages of 8 kB, and no table whose rows are ordered by their values', async () => {
    const file = join(temporaryFolder(), 'log.db');
    await (await sqliteTopicLog({ file })).close();
    using db = new DatabaseSync(file, { readOnly: true });
    expect(db.prepare('PRAGMA page_size').get()).toEqual({ page_size: 8_192 });
    expect(db.prepare("SELECT wr FROM pragma_table_list WHERE name = 'batches'").get()).toEqual({ wr: 0 });
  });

  it('syncs the disk at each commit', () => {
    const { db } = openDatabase({
      file: join(temporaryFolder(), 'log.db'),
      busyTimeoutMs: 1_000,
      tombstoneRetentionMs: 1,
      maxFileBytes: 0,
    });
    const settings = ['synchronous', 'fullfsync', 'checkpoint_fullfsync', 'journal_mode'].map(
      (name) => Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0],
    );
    db.close();
    // `synchronous` 2 is FULL: an acknowledged commit survives a crash of the machine.
    expect(settings).toEqual([2, 1, 1, 'wal']);
  });

  it.each([99, 5, 0, -1])('refuses a log with schema version %i, names both versions, and leaves it unchanged', async (version) => {
    const file = join(temporaryFolder(), 'log.db');
    await (await sqliteTopicLog({ file })).close();
    const db = new DatabaseSync(file);
    db.exec(`PRAGMA user_version = ${version}`);
    db.close();
    const before = readFileSync(file);
    for (const readOnly of [false, true]) {
      const error: unknown = await sqliteTopicLog({ file, readOnly }).catch((refusal: unknown) => refusal);
      expect(error).toMatchObject({ code: 'HEADGATE_TOPIC_LOG_VERSION' });
      expect(String(error)).toContain(`schema version (user_version) ${version}; this release knows only version 1`);
      expect(String(error)).toMatch(/upgrade Headgate.*restore a backup/);
    }
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it('refuses the database of another application and leaves it unchanged', async () => {
    const file = join(temporaryFolder(), 'other.db');
    const db = new DatabaseSync(file);
    db.exec('CREATE TABLE theirs (x)');
    db.close();
    const before = readFileSync(file);
    await expect(sqliteTopicLog({ file })).rejects.toThrow(/other\.db can't be opened: it is a database of another application/);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it('refuses a file that isn’t a database and leaves it unchanged', async () => {
    const file = join(temporaryFolder(), 'notes.txt');
    writeFileSync(file, 'These are my notes, not a topic log.\n'.repeat(100));
    const before = readFileSync(file);
    const error: unknown = await sqliteTopicLog({ file }).catch((refusal: unknown) => refusal);
    expect(error).toMatchObject({ code: 'HEADGATE_TOPIC_LOG_OPEN', retryable: false, message: expect.stringContaining(file) as string });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it.each([{ readOnly: false }, { readOnly: true }])(
    'refuses a folder, and a path through a file or a circular link ($readOnly)',
    async (how) => {
      const folder = temporaryFolder();
      mkdirSync(join(folder, 'log.db'));
      await expect(sqliteTopicLog({ file: join(folder, 'log.db'), ...how })).rejects.toThrow(/it is a folder/);
      writeFileSync(join(folder, 'file'), '');
      symlinkSync('circle', join(folder, 'circle'));
      const refusal = { code: 'HEADGATE_TOPIC_LOG_OPEN', retryable: false };
      await expect(sqliteTopicLog({ file: join(folder, 'file', 'log.db'), ...how })).rejects.toMatchObject(refusal);
      const circular = { ...refusal, message: expect.stringMatching(/ELOOP.*\. Check the path/) as string };
      await expect(sqliteTopicLog({ file: join(folder, 'circle', 'log.db'), ...how })).rejects.toMatchObject(circular);
    },
  );

  // The root user can write to a read-only file.
  it.skipIf(process.getuid?.() === 0 || process.platform === 'win32')('refuses a read-only file', async () => {
    const file = join(temporaryFolder(), 'log.db');
    await (await sqliteTopicLog({ file })).close();
    chmodSync(file, 0o444);
    await expect(sqliteTopicLog({ file })).rejects.toThrow(/this user can.t read and write it/);
  });

  it('reads a file consistently while another process creates the log in it', () => {
    const file = join(temporaryFolder(), 'log.db');
    const other = new DatabaseSync(file);
    other.exec('PRAGMA journal_mode = WAL');
    const db = new DatabaseSync(file);
    const prepare = db.prepare.bind(db);
    db.prepare = (sql) => {
      // The other process creates the log after `checkSchema` has read the version and the application ID, but before it reads the tables.
      if (sql.includes('sqlite_schema')) makeSchema(other, file);
      return prepare(sql);
    };
    checkSchema(db, file);
    expect(other.prepare('PRAGMA user_version').get()).toEqual({ user_version: 1 });
    other.close();
    db.close();
  });

  it('accepts an empty file, as left by an interrupted first start', async () => {
    const file = join(temporaryFolder(), 'log.db');
    writeFileSync(file, '');
    await using log = await sqliteTopicLog({ file });
    await log.createTopics([{ name: 'topic', partitions: 1 }]);
    expect(await log.listTopics()).toHaveLength(1);
  });
});

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}
