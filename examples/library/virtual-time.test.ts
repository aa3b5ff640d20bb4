import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start } from '@headgate/pipeline';
import { doneInVirtualTime } from '@headgate/pipeline/testing';
import { startFollowers } from '@headgate/sandbox';
import { virtualClock } from '@headgate/throttle/testing';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { newcomers } from './own-program.ts';

const WINDOW_MS = 900_000;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-virtual-time-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('a crawl of 50 pages at 15 a quarter of an hour takes three quarters of an hour, and no restart makes it ask too soon', async () => {
  const clock = virtualClock();
  const now = (): number => clock.epochMs();
  await using service = await startFollowers({
    users: { alpha: { followers: 50, pageSize: 1 } },
    window: { kind: 'rolling', limit: 15, windowMs: WINDOW_MS },
    now,
  });
  await using log = await sqliteTopicLog({ file: join(folder, 'log.db'), now });
  const pipelines = [newcomers({ baseUrl: service.url, token: 'token', screenNames: ['alpha'], from: '0' })];
  const startedAt = now();

  for (const pages of [15, 50]) {
    const stop = new AbortController();
    await using running = await start({
      log,
      pipelines,
      clock,
      signal: stop.signal,
      onEvent(event) {
        if (event.type === 'page-written' && event.page === pages && pages < 50) stop.abort();
      },
    });
    const { outcome } = await doneInVirtualTime({ running, clock });
    expect(outcome).toBe(pages < 50 ? 'stopped' : 'done');
  }

  const times = service.requests.map(({ at }) => at - startedAt);
  expect(times).toHaveLength(50);
  expect(Math.floor((times.at(-1) ?? 0) / WINDOW_MS)).toBe(3);
  expect(service.requests.filter(({ status }) => status !== 200)).toEqual([]);
  expect(await Array.fromAsync(log.read({ topic: 'newcomers.people' }))).toHaveLength(50);
});
