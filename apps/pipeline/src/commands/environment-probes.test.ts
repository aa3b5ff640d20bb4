import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { PassThrough } from 'node:stream';
import { bearer } from '@headgate/auth';
import { type Pipeline, definePipeline, walk } from '@headgate/pipeline';
import { defineSource } from '@headgate/sources';
import { systemClock } from '@headgate/throttle';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { BOOKS, ENV, configFolder } from '../config/config-folder.fixture.ts';
import { loadConfig } from '../config/config-folder.fixture.ts';
import type { ProbeResult } from './check.ts';
import type { CommandContext } from './command-context.ts';
import { environmentProbes } from './environment-probes.ts';

it('reports whether a missing log can be created, and leaves nothing behind', async () => {
  const cwd = await configFolder({ 'headgate.yaml': BOOKS, 'a-file': '' });
  expect(await probed(cwd, 'new/folder/headgate.db')).toEqual({ ok: true, message: 'will be created' });
  // Even root can't create a folder below a file.
  expect(await probed(cwd, 'a-file/headgate.db')).toEqual({
    ok: false,
    message: expect.stringMatching(/^can't be created: .*a-file isn't writable \(ENOTDIR\)\. Name a file/u),
  });
  expect((await readdir(cwd)).toSorted()).toEqual(['a-file', 'headgate.yaml']);
});

it('counts no topics if every section has problems', async () => {
  const cwd = await configFolder({ 'headgate.yaml': BOOKS });
  await using log = await sqliteTopicLog({ file: join(cwd, 'headgate.db') });
  await log.createTopics([{ name: 'other', partitions: 1 }]);
  expect(await probed(cwd, 'headgate.db')).toMatchObject({ message: 'can be read and written, 7 topics will be created' });
  expect(await probed(cwd, 'headgate.db', [])).toMatchObject({ message: 'can be read and written' });
});

it('reports a pipeline that works with one lane only, as a run does', async () => {
  const source = defineSource<string, string>({
    service: 'orders',
    limit: { requests: 1, windowMs: 1_000 },
    toRequest: (shop) => ({ path: `/${shop}` }),
    classify: () => ({ kind: 'transient', reason: 'never requested' }),
    credentialsOf: (shop) => [shop],
  });
  const orders = definePipeline({
    name: 'orders',
    options: z.strictObject({ shops: z.array(z.string()) }),
    request: z.string(),
    topics: {},
    keyOf: (shop) => shop,
    credentials: ({ shops }) => shops.map((name) => ({ name })),
    open: (_, io) =>
      walk({
        source: source({
          ...io,
          baseUrl: 'http://127.0.0.1:1',
          credentials: io.credentials.map((one) => ({ ...one, signer: bearer('t') })),
        }),
        paging: (shop: string) => ({ first: 1, query: () => shop, next: () => 'last' }),
        records: () => [],
      }),
  });
  const pipelines = [orders({ shops: ['berlin', 'paris'] })];
  const cwd = await configFolder({ 'headgate.yaml': BOOKS });
  const probesOf = async (lanes: number) => {
    const { config } = await loadConfig({ cwd, env: ENV });
    return environmentProbes({ topics: { ...config.topics, lanes }, pipelines }, false, contextIn(cwd));
  };
  expect((await probesOf(1)).map(({ name }) => name)).toEqual([expect.stringContaining('log ')]);
  const [, refused] = await probesOf(2);
  expect(refused?.name).toBe('orders');
  await expect(refused?.run()).rejects.toThrow(
    "orders: its source has credentialsOf, so 2 lanes can't divide its credentials. Set lanes to 1",
  );
});

function contextIn(cwd: string): CommandContext {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough(), terminal: new PassThrough() };
  const signal = new AbortController().signal;
  return { ...streams, file: 'headgate.yaml', cwd, env: ENV, clock: systemClock(), signal, json: false };
}

/** The first probe's result. `pipelines`: those without problems. Default: all. */
async function probed(cwd: string, file: string, pipelines?: readonly Pipeline[]): Promise<ProbeResult | undefined> {
  const { config } = await loadConfig({ cwd, env: ENV });
  const valid = {
    ...config,
    ...(pipelines !== undefined && { pipelines }),
    topics: { ...config.topics, driver: 'sqlite', file: resolve(cwd, file) } as const,
  };
  return await environmentProbes(valid, false, contextIn(cwd))[0]?.run();
}
