import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start } from '@headgate/pipeline';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApi } from './api.fixture.ts';
import { rest } from './rest.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-rest-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** A service of shops with four pages each. It answers every third request with 503. */
async function shops() {
  let requests = 0;
  return await startApi({
    routes: {
      'GET /{shop}/items': ({ params, query }) => {
        requests += 1;
        if (requests % 3 === 0) return { status: 503, headers: { 'retry-after': '0' } };
        const page = Number(query.get('page') ?? 1);
        return { body: { items: [{ id: `${params['shop']}-${page}` }], pages: 4 } };
      },
    },
  });
}

const section = (url: string) => ({
  baseUrl: url,
  credentials: [{ name: 'anyone' }],
  limit: { requests: 500, window: '100ms' },
  streams: {
    items: {
      get: '/{shop}/items',
      for: { shop: ['a', 'b', 'c'] },
      records: '$.items[*]',
      key: '$.id',
      pages: { page: { query: 'page' }, last: '$.pages' },
    },
  },
});

const ALL = ['a', 'b', 'c'].flatMap((shop) => [1, 2, 3, 4].map((page) => `${shop}-${page}`));

describe('a run with a maximum of requests', () => {
  it.each([1, 2, 5, 16])('of %i sends that many and stops, and the next one continues', async (maxRequests) => {
    await using api = await shops();
    const pipeline = rest('shops')(section(api.url));
    await using log = await sqliteTopicLog({ file: join(folder, `${maxRequests}.db`) });
    const { outcome, failures } = await (await start({ log, pipelines: [pipeline], maxRequests })).done;
    expect({ outcome, failures, requests: api.requests() }).toEqual({ outcome: 'stopped', failures: [], requests: maxRequests });
    const keys = async () => (await Array.fromAsync(log.read({ topic: 'shops.items' }))).map(({ key }) => key ?? '').toSorted();
    expect(await keys()).toHaveLength(maxRequests - Math.floor(maxRequests / 3));
    expect((await (await start({ log, pipelines: [pipeline] })).done).outcome).toBe('done');
    expect(await keys()).toEqual(ALL);
    expect(await Array.fromAsync(log.read({ topic: 'shops.dead-letters' }))).toEqual([]);
  });

  it('that suffices is done', async () => {
    await using api = await shops();
    await using log = await sqliteTopicLog({ file: join(folder, 'enough.db') });
    expect((await (await start({ log, pipelines: [rest('shops')(section(api.url))], maxRequests: 17 })).done).outcome).toBe('done');
  });

  it.each([0, 1.5, Number.NaN])('of %s is refused', async (maxRequests) => {
    await using log = await sqliteTopicLog({ file: join(folder, 'refused.db') });
    const pipelines = [rest('shops')(section('http://127.0.0.1:1'))];
    await expect(start({ log, pipelines, maxRequests })).rejects.toThrow(`maxRequests must be a whole number from 1, got ${maxRequests}.`);
  });
});

it('a run with keys leaves all other jobs to the next run', async () => {
  await using api = await shops();
  const pipeline = rest('shops')(section(api.url));
  await using log = await sqliteTopicLog({ file: join(folder, 'keys.db') });
  const keys = async () => (await Array.fromAsync(log.read({ topic: 'shops.items' }))).map(({ key }) => key ?? '').toSorted();
  for (const [only, expected] of [
    [['items/b'], ALL.slice(4, 8)],
    [['items/none'], ALL.slice(4, 8)],
    [['items/c', 'items/b'], ALL.slice(4)],
    [undefined, ALL],
  ] as const) {
    const { outcome } = await (await start({ log, pipelines: [pipeline], ...(only && { keys: only }) })).done;
    expect(outcome).toBe('done');
    expect(await keys()).toEqual(expected);
  }
});
