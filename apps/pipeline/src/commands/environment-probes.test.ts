import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { PassThrough } from 'node:stream';
import { systemClock } from '@headgate/throttle';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { expect, it } from 'vitest';
import { BOOKS, ENV, configFolder } from '../config/config-folder.fixture.ts';
import { loadConfig } from '../config/load-config.ts';
import { smallDisk } from '../e2e/kafka/small-disk.fixture.ts';
import type { ProbeResult } from './check.ts';
import { environmentProbes } from './environment-probes.ts';

it('reports whether a missing log can be created, and leaves nothing behind', async () => {
  const cwd = await configFolder({ 'headgate.yaml': BOOKS, 'a-file': '' });
  expect(await probed(cwd, 'new/folder/headgate.db')).toEqual({ ok: true, message: 'will be created' });
  // As in /proc, where root has every right and can make nothing.
  expect(await probed(cwd, 'a-file/headgate.db')).toEqual({
    ok: false,
    message: expect.stringMatching(/^can't be created: .*a-file isn't writable \(ENOTDIR\)\. Name a file/u),
  });
  expect((await readdir(cwd)).toSorted()).toEqual(['a-file', 'headgate.yaml']);
});

it('reports that the disk of an embedded log is full, or almost full', async ({ skip }) => {
  const disk = await smallDisk({ megabytes: 40 });
  if (typeof disk === 'string') return skip(disk);
  await using room = disk;
  const cwd = await configFolder({ 'headgate.yaml': BOOKS });
  const file = join(room.folder, 'headgate.db');
  expect(await probed(cwd, file)).toEqual({
    ok: true,
    message: 'will be created',
    warnings: ['its disk has 41 MB left; 1,000,000 IDs take about 40 MB'],
  });
  const log = await sqliteTopicLog({ file });
  await room.fill(0);
  const full = 'its disk is full. Free some space; a run waits for it.';
  expect(await probed(cwd, file)).toMatchObject({ ok: false, message: full });
  await room.empty();
  await log.close();
  expect(await probed(cwd, file)).toMatchObject({ ok: true, message: 'can be read and written, 7 topics will be created' });
});

async function probed(cwd: string, file: string): Promise<ProbeResult | undefined> {
  const { config } = await loadConfig({ cwd, env: ENV });
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough(), terminal: new PassThrough() };
  const signal = new AbortController().signal;
  const context = { ...streams, file: 'headgate.yaml', cwd, env: ENV, clock: systemClock(), signal, json: false };
  const valid = { ...config, topics: { ...config.topics, driver: 'sqlite', file: resolve(cwd, file) } as const };
  return await environmentProbes({ valid, online: false, context })[0]?.run();
}
