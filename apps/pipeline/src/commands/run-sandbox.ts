import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { type FollowersUser, sampleIsbn, startBooks, startFollowers } from '@headgate/sandbox';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { loadConfig } from '../config/load-config.ts';
import type { CommandContext } from './command-context.ts';
import { run } from './run.ts';

/** Where the sandbox's config and log lie; the folder is ignored by git. */
const FOLDER = '.headgate';

/** A list that shifts, short pages, a small account and an empty one: what a crawl meets. */
const USERS: Readonly<Record<string, FollowersUser>> = {
  alpha: { followers: 43_210, shiftEvery: 3 },
  beta: { followers: 26_380 },
  gamma: { followers: 12_000, suspendedShare: 0.2 },
  delta: { followers: 7 },
  epsilon: { followers: 0 },
};
const ISBNS = Array.from({ length: 250 }, (_, i) => sampleIsbn(i));
const UNKNOWN = ISBNS.filter((_, i) => i % 36 === 5);
const AUTHORS = ['Charlotte Vale Allen', 'Ada & Bert / Söhne?'];

/** Starts emulators of both services and works a small job of them, from the start each time. Resolves to the exit code. */
export async function runSandbox({ follow }: { readonly follow: boolean }, context: CommandContext): Promise<number> {
  const { cwd, env, stderr } = context;
  const folder = resolve(cwd, FOLDER);
  const file = join(folder, 'sandbox.yaml');
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o700);
  await using followers = await startFollowers({
    users: USERS,
    window: { kind: 'rolling', limit: 15, windowMs: 3_000 },
    latencyMs: { min: 20, max: 120 },
  });
  await using books = await startBooks({ unknown: UNKNOWN, latencyMs: { min: 20, max: 120 } });
  await startAfresh(join(folder, 'sandbox.db'));
  await writeForOwner(join(folder, '.env'), 'SANDBOX_TOKEN=a-token-of-the-sandbox\nSANDBOX_KEY=a-key-of-the-sandbox\n');
  await writeForOwner(file, sandboxYaml(followers.url, books.url));
  const { config } = await loadConfig({ file, cwd, env });
  const shown = relative(cwd, file) || file;
  stderr.write(`Two emulated services, a small job, and its log in ${join(FOLDER, 'sandbox.db')}.\n`);
  return await run({ config, follow }, { ...context, file: shown });
}

/** An earlier version made it readable to all. */
async function writeForOwner(file: string, text: string): Promise<void> {
  await writeFile(file, text, { mode: 0o600 });
  await chmod(file, 0o600);
}

/** The job is a small one and shown from its start; a log that another run is writing is left alone. */
async function startAfresh(file: string): Promise<void> {
  const log = await sqliteTopicLog({ file });
  try {
    await log.createTopics([{ name: 'followers.state', partitions: 1, compacted: true }]);
    const lane = await log.openLane({ name: 'headgate.followers.requests.0', state: { topic: 'followers.state', partition: 0 } });
    await lane.close();
  } finally {
    await log.close();
  }
  for (const part of ['', '-wal', '-shm']) await rm(file + part, { force: true });
}

function sandboxYaml(followersUrl: string, booksUrl: string): string {
  return `# Written by \`headgate run --sandbox\`, whose emulated services end with it; \`headgate read\` goes on to work with this file.
topics: { driver: sqlite, file: ./sandbox.db }
status: false
followers:
  baseUrl: ${followersUrl}
  credentials:
    - { name: app, bearer: "\${SANDBOX_TOKEN}" }
  limit: { requests: 15, window: 3s }
  users: [${Object.keys(USERS).join(', ')}]
  emit: [pages, ids]
books:
  baseUrl: ${booksUrl}
  key: "\${SANDBOX_KEY}"
  isbns:
${ISBNS.map((isbn) => `    - "${isbn}"`).join('\n')}
  authors: ${JSON.stringify(AUTHORS)}
`;
}
