import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { virtualClock } from '@headgate/throttle/testing';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { expect, test } from 'vitest';
import { loadConfig } from '../config/load-config.ts';
import { topicSpecs } from '../records/topic-names.ts';
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

/** An embedded log with nothing in it, the config above, and a clock that stands. */
async function listPlace() {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-list-'));
  const clock = virtualClock();
  const log = await sqliteTopicLog({ file: join(folder, 'headgate.db') });
  await log.createTopics(topicSpecs(1));
  await writeFile(join(folder, 'headgate.yaml'), YAML);
  const { config } = await loadConfig({ cwd: folder, env: { TOKEN: 't', KEY: 'k' } });
  const count = (topic: string) => async (): Promise<number> => (await log.listTopics([topic]))[0]?.offsets[0]?.end ?? 0;
  return {
    options: { log, config, clock },
    clock,
    users: count('followers.requests'),
    books: count('books.requests'),
    async [Symbol.asyncDispose]() {
      await log.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
