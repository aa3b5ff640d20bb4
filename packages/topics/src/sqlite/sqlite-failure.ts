import { basename } from 'node:path';
import { WorkerFailure } from './worker-protocol.ts';

/** SQLite's result codes that concern a user, https://www.sqlite.org/rescode.html; the low byte is the primary code. */
const SQLITE = { BUSY: 5, LOCKED: 6, READONLY: 8, IOERR: 10, CORRUPT: 11, FULL: 13, CANTOPEN: 14, PROTOCOL: 15, NOTADB: 26 };
/** Extended codes of IOERR that a full disk, a quota or a file-size limit can cause: IOERR_WRITE, IOERR_SHMSIZE. */
const NO_ROOM = new Set([778, 4874]);
/** IOERR_CORRUPTFS. */
const DAMAGED = new Set([8458]);

/** Classifies an error of SQLite; any other error becomes `failed`. */
export function sqliteFailure(error: unknown, log: { readonly file: string; readonly busyTimeoutMs: number }): WorkerFailure {
  if (error instanceof WorkerFailure) return error;
  const { file, busyTimeoutMs } = log;
  const detail = error instanceof Error ? error.message : String(error);
  const code = errorCode(error);
  const options = { cause: error };
  switch (code & 0xff) {
    case SQLITE.BUSY:
    case SQLITE.LOCKED:
    case SQLITE.PROTOCOL:
      return new WorkerFailure({ kind: 'busy', file, busyTimeoutMs, detail }, options);
    case SQLITE.FULL:
      return new WorkerFailure({ kind: 'full', file, detail }, options);
    case SQLITE.CORRUPT:
      return new WorkerFailure({ kind: 'corrupt', file, detail }, options);
    case SQLITE.NOTADB:
      return new WorkerFailure(
        {
          kind: 'open',
          file,
          reason:
            "it isn't a topic log: it's not an SQLite database, or its first page is damaged. Name another file, or restore a backup.",
          detail,
        },
        options,
      );
    case SQLITE.READONLY:
      return new WorkerFailure(
        { kind: 'open', file, reason: 'it is read-only. Give this user write permission on the file and its folder.', detail },
        options,
      );
    case SQLITE.CANTOPEN:
      return new WorkerFailure(
        {
          kind: 'open',
          file,
          reason:
            'the operating system refused to open it or a file next to it. Check the path and the permissions on ' +
            `${basename(file)}, ${basename(file)}-wal, ${basename(file)}-shm and their folder.`,
          detail,
        },
        options,
      );
    case SQLITE.IOERR:
      if (NO_ROOM.has(code)) return new WorkerFailure({ kind: 'full', file, detail }, options);
      if (DAMAGED.has(code)) return new WorkerFailure({ kind: 'corrupt', file, detail }, options);
      return new WorkerFailure({ kind: 'failed', file, detail: `${detail} (${code})` }, options);
    default:
      return new WorkerFailure({ kind: 'failed', file, detail }, options);
  }
}

function errorCode(error: unknown): number {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : 0;
}
