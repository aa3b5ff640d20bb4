import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start } from '@headgate/pipeline';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApi } from './api.fixture.ts';
import { rest } from './rest.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-rest-'));
});
afterAll(() => rm(folder, { recursive: true }));

it.each(['link', 'next'] as const)("a key that the service repeats in the next page's address (%s) is written nowhere", async (kind) => {
  const KEY = 'not-to-be-written-1234';
  let isGone = true;
  await using api = await startApi({
    knows: ({ query }) => query.get('api key') === KEY,
    routes: {
      'GET /items': ({ query, url }) => {
        const next = `${url}/items?api+key=${KEY}&page=2&order=a%20b`;
        if (query.get('page') !== '2') return { headers: { link: `<${next}>; rel="next"` }, body: { items: [{ id: 1 }], next } };
        if (query.get('order') !== 'a b' || query.getAll('api key').length !== 1) return { status: 400 };
        return isGone ? { status: 404, body: {} } : { body: { items: [{ id: 2 }] } };
      },
    },
  });
  const file = join(folder, `${kind}.db`);
  const pipeline = rest('api')({
    baseUrl: api.url,
    credentials: [{ name: 'app', key: KEY, query: 'api key' }],
    limit: { requests: 500, window: '100ms' },
    streams: {
      items: { get: '/items', records: '$.items[*]', key: '$.id', pages: kind === 'link' ? { link: 'next' } : { next: '$.next' } },
    },
  });
  const events: unknown[] = [];
  const run = async (): Promise<void> => {
    await using log = await sqliteTopicLog({ file });
    await using running = await start({ log, pipelines: [pipeline], onEvent: (event) => events.push(event) });
    await running.done;
  };
  await run();
  isGone = false;
  await using log = await sqliteTopicLog({ file });
  const [deadLetter] = await Array.fromAsync(log.read({ topic: 'api.dead-letters' }));
  const headers = { 'headgate-resume': deadLetter?.headers['headgate-resume'] ?? '' };
  await log.append([{ topic: 'api.requests', key: 'items', value: '{"stream":"items"}', headers }]);
  await run();
  expect((await Array.fromAsync(log.read({ topic: 'api.items' }))).map(({ key }) => key)).toEqual(['1', '2']);
  expect(JSON.stringify(events)).not.toContain(KEY);
  const bytes = await Promise.all([file, `${file}-wal`].map(async (one) => await readFile(one).catch(() => Buffer.alloc(0))));
  expect(Buffer.concat(bytes).includes(KEY)).toBe(false);
});
