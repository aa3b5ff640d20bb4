import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { startFollowers } from '@headgate/sandbox';
import { virtualClock } from '@headgate/throttle/testing';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { expect, it } from 'vitest';
import { ENV, configFolder } from '../config/config-folder.fixture.ts';
import { loadConfig } from '../config/config-folder.fixture.ts';
import { followersYaml } from '../e2e/headgate-process.fixture.ts';
import { runTopics } from '../run/topics.ts';
import type { Terminal } from '../status/terminal.ts';
import { createStop } from '../stop.ts';
import { run } from './run.ts';

it('reports the remaining work at a stop, however much of it was in flight', async () => {
  const names = Array.from({ length: 1_234 }, (_, i) => `user_${i}`);
  await using service = await startFollowers({ users: Object.fromEntries(names.map((name) => [name, { followers: 1 }])) });
  const limit = '{ requests: 2, window: 15m }';
  const { cwd, clock, stop, started } = await runPlace(followersYaml({ url: service.url, users: names, limit }));
  const { ended, said } = started();
  const crawls = async (): Promise<number> => {
    await using log = await sqliteTopicLog({ file: join(cwd, 'headgate.db') });
    const [topic] = await log.listTopics(['followers.crawls']);
    return topic?.offsets[0]?.end ?? 0;
  };
  // Two crawls have ended, each with a record for its start and one for its end.
  await expect.poll(crawls).toBe(4);
  await expect.poll(() => clock.pending).toBeGreaterThan(0);
  stop.onSignal('SIGINT');
  expect(await ended).toBe(130);
  expect(await said()).toMatch(
    /: 2 of 1,234 jobs, 2 pages, 2 ids[^]*continues with @user_2 at page 1, @user_3 at page 1, @user_4 at page 1 and 1,229 more\.\n/u,
  );
});

it('ends normally if it is stopped while another process writes the same list', async () => {
  const { cwd, clock, stop, started } = await runPlace(followersYaml({ url: 'http://127.0.0.1:9', users: ['a'] }));
  await using log = await sqliteTopicLog({ file: join(cwd, 'headgate.db') });
  await log.createTopics(
    runTopics({
      topics: { driver: 'sqlite', file: join(cwd, 'headgate.db'), group: 'headgate', lanes: 1, prefix: '', names: {} },
      pipelines: [],
    }),
  );
  await using _list = await log.openLane({ name: 'headgate.request-list', state: { topic: 'headgate.state', partition: 0 } });
  const { ended, said } = started();
  await expect.poll(() => clock.pending).toBeGreaterThan(0);
  stop.onSignal('SIGINT');
  expect(await ended).toBe(130);
  expect(await said()).toMatch(/Stopped after .*: nothing was written\./u);
  const lane = { name: 'headgate.followers.requests.0', state: { topic: 'followers.state', partition: 0 } };
  await (await log.openLane(lane)).close();
});

it('reports as JSON why it failed, and how it ended with its totals', async () => {
  await using service = await startFollowers({ credentials: [{ name: 'app', bearer: 'another one' }], users: { alpha: { followers: 1 } } });
  const { started } = await runPlace(followersYaml({ url: service.url, users: ['alpha'] }));
  const { ended, said } = started({ json: true });
  expect(await ended).toBe(1);
  const lines = (await said()).trimEnd().split('\n');
  expect(lines.slice(-2).map((line) => JSON.parse(line) as object)).toEqual([
    { level: 'error', time: expect.any(String) as string, event: 'error', msg: expect.stringMatching(/app.*401/u) as string },
    expect.objectContaining({
      level: 'info',
      event: 'run-ended',
      outcome: 'failed',
      exit_code: 1,
      left: expect.objectContaining({ requests_done: 0, is_exact: false }) as object,
      totals: { pipelines: { followers: expect.objectContaining({ pages: 0, unit: 'ids' }) as object }, dead_letters: 0 },
      msg: 'the run is over: failed',
    }),
  ]);
});

it('warns that its page is on another port than configured', async () => {
  await using service = await startFollowers({ users: { alpha: { followers: 1 } } });
  await using other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const yaml = followersYaml({ url: service.url, users: ['alpha'] }).replace('status: false', `status: { port: ${port} }`);
  const { ended, said } = (await runPlace(yaml)).started({ json: true });
  expect(await ended).toBe(0);
  const message = new RegExp(`^status at http://127\\.0\\.0\\.1:\\d+/ \\(port ${port} is in use, perhaps by another run: `, 'u');
  expect((await said()).split('\n', 2).map((line) => JSON.parse(line) as object)).toContainEqual(
    expect.objectContaining({ level: 'warn', event: 'notice', msg: expect.stringMatching(message) as string }),
  );
});

it('writes its summary if it is stopped while its log stays locked', async () => {
  await using service = await startFollowers({ users: { alpha: { followers: 1 } }, latencyMs: 300 });
  const { cwd, clock, stop, started } = await runPlace(followersYaml({ url: service.url, users: ['alpha'] }));
  const { ended, said } = started({});
  await expect.poll(() => service.requests.length).toBe(1);
  using other = new DatabaseSync(join(cwd, 'headgate.db'));
  other.exec('BEGIN IMMEDIATE');
  stop.onSignal('SIGINT');
  let code: number | undefined;
  void ended.then((is) => (code = is));
  await clock.advance(8_000);
  expect(code).toBeUndefined();
  await clock.advance(1_001);
  await expect.poll(() => code).toBe(130);
  expect(await said()).toMatch(
    /Stopped after 9 s: nothing was written\.[^]*To continue: +run the same command again: it continues with @alpha at page 1\./u,
  );
});

it.each([
  ['xterm', 80, true],
  ['xterm', 0, false],
  ['dumb', 80, false],
])('on a terminal that is %s and %i columns wide it moves the cursor: %s', async (TERM, columns, moves) => {
  await using service = await startFollowers({ users: { alpha: { followers: 1 } } });
  const { started } = await runPlace(followersYaml({ url: service.url, users: ['alpha'] }));
  const { ended, said } = started({ terminal: { isTTY: true, columns, rows: 24 }, env: { TERM } });
  expect(await ended).toBe(0);
  const text = await said();
  expect(text.includes('\u001B')).toBe(moves);
  expect(text).toMatch(/Done in .+: 1 job, 1 page, 1 id -> /u);
});

interface StartedOptions {
  readonly json?: boolean;
  /** Properties of stderr as a terminal. Default: stderr isn't a terminal. */
  readonly terminal?: Pick<Terminal, 'isTTY' | 'columns' | 'rows'>;
  readonly env?: Readonly<Record<string, string>>;
}

async function runPlace(yaml: string) {
  const cwd = await configFolder({ 'headgate.yaml': yaml });
  const { config } = await loadConfig({ cwd, env: ENV });
  const clock = virtualClock();
  const stop = createStop(
    () => clock.monotonicMs(),
    (ms, call) => void clock.schedule(ms, call),
    () => undefined,
  );
  const started = ({ json = false, terminal = {}, env = {} }: StartedOptions = {}) => {
    const stderr = Object.assign(new PassThrough(), terminal);
    const all = text(stderr);
    const ended = run(
      { config, follow: false },
      {
        file: 'headgate.yaml',
        cwd,
        env: { ...ENV, ...env },
        stdin: new PassThrough(),
        stdout: new PassThrough(),
        stderr,
        terminal: stderr,
        clock,
        signal: stop.signal,
        deadline: stop.deadline,
        json,
      },
    );
    const said = async (): Promise<string> => {
      await Promise.allSettled([ended]);
      stderr.end();
      return await all;
    };
    return { ended, said };
  };
  return { cwd, clock, stop, started };
}
