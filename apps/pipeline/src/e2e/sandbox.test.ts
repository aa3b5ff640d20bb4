import { randomUUID } from 'node:crypto';
import { chmod, mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { describe, expect, it } from 'vitest';
import { SECRETS, type Workplace, workplace } from './headgate-process.fixture.ts';

const OAUTH1 = { consumerKey: 'ck', consumerSecret: SECRETS.CONSUMER_SECRET, token: 'tk', tokenSecret: SECRETS.TOKEN_SECRET };

describe('headgate sandbox', () => {
  it('accepts any well-formed OAuth signature and any bearer token, as its output says', async () => {
    await using place = await workplace('');
    const { followers, stderr } = await sandbox(place);
    expect(stderr).toContain('They accept any bearer token, any well-formed OAuth signature, and any key.');
    expect(await crawl(place, followers, oauthOf({ ...OAUTH1, consumerSecret: 'any' }))).toEqual([0, 3]);
    expect(await crawl(place, followers, 'bearer: any')).toEqual([0, 3]);
  });

  it('prints the limit that a configuration for it needs', async () => {
    await using place = await workplace('');
    const { followers } = await sandbox(place, '--limit', '2/60s');
    expect(followers).toMatch(/^baseUrl: "http:\/\/127\.0\.0\.1:\d+", limit: \{ requests: 2, window: 60s \}$/u);
    expect(await crawl(place, followers, 'bearer: any')).toEqual([0, 3]);
  });
});

it('reports in one sentence what Kafka needs if it can’t be started, and starts nothing', async () => {
  await using place = await workplace('');
  for (const args of [
    ['sandbox', '--kafka'],
    ['run', '--sandbox', '--kafka'],
  ]) {
    const { code, stdout, stderr } = await place.headgateWith({ env: { JAVA_HOME: place.folder } }, ...args);
    expect([code, stdout, stderr]).toEqual([
      2,
      '',
      `headgate: Kafka needs Java 17 or newer, and ${join(place.folder, 'bin', 'java')} is missing. Install it, or set JAVA_HOME to its folder. With Docker, \`docker compose up\` of the repository starts a broker on 127.0.0.1:9092.\n`,
    ]);
  }
  expect((await place.headgate('run', '--kafka')).stderr).toContain('--kafka needs --sandbox');
});

// Windows has no file modes such as 600.
it.skipIf(process.platform === 'win32')("run --sandbox keeps its files private, even if an earlier version didn't", async () => {
  await using place = await workplace('');
  const folder = join(place.folder, '.headgate');
  await mkdir(folder);
  await writeFile(join(folder, '.env'), 'OLD=value\n');
  for (const [name, mode] of [
    ['', 0o755],
    ['.env', 0o644],
  ] as const)
    await chmod(join(folder, name), mode);
  const run = place.begin('run', '--sandbox');
  await expect.poll(() => run.text().stderr).toContain('@alpha starts');
  expect(run.text().stderr).not.toContain('has no entry of these lists');
  const modes = ['', '.env', 'sandbox.yaml', 'sandbox.db'].map(async (name) => (await stat(join(folder, name))).mode & 0o777);
  expect(await Promise.all(modes)).toEqual([0o700, 0o600, 0o600, 0o600]);
});

/** Starts a sandbox. Resolves to the `followers` line that it prints, and to its stderr. */
async function sandbox(place: Workplace, ...args: readonly string[]): Promise<{ readonly followers: string; readonly stderr: string }> {
  const started = place.begin('sandbox', '--port', '0', '--user', 'a=3', ...args);
  const told = (): string | undefined => /^followers: \{ (.*) \}$/mu.exec(started.text().stdout)?.[1];
  await expect.poll(told).toBeDefined();
  await expect.poll(() => started.text().stderr).toContain('Ctrl-C to stop it.');
  return { followers: told() ?? '', stderr: started.text().stderr };
}

function oauthOf(oauth1: object): string {
  return `oauth1: ${JSON.stringify(oauth1)}`;
}

/** Crawls the account into a new log. Resolves to the exit code and the number of IDs. */
async function crawl(place: Workplace, followers: string, credential: string): Promise<[number | null, number]> {
  const file = `${randomUUID()}.db`;
  await place.write(
    'headgate.yaml',
    `topics: { driver: sqlite, file: ./${file} }
status: false
followers: { ${followers}, credentials: [{ name: app, ${credential} }], users: [a], emit: [ids] }
`,
  );
  const { code } = await place.headgate('run');
  await using log = await sqliteTopicLog({ file: join(place.folder, file) });
  const [ids] = await log.listTopics(['followers.ids']);
  return [code, ids?.offsets[0]?.end ?? 0];
}
