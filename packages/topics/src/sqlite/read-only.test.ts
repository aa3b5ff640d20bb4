import { chmodSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { sqliteTopicLog } from './index.ts';
import { temporaryFolder } from './temporary-folder.fixture.ts';

/** A user ID without write permission. Root can write whatever the permissions are. */
const NOBODY = 65_534;

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

it('reads a log without write permission, and creates nothing next to it', async () => {
  const { folder, file } = await written();
  chmodSync(file, 0o444);
  chmodSync(folder, 0o555);
  onTestFinished(() => chmodSync(folder, 0o755));
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    await expect(sqliteTopicLog({ file })).rejects.toThrow(/read-only|can.t read and write it/);
    expect(await read(file)).toEqual(['a', 'b']);
    expect(readdirSync(folder).filter((name) => !name.endsWith('-lanes'))).toEqual(['log.db']);
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
});

it('reads a log of an older release without migrating it', async () => {
  const { file } = await written();
  const db = new DatabaseSync(file);
  db.exec('ALTER TABLE partitions DROP COLUMN start_offset; ALTER TABLE group_offsets DROP COLUMN checksum; PRAGMA user_version = 3');
  db.close();
  const before = readFileSync(file);
  expect(await read(file)).toEqual(['a', 'b']);
  await using log = await sqliteTopicLog({ file, readOnly: true });
  expect(await log.groupOffset({ topic: 'pages', partition: 0, group: 'g' })).toBeUndefined();
  await expect(log.append([{ topic: 'pages', key: 'k', value: 'c' }])).rejects.toMatchObject({
    code: expect.stringMatching(/^HEADGATE_TOPIC_LOG/u),
  });
  await log.close();
  expect(readFileSync(file).equals(before)).toBe(true);
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
