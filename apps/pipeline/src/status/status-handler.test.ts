import { mkdtemp, rm } from 'node:fs/promises';
import { type RequestListener, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start } from '@headgate/pipeline';
import { startFollowers } from '@headgate/sandbox';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { followers } from '../pipelines/followers.ts';
import type { PageScreen } from './page/page-screen.ts';
import { statusHandler } from './index.ts';

async function listen(listener: RequestListener): Promise<{ readonly port: number } & AsyncDisposable> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

it('the handler, mounted below a path, shows the run of a program until its end', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-status-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await using api = await startFollowers({
    window: { kind: 'rolling', limit: 100_000, windowMs: 1_000 },
    users: { alpha: { followers: 30 } },
  });
  await using log = await sqliteTopicLog({ file: join(folder, 'headgate.db') });
  const pipelines = [
    followers({
      baseUrl: api.url,
      credentials: [{ name: 'app', bearer: 'a-token' }],
      users: [{ screenName: 'alpha' }],
      limit: { requests: 2, window: '15m' },
      count: 10,
    }),
  ];
  await using running = await start({ log, pipelines });
  await using status = statusHandler(running, { pipelines, log: 'headgate.db', names: ['Jobs.Example'] });
  await using server = await listen((asked, response) => {
    const [, rest] = /^\/headgate(\/.*)$/u.exec(asked.url ?? '') ?? [];
    if (rest === undefined) return void response.writeHead(404).end();
    asked.url = rest;
    status(asked, response);
  });
  const base = `http://127.0.0.1:${server.port}/headgate/`;
  const get = async (path: string): Promise<string> => await (await fetch(base + path)).text();

  expect(await get('')).toContain('<title>headgate</title>');
  await expect
    .poll(async () => JSON.parse(await get('status.json')) as unknown)
    .toMatchObject({
      ready: true,
      about: { log: 'headgate.db', group: 'headgate', lanes: 1, pipelines: [{ name: 'followers', credentials: ['app'] }] },
      work: [{ key: '@alpha', pages: 2, items: 20, doing: { state: 'waiting', for: 'budget' } }],
    });
  expect(await get('metrics')).toMatch(/^headgate_items_total\{.*\} 20$/mu);
  expect([await get('livez'), await get('readyz')]).toEqual(['ok\n', 'ok\n']);
  status.onAvailability({ available: false, reason: 'no broker', sinceMs: Date.now() });
  expect([await get('readyz'), await get('metrics')]).toEqual([
    expect.stringContaining('no broker'),
    expect.stringMatching(/^headgate_log_available 0$/mu),
  ]);
  status.onAvailability({ available: true });
  expect(await get('readyz')).toBe('ok\n');
  const named = (host: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = request(`${base}livez`, { headers: { host } }, (response) => resolve(response.resume().statusCode ?? 0));
      sent.on('error', reject).end();
    });
  expect([await named('jobs.example'), await named('elsewhere.example')]).toEqual([200, 403]);
  expect((await running.stop()).outcome).toBe('stopped');
  expect(JSON.parse(await get('status.json'))).toMatchObject({ outcome: 'stopped' });
  const { screen } = JSON.parse(await get('screen.json')) as { readonly screen: PageScreen };
  expect(screen.state.kind).toBe('stopped');
  await status.close();
});
