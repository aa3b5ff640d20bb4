import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { BudgetSnapshot } from '../journal.ts';

export interface JournalRow {
  readonly credential: string;
  /** Epoch ms of the write. */
  readonly at: number;
  readonly budgets: readonly BudgetSnapshot[];
}

/** A database with a row per credential, locked by this process. The operating system releases the lock when the process ends. */
export interface JournalRows {
  /** Returns the row of a credential; undefined if there is none. */
  row(credential: string): JournalRow | undefined;
  /** Creates or replaces rows, all or none. They are durable when `save` returns. */
  save(rows: readonly JournalRow[]): void;
  close(): void;
}

/** The error for a journal's file that can't be read, written or locked. The message names the file. */
export class FileJournalError extends Error {
  /** A constant, because a bundler can rename the class. */
  override readonly name = 'FileJournalError';
  /** Identifies the error where `instanceof` can't, such as in a program with two copies of this package. */
  readonly code = 'HEADGATE_FILE_JOURNAL';
  /** False, because a retry can't repair a damaged file or free a full disk. */
  readonly retryable = false;
}

/** Primary result codes of SQLite: https://www.sqlite.org/rescode.html */
const BUSY = 5;
const CORRUPT = 11;
const NOT_A_DATABASE = 26;
/**
 * Time to wait for a lock, in ms. Two processes that open a free journal can block each other for a moment. A longer lock shows that the
 * journal is in use.
 */
const MEETING_MS = 60;
/** Marks a database as a journal: `HGJ` and the version of its table. */
const APPLICATION_ID = 0x48474a01;

/**
 * Opens a journal's file. A missing file or folder is created, readable only by its owner. Rejects with a `FileJournalError` if the file
 * can't be used. The methods of the result throw the same error.
 */
export async function openJournalRows(file: string): Promise<JournalRows> {
  const { DatabaseSync } = await import('node:sqlite');
  const attempt = <Result>(work: () => Result): Result => {
    try {
      return work();
    } catch (error) {
      throw unusable(file, error);
    }
  };
  const db = attempt(() => {
    createFolder(dirname(file));
    // SQLite gives its other files the mode of this one.
    closeSync(openSync(file, 'a', 0o600));
    return new DatabaseSync(file, { timeout: MEETING_MS });
  });
  try {
    return attempt(() => {
      begin(db);
      const read = db.prepare('SELECT at, budgets FROM journal WHERE credential = ?');
      const save = db.prepare(
        `INSERT INTO journal SELECT value ->> 'credential', value ->> 'at', value ->> 'budgets' FROM json_each(?) WHERE true
         ON CONFLICT DO UPDATE SET at = excluded.at, budgets = excluded.budgets`,
      );
      return {
        row: (credential) =>
          attempt(() => {
            const found = read.get(credential);
            if (found === undefined) return undefined;
            return { credential, at: Number(found['at']), budgets: JSON.parse(String(found['budgets'])) as readonly BudgetSnapshot[] };
          }),
        save: (rows) => attempt(() => void save.run(JSON.stringify(rows.map((row) => ({ ...row, budgets: JSON.stringify(row.budgets) }))))),
        close: () => attempt(() => db.close()),
      };
    });
  } catch (error) {
    db.close();
    throw error;
  }
}

function begin(db: DatabaseSync): void {
  const pragma = (name: string): unknown => db.prepare(`PRAGMA ${name}`).get()?.[name];
  // An exclusive connection keeps its lock between transactions, and a write-ahead log needs only one sync per transaction.
  db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON');
  db.exec('PRAGMA wal_autocheckpoint = 100; BEGIN EXCLUSIVE');
  const isOther = pragma('schema_version') !== 0 && pragma('application_id') !== APPLICATION_ID;
  if (isOther || pragma('quick_check') !== 'ok') throw Object.assign(new Error('no journal'), { errcode: NOT_A_DATABASE });
  db.exec(
    `PRAGMA application_id = ${APPLICATION_ID};
     CREATE TABLE IF NOT EXISTS journal (
       credential TEXT PRIMARY KEY, at REAL NOT NULL, budgets TEXT NOT NULL CHECK (json_type(budgets) = 'array')
     ) STRICT, WITHOUT ROWID;
     COMMIT`,
  );
}

/** Creates a missing folder, readable only by its owner, and syncs its name to disk. */
function createFolder(folder: string): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  // On Windows, a folder can't be opened to sync it.
  if (first === undefined || process.platform === 'win32') return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) {
    const parent = openSync(dirname(made), 'r');
    try {
      fsyncSync(parent);
    } finally {
      closeSync(parent);
    }
  }
}

function unusable(file: string, cause: unknown): FileJournalError {
  const { code, errcode = 0, message } = cause as NodeJS.ErrnoException & { readonly errcode?: number };
  // The low byte is the primary error code. The other bytes give details.
  switch (errcode % 256) {
    case BUSY:
      return new FileJournalError(
        `The journal ${file} is already open, in this process or another one. Two writers would exceed each other's budgets. ` +
          'Stop one of them, or give each its own credentials and journal.',
      );
    case CORRUPT:
    case NOT_A_DATABASE:
      return new FileJournalError(
        `${file} isn't a journal, or is damaged. Move the file away, and wait for one window before you start again.`,
        { cause },
      );
    default: {
      const what = errcode === 0 && code !== undefined ? code : message;
      return new FileJournalError(`The journal ${file} can't be read or written (${what}). No request is sent without it.`, { cause });
    }
  }
}
