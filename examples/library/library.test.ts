import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { bearer } from '@headgate/auth';
import { start } from '@headgate/pipeline';
import { type FollowersSandbox, sampleIsbn, startBooks, startFollowers } from '@headgate/sandbox';
import { books } from '@headgate/sources/books';
import { type Followers, followers } from '@headgate/sources/followers';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { limitedFetch } from './limited-fetch.ts';
import { mergedWalks } from './merged-walks.ts';
import { oneCap } from './one-cap.ts';
import { newcomers } from './own-program.ts';
import { ownSink } from './own-sink.ts';
import { resumedWalk } from './resumed-walk.ts';
import { timedRun } from './timed-run.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-library-'));
});
afterEach(() => rm(folder, { recursive: true }));

const FREELY = { kind: 'rolling', limit: 10_000, windowMs: 1_000 } as const;

const sourceOf = ({ url }: FollowersSandbox): Followers =>
  followers({ baseUrl: url, credentials: [{ name: 'app', signer: bearer('token') }], limit: { requests: 10_000, windowMs: 1_000 } });

test('limited-fetch: no token is used more than five times in any second, and what waits can be given up', async () => {
  const times: Record<string, number[]> = {};
  const refusals: string[] = [];
  const server = createServer((request, response) => {
    const token = request.headers.authorization ?? '';
    const now = performance.now();
    const own = (times[token] ??= []);
    if (own.filter((time) => now - time < 1_000).length >= 5) refusals.push(token);
    own.push(now);
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const get = limitedFetch(['a', 'b', 'c'].map((name) => ({ name, token: name })));
  const stop = new AbortController();
  const answered = Array.from({ length: 40 }, async () => (await get(url)).text());
  const givenUp = Array.from({ length: 40 }, async () => await get(url, { signal: stop.signal }));
  stop.abort(new Error('enough'));
  const ends = await Promise.allSettled(givenUp);
  expect(new Set(ends.map((end) => (end.status === 'rejected' ? String(end.reason) : 'answered')))).toEqual(new Set(['Error: enough']));
  await Promise.all(answered);
  expect(Object.fromEntries(Object.entries(times).map(([token, own]) => [token, own.length >= 5]))).toEqual({
    'Bearer a': true,
    'Bearer b': true,
    'Bearer c': true,
  });
  expect([Object.values(times).flat().length, refusals]).toEqual([40, []]);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test('merged-walks: never more than the cap on its way, and one short batch at the end', async () => {
  const maxOutstanding = 20_000;
  const pageSize = 5_000;
  const users = { alpha: { followers: 40_000 }, bravo: { followers: 40_000 }, carol: { followers: 15_500 } };
  await using server = await startFollowers({ users, window: FREELY });
  await using api = sourceOf(server);
  const requested: Record<string, number> = {};
  let counted = 0;
  const idsRequested = (): number => {
    for (const { user = '' } of server.requests.slice(counted)) requested[user] = (requested[user] ?? 0) + pageSize;
    counted = server.requests.length;
    return Object.entries(users).reduce((sum, [user, { followers: all }]) => sum + Math.min(requested[user] ?? 0, all), 0);
  };
  const written: string[] = [];
  const lengths: number[] = [];
  let most = 0;
  await mergedWalks({
    api,
    screenNames: Object.keys(users),
    maxOutstanding,
    async write(batch) {
      // Gives requests plenty of time, so that only the credit can hold them back.
      for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, idsRequested() - written.length);
      written.push(...batch.map(({ user, id }) => `${user} ${id}`));
      lengths.push(batch.length);
    },
  });
  expect(most).toBeGreaterThan(maxOutstanding / 2);
  expect(most).toBeLessThanOrEqual(maxOutstanding);
  const wanted = Object.keys(users).flatMap((user) => server.followersOf(user).map((id) => `@${user} ${id}`));
  expect(written.toSorted()).toEqual(wanted.toSorted());
  expect(lengths.filter((length) => length < 1_000)).toEqual([500]);
});

test('resumed-walk: a sink that fails is tried again with the page it failed at, and no page before it is requested again', async () => {
  await using server = await startFollowers({ users: { alpha: { followers: 50, pageSize: 10 } }, window: FREELY });
  await using api = sourceOf(server);
  const attempts: number[] = [];
  const ids: string[] = [];
  await resumedWalk({
    api,
    screenName: 'alpha',
    async write({ page, ids: of }) {
      await Promise.resolve();
      attempts.push(page);
      if (attempts.length === 3) throw new Error('no room');
      ids.push(...of);
    },
  });
  expect(attempts).toEqual([1, 2, 3, 3, 4, 5]);
  expect(ids).toEqual(server.followersOf('alpha'));
  expect(server.requests.filter(({ cursor }) => cursor === '-1')).toHaveLength(1);
  expect(server.requests.length).toBeLessThanOrEqual(7);
});

test('own-program: stopped twice and started again, it writes its own values once, and requests no page twice', async () => {
  await using server = await startFollowers({ users: { alpha: { followers: 4_100, pageSize: 100 } }, window: FREELY });
  const ids = server.followersOf('alpha');
  const least = ids.toSorted((one, other) => (BigInt(one) < BigInt(other) ? -1 : 1))[1_000] ?? '';
  const run = async (until: number): Promise<void> => {
    await using log = await sqliteTopicLog({ file: join(folder, 'own.db') });
    const stop = new AbortController();
    const pipeline = newcomers({
      baseUrl: server.url,
      token: 'token',
      screenNames: ['alpha'],
      from: least,
      limit: { requests: 10_000, windowMs: 1_000 },
    });
    const onEvent = (event: { readonly type: string; readonly page?: unknown }): void => {
      if (event.type === 'page-written' && event.page === until) stop.abort();
    };
    await using running = await start({ log, pipelines: [pipeline], signal: stop.signal, onEvent });
    expect((await running.done).outcome).toBe(until === Infinity ? 'done' : 'stopped');
  };
  for (const until of [5, 22, Infinity]) await run(until);
  await using log = await sqliteTopicLog({ file: join(folder, 'own.db') });
  const people = (await Array.fromAsync(log.read({ topic: 'newcomers.people' }))).map(({ value }) => JSON.parse(value ?? '') as unknown);
  expect(people).toEqual(ids.filter((id) => BigInt(id) >= BigInt(least)).map((who) => ({ who, follows: 'alpha' })));
  expect(server.requests).toHaveLength(41);
});

test('own-sink: cut off at any page and started again, its table holds each follower once', async () => {
  await using server = await startFollowers({ users: { alpha: { followers: 45, pageSize: 10 } }, window: FREELY });
  const file = join(folder, 'followers.db');
  for (const pages of [2, 1, Infinity]) {
    using database = new DatabaseSync(file);
    await using api = sourceOf(server);
    let taken = 0;
    const cut = new Proxy(database, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (name !== 'exec') return typeof member === 'function' ? member.bind(target) : member;
        return (sql: string) => {
          if (sql === 'COMMIT' && taken++ === pages) {
            database.exec('ROLLBACK');
            throw new Error('the process is gone');
          }
          database.exec(sql);
        };
      },
    });
    const done = ownSink({ api, screenName: 'alpha', database: cut });
    const end = done.then(
      () => 'done',
      (error: unknown) => String(error),
    );
    expect(await end).toBe(pages === Infinity ? 'done' : 'Error: the process is gone');
  }
  using database = new DatabaseSync(file);
  const ids = database
    .prepare('SELECT id FROM followers')
    .all()
    .map(({ id }) => String(id));
  expect(ids.toSorted()).toEqual(server.followersOf('alpha').toSorted());
});

test('own-sink: if a statement fails, the next call on the same database continues', async () => {
  await using server = await startFollowers({ users: { alpha: { followers: 45, pageSize: 10 } }, window: FREELY });
  await using api = sourceOf(server);
  using database = new DatabaseSync(join(folder, 'followers.db'));
  database.exec('CREATE TABLE walks (user TEXT PRIMARY KEY, next TEXT)');
  database.exec("CREATE TRIGGER full BEFORE INSERT ON walks BEGIN SELECT RAISE(ABORT, 'disk is full'); END");
  await expect(ownSink({ api, screenName: 'alpha', database })).rejects.toThrow('disk is full');
  database.exec('DROP TRIGGER full');
  await ownSink({ api, screenName: 'alpha', database });
  expect(database.prepare('SELECT count(*) AS ids FROM followers').get()).toEqual({ ids: 45 });
});

test('one-cap: ids and books on their way are never more than the cap, both together', async () => {
  const [ids, pageSize, maxItems] = [30_000, 5_000, 7_000];
  const isbns = Array.from({ length: 3_000 }, (_, i) => sampleIsbn(i));
  await using users = await startFollowers({ users: { alpha: { followers: ids } }, window: FREELY });
  await using catalogue = await startBooks({ window: FREELY });
  await using api = sourceOf(users);
  await using lookups = books({ baseUrl: catalogue.url, key: 'key', limit: { requests: 10_000, windowMs: 1_000 }, maxBatch: 500 });
  const requested = (): number =>
    Math.min(ids, users.requests.length * pageSize) + catalogue.requests.reduce((sum, { isbns: of = [] }) => sum + of.length, 0);
  const written = { ids: [] as string[], isbns: [] as string[] };
  let most = 0;
  await oneCap({
    followers: api,
    books: lookups,
    screenName: 'alpha',
    isbns,
    maxItems,
    async write(item) {
      // Gives requests plenty of time, so that only the credit can hold them back.
      const turns = 'ids' in item ? 100 : 2;
      for (let i = 0; i < turns; i += 1) await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, requested() - written.ids.length - written.isbns.length);
      if ('ids' in item) written.ids.push(...item.ids);
      else written.isbns.push(item.requested ?? '');
    },
  });
  expect(most).toBeGreaterThan(pageSize);
  expect(most).toBeLessThanOrEqual(maxItems);
  expect(written.ids).toEqual(users.followersOf('alpha'));
  expect(written.isbns).toEqual(isbns);
});

test('timed-run: its time is over before the work is, the next run goes on there, and together they write each record once', async () => {
  await using server = await startFollowers({ users: { alpha: { followers: 2_500, pageSize: 100 } }, window: FREELY });
  const timed = async (requests: number, forMs: number): Promise<{ outcome: string; left: number }> => {
    await using log = await sqliteTopicLog({ file: join(folder, 'timed.db') });
    const limit = { requests, windowMs: 1_000 };
    const pipelines = [newcomers({ baseUrl: server.url, token: 'token', screenNames: ['alpha'], from: '0', limit })];
    const { outcome, left } = await timedRun({ log, pipelines, forMs });
    return { outcome, left: left.requests };
  };
  // The first run has no time at all. At 10 requests a second, the second one has no time for all 25 pages, even on a fast machine.
  for (const forMs of [0, 1_000]) {
    const { outcome, left } = await timed(10, forMs);
    expect({ outcome, isLeft: left > 0 }).toEqual({ outcome: 'stopped', isLeft: true });
  }
  expect(server.requests.length).toBeLessThan(25);
  expect(await timed(10_000, 600_000)).toEqual({ outcome: 'done', left: 0 });
  await using log = await sqliteTopicLog({ file: join(folder, 'timed.db') });
  const people = await Array.fromAsync(log.read({ topic: 'newcomers.people' }));
  expect(people.map(({ value }) => (JSON.parse(value ?? '') as { readonly who: string }).who)).toEqual(server.followersOf('alpha'));
  expect(server.requests).toHaveLength(25);
});
