import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PassThrough } from 'node:stream';
import { systemClock } from '@headgate/throttle';
import { expect, test } from 'vitest';
import { BOOKS, ENV, configFolder } from '../config/config-folder.fixture.ts';
import { openLog, readConfig } from './command-context.ts';

test('a locked file is reported as locked, not as unreachable brokers', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-open-'));
  const file = join(folder, 'headgate.db');
  let said = '';
  const stderr = new PassThrough({ encoding: 'utf8' }).on('data', (text: string) => (said += text));
  const topics = { driver: 'sqlite', file, group: 'g', lanes: 1, prefix: '', names: {} } as const;
  const log = await openLog({ stderr, signal: new AbortController().signal }, topics);
  await log.createTopics([{ name: 'state', partitions: 1, compacted: true }]);
  const lane = await log.openLane({ name: 'lane', state: { topic: 'state', partition: 0 } });
  const other = new DatabaseSync(file);
  other.exec('BEGIN IMMEDIATE');
  const written = lane.transaction((tx) => tx.checkpoint('done', '1'));
  await expect
    .poll(() => said)
    .toMatch(/^the topic log can't be written \(.*locked.*\): waiting until it's back; press Ctrl-C to stop\n$/u);
  other.close();
  await written;
  await expect.poll(() => said).toMatch(/\nthe topic log can be written again\n$/u);
  await log.close();
  await rm(folder, { recursive: true });
});

test('a command that is stopped while its log opens does nothing more', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-open-'));
  const topics = { driver: 'sqlite', file: join(folder, 'headgate.db'), group: 'g', lanes: 1, prefix: '', names: {} } as const;
  const stop = new AbortController();
  const opening = openLog({ stderr: new PassThrough(), signal: stop.signal }, topics);
  stop.abort(new Error('stopped by SIGINT'));
  await expect(opening).rejects.toThrow('stopped by SIGINT');
  await expect(openLog({ stderr: new PassThrough(), signal: stop.signal }, topics)).rejects.toThrow('stopped by SIGINT');
  // The log's thread may still be creating its files.
  await rm(folder, { recursive: true, maxRetries: 10 });
});

test('warnings about the configuration appear before a run, as lines or as JSON', async () => {
  const cwd = await configFolder({ 'headgate.yaml': BOOKS.replace('https', 'http') });
  const warned = async (json: boolean): Promise<string> => {
    let said = '';
    const stderr = new PassThrough({ encoding: 'utf8' }).on('data', (text: string) => (said += text));
    const { stdin, stdout } = process;
    const { signal } = new AbortController();
    await readConfig({ file: 'headgate.yaml', cwd, env: ENV, stdin, stdout, stderr, terminal: stderr, clock: systemClock(), signal, json });
    stderr.end();
    await once(stderr, 'close');
    return said;
  };
  expect(await warned(false)).toMatch(/^headgate\.yaml\n {2}2:12 {2}books\.baseUrl {3}warning: http sends .*\n$/);
  const lines = (await warned(true)).trim().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    {
      level: 'warn',
      time: expect.any(String) as unknown,
      event: 'config',
      msg: expect.stringMatching(/^headgate\.yaml 2:12 books\.baseUrl: http sends /) as unknown,
    },
  ]);
});
