import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunEvent, type RunResult, type StartOptions, replayDeadLetters, start } from '@headgate/pipeline';
import { doneInVirtualTime } from '@headgate/pipeline/testing';
import { type FollowersSandbox, startFollowers } from '@headgate/sandbox';
import { virtualClock } from '@headgate/throttle/testing';
import type { TopicLog } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { newcomers } from './own-program.ts';

/** The clock of the runs, so that retries don't wait in real time. */
const clock = virtualClock();
const now = (): number => clock.epochMs();
const alpha = { followers: 40, pageSize: 10 };
const bravo = { followers: 20, pageSize: 10 };

let folder: string;
let log: TopicLog;
let service: FollowersSandbox;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-faults-'));
  log = await sqliteTopicLog({ file: join(folder, 'log.db'), now });
  service = await startFollowers({ users: { alpha, bravo }, now });
});
afterEach(async () => {
  await service.close();
  await log.close();
  await rm(folder, { recursive: true });
});

const pipeline = () => newcomers({ baseUrl: service.url, token: 'token', screenNames: ['alpha', 'bravo'], from: '0' });

async function run(options: Pick<StartOptions, 'onEvent'> = {}): Promise<RunResult> {
  await using running = await start({ log, pipelines: [pipeline()], clock, ...options });
  return await doneInVirtualTime({ running, clock });
}

/** The IDs of each user's followers, in the order in which they were written. */
async function written(): Promise<Record<string, readonly string[]>> {
  const people: Record<string, string[]> = {};
  for await (const { value } of log.read({ topic: 'newcomers.people' })) {
    const { who, follows } = JSON.parse(value ?? '') as { readonly who: string; readonly follows: string };
    (people[follows] ??= []).push(who);
  }
  return people;
}

test('a service that goes down in the middle, and comes back with broken connections, costs time alone', async () => {
  let failed = 0;
  const { outcome, failures } = await run({
    onEvent(event: RunEvent) {
      if (event.type === 'page-written' && event.key === 'alpha' && event.page === 2) service.setFaults([{ name: '503', times: Infinity }]);
      if (event.type !== 'attempt' || event.outcome === 'ok') return;
      failed += 1;
      if (failed === 4) service.setFaults([{ name: 'cut', times: 2 }]);
    },
  });
  expect({ outcome, failures }).toEqual({ outcome: 'done', failures: [] });
  const faults = service.requests.flatMap(({ fault = [] }) => fault);
  expect(faults.slice(0, 4)).toEqual(['503', '503', '503', '503']);
  expect(faults.slice(-2)).toEqual(['cut', 'cut']);
  expect(await written()).toEqual({ alpha: service.followersOf('alpha'), bravo: service.followersOf('bravo') });
});

test('a user who is protected while it is walked becomes a dead letter, and a replay goes on with the next page', async () => {
  const { snapshot } = await run({
    onEvent(event: RunEvent) {
      if (event.type === 'page-written' && event.key === 'alpha' && event.page === 1)
        service.setUser('alpha', { ...alpha, protected: true });
    },
  });
  expect(snapshot.deadLetters.last.map(({ key, error }) => [key, error.code])).toEqual([['alpha', 'HEADGATE_USER_PROTECTED']]);

  service.setUser('alpha', alpha);
  expect(await replayDeadLetters({ log, requests: pipeline().requests })).toEqual({ replayed: 1, left: 0 });
  expect((await run()).outcome).toBe('done');
  expect(await written()).toEqual({ alpha: service.followersOf('alpha'), bravo: service.followersOf('bravo') });
});
