import { chmodSync, existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';

/** Two processes that open a free journal can block each other for a moment. A journal in use stays locked for longer than this. */
const MEETING_MS = 60;
/** SQLite's code for a lock that another connection holds, https://www.sqlite.org/rescode.html. */
const BUSY = 5;

/** Held: the operating system releases it when the process ends in any way. */
export interface JournalLock {
  release(): void;
}

/**
 * Takes a journal's lock, or resolves to undefined while this or another process holds it. Node has no file locks, so the lock is an
 * exclusive transaction on an empty SQLite database, `<file>.lock`. The file stays when the journal closes: removing it would let two
 * processes lock two different files of that name.
 */
export async function takeJournalLock(file: string): Promise<JournalLock | undefined> {
  const { DatabaseSync } = await import('node:sqlite');
  const lockFile = `${file}.lock`;
  let db: DatabaseSync | undefined;
  try {
    const isNew = !existsSync(lockFile);
    db = new DatabaseSync(lockFile, { timeout: MEETING_MS });
    if (isNew) chmodSync(lockFile, 0o600);
    // In memory, so that a killed holder leaves no SQLite journal.
    db.exec('PRAGMA journal_mode = MEMORY');
    db.exec('BEGIN EXCLUSIVE');
    const held = db;
    return { release: () => held.close() };
  } catch (error) {
    db?.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === BUSY) return undefined;
    throw error;
  }
}
