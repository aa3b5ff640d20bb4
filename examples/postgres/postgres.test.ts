import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { bearer } from '@headgate/auth';
import { type FollowersSandbox, startFollowers } from '@headgate/sandbox';
import { followers } from '@headgate/sources/followers';
import { expect, test } from 'vitest';
import { type Postgres, findPostgres, startPostgres } from './postgres.fixture.ts';
import { postgresSink } from './postgres-sink.ts';

const installed = await findPostgres();
const why = typeof installed === 'string' ? `: skipped, ${installed}` : '';

test.skipIf(why !== '')(`postgres-sink: killed anywhere and started again, its table holds each follower once${why}`, async () => {
  if (typeof installed === 'string') return;
  await using postgres = await startPostgres(installed);
  // New followers shift the list, so that some pages begin with IDs of the previous page.
  await using server = await startFollowers({
    users: { alpha: { followers: 12_000, pageSize: 100, shiftEvery: 7 } },
    latencyMs: 5,
    window: { kind: 'rolling', limit: 10_000, windowMs: 1_000 },
  });
  const ids = server.followersOf('alpha');
  const database = await postgres.connect();
  try {
    // Kills at random points of a crawl.
    for (let kill = 0; kill < 3; kill += 1) {
      const until = server.requests.length + 1 + Math.floor(Math.random() * 16);
      const load = startLoad(server, postgres);
      await expect.poll(() => server.requests.length, { interval: 1 }).toBeGreaterThanOrEqual(until);
      load.child.kill('SIGKILL');
      expect(await load.end).toBe('SIGKILL');
    }

    // A kill between the insert of a batch and that of its cursor.
    await database.query('BEGIN; LOCK TABLE walks IN EXCLUSIVE MODE');
    const load = startLoad(server, postgres);
    const waiting = async (): Promise<number | null> => (await database.query('SELECT FROM pg_locks WHERE NOT granted')).rowCount;
    await expect.poll(waiting).toBe(1);
    load.child.kill('SIGKILL');
    expect(await load.end).toBe('SIGKILL');
    await database.query('ROLLBACK');

    expect(await startLoad(server, postgres).end).toBe(0);
    const { rows } = await database.query<{ id: string }>("SELECT id FROM followers WHERE follows = 'alpha'");
    // A crawl that was killed before its first batch starts over, and can find new followers at the top of the list.
    expect(rows.length).toBeGreaterThanOrEqual(ids.length);
    expect(rows.map(({ id }) => id).sort()).toEqual(server.followersOf('alpha').slice(-rows.length).toSorted());
    // Each of the five processes requests the first page at most once.
    expect(server.requests.filter(({ cursor }) => cursor === '-1').length).toBeLessThanOrEqual(5);
  } finally {
    await database.end();
  }
});

test.skipIf(why !== '')(`postgres-sink: if a statement fails, the next call with the same client continues${why}`, async () => {
  if (typeof installed === 'string') return;
  await using postgres = await startPostgres(installed);
  await using server = await startFollowers({
    users: { alpha: { followers: 450, pageSize: 50 } },
    window: { kind: 'rolling', limit: 10_000, windowMs: 1_000 },
  });
  await using api = followers({
    baseUrl: server.url,
    credentials: [{ name: 'app', signer: bearer('token') }],
    limit: { requests: 10_000, windowMs: 1_000 },
  });
  const client = await postgres.connect();
  try {
    await client.query(
      'CREATE TABLE walks (follows text PRIMARY KEY, cursor text NOT NULL, boundary jsonb NOT NULL, CONSTRAINT full_disk CHECK (false))',
    );
    await expect(postgresSink({ api, screenName: 'alpha', client })).rejects.toThrow('full_disk');
    await client.query('ALTER TABLE walks DROP CONSTRAINT full_disk');
    await postgresSink({ api, screenName: 'alpha', client });
    const { rows } = await client.query<{ ids: string }>('SELECT count(*) AS ids FROM followers');
    expect(rows).toEqual([{ ids: '450' }]);
  } finally {
    await client.end();
  }
});

interface Load {
  readonly child: ChildProcess;
  readonly end: Promise<number | NodeJS.Signals | null>;
}

function startLoad({ url }: FollowersSandbox, { env }: Postgres): Load {
  const args = ['--conditions=@headgate/source', join(import.meta.dirname, 'load-followers.ts'), 'alpha', url, '10000', '1000'];
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env, TOKEN: 'token' }, stdio: ['ignore', 'ignore', 'inherit'] });
  const end = new Promise<number | NodeJS.Signals | null>((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
  return { child, end };
}
