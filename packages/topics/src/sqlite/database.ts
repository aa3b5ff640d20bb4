import { type Stats, accessSync, chmodSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DatabaseSync } from 'node:sqlite';
import { integer } from './column.ts';
import { LogFiles } from './log-files.ts';
import { checkSchema, isEmpty, makeSchema, viewSchema } from './schema.ts';
import { sqliteFailure } from './sqlite-failure.ts';
import { type WorkerOptions, WorkerFailure } from './worker-protocol.ts';

/**
 * Opens the log's file in WAL mode, with each commit synced, at this release's schema; with `readOnly`, see `openToRead`. New files and folders are
 * accessible only to their owner. Throws a `WorkerFailure`.
 */
export function openDatabase(options: WorkerOptions): { readonly db: DatabaseSync; readonly files: LogFiles } {
  const { file, busyTimeoutMs } = options;
  if (options.readOnly === true) return openToRead(options);
  const isNew = preparePath(file);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { timeout: busyTimeoutMs });
    // SQLite creates `-wal` and `-shm` with the file's mode, so set the mode now. Creating and closing the file here, before SQLite opens it, would
    // release this process's locks on it.
    if (isNew) chmodSync(file, 0o600);
    const files = new LogFiles(file);
    checkSchema(db, file);
    useWriteAheadLog(db, busyTimeoutMs);
    // Without `fullfsync`, macOS keeps a "synced" commit in the drive's cache. On other systems, it changes nothing.
    db.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON');
    db.exec('PRAGMA cell_size_check = ON; PRAGMA journal_size_limit = 67108864');
    makeSchema(db, file);
    if (options.maxFileBytes > 0) limitFile(db, options.maxFileBytes);
    files.addWriteAheadLog();
    return { db, files };
  } catch (error) {
    closeQuietly(db);
    throw sqliteFailure(error, { file, busyTimeoutMs });
  }
}

/**
 * Opens the log's file for reading, without changing it. If this user may write to the file and its folder, SQLite uses its `-wal` and
 * `-shm` as usual; otherwise it creates neither, and reads those that exist. If `LogFiles.haveChanged` becomes true, SQLite may return wrong
 * data, and the file must be reopened.
 */
function openToRead(options: WorkerOptions): ReturnType<typeof openDatabase> {
  const { file, busyTimeoutMs } = options;
  let found: Stats | undefined;
  try {
    found = statSync(file, { throwIfNoEntry: false });
  } catch (error) {
    throw cantReach(file, "can't be entered", error);
  }
  try {
    if (found === undefined) throw new WorkerFailure({ kind: 'open', file, reason: "it doesn't exist.", detail: 'ENOENT' });
    if (found.isDirectory())
      throw new WorkerFailure({ kind: 'open', file, reason: 'it is a folder. Name a file in it.', detail: 'EISDIR' });
    return openExisting(options);
  } catch (error) {
    throw sqliteFailure(error, { file, busyTimeoutMs });
  }
}

function openExisting(options: WorkerOptions): ReturnType<typeof openDatabase> {
  const { busyTimeoutMs } = options;
  const files = new LogFiles(options.file);
  files.expectNoChange();
  const { file } = files;
  const wal = statSync(`${file}-wal`, { throwIfNoEntry: false });
  const hasCommits = (wal?.size ?? 0) > 0;
  if (hasCommits && statSync(file).size === 0) throw leftAlone(file);
  const mayWrite = [file, dirname(file)].every((path) => mayBe(path, constants.W_OK));
  let refusal: WorkerFailure | undefined;
  for (const readOnly of [...(mayWrite ? [false] : []), ...(wal === undefined ? [] : [true])]) {
    try {
      return readyToRead(new DatabaseSync(file, { timeout: busyTimeoutMs, readOnly }), new LogFiles(options.file));
    } catch (error) {
      // `mayBe` can report a permission that isn't enough to open the file. Continue as without the permission.
      refusal = sqliteFailure(error, { file, busyTimeoutMs });
      if (refusal.failure.kind !== 'open') throw refusal;
    }
  }
  try {
    if (hasCommits && refusal !== undefined) throw refusal;
    // Without commits in a `-wal`, the file contains the whole log, as long as no process writes.
    return readyToRead(new DatabaseSync(new URL(`${pathToFileURL(file).href}?immutable=1`), { readOnly: true }), files);
  } catch (error) {
    // Another process may have opened or closed the log meanwhile.
    if (files.haveChanged) return openToRead(options);
    throw error;
  }
}

function readyToRead(db: DatabaseSync, files: LogFiles): ReturnType<typeof openDatabase> {
  try {
    checkSchema(db, files.file);
    // A process can create the tables at any time. The file must then be reopened.
    if (isEmpty(db)) files.expectNoChange();
    viewSchema(db);
    // A copy made by a backup isn't in WAL mode, and has no -wal, until a process opens it for writing. SQLite has no -wal of an immutable file.
    const hasWal = db.prepare('PRAGMA journal_mode').get()?.['journal_mode'] === 'wal';
    if (hasWal) files.addWriteAheadLog();
    return { db, files };
  } catch (error) {
    closeQuietly(db);
    throw error;
  }
}

function mayBe(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/** Creates the log's folder and checks that the file can be opened there. Returns true if the file doesn't exist yet. */
function preparePath(file: string): boolean {
  let wal: Stats | undefined;
  let found: Stats | undefined;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // Look for the `-wal` first, because another process that creates the log creates the file before it writes anything to the `-wal`.
    wal = statSync(`${file}-wal`, { throwIfNoEntry: false });
    found = statSync(file, { throwIfNoEntry: false });
  } catch (error) {
    throw cantReach(file, "can't be created or entered", error);
  }
  if (found?.isDirectory() === true) {
    throw new WorkerFailure({ kind: 'open', file, reason: 'it is a folder. Name a file in it.', detail: 'EISDIR' });
  }
  if (found !== undefined) assertWritable(file);
  if ((wal?.size ?? 0) > 0 && (found?.size ?? 0) === 0) throw leftAlone(file);
  return found === undefined;
}

function cantReach(file: string, what: string, error: unknown): WorkerFailure {
  const detail = error instanceof Error ? error.message : String(error);
  const reason = `its folder ${what} (${detail}). Check the path and the permissions on its folders.`;
  return new WorkerFailure({ kind: 'open', file, reason, detail }, { cause: error });
}

/** The error for a `-wal` without its file. SQLite would create a new database and delete the `-wal`, with the commits in it. */
function leftAlone(file: string): WorkerFailure {
  const reason =
    `the file is missing or empty, and ${file}-wal contains its last commits: the file was moved or deleted without it. ` +
    `Put the file back next to it; or, to start over, delete ${file}-wal.`;
  return new WorkerFailure({ kind: 'open', file, reason, detail: 'a -wal without its database' });
}

/** Throws if this user can't read and write the file. SQLite would open a read-only file silently, and fail at the first write. */
function assertWritable(file: string): void {
  try {
    accessSync(file, constants.R_OK | constants.W_OK);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    const reason = "this user can't read and write it. Grant permission on the file and its folder.";
    throw new WorkerFailure({ kind: 'open', file, reason, detail }, { cause: error });
  }
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
      if (waitedMs >= busyTimeoutMs || sqliteFailure(error, { file: '', busyTimeoutMs }).failure.kind !== 'busy') throw error;
      Atomics.wait(pause, 0, 0, 10);
    }
  }
}

function limitFile(db: DatabaseSync, maxFileBytes: number): void {
  const pageBytes = integer(db.prepare('PRAGMA page_size').get()?.['page_size']);
  db.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxFileBytes / pageBytes))}`);
}

function closeQuietly(db: DatabaseSync | undefined): void {
  try {
    db?.close();
  } catch {
    // The caller throws an earlier error, which says more.
  }
}
