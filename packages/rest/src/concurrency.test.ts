import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start } from '@headgate/pipeline';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { startApi } from './api.fixture.ts';
import { rest } from './rest.ts';

it('a section with `concurrency` has at most that many requests in flight', async () => {
  let underWay = 0;
  let most = 0;
  const second = Promise.withResolvers<void>();
  await using api = await startApi({
    routes: {
      'GET /{shop}/items': async ({ params }) => {
        underWay += 1;
        most = Math.max(most, underWay);
        if (underWay === 2) second.resolve();
        await second.promise;
        await new Promise((resolve) => void setImmediate(resolve));
        underWay -= 1;
        return { body: { items: [{ id: params['shop'] }] } };
      },
    },
  });
  const shops = ['a', 'b', 'c', 'd', 'e', 'f'];
  const section = {
    baseUrl: api.url,
    credentials: [{ name: 'anyone' }],
    limit: { requests: 500, window: '100ms' },
    concurrency: 2,
    streams: { items: { get: '/{shop}/items', for: { shop: shops }, records: '$.items[*]', key: '$.id' } },
  };
  const folder = await mkdtemp(join(tmpdir(), 'headgate-rest-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await using log = await sqliteTopicLog({ file: join(folder, 'log.db') });
  expect((await (await start({ log, pipelines: [rest('shops')(section)] })).done).outcome).toBe('done');
  expect((await Array.fromAsync(log.read({ topic: 'shops.items' }))).map(({ key }) => key).toSorted()).toEqual(shops);
  expect(most).toBe(2);
});
