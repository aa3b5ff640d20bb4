import { type BoundaryState, boundaryDuplicates } from '@headgate/operators';
import type { Followers } from '@headgate/sources/followers';
import { gather } from '@headgate/throttle';
import type { Client } from 'pg';
import { lastValueFrom } from 'rxjs';

export interface PostgresSinkOptions {
  readonly api: Followers;
  readonly screenName: string;
  /** A connected client that nothing else uses during the crawl. */
  readonly client: Client;
  readonly signal?: AbortSignal;
}

/** Pages per transaction. */
const PAGES = 4;

const TABLES = `
  CREATE TABLE IF NOT EXISTS followers (follows text, id numeric(20), PRIMARY KEY (follows, id));
  CREATE TABLE IF NOT EXISTS walks (follows text PRIMARY KEY, cursor text NOT NULL, boundary jsonb NOT NULL);
`;

/**
 * Writes a user's followers into PostgreSQL. A transaction contains the IDs of up to four pages, the next cursor, and the IDs that the next
 * page may repeat. After a crash at any time, the next call continues there, and no ID is lost or written twice.
 */
export async function postgresSink({ api, screenName, client, signal }: PostgresSinkOptions): Promise<void> {
  await client.query(TABLES);
  const place = await client.query<{ cursor: string; boundary: BoundaryState }>('SELECT cursor, boundary FROM walks WHERE follows = $1', [
    screenName,
  ]);
  const { cursor, boundary: state } = place.rows[0] ?? {};
  if (cursor === '0') return;

  const boundary = boundaryDuplicates({ state });
  const batches = api
    .pages({ screenName, ...(cursor !== undefined && { cursor }), signal })
    .through(gather({ size: PAGES, maxWaitMs: 5_000 }));
  const written = batches.drain(
    async (pages) => {
      const ids = pages.flatMap((page) => boundary.apply(page).ids);
      await client.query('BEGIN');
      try {
        await client.query('INSERT INTO followers SELECT $1, unnest($2::numeric[])', [screenName, ids]);
        await client.query(
          `INSERT INTO walks VALUES ($1, $2, $3)
           ON CONFLICT (follows) DO UPDATE SET cursor = excluded.cursor, boundary = excluded.boundary`,
          [screenName, pages.at(-1)?.nextCursor, boundary.state()],
        );
        await client.query('COMMIT');
      } catch (error) {
        // If the connection is lost, PostgreSQL has already rolled back.
        await client.query('ROLLBACK').catch(() => undefined);
        throw error;
      }
    },
    // Capacity for a batch, and for two more pages that are requested while it is written.
    { maxOutstanding: (PAGES + 2) * 5_000 },
  );
  await lastValueFrom(written, { defaultValue: undefined });
}
