import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipelineContract } from '@headgate/pipeline/testing';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { type ApiCall, after, pageOf, startApi } from './api.fixture.ts';
import { rest } from './rest.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-rest-'));
});
afterAll(() => rm(folder, { recursive: true }));

const SIZES = { a: 15, b: 14, c: 10 };
const PAGE = 3;
const LIMIT = { requests: 6, windowMs: 200 };

type Item = { readonly id: number };

const KINDS = {
  link: {
    pages: { link: 'next' },
    answer: (items: readonly Item[], { query, path, url }: ApiCall) => {
      const page = Number(query.get('page') ?? 1);
      const link = page * PAGE < items.length ? { link: `<${url}${path}?page=${page + 1}>; rel="next"` } : {};
      return { headers: link, body: { items: pageOf(items, page, PAGE) } };
    },
  },
  cursor: {
    pages: { cursor: '$.items[-1].id', as: { query: 'after' }, while: '$.more' },
    answer: (items: readonly Item[], { query }: ApiCall) => {
      const rest = after(items, query.get('after'));
      return { body: { items: rest.slice(0, PAGE), more: rest.length > PAGE } };
    },
  },
  offset: {
    pages: { offset: { query: 'from' } },
    answer: (items: readonly Item[], { query }: ApiCall) => {
      const from = Number(query.get('from'));
      return { body: { items: items.slice(from, from + PAGE) } };
    },
  },
} as const;

describe.for(Object.entries(KINDS))('pages by %s', ([kind, { pages, answer }]) => {
  const checks = pipelineContract({
    openLog: () => sqliteTopicLog({ file: join(folder, `${kind}.db`) }),
    async startService({ mended }) {
      const sizes: Readonly<Record<string, number>> = { ...SIZES, ...(mended && { new: 7 }) };
      return await startApi({
        limit: LIMIT,
        routes: {
          'GET /lists/{list}': (call) => {
            const count = sizes[call.params['list'] ?? ''];
            return count === undefined
              ? { status: 404, body: {} }
              : answer(
                  Array.from({ length: count }, (_, i) => ({ id: i + 1 })),
                  call,
                );
          },
        },
      });
    },
    pipeline: ({ url }) =>
      rest('api')({
        baseUrl: url,
        credentials: ['one', 'two'].map((name) => ({ name, bearer: name })),
        limit: { requests: LIMIT.requests, window: LIMIT.windowMs },
        streams: {
          items: { get: '/lists/{list}', for: { each: 'none', with: { list: '$.list' } }, records: '$.items[*]', key: '{list}', pages },
          none: { get: '/none', for: [] },
        },
      }),
    requests: Object.keys(SIZES).map((list) => ({ stream: 'items', list })),
    records: { items: 15 + 14 + 10, walks: 2 * 3 },
    seeds: [1],
    failing: { request: { stream: 'items', list: 'new' }, code: 'HEADGATE_NOT_FOUND', records: { items: 7, walks: 2 } },
  });
  it.concurrent.for(checks)('$name', async (check, { expect }) => {
    await expect(check.run()).resolves.toBeUndefined();
  });
});
