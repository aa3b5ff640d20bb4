import { type Stats, accessSync, chmodSync, constants, mkdirSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DatabaseSync } from 'node:sqlite';
import { integer } from './column.ts';
import { fileError, isBusy, messageOf, openError } from './file-errors.ts';
import { LogFiles } from './log-files.ts';
import { PAGE_BYTES, checkSchema, makeSchema } from './schema.ts';
import type { WorkerOptions } from './worker-protocol.ts';

export interface OpenDatabase {
  readonly db: DatabaseSync;
  readonly files: LogFiles;
}

/**
 * Opens the log's file in WAL mode, with each commit synced. New files and folders are accessible only to their owner. With `readOnly`, it
 * creates and changes nothing.
 */
export function openDatabase(options: WorkerOptions): OpenDatabase {
  const { file, busyTimeoutMs, maxFileBytes } = options;
  try {
    if (options.readOnly === true) return openToRead(file, busyTimeoutMs);
    const isNew = preparePath(file);
    const db = new DatabaseSync(file, { timeout: busyTimeoutMs });
    return closedOnError(db, () => {
      // SQLite creates `-wal` and `-shm` with the file's mode, so set the mode now. Creating and closing the file here, before SQLite opens it, would
      // release this process's locks on it.
      if (isNew) chmodSync(file, 0o600);
      const files = new LogFiles(file);
      // Refuse another application's file before anything changes it.
      checkSchema(db, file);
      db.exec(`PRAGMA page_size = ${PAGE_BYTES}`);
      useWriteAheadLog(db, busyTimeoutMs);
      // Without `fullfsync`, macOS keeps a "synced" commit in the drive's cache. On other systems, it changes nothing.
      db.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON');
      db.exec('PRAGMA cell_size_check = ON; PRAGMA journal_size_limit = 67108864');
      if (!checkSchema(db, file)) makeSchema(db, file);
      if (maxFileBytes > 0) limitFile(db, maxFileBytes);
      files.addWriteAheadLog();
      return { db, files };
    });
  } catch (error) {
    throw fileError(error, file, busyTimeoutMs);
  }
}

/**
 * Uses the `-wal` and `-shm` like a writer if this user may; SQLite then refuses to write. Without commits in a `-wal`, the file contains the
 * whole log, so that it can be read as immutable as long as no process writes it.
 */
function openToRead(file: string, busyTimeoutMs: number): OpenDatabase {
  if (!exists(file)) throw openError(file, "it doesn't exist.");
  try {
    const db = new DatabaseSync(fileUrl(file, 'mode=rw'), { timeout: busyTimeoutMs });
    return readyToRead(db, file, () => new LogFiles(file));
  } catch (error) {
    const refusal = fileError(error, file, busyTimeoutMs);
    if (refusal.code !== 'HEADGATE_TOPIC_LOG_OPEN' || sizeOf(`${realpathSync(file)}-wal`) > 0) throw refusal;
  }
  const files = new LogFiles(file, true);
  return readyToRead(new DatabaseSync(fileUrl(file, 'immutable=1'), { readOnly: true }), file, () => files);
}

function readyToRead(db: DatabaseSync, file: string, filesOf: () => LogFiles): OpenDatabase {
  return closedOnError(db, () => {
    db.exec('PRAGMA query_only = ON');
    const files = filesOf();
    if (!checkSchema(db, file)) throw openError(file, 'it is empty: no process has created the log in it yet. Try again after that.');
    // A copy made by a backup isn't in WAL mode, and has no -wal, until a process opens it for writing. SQLite has no -wal of an immutable file.
    if (db.prepare('PRAGMA journal_mode').get()?.['journal_mode'] === 'wal') files.addWriteAheadLog();
    return { db, files };
  });
}

/** Creates the log's folder and checks that the file can be opened there. Returns true if the file doesn't exist yet. */
function preparePath(file: string): boolean {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  } catch (error) {
    throw cantReach(file, error);
  }
  if (!exists(file)) return true;
  try {
    // SQLite would open a read-only file silently, and fail at the first write.
    accessSync(file, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw openError(file, "this user can't read and write it. Grant permission on the file and its folder.", error);
  }
  return false;
}

/** Throws for a folder, and for a `-wal` without its file. SQLite would create a new database and delete the `-wal`, with the commits in it. */
function exists(file: string): boolean {
  let hasCommits: boolean;
  let found: Stats | undefined;
  try {
    // Look for the `-wal` first, because another process that creates the log creates the file before it writes anything to the `-wal`.
    hasCommits = sizeOf(`${file}-wal`) > 0;
    found = statSync(file, { throwIfNoEntry: false });
  } catch (error) {
    throw cantReach(file, error);
  }
  if (found?.isDirectory() === true) throw openError(file, 'it is a folder. Name a file in it.');
  if (hasCommits && (found?.size ?? 0) === 0) {
    throw openError(
      file,
      `the file is missing or empty, and ${file}-wal contains its last commits: the file was moved or deleted without it. ` +
        `Put the file back next to it; or, to start over, delete ${file}-wal.`,
    );
  }
  return found !== undefined;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function cantReach(file: string, error: unknown): Error {
  const reason = `its folder can't be created or entered (${messageOf(error)}). Check the path and the permissions on its folders.`;
  return openError(file, reason, error);
}

function fileUrl(file: string, parameter: string): URL {
  return new URL(`${pathToFileURL(file).href}?${parameter}`);
}

/**
 * Switches to WAL, and retries that while the file is locked. SQLite's own busy handler doesn't retry the switch when several processes open a new
 * file at once.
 */
function useWriteAheadLog(db: DatabaseSync, busyTimeoutMs: number): void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let waitedMs = 0; ; waitedMs += 10) {
    try {
      db.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      if (waitedMs >= busyTimeoutMs || !isBusy(error)) throw error;
      Atomics.wait(pause, 0, 0, 10);
    }
  }
}

function limitFile(db: DatabaseSync, maxFileBytes: number): void {
  const pageBytes = integer(db.prepare('PRAGMA page_size').get()?.['page_size']);
  db.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxFileBytes / pageBytes))}`);
}

function closedOnError<T>(db: DatabaseSync, work: () => T): T {
  try {
    return work();
  } catch (error) {
    try {
      db.close();
    } catch {
      // The first error says more.
    }
    throw error;
  }
}
