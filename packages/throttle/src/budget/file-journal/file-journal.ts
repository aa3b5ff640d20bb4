import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { type Clock, systemClock } from '../../clock.ts';
import { agedSnapshots, stampedSnapshots } from '../aged-snapshots.ts';
import type { BudgetSnapshot, Journal, JournalEntry } from '../journal.ts';

/** Options of {@link fileJournal}. */
export interface FileJournalOptions {
  /**
   * Path of an SQLite database. If it is missing, it is created with its folder, readable only by its owner. Only one journal at a time can
   * have it open.
   */
  readonly file: string;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
}

/** A journal in a file. */
export interface FileJournal extends Journal, AsyncDisposable {
  /** Writes every change that the file doesn't have yet, and closes the file. */
  close(): Promise<void>;
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
const SHORTEST_LEASE_MS = 1_000;

/**
 * Opens a journal in a file, with a row for each credential. `granted` of its entries resolves when the grant is written and synced. A
 * write blocks the thread until the disk has it. Rejects with a `FileJournalError` if the file can't be read or written, or if this process
 * or another one has it open. The operating system releases the file's lock when the process ends.
 */
export async function fileJournal({ file, clock = systemClock() }: FileJournalOptions): Promise<FileJournal> {
  const { DatabaseSync } = await import('node:sqlite');
  const path = resolve(file);
  const db = usable(path, () => {
    createFolder(dirname(path));
    // SQLite gives its other files the mode of this one.
    closeSync(openSync(path, 'a', 0o600));
    return new DatabaseSync(path, { timeout: MEETING_MS });
  });
  try {
    usable(path, () => begin(db));
  } catch (error) {
    db.close();
    throw error;
  }
  return new SqliteJournal(path, db, clock);
}

class SqliteJournal implements FileJournal {
  readonly #path: string;
  readonly #db: DatabaseSync;
  readonly #clock: Clock;
  readonly #snapshots = new Map<string, () => readonly BudgetSnapshot[]>();
  readonly #changed = new Set<string>();
  #slowestMs = 0;
  #next: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(path: string, db: DatabaseSync, clock: Clock) {
    this.#path = path;
    this.#db = db;
    this.#clock = clock;
  }

  get leaseMs(): number {
    return Math.max(SHORTEST_LEASE_MS, 4 * this.#slowestMs);
  }

  open(credential: string, snapshots: () => readonly BudgetSnapshot[]): JournalEntry {
    this.#snapshots.set(credential, snapshots);
    const granted = (): Promise<void> => this.#granted(credential);
    return {
      restored: this.#restored(credential),
      granted,
      settled: () => void this.#changed.add(credential),
      // An error is ignored, because the next write includes this change, too.
      flush: () => void granted().catch(() => undefined),
    };
  }

  close(): Promise<void> {
    return (this.#closed ??= Promise.resolve().then(() => {
      try {
        if (this.#changed.size > 0) this.#write();
      } finally {
        usable(this.#path, () => this.#db.close());
      }
    }));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #restored(credential: string): readonly BudgetSnapshot[] | undefined {
    const row = usable(this.#path, () => this.#db.prepare('SELECT at, budgets FROM journal WHERE credential = ?').get(credential));
    if (row === undefined) return undefined;
    const budgets = JSON.parse(String(row['budgets'])) as readonly BudgetSnapshot[];
    // Both times are rounded down to 1 ms.
    const elapsedMs = this.#clock.epochMs() - Number(row['at']) - 1;
    return agedSnapshots(budgets, elapsedMs, this.#clock.boot?.());
  }

  /** All grants of one synchronous step share a write. */
  #granted(credential: string): Promise<void> {
    this.#changed.add(credential);
    return (this.#next ??= Promise.resolve().then(() => this.#write()));
  }

  /** Writes the changed rows, all or none. They are durable when it returns. */
  #write(): void {
    this.#next = undefined;
    const startedMs = this.#clock.monotonicMs();
    const at = this.#clock.epochMs();
    const rows = Array.from(this.#changed, (credential) => {
      const budgets = stampedSnapshots(this.#snapshots.get(credential)?.() ?? [], this.#clock);
      return { credential, at, budgets: JSON.stringify(budgets) };
    });
    usable(this.#path, () => this.#db.prepare(SAVE).run(JSON.stringify(rows)));
    // Skipped after an error, so that the next write includes these changes.
    this.#changed.clear();
    this.#slowestMs = Math.max(this.#slowestMs * 0.9, this.#clock.monotonicMs() - startedMs);
  }
}

const SAVE = `INSERT INTO journal SELECT value ->> 'credential', value ->> 'at', value ->> 'budgets' FROM json_each(?) WHERE true
  ON CONFLICT DO UPDATE SET at = excluded.at, budgets = excluded.budgets`;

/** Does work with the file. Replaces its error by a `FileJournalError` that names the file. */
function usable<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw unusable(file, error);
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
