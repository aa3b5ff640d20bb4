import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Pipeline, start } from '@headgate/pipeline';
import { sampleIsbn, startBooks, startFollowers } from '@headgate/sandbox';
import type { TopicLog } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { books } from './books.ts';
import { followers } from './followers.ts';

let folder: string;
let log: TopicLog;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-pipelines-'));
  log = await sqliteTopicLog({ file: join(folder, 'log.db') });
});
afterEach(async () => {
  await log.close();
  await rm(folder, { recursive: true });
});

const FREELY = { kind: 'rolling', limit: 100_000, windowMs: 1_000 } as const;

async function run(pipelines: readonly Pipeline[]) {
  await using running = await start({ log, pipelines, validate: true, env: {} });
  const { outcome, failures, snapshot } = await running.done;
  expect({ outcome, failures }).toEqual({ outcome: 'done', failures: [] });
  return snapshot;
}

async function read<Value>(topic: string): Promise<Value[]> {
  const found: Value[] = [];
  for await (const { value } of log.read({ topic })) found.push(JSON.parse(value ?? 'null') as Value);
  return found;
}

test('followers: pages, ids, crawls and the changes between two crawls', async () => {
  const before = Array.from({ length: 25 }, (_, i) => String(1_000 + i));
  const after = [...before.slice(3), '7', '8'];
  for (const [round, list] of [before, after].entries()) {
    await using service = await startFollowers({ window: FREELY, users: { alpha: { followers: list }, gone: { error: 34 } } });
    const pipeline = followers({
      baseUrl: service.url,
      credentials: [{ name: 'app', bearer: 'any-token' }],
      limit: { requests: 1_000, window: '1s' },
      count: 10,
      users: [{ screenName: 'Alpha' }, { screenName: 'gone' }],
      emit: ['pages', 'ids', 'changes'],
      every: 1,
    });
    const snapshot = await run([pipeline]);
    expect(snapshot.pipelines['followers']).toMatchObject({ pages: 3, walks: { completed: 1, failed: 1 }, deadLetters: 1 });
    expect(await read('followers.ids')).toHaveLength(round === 0 ? 25 : 49);
  }
  const crawls = await read<{ user: string; state: string; pages: number; ids: number }>('followers.crawls');
  expect(crawls.filter(({ user }) => user === '@alpha').map(({ state, pages, ids }) => [state, pages, ids])).toEqual([
    ['started', 0, 0],
    ['completed', 3, 25],
    ['started', 0, 0],
    ['completed', 3, 24],
  ]);
  const changes = await read<{ change: string; id: string }>('followers.changes');
  const told = changes.map(({ change, id }) => `${change} ${id}`);
  expect([...told.slice(0, 2).sort(), ...told.slice(2).sort()]).toEqual([
    'followed 7',
    'followed 8',
    'unfollowed 1000',
    'unfollowed 1001',
    'unfollowed 1002',
  ]);
  const pages = [];
  for await (const record of log.read({ topic: 'followers.pages' })) pages.push([record.key, record.headers['ce_id']]);
  expect(pages[0]).toEqual(['@alpha', 'followers.requests-0-0/1']);
});

test('followers: bytes that another client wrote among the pages keep no change from being told', async () => {
  const bytes = Uint8Array.of(0, 0xff);
  await log.createTopics([{ name: 'followers.pages', partitions: 1 }]);
  for (const list of [
    ['1', '2'],
    ['2', '3'],
  ]) {
    await using service = await startFollowers({ window: FREELY, users: { alpha: { followers: list } } });
    const pipeline = followers({
      baseUrl: service.url,
      credentials: [{ name: 'app', bearer: 'any-token' }],
      users: [{ screenName: 'alpha' }],
      emit: ['pages', 'changes'],
      every: 1,
    });
    await log.append([{ topic: 'followers.pages', key: bytes, value: bytes }]);
    await run([pipeline]);
  }
  const changes = await read<{ change: string; id: string }>('followers.changes');
  expect(changes.map(({ change, id }) => `${change} ${id}`)).toEqual(['followed 3', 'unfollowed 1']);
});

test('books: found and missing ISBNs, malformed ones as dead letters, and all pages of an author', async () => {
  await using service = await startBooks({
    keys: [{ name: 'mine', key: 'any-key', plan: 'pro' }],
    unknown: [sampleIsbn(3)],
  });
  const pipeline = books({
    baseUrl: service.urls.pro,
    plan: 'pro',
    key: 'any-key',
    isbns: [sampleIsbn(0), sampleIsbn(1), sampleIsbn(3), 'no ISBN'],
    // These authors have 11 and 39 books.
    authors: ['Charlotte Vale Allen', 'Ada'],
    pageSize: 20,
  });
  const snapshot = await run([pipeline]);
  expect(snapshot.pipelines['books']).toMatchObject({ keys: { queued: 3, answered: 3 }, deadLetters: 1 });
  expect((await read<{ isbn: string }>('books.records')).map(({ isbn }) => isbn).sort()).toEqual([sampleIsbn(0), sampleIsbn(1)].sort());
  expect(await read('books.missing')).toEqual([{ isbn: sampleIsbn(3) }]);
  expect(await read('books.dead-letters')).toMatchObject([{ request: { isbn: 'no ISBN' }, error: { code: 'HEADGATE_INVALID_ISBN' } }]);
  const authors = await read<{ author: string; page: number; last: boolean; record: { books: unknown[] } }>('books.authors');
  const shown = authors.map(({ author, page, last, record }) => [author, page, last, record.books.length]);
  expect(shown.filter(([author]) => author === 'Charlotte Vale Allen')).toEqual([
    ['Charlotte Vale Allen', 1, false, 11],
    ['Charlotte Vale Allen', 2, true, 0],
  ]);
  expect(shown.filter(([author]) => author === 'Ada')).toEqual([
    ['Ada', 1, false, 20],
    ['Ada', 2, false, 19],
    ['Ada', 3, true, 0],
  ]);
});
