import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { virtualClock } from '@headgate/throttle/testing';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { expect, it } from 'vitest';
import { ENV, configFolder } from '../config/config-folder.fixture.ts';
import { loadConfig } from '../config/load-config.ts';
import { followersYaml } from '../e2e/headgate-process.fixture.ts';
import { topicSpecs } from '../records/topic-names.ts';
import { run } from './run.ts';

it('ends as any other when it is stopped while another process writes the same list', async () => {
  const cwd = await configFolder({ 'headgate.yaml': followersYaml({ url: 'http://127.0.0.1:9', users: ['a'] }) });
  await using log = await sqliteTopicLog({ file: join(cwd, 'headgate.db') });
  await log.createTopics(topicSpecs(1));
  await using _list = await log.openLane({ name: 'headgate.wish-list', state: { topic: 'headgate.state', partition: 0 } });

  const clock = virtualClock();
  const stop = new AbortController();
  const stderr = new PassThrough();
  const said = text(stderr);
  const { config } = await loadConfig({ cwd, env: ENV });
  const ended = run(
    { config, follow: false },
    {
      file: 'headgate.yaml',
      cwd,
      env: ENV,
      stdin: new PassThrough(),
      stdout: new PassThrough(),
      stderr,
      terminal: stderr,
      clock,
      signal: stop.signal,
      json: false,
    },
  );
  await expect.poll(() => clock.pending).toBeGreaterThan(0);
  stop.abort(new Error('stopped by SIGINT'));
  expect(await ended).toBe(130);
  stderr.end();
  expect(await said).toMatch(/Stopped after .*: nothing was written\./u);
  const lane = { name: 'headgate.followers.requests.0', state: { topic: 'headgate.state', partition: 1 } };
  await (await log.openLane(lane)).close();
});
