import type { DatabaseSync } from 'node:sqlite';
import type { FollowerPage, Followers } from '@headgate/sources/followers';
import { defer, lastValueFrom } from 'rxjs';

export interface OwnSinkOptions {
  readonly api: Followers;
  readonly screenName: string;
  readonly database: DatabaseSync;
  readonly signal?: AbortSignal;
}

/** Writes a user's followers into your own table, with the position of the crawl after each page. A restart resumes there. */
export async function ownSink({ api, screenName, database, signal }: OwnSinkOptions): Promise<void> {
  database.exec('CREATE TABLE IF NOT EXISTS followers (user TEXT, id TEXT, PRIMARY KEY (user, id)) WITHOUT ROWID');
  database.exec('CREATE TABLE IF NOT EXISTS walks (user TEXT PRIMARY KEY, next TEXT)');
  const add = database.prepare('INSERT OR IGNORE INTO followers VALUES (?, ?)');
  const move = database.prepare('INSERT OR REPLACE INTO walks VALUES (?, ?)');
  const next = database.prepare('SELECT next FROM walks WHERE user = ?').get(screenName)?.['next'];
  const from = typeof next === 'string' ? (JSON.parse(next) as FollowerPage['next']) : undefined;

  const pages = api.pages({ screenName, from, signal });
  const written = pages.drain(({ ids, next: after }) =>
    defer(() => {
      database.exec('BEGIN');
      try {
        for (const id of ids) add.run(screenName, id);
        move.run(screenName, JSON.stringify(after));
        database.exec('COMMIT');
      } catch (error) {
        // After some errors, such as a full disk, SQLite has already rolled back.
        if (database.isTransaction) database.exec('ROLLBACK');
        throw error;
      }
      return [];
    }),
  );
  await lastValueFrom(written, { defaultValue: undefined });
}
