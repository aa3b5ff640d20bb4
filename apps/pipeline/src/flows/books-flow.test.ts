import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { apiKey } from '@headgate/auth';
import { sampleIsbn, startBooks } from '@headgate/sandbox';
import { books } from '@headgate/sources/books';
import { creditPool, systemClock } from '@headgate/throttle';
import { virtualClock } from '@headgate/throttle/testing';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { expect, test } from 'vitest';
import { bell } from '../lanes/bell.ts';
import { openLane } from '../lanes/lane.ts';
import { topicSpecs } from '../records/topic-names.ts';
import { booksFlow } from './books-flow.ts';

test('uses each day up, and goes on when it has turned', async () => {
  const [perDay, maxBatch, isbns] = [150, 100, 400];
  const clock = virtualClock({ epochMs: Date.UTC(2026, 0, 1, 12) });
  await using service = await startBooks({
    keys: [{ name: 'mine', key: 'secret', plan: 'default' }],
    dailyQuota: { isbns: perDay },
    now: () => clock.epochMs(),
  });
  const folder = await mkdtemp(join(tmpdir(), 'headgate-books-flow-'));
  const log = await sqliteTopicLog({ file: join(folder, 'headgate.db') });
  await log.createTopics(topicSpecs(1));
  const lane = await openLane({ log, group: 'g', service: 'books', partition: 0, clock });
  const outcomes: string[] = [];
  const api = books({
    baseUrl: service.url,
    credentials: [{ name: 'mine', signer: apiKey('secret') }],
    maxBatch,
    perDay: { isbns: perDay },
    env: {},
    // Of the virtual clock, which does not wait for the machine.
    timeout: 600_000,
    clock,
    onTry: ({ outcome }) => outcomes.push(outcome),
  });
  const flow = booksFlow({
    api,
    lane,
    bell: bell({ clock }),
    credits: creditPool({ max: 1_000 }),
    maxBatch,
    pageSize: 100,
    maxPages: 500,
    clock,
    emit: () => undefined,
  });
  const asked = (): number => service.requests.reduce((sum, request) => sum + (request.isbns?.length ?? 1), 0);

  const list = { isbns: Array.from({ length: isbns }, (_, i) => sampleIsbn(i)) };
  flow.take({ offset: 0, key: 'list', value: JSON.stringify(list) });
  flow.take({ offset: 1, key: 'Ada', value: JSON.stringify({ author: 'Ada' }) });
  flow.flush();
  const days: number[] = [];
  while (flow.load > 0) {
    // Whatever was let out is answered; the clock goes on by what a request may take, and less than it may take too long.
    while (asked() - days.reduce((sum, day) => sum + day, 0) < perDay && flow.load > 0) {
      await clock.advance(1_100);
      await sleep(20);
    }
    await expect.poll(() => outcomes.length).toBe(service.requests.length);
    days.push(asked() - days.reduce((sum, day) => sum + day, 0));
    const [next] = api.gauges().waiting;
    await clock.advance(Math.max(0, (next?.until ?? 0) - clock.epochMs()));
  }
  expect(days).toEqual([perDay, perDay, isbns + 1 - 2 * perDay]);
  expect(new Set(outcomes)).toEqual(new Set(['ok']));
  await flow.stop();
  await api.close();
  await lane.close();
  await log.close();
  await rm(folder, { recursive: true });
});

test('an answer that can not be written gives its room back', { timeout: 30_000 }, async () => {
  const clock = systemClock();
  await using service = await startBooks();
  const folder = await mkdtemp(join(tmpdir(), 'headgate-books-flow-'));
  const log = await sqliteTopicLog({ file: join(folder, 'headgate.db') });
  await log.createTopics(topicSpecs(1));
  const lane = await openLane({ log, group: 'g', service: 'books', partition: 0, clock });
  const api = books({ baseUrl: service.url, credentials: [{ name: 'mine', signer: apiKey('secret') }], env: {}, clock });
  const credits = creditPool({ max: 10 });
  const waker = bell({ clock });
  const flow = booksFlow({ api, lane, bell: waker, credits, maxBatch: 10, pageSize: 100, maxPages: 500, clock, emit: () => undefined });
  lane.beforeCommit(() => {
    throw new Error('disk full');
  });
  flow.take({ offset: 0, key: 'list', value: JSON.stringify({ isbns: [sampleIsbn(0), sampleIsbn(1)] }) });
  flow.take({ offset: 1, key: 'Ada', value: JSON.stringify({ author: 'Ada' }) });
  flow.flush();
  await expect.poll(() => service.requests.length).toBe(2);
  await expect.poll(() => credits.outstanding).toBe(0);
  await expect(waker.wait()).rejects.toThrow('disk full');
  await flow.stop();
  await api.close();
  await lane.close();
  await log.close();
  await rm(folder, { recursive: true });
});
