import { execFile, spawn } from 'node:child_process';
import { access, chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';

const run = promisify(execFile);

export interface Postgres extends AsyncDisposable {
  /** libpq's variables for a client. */
  readonly env: Readonly<Record<string, string>>;
  /** Opens a connection. The caller must end it. */
  connect(): Promise<pg.Client>;
}

interface Installation {
  readonly folder: string;
  /** The user that runs PostgreSQL, which refuses to run as root. Absent if this process isn't root. */
  readonly user?: { readonly uid: number; readonly gid: number };
}

/** Finds PostgreSQL's programs and a user to run them. Returns a sentence if something is missing. */
export async function findPostgres(): Promise<Installation | string> {
  if (process.platform === 'win32') return 'there is no PostgreSQL on unix sockets here';
  const debian = '/usr/lib/postgresql';
  const versions = await readdir(debian).catch(() => []);
  const newest = versions.sort((one, other) => Number(other) - Number(one)).map((version) => join(debian, version, 'bin'));
  let folder: string | undefined;
  for (const candidate of [...(process.env['PATH'] ?? '').split(delimiter), ...newest]) {
    const found = await Promise.all(['initdb', 'postgres'].map((name) => access(join(candidate, name)))).catch(() => undefined);
    if (found !== undefined) folder ??= candidate;
  }
  if (folder === undefined) return 'there is no PostgreSQL (apt-get install postgresql)';
  if (process.getuid?.() !== 0) return { folder };
  const ids = await Promise.all(['-u', '-g'].map(async (which) => Number((await run('id', [which, 'postgres'])).stdout))).catch(
    () => undefined,
  );
  const [uid, gid] = ids ?? [];
  if (uid === undefined || gid === undefined) return 'PostgreSQL refuses to run as root, and there is no user postgres';
  return { folder, user: { uid, gid } };
}

/** Shell script that stops the server when its stdin ends, which happens when this process ends in any way. */
const ON_LIFELINE = '"$@" <&- & read -r line; kill -QUIT $!; wait';

export async function startPostgres({ folder, user }: Installation): Promise<Postgres> {
  const place = await mkdtemp(join(tmpdir(), 'headgate-postgres-'));
  if (user !== undefined) await chown(place, user.uid, user.gid);
  const data = join(place, 'data');
  const options = { cwd: place, ...user };
  await run(join(folder, 'initdb'), ['-D', data, '-U', 'headgate', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'], options);
  const settings = ['listen_addresses=', `unix_socket_directories=${place}`, 'fsync=off'].flatMap((setting) => ['-c', setting]);
  const command = [join(folder, 'postgres'), '-D', data, ...settings];
  const server = spawn('sh', ['-c', ON_LIFELINE, 'sh', ...command], { ...options, stdio: ['pipe', 'ignore', 'ignore'] });
  const gone = new Promise((resolve) => server.once('exit', resolve));
  const env = { PGHOST: place, PGUSER: 'headgate', PGDATABASE: 'postgres' };
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ host: env.PGHOST, user: env.PGUSER, database: env.PGDATABASE });
    await client.connect();
    return client;
  };
  for (;;) {
    const client = await connect().catch(() => undefined);
    await client?.end();
    if (client !== undefined) break;
    if (server.exitCode !== null) throw new Error(`PostgreSQL ended as it started (exit code ${server.exitCode}).`);
    await setTimeout(50);
  }
  return {
    env,
    connect,
    async [Symbol.asyncDispose]() {
      server.stdin.end();
      await gone;
      await rm(place, { recursive: true });
    },
  };
}
