import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileError, isBusy } from './file-errors.ts';

/** How long to wait for a lock. Two newcomers can block each other for a moment at a free lane. A holder usually keeps the lane for longer. */
const MEETING_MS = 60;

/** A held lock. The operating system releases it when the process ends, even by a crash. */
export interface LaneLock {
  release(): void;
}

/**
 * Takes the lane's lock, or returns null if another holder has it, in this process or any other. The lock is an exclusive transaction on a separate
 * empty SQLite database, `<file>-lanes/<lane>-<hash>.lock`. The file stays when the lane is released. If it were removed, two newcomers could lock
 * two different files of that name.
 */
export function takeLaneLock(file: string, lane: string): LaneLock | null {
  const folder = `${file}-lanes`;
  const lockFile = join(folder, laneFileName(lane));
  let db: DatabaseSync | undefined;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const isNew = !existsSync(lockFile);
    db = new DatabaseSync(lockFile, { timeout: MEETING_MS });
    if (isNew) chmodSync(lockFile, 0o600);
    // The journal is in memory, so that a killed holder leaves none.
    db.exec('PRAGMA journal_mode = MEMORY');
    db.exec('BEGIN EXCLUSIVE');
    const held = db;
    return { release: () => held.close() };
  } catch (error) {
    db?.close();
    if (isBusy(error)) return null;
    throw fileError(error, lockFile, MEETING_MS);
  }
}

/** Returns a readable name that file systems accept. It also differs for lanes whose names differ only in case or in replaced characters. */
function laneFileName(lane: string): string {
  const hash = createHash('sha256').update(lane).digest('hex').slice(0, 16);
  return `${lane.replaceAll(/[^A-Za-z0-9._-]/g, '_').slice(0, 80)}-${hash}.lock`;
}
