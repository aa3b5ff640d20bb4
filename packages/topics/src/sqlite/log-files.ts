import { WorkerFailure } from './worker-protocol.ts';
import { realpathSync, statSync } from 'node:fs';

/**
 * The files that an open log consists of. SQLite continues with files that were deleted, moved or replaced under their names, and can acknowledge
 * commits that no later opening finds: https://www.sqlite.org/howtocorrupt.html, "Unlinking or renaming a database file while in use".
 */
export class LogFiles {
  /** The log's own path, with every link resolved. */
  readonly file: string;
  /** The identity that each file had when SQLite opened it, by path. */
  readonly #opened = new Map<string, string | undefined>();
  #unchanged: string | undefined;
  #failure: WorkerFailure | undefined;

  /** Call right after SQLite has opened `file`, or before if it exists. */
  constructor(file: string) {
    this.#opened.set(file, identityOf(file));
    this.file = realpathSync(file);
  }

  /** Call when SQLite has opened its `-wal` and `-shm`, too. */
  addWriteAheadLog(): void {
    for (const path of [`${this.file}-wal`, `${this.file}-shm`]) this.#opened.set(path, identityOf(path));
  }

  /** Call before SQLite reads what it doesn't notice a change of, such as a file opened as immutable, for which it takes no lock. */
  expectNoChange(): void {
    this.#unchanged = this.#versions();
  }

  /** True if another process has changed the file or its `-wal` since `expectNoChange`. */
  get haveChanged(): boolean {
    return this.#unchanged !== undefined && this.#unchanged !== this.#versions();
  }

  get areGone(): boolean {
    return this.#failure !== undefined;
  }

  /** Throws a `gone` failure if a path no longer has the same file. From then on, it always throws, because a commit may be lost. */
  assertExists(): void {
    if (this.#failure !== undefined) throw this.#failure;
    for (const [path, opened] of this.#opened) {
      const found = identityOf(path);
      if (found === opened && found !== undefined) continue;
      this.#failure = new WorkerFailure({ kind: 'gone', file: this.file, path, replaced: found !== undefined });
      throw this.#failure;
    }
  }

  #versions(): string {
    return [this.file, `${this.file}-wal`].map(versionOf).join();
  }
}

function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

function versionOf(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? '' : `${found.dev}:${found.ino}:${found.size}:${found.ctimeNs}`;
}
