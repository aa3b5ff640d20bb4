import { once } from 'node:events';
import { access, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { TopicLogError } from '../topic-log-error.ts';
import { sqliteTopicLog } from './sqlite-topic-log.ts';
import { WorkerLink } from './worker-link.ts';

/** Options of {@link backupSqliteTopicLog}. */
export interface BackupOptions {
  /** The log's file. Other processes can read and write it meanwhile. */
  readonly file: string;
  /** Path of the copy: a file that doesn't exist yet. */
  readonly to: string;
  /** Aborts the backup, which then leaves no file. Default: never. */
  readonly signal?: AbortSignal;
}

/** Contents of a copy. */
export interface BackedUp {
  /** Number of topics in the copy. */
  readonly topics: number;
  /** Number of records in the copy. The backup has read each of them and compared it with its checksum. */
  readonly records: number;
  /** Size of the copy, in bytes. */
  readonly bytes: number;
}

/**
 * Copies a log as of one moment, without its free space. It only reads the log. The copy is named `<to>.<process id>.part` until the backup has
 * read it completely and synced it. Throws a `TopicLogError`, such as HEADGATE_TOPIC_LOG_OPEN if `to` already exists, and the reason of `signal`.
 */
export async function backupSqliteTopicLog({ file, to, signal = new AbortController().signal }: BackupOptions): Promise<BackedUp> {
  const target = resolve(to);
  const part = `${target}.${process.pid}.part`;
  await assertFree(target);
  try {
    signal.throwIfAborted();
    await rm(part, { force: true });
    await claim(part);
    await copy(resolve(file), part, signal);
    const { topics, records } = await readWhole(part, signal);
    const bytes = await synced(part);
    await assertFree(target);
    await rename(part, target);
    await synced(dirname(target));
    return { topics, records, bytes };
  } finally {
    await Promise.all(['', '-wal', '-shm', '-journal'].map(async (end) => await rm(part + end, { force: true })));
  }
}

/** Throws if the name is taken, or if SQLite would replay a file left next to it, and the copy would become another log. */
async function assertFree(target: string): Promise<void> {
  const isTaken = await access(target).then(
    () => true,
    () => false,
  );
  if (isTaken) throw cannotBeMade(target, 'it already exists, and backup never overwrites a file. Name another one.');
  for (const path of [`${target}-wal`, `${target}-journal`]) {
    const { size } = await stat(path).catch(() => ({ size: 0 }));
    if (size === 0) continue;
    throw cannotBeMade(target, `${path} is left of an earlier file, and would change the copy. Move or delete it, or name another file.`);
  }
}

function cannotBeMade(path: string, why: string, cause?: unknown): TopicLogError {
  return new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_OPEN', message: `The backup ${path} failed: ${why}` }, { cause });
}

/** Creates the file of the copy for its owner only. SQLite then copies into the empty file. */
async function claim(path: string): Promise<void> {
  try {
    await (await open(path, 'wx', 0o600)).close();
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw cannotBeMade(path, code === 'ENOENT' ? "its folder doesn't exist. Create it, or name another file." : message, cause);
  }
}

async function copy(file: string, to: string, signal: AbortSignal): Promise<void> {
  const worker = new WorkerLink({ file, busyTimeoutMs: 5_000, tombstoneRetentionMs: 0, maxFileBytes: 0, readOnly: true });
  const copied = worker.call('backup', to);
  const stopped = once(signal, 'abort').then(() => signal.throwIfAborted());
  try {
    await Promise.race([copied, stopped]);
  } finally {
    // Don't wait for the thread after an abort: it receives nothing, not even the request to end, before the copy is done.
    const closed = worker.close();
    if (signal.aborted) copied.catch(() => undefined);
    else await closed;
  }
}

async function readWhole(file: string, signal: AbortSignal): Promise<Pick<BackedUp, 'topics' | 'records'>> {
  await using log = await sqliteTopicLog({ file, readOnly: true });
  const topics = await log.listTopics();
  let records = 0;
  for (const { name } of topics) {
    for await (const _ of log.readBytes({ topic: name, signal })) records += 1;
    // This verifies the offsets of all groups.
    await log.groupOffset({ group: '', topic: name, partition: 0 });
  }
  signal.throwIfAborted();
  return { topics: topics.length, records };
}

/** Syncs a file or folder to disk. Resolves to its size in bytes. */
async function synced(path: string): Promise<number> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
    return (await handle.stat()).size;
  } finally {
    await handle.close();
  }
}
