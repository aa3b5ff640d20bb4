import { basename } from 'node:path';
import { TopicLogError } from '../topic-log-error.ts';

/** SQLite's result codes that concern a user, https://www.sqlite.org/rescode.html; the low byte is the primary code. */
const SQLITE = { BUSY: 5, LOCKED: 6, READONLY: 8, IOERR: 10, CORRUPT: 11, FULL: 13, CANTOPEN: 14, PROTOCOL: 15, NOTADB: 26 };
/** Extended codes of IOERR that a full disk, a quota or a file-size limit can cause: IOERR_WRITE, IOERR_SHMSIZE. */
const NO_ROOM = new Set([778, 4874]);
/** IOERR_CORRUPTFS. */
const DAMAGED = new Set([8458]);

/** Returns the log's error for one of SQLite or the system. `busyTimeoutMs`: how long SQLite waited for a locked file. */
export function fileError(error: unknown, file: string, busyTimeoutMs: number): TopicLogError {
  if (error instanceof TopicLogError) return error;
  const detail = messageOf(error);
  const code = error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : 0;
  switch (code & 0xff) {
    case SQLITE.BUSY:
    case SQLITE.LOCKED:
    case SQLITE.PROTOCOL:
      return busyError(file, busyTimeoutMs, error);
    case SQLITE.FULL:
      return fullError(file, error);
    case SQLITE.CORRUPT:
      return corruptError(file, detail);
    case SQLITE.NOTADB:
      return openError(
        file,
        "it isn't a topic log: it's not an SQLite database, or its first page is damaged. Name another file, or restore a backup.",
        error,
      );
    case SQLITE.READONLY:
      return openError(
        file,
        'it is read-only: it was opened with readOnly, or this user lacks write permission on the file and its folder.',
        error,
      );
    case SQLITE.CANTOPEN: {
      const name = basename(file);
      const permissions = `Check the path and the permissions on ${name}, ${name}-wal, ${name}-shm and their folder.`;
      return openError(file, `the operating system refused to open it or a file next to it. ${permissions}`, error);
    }
    case SQLITE.IOERR:
      if (NO_ROOM.has(code)) return fullError(file, error);
      if (DAMAGED.has(code)) return corruptError(file, detail);
      return failedError(file, `${detail} (${code})`, error);
    default:
      return failedError(file, detail, error);
  }
}

/** True if SQLite waited in vain for a lock on the file. */
export function isBusy(error: unknown): boolean {
  return fileError(error, '', 0).code === 'HEADGATE_TOPIC_LOG_BUSY';
}

/** `reason` says why the log can't be opened, and what to do. */
export function openError(file: string, reason: string, cause?: unknown): TopicLogError {
  return new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_OPEN', message: `The topic log ${file} can't be opened: ${reason}` }, { cause });
}

export function corruptError(file: string, detail: string): TopicLogError {
  const message =
    `The topic log ${file} is damaged (${detail}). Stop everything that uses it and keep a copy; then restore a backup, or ` +
    'save what can be read with `sqlite3 FILE .recover`.';
  return new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_CORRUPT', message });
}

/** `path`: the file, such as the `-wal`, that is missing or was replaced. */
export function goneError(file: string, path: string, replaced: boolean): TopicLogError {
  const name = basename(file);
  const message =
    `${path} was ${replaced ? 'replaced' : 'deleted or moved'} while the topic log was in use; later writes are not confirmed. Stop every process that ` +
    `uses the log. Then put ${name} back, together with ${name}-wal if it exists, or restore a backup; or start over with a new file.`;
  return new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_GONE', message });
}

export function failedError(file: string, detail: string, cause?: unknown): TopicLogError {
  const message = `The topic log ${file} failed: ${detail}. Close and reopen it, and read its state before you write again.`;
  return new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_FAILED', retryable: true, message }, { cause });
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function busyError(file: string, busyTimeoutMs: number, cause: unknown): TopicLogError {
  const message =
    `The topic log ${file} was locked by another process for more than ${busyTimeoutMs} ms; nothing was written. ` +
    'Try again, or find the process that holds it.';
  return new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_BUSY', retryable: true, message }, { cause });
}

function fullError(file: string, cause: unknown): TopicLogError {
  const message =
    `There is no space to write the topic log ${file} (disk full, or a quota or size limit reached). Nothing was written and nothing ` +
    'committed is lost. Free some space on that disk or raise the limit, then try again.';
  return new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_FULL', retryable: true, message }, { cause });
}
