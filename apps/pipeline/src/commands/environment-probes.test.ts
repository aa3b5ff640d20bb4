import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { systemClock } from '@headgate/throttle';
import { expect, it } from 'vitest';
import { BOOKS, ENV, configFolder } from '../config/config-folder.fixture.ts';
import { loadConfig } from '../config/load-config.ts';
import { environmentProbes } from './environment-probes.ts';

it('says of a log that is to be made whether that can be, and leaves nothing behind', async () => {
  const cwd = await configFolder({ 'headgate.yaml': BOOKS, 'a-file': '' });
  const { config } = await loadConfig({ cwd, env: ENV });
  const found = async (file: string): Promise<unknown> => {
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough(), terminal: new PassThrough() };
    const signal = new AbortController().signal;
    const context = { ...streams, file: 'headgate.yaml', cwd, env: ENV, clock: systemClock(), signal, json: false };
    const sound = { ...config, topics: { ...config.topics, driver: 'sqlite', file: join(cwd, file) } as const };
    return await environmentProbes({ sound, online: false, context })[0]?.run();
  };
  expect(await found('new/folder/headgate.db')).toEqual({ ok: true, message: 'will be created' });
  // As in /proc, where root has every right and can make nothing.
  expect(await found('a-file/headgate.db')).toEqual({
    ok: false,
    message: expect.stringMatching(/^can't be made: nothing can be written in .*a-file \(ENOTDIR\)\. Name a file/u),
  });
  expect((await readdir(cwd)).toSorted()).toEqual(['a-file', 'headgate.yaml']);
});
