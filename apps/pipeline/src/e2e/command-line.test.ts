import { execFileSync } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sampleIsbn, startBooks, startFollowers } from '@headgate/sandbox';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { describe, expect, it } from 'vitest';
import { SECRETS, followersYaml, workplace } from './headgate-process.fixture.ts';

const FREELY = { window: { kind: 'rolling', limit: 100_000, windowMs: 1_000 } } as const;

describe('headgate', () => {
  it('keeps its exit codes: 0 help and version, 2 usage and config with line and column', async () => {
    await using place = await workplace('folowers: {}\n', { processes: true });
    const [help, version, unknown, config, missing] = await Promise.all([
      place.headgate('--help'),
      place.headgate('--version'),
      place.headgate('frobnicate'),
      place.headgate('run'),
      place.headgate('run', '--config', 'elsewhere.yaml'),
    ]);
    expect([help.code, version.code, unknown.code, config.code, missing.code]).toEqual([0, 0, 2, 2, 2]);
    for (const command of ['init', 'check', 'plan', 'run', 'enqueue', 'read', 'replay', 'sandbox']) expect(help.stdout).toContain(command);
    expect(unknown.stderr).toMatch(/^headgate: unknown command 'frobnicate'\n/);
    expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(config.stderr).toMatch(/1:1 .*folowers.*Did you mean followers\?/);
    expect(missing.stderr).toContain('headgate init');
    for (const { stdout } of [unknown, config, missing]) expect(stdout).toBe('');
  });

  it('shows binary data as base64, keeps it in a dead letter, and skips it in a replay', async () => {
    await using place = await workplace('books:\n  baseUrl: http://127.0.0.1:9\n  plan: premium\n  key: "${KEY}"\n');
    const bytes = Uint8Array.of(0, 0xff);
    {
      await using log = await sqliteTopicLog({ file: join(place.folder, 'headgate.db') });
      await log.createTopics([{ name: 'books.requests', partitions: 1 }]);
      await log.append([
        { topic: 'books.requests', key: bytes, value: bytes, headers: { text: 'x', bytes } },
        { topic: 'books.requests', key: 'k', value: 'v' },
      ]);
    }
    const [json, text] = [await place.headgate('read', 'books.requests', '--json'), await place.headgate('read', 'books.requests')];
    expect([json.code, json.stderr, text.code, text.stderr]).toEqual([0, '', 0, '']);
    const place0 = { topic: 'books.requests', partition: 0, time: expect.any(String) as unknown };
    expect(
      json.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([
      { ...place0, offset: 0, key_base64: 'AP8=', headers: { text: 'x' }, headers_base64: { bytes: 'AP8=' }, value_base64: 'AP8=' },
      { ...place0, offset: 1, key: 'k', headers: {}, value: 'v' },
    ]);
    expect(text.stdout).toBe('0:0\tbase64:AP8=\tbase64:AP8=\n0:1\tk\tv\n');
    expect((await place.headgate('run')).code).toBe(1);
    const letters = await place.headgate('read', 'books.dead-letters', '--json');
    expect(JSON.parse(letters.stdout.split('\n')[0] ?? '')).toMatchObject({ value: { request: null, requestBase64: 'AP8=' } });
    const replay = await place.headgate('replay', 'books.dead-letters');
    expect([replay.code, replay.stderr]).toEqual([0, expect.stringMatching(/Its job is binary/)]);
  });

  it('keeps its exit code if an open handle would keep the process alive', async () => {
    await using place = await workplace('folowers: {}\n', { processes: true });
    const pids = join(place.folder, 'pids');
    await place.write(
      'open.mjs',
      `import { appendFileSync } from 'node:fs';\nappendFileSync('${pids}', process.pid + '\\n');\nsetInterval(() => {}, 1_000);\n`,
    );
    const env = { NODE_OPTIONS: `--import=${join(place.folder, 'open.mjs')}` };
    const codes = [['--version'], ['run']].map(async (args) => (await place.headgateWith({ env }, ...args)).code);
    expect(await Promise.all(codes)).toEqual([0, 2]);
    // The commands have ended, although `open.mjs` keeps their event loops busy.
    expect((await readFile(pids, 'utf8')).split('\n').filter((pid) => pid !== '' && isThere(Number(pid)))).toEqual([]);
  });

  it('creates all topics in a run, and prints no line for an empty one', async () => {
    await using service = await startFollowers({ ...FREELY, users: { a: { followers: 1 } } });
    await using place = await workplace(followersYaml({ url: service.url, users: ['a'] }));
    const early =
      "headgate: there is no topic followers.ids yet, so --follow can't wait for its records. A run creates it: start one first.\n";
    expect(await place.headgate('read', 'followers.ids')).toMatchObject({ code: 0, stdout: '', stderr: '' });
    expect(await place.headgate('read', 'followers.ids', '--follow')).toMatchObject({ code: 1, stdout: '', stderr: early });
    expect((await place.headgate('run')).code).toBe(0);
    const topics = [
      'followers.changes',
      'followers.dead-letters',
      'books.requests',
      'books.records',
      'books.authors',
      'books.missing',
      'books.dead-letters',
    ];
    for (const topic of topics) expect(await place.headgate('read', topic)).toMatchObject({ code: 0, stdout: '' });
    const unknown = await place.headgate('read', 'followers.id');
    expect([unknown.code, unknown.stdout]).toEqual([2, '']);
    expect(unknown.stderr).toMatch(/followers\.id\b/);
  });

  it('processes enqueued jobs, each separately; malformed ones become dead letters', async () => {
    await using followers = await startFollowers({ ...FREELY, users: { a: { followers: 2, id: '12' } } });
    await using books = await startBooks({ window: { limit: 100, windowMs: 1_000 } });
    await using place = await workplace(
      `${followersYaml({ url: followers.url, users: ['a'] })}books: { baseUrl: "${books.url}", key: "\${KEY}", plan: default }\n`,
    );
    expect((await place.headgate('run')).code).toBe(0);
    expect((await place.headgate('enqueue', 'followers', '@a', '12')).code).toBe(0);
    expect((await place.headgateWith({ input: `# a list\n${sampleIsbn(3)}\n\n${sampleIsbn(4)}\n` }, 'enqueue', 'books')).code).toBe(0);
    expect((await place.headgate('run')).code).toBe(0);
    expect((await place.records('followers.ids')).map(({ key }) => key)).toEqual(['@a', '@a', '@a', '@a', '12', '12']);
    expect((await place.records('books.records')).map(({ key }) => key)).toEqual([sampleIsbn(3), sampleIsbn(4)]);
    expect(books.requests).toHaveLength(1);

    const refused = await place.headgate('enqueue', 'books', '123');
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('Nothing was added')]);
  });

  it('crawls a list again when it is due', async () => {
    await using service = await startFollowers({ ...FREELY, users: { a: { followers: 1 } } });
    await using place = await workplace(followersYaml({ url: service.url, users: ['a'], more: '  every: 2s\n' }));
    const run = place.begin('run', '--follow');
    while (service.requests.length < 3) await turn();
    run.interrupt();
    expect((await run.ended).code).toBe(130);
  });

  it('makes an exact dead letter of any invalid job, and continues', async () => {
    await using service = await startFollowers({ ...FREELY, users: { a: { followers: 1 } } });
    await using place = await workplace(followersYaml({ url: service.url, users: ['a'] }));
    const deep = '['.repeat(20_000) + ']'.repeat(20_000);
    const log = await sqliteTopicLog({ file: join(place.folder, 'headgate.db') });
    await log.createTopics([{ name: 'followers.requests', partitions: 1 }]);
    const values = ['{"userId":12345678901234567890}', deep, 'not json', null];
    await log.append(values.map((value, i) => ({ topic: 'followers.requests', key: `w${i}`, value })));
    await log.close();
    expect((await place.headgate('run')).code).toBe(1);
    expect((await place.headgate('run')).code).toBe(0);
    const letters = await place.records('followers.dead-letters');
    expect(letters.map(({ key }) => key)).toEqual(['w0', 'w1', 'w2', 'w3']);
    expect(letters.map(({ value }) => value['request']).slice(1)).toEqual([deep, 'not json', null]);
    expect((await place.headgate('read', 'followers.dead-letters', '--json', '--max', '1')).stdout).toContain(
      '{"userId":12345678901234567890}',
    );
    expect(await place.records('followers.ids')).toHaveLength(1);
  });

  it.runIf(process.platform === 'linux')(
    'reports output that cannot be delivered, unless its reader has closed the pipe',
    { timeout: 600_000 },
    async () => {
      await using service = await startFollowers({ ...FREELY, users: { a: { followers: 9_000 } } });
      await using place = await workplace(followersYaml({ url: service.url, users: ['a'] }), { processes: true });
      expect((await place.headgate('run')).code).toBe(0);
      const full = await place.shell(`${place.commandLine} read followers.ids --json > /dev/full`);
      expect([full.code, full.stderr]).toEqual([1, expect.stringContaining('ENOSPC')]);
      const left = await place.shell(`${place.commandLine} read followers.ids --json | head -1`);
      expect([left.code, left.stderr]).toEqual([0, '']);
      const thrownAway = await place.shell(`${place.commandLine} read followers.ids --max 1 > /dev/null`);
      expect([thrownAway.code, thrownAway.stderr]).toEqual([0, '']);
    },
  );

  it('refuses an endless file, and ends after a signal even if a system call hangs', async () => {
    await using place = await workplace(followersYaml({ url: 'http://127.0.0.1:1', users: [] }), { processes: true });
    execFileSync('mkfifo', [join(place.folder, 'unread')]);
    expect((await place.headgate('enqueue', 'followers', 'a')).code).toBe(0);
    const hanging = place.start('read', 'followers.requests', '--out', 'unread');
    const endless = await place.headgate('check', '--config', '/dev/zero');
    expect([endless.code, endless.stdout]).toEqual([2, '/dev/zero has more than 256 MiB, or is endless. Name a smaller file.\n']);

    // By now, the command is blocked in the call that opens the pipe.
    hanging.child.kill('SIGTERM');
    expect((await hanging.ended).signal).toBe('SIGKILL');
  });

  it('reads its configuration from a pipe', async () => {
    await using place = await workplace('', { processes: true });
    const config = `topics: { file: ${JSON.stringify(join(place.folder, 'piped.db'))} }\nbooks: { baseUrl: https://books.example.com, key: "\${KEY}" }\n`;
    await place.write('piped.yaml', config);
    for (const command of ['check', 'enqueue books 9780140449136']) {
      const { code, stderr } = await place.shell(`cat piped.yaml | ${place.commandLine} ${command} --config /dev/stdin >&2`);
      expect([code, stderr]).toEqual([0, expect.stringMatching(/no problems in this file|1 job added/)]);
    }
  });

  it('writes a table to a pipe of the shell', async () => {
    await using place = await workplace('books: { baseUrl: https://books.example.com, key: "${KEY}" }\n', { processes: true });
    const { code, stderr } = await place.shell(`${place.commandLine} read books.records --format csv --out /dev/stdout | tee piped.csv`);
    expect([code, stderr]).toEqual([0, '0 records of books.records in /dev/stdout\n']);
    expect(await readFile(join(place.folder, 'piped.csv'), 'utf8')).toBe(
      'record_partition,record_offset,record_time,record_key,isbn,record,record_other\n',
    );
  });

  it('re-enqueues the requests of dead letters once', async () => {
    await using service = await startFollowers({ ...FREELY, users: { a: { protected: true } } });
    await using place = await workplace(followersYaml({ url: service.url, users: ['a'] }));
    expect((await place.headgate('run')).code).toBe(1);
    expect((await place.headgate('replay', 'followers.dead-letters')).stderr).toContain('1 re-enqueued');
    expect((await place.headgate('replay', 'followers.dead-letters')).stderr).toContain('0 re-enqueued');
    expect((await place.headgate('run')).code).toBe(1);
    expect(service.requests).toHaveLength(2);
  });

  it('keeps running with --follow, and processes new jobs', async () => {
    await using service = await startFollowers({ ...FREELY, users: { a: { followers: 3 }, b: { followers: 4 } } });
    await using place = await workplace(followersYaml({ url: service.url, users: ['a'] }));
    const run = place.begin('run', '--follow');
    while (!run.text().stderr.includes('@a')) await turn();
    const reading = place.begin('read', 'followers.ids', '--follow', '--json', '--max', '7');
    await place.headgate('enqueue', 'followers', 'b');
    const { code, stdout } = await reading.ended;
    expect([code, stdout.trim().split('\n')]).toMatchObject([0, { length: 7 }]);
    run.interrupt();
    expect((await run.ended).code).toBe(130);
  });

  it('shows no secret in any output, error, log or file', async () => {
    const oauth1 = { consumerKey: 'consumer', consumerSecret: SECRETS.CONSUMER_SECRET, token: 'token', tokenSecret: SECRETS.TOKEN_SECRET };
    await using followers = await startFollowers({
      ...FREELY,
      users: { a: { followers: 120, pageSize: 10 }, locked: { protected: true } },
      credentials: [{ name: 'user', oauth1 }],
      faults: [
        { name: '503', at: 2 },
        { name: 'reset', at: 4 },
      ],
    });
    await using books = await startBooks({ keys: [{ name: 'mine', key: SECRETS.KEY, plan: 'pro' }] });
    await using place = await workplace(`topics: { driver: sqlite, file: ./headgate.db }
status: false
followers:
  baseUrl: ${followers.url}
  credentials:
    - { name: revoked, bearer: "\${TOKEN}" }
    - { name: user, oauth1: { consumerKey: consumer, consumerSecret: "\${CONSUMER_SECRET}", token: token, tokenSecret: "\${TOKEN_SECRET}" } }
  limit: { requests: 1000, window: 1s }
  users: [a, locked]
  count: 10
books: { baseUrl: "${books.url}", key: "\${KEY}", isbns: ["${sampleIsbn(1)}"] }
`);
    const outputs = [
      await place.headgate('run', '--json'),
      await place.headgate('run'),
      await place.headgate('check', '--online'),
      await place.headgate('plan'),
      await place.headgate('read', 'followers.dead-letters', '--json'),
      await place.headgate('run', '--config', 'missing.yaml'),
    ];
    expect((await place.records('followers.crawls')).map(({ value }) => value['state'])).toContain('completed');
    const texts = outputs.flatMap(({ stdout, stderr }) => [stdout, stderr]);
    for (const file of await readdir(place.folder)) {
      if (file.includes('.db')) texts.push(await readFile(join(place.folder, file), 'latin1').catch(() => ''));
    }
    for (const secret of Object.values(SECRETS)) for (const text of texts) expect(text).not.toContain(secret);
  });
});

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
