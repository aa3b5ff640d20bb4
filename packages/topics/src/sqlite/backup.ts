import { open, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { TopicLogError } from '../topic-log-error.ts';
import { sqliteTopicLog } from './sqlite-topic-log.ts';
import { WorkerLink } from './worker-link.ts';

/** Options of {@link backupSqliteTopicLog}. */
export interface BackupOptions {
  /** The log's file; other processes may read and write it meanwhile. */
  readonly file: string;
  /** Where the copy goes: a file that isn't there. */
  readonly to: string;
}

/** What a copy holds. */
export interface BackedUp {
  /** Number of topics in the copy. */
  readonly topics: number;
  /** Every record was read from the copy, and matched its checksum. */
  readonly records: number;
  /** Size of the copy's file. */
  readonly bytes: number;
}

/**
 * Copies a log as it stands at one moment into a file that has all of it, and none of the space that is free; reads the whole copy; then gives it
 * its name, synced. It needs room for the copy, beside which `<to>.part` lies until then. Throws a `TopicLogError`, HEADGATE_TOPIC_LOG_OPEN where
 * `to` is there already.
 */
export async function backupSqliteTopicLog({ file, to }: BackupOptions): Promise<BackedUp> {
  const target = resolve(to);
  const part = `${target}.part`;
  await claim(target);
  try {
    await rm(part, { force: true });
    await claim(part);
    await copy(resolve(file), part);
    const { topics, records } = await readWhole(part);
    const bytes = await synced(part);
    await rename(part, target);
    await synced(dirname(target));
    return { topics, records, bytes };
  } catch (error) {
    await Promise.all([target, ...['', '-wal', '-shm'].map((end) => part + end)].map(async (path) => await rm(path, { force: true })));
    throw error;
  }
}

/** Makes an empty file for its owner alone: the name is ours from now on. */
async function claim(path: string): Promise<void> {
  try {
    await (await open(path, 'wx', 0o600)).close();
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = code === 'EEXIST' ? 'it is there already. Nothing is overwritten: name another file.' : message;
    throw new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_OPEN', message: `The backup ${path} can't be made: ${why}` }, { cause });
  }
}

async function copy(file: string, to: string): Promise<void> {
  const link = new WorkerLink({ file, busyTimeoutMs: 5_000, pollMs: 50, tombstoneRetentionMs: 0, maxFileBytes: 0 });
  try {
    await link.call('open', null);
    await link.call('backup', { to });
  } finally {
    await link.close();
  }
}

async function readWhole(file: string): Promise<Pick<BackedUp, 'topics' | 'records'>> {
  await using log = await sqliteTopicLog({ file });
  const topics = await log.listTopics();
  let records = 0;
  for (const { name } of topics) {
    for await (const _ of log.readBytes({ topic: name })) records += 1;
  }
  return { topics: topics.length, records };
}

/** Answers its size. */
async function synced(path: string): Promise<number> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
    return (await handle.stat()).size;
  } finally {
    await handle.close();
  }
}
