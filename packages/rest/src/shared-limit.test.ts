import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start } from '@headgate/pipeline';
import { virtualClock } from '@headgate/throttle/testing';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { startApi } from './api.fixture.ts';
import { rest } from './rest.ts';

const SHOPS = ['a', 'b', 'c', 'd', 'e'];
const section = (baseUrl: string, names: readonly string[]) => ({
  baseUrl,
  credentials: names.map((name) => ({ name, bearer: `token-of-${name}` })),
  budgets: { each: { requests: 2, window: '1h' }, address: { requests: 3, window: '1h', shared: true } },
  streams: { items: { get: '/{shop}/items', for: { shop: SHOPS }, key: '$.id' } },
});

/** A service of shops, and a function that starts a run. All runs use the same log, so each continues the previous one. */
async function shops() {
  const api = await startApi({ routes: { 'GET /{shop}/items': ({ params }) => ({ body: [{ id: params['shop'] }] }) } });
  const folder = await mkdtemp(join(tmpdir(), 'headgate-rest-'));
  const clock = virtualClock();
  const log = await sqliteTopicLog({ file: join(folder, 'log.db') });
  onTestFinished(async () => {
    await log.close();
    await api[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  return {
    api,
    clock,
    run: async (names: readonly string[]) => await start({ log, pipelines: [rest('shops')(section(api.url, names))], clock }),
  };
}

it('a shared limit counts all credentials together, across restarts and changes of credentials', async () => {
  const { api, clock, run } = await shops();
  const first = await run(['one', 'two']);
  await expect
    .poll(() => first.snapshot().budgets.map(({ credential, budget, used }) => [credential, budget, used]))
    .toEqual([
      ['one', 'each', expect.any(Number)],
      ['two', 'each', expect.any(Number)],
      [undefined, 'address', 3],
    ]);
  await expect.poll(() => first.snapshot().work.flatMap(({ doing }) => doing?.state ?? [])).toEqual(['waiting', 'waiting']);
  expect((await first.stop()).outcome).toBe('stopped');
  expect(api.requests()).toBe(3);
  const second = await run(['two', 'three']);
  await expect.poll(() => second.snapshot().budgets.at(-1)).toMatchObject({ budget: 'address', used: 3 });
  await expect.poll(() => second.snapshot().work.flatMap(({ doing }) => doing?.state ?? [])).toEqual(['waiting', 'waiting']);
  await clock.advance(3_500_000);
  expect(api.requests()).toBe(3);
  await clock.advance(110_000);
  await expect.poll(() => api.requests()).toBe(5);
  await clock.advance(1_000);
  expect((await second.done).outcome).toBe('done');
});

it('lanes that would each use a whole shared limit are refused', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-rest-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await using log = await sqliteTopicLog({ file: join(folder, 'log.db') });
  const pipelines = [rest('shops')(section('http://127.0.0.1:1', ['one', 'two']))];
  const run = await start({ log, pipelines, lanes: 2 }).then(
    async ({ done }) => await done,
    (error: unknown) => error,
  );
  expect(JSON.stringify(run, Object.getOwnPropertyNames(run ?? {})) + JSON.stringify(run)).toContain(
    "address is shared by all credentials, and 2 lanes can't share it",
  );
});

it('a section whose limit is shared says so, which keeps it to one lane', () => {
  const shared = section('http://127.0.0.1', ['one']);
  const { budgets: _, ...others } = shared;
  const limit = { requests: 3, window: '1h' };
  const sections = [shared, { ...others, limit: { ...limit, shared: true } }, { ...others, limit }];
  expect(sections.map((of) => rest('shops')(of).sharesLimit)).toEqual([true, true, false]);
});
