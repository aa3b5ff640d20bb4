import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { virtualClock } from '@headgate/throttle/testing';
import type { LaneWriter } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { expect, test } from 'vitest';
import { loadConfig } from '../config/load-config.ts';
import { SHARED_STATE_PARTITION, TOPICS, topicSpecs } from '../records/topic-names.ts';
import { logWith } from '../run/log-with.fixture.ts';
import { enqueueList, listedAndDue } from './wish-list.ts';

const HOUR = 3_600_000;
const YAML = `topics: { driver: sqlite, file: ./headgate.db }
followers:
  baseUrl: http://127.0.0.1:9
  credentials: [{ name: app, bearer: "\${TOKEN}" }]
  users: [alpha, beta]
  every: 24h
books:
  baseUrl: http://127.0.0.1:9
  key: "\${KEY}"
  isbns: ["9780792712305"]
  every: 7h
  authors: [Ada]
`;

test('each list is due a period after it was enqueued, by its note', async () => {
  await using place = await listPlace();
  const { options, clock, users, books } = place;
  const start = clock.epochMs();
  expect(await enqueueList(options)).toEqual({ from: start - 7 * HOUR, until: start + 7 * HOUR });
  expect([await users(), await books()]).toEqual([2, 2]);

  await clock.advance(7 * HOUR - 1);
  expect(await enqueueList(options)).toEqual({ from: start - 7 * HOUR, until: start + 7 * HOUR });
  expect([await users(), await books()]).toEqual([2, 2]);
  await clock.advance(1);
  expect(await listedAndDue(options)).toHaveLength(2);
  expect(await enqueueList(options)).toEqual({ from: start, until: start + 14 * HOUR });
  expect([await users(), await books()]).toEqual([2, 4]);
  await clock.advance(17 * HOUR);
  await enqueueList(options);
  expect([await users(), await books()]).toEqual([4, 6]);
});

test('what was noted by a clock that was ahead of its time is due when it is more than a period ahead', async () => {
  await using place = await listPlace();
  const { options, clock, users, books } = place;
  clock.stepEpoch(10 * HOUR);
  await enqueueList(options);
  clock.stepEpoch(-10 * HOUR);
  const now = clock.epochMs();
  const nothingDue = await enqueueList(options);
  expect([await users(), await books()]).toEqual([2, 4]);
  expect(nothingDue).toEqual({ from: now - 7 * HOUR, until: now + 7 * HOUR });
});

test('another process that writes a list is waited for, until a signal', async () => {
  await using place = await listPlace();
  const { options, clock, users } = place;
  const state = { topic: TOPICS.state, partition: SHARED_STATE_PARTITION };
  const held = await options.log.openLane({ name: 'headgate.wish-list', state });
  const stop = new AbortController();
  const stopped = enqueueList({ ...options, signal: stop.signal });
  const patient = enqueueList(options);
  await expect.poll(() => clock.pending).toBe(2);
  stop.abort(new Error('stopped'));
  await expect(stopped).rejects.toThrow('stopped');
  expect(await users()).toBe(0);
  await held.close();
  await clock.advance(500);
  await patient;
  expect(await users()).toBe(2);
});

test('a list of thousands is all there, once, also when a signal has cut its writing short', async () => {
  const names = Array.from({ length: 2_345 }, (_, i) => `user_${i}`);
  await using place = await listPlace(YAML.replace('[alpha, beta]', JSON.stringify(names)));
  const { options, users } = place;
  const stop = new AbortController();
  const log = logWith(options.log, {
    async openLane(lane) {
      const writer = await options.log.openLane(lane);
      const write = writer.transaction.bind(writer);
      const transaction: LaneWriter['transaction'] = async (work) => {
        await write(work);
        stop.abort(new Error('stopped'));
      };
      return Object.assign(writer, { transaction });
    },
  });
  await expect(enqueueList({ ...options, log, signal: stop.signal })).rejects.toThrow('stopped');
  expect(await users()).toBe(1_000);
  await enqueueList(options);
  await enqueueList(options);
  const keys: (string | null)[] = [];
  for await (const { key } of options.log.read({ topic: 'followers.requests' })) keys.push(key);
  expect(keys).toEqual(names.map((name) => `@${name}`));
});

/** An embedded log with nothing in it, the config above, and a clock that stands. */
async function listPlace(yaml = YAML) {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-list-'));
  const clock = virtualClock();
  const log = await sqliteTopicLog({ file: join(folder, 'headgate.db') });
  await log.createTopics(topicSpecs(1));
  await writeFile(join(folder, 'headgate.yaml'), yaml);
  const { config } = await loadConfig({ cwd: folder, env: { TOKEN: 't', KEY: 'k' } });
  const count = (topic: string) => async (): Promise<number> => (await log.listTopics([topic]))[0]?.offsets[0]?.end ?? 0;
  return {
    options: { log, config, clock, signal: new AbortController().signal },
    clock,
    users: count('followers.requests'),
    books: count('books.requests'),
    async [Symbol.asyncDispose]() {
      await log.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
