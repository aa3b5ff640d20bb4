import type { DatabaseSync } from 'node:sqlite';
import type { Followers } from '@headgate/sources/followers';
import { defer, lastValueFrom } from 'rxjs';

export interface OwnSinkOptions {
  readonly api: Followers;
  readonly screenName: string;
  readonly database: DatabaseSync;
  readonly signal?: AbortSignal;
}

/** Writes a user's followers into a table of one's own, and the cursor behind each page with them: a restart goes on where it was. */
export async function ownSink({ api, screenName, database, signal }: OwnSinkOptions): Promise<void> {
  database.exec('CREATE TABLE IF NOT EXISTS followers (user TEXT, id TEXT, PRIMARY KEY (user, id)) WITHOUT ROWID');
  database.exec('CREATE TABLE IF NOT EXISTS cursors (user TEXT PRIMARY KEY, cursor TEXT)');
  const add = database.prepare('INSERT OR IGNORE INTO followers VALUES (?, ?)');
  const move = database.prepare('INSERT OR REPLACE INTO cursors VALUES (?, ?)');
  const cursor = database.prepare('SELECT cursor FROM cursors WHERE user = ?').get(screenName)?.['cursor'];
  if (cursor === '0') return;

  const pages = api.pages({ screenName, ...(typeof cursor === 'string' && { cursor }), signal });
  const written = pages.drain(({ ids, nextCursor }) =>
    defer(() => {
      database.exec('BEGIN');
      for (const id of ids) add.run(screenName, id);
      move.run(screenName, nextCursor);
      database.exec('COMMIT');
      return [];
    }),
  );
  await lastValueFrom(written, { defaultValue: undefined });
}
