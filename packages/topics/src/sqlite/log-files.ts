import { realpathSync, statSync } from 'node:fs';
import { failedError, goneError } from './file-errors.ts';

/**
 * The files that an open log consists of. SQLite continues with files that were deleted, moved or replaced under their names, and can acknowledge
 * commits that no later opening finds: https://www.sqlite.org/howtocorrupt.html, "Unlinking or renaming a database file while in use". It
 * doesn't notice either that another process writes a file which it reads as immutable, for which it takes no lock.
 */
export class LogFiles {
  /** The log's own path, with every link resolved. */
  readonly file: string;
  readonly #isImmutable: boolean;
  /** The version that each file had when SQLite opened it, by path. */
  readonly #opened = new Map<string, string | undefined>();
  #failure: Error | undefined;

  /** Call right after SQLite has opened `file`. If it reads the file as immutable, call before. */
  constructor(file: string, isImmutable = false) {
    this.#isImmutable = isImmutable;
    this.#add(file);
    this.file = realpathSync(file);
    if (isImmutable) this.addWriteAheadLog();
  }

  /** Call when SQLite has opened its `-wal` and `-shm`, too. */
  addWriteAheadLog(): void {
    this.#add(`${this.file}-wal`);
    this.#add(`${this.file}-shm`);
  }

  get areGone(): boolean {
    return this.#failure !== undefined;
  }

  /** Throws if a path no longer has the same file, or an immutable file was written. From then on, it always throws. */
  assertUnchanged(): void {
    if (this.#failure !== undefined) throw this.#failure;
    for (const [path, opened] of this.#opened) {
      const found = this.#versionOf(path);
      if (found === opened && (found !== undefined || this.#isImmutable)) continue;
      this.#failure = this.#isImmutable
        ? failedError(this.file, 'a process began to write it, and this user has no permission to follow that')
        : goneError(this.file, path, found !== undefined);
      throw this.#failure;
    }
  }

  #add(path: string): void {
    this.#opened.set(path, this.#versionOf(path));
  }

  #versionOf(path: string): string | undefined {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    if (found === undefined) return undefined;
    return this.#isImmutable ? `${found.dev}:${found.ino}:${found.size}:${found.ctimeNs}` : `${found.dev}:${found.ino}`;
  }
}
