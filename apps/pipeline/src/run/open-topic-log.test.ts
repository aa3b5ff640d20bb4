import { symlink, writeFile } from 'node:fs/promises';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { expect, test } from 'vitest';
import { configFolder } from '../config/config-folder.fixture.ts';
import type { TopicsConfig } from '../config/topics-section.ts';
import { logExists, openTopicLog } from './open-topic-log.ts';

const DAY_MS = 86_400_000;

test('retain deletes old records, but neither jobs nor dead letters, finished or not, under whatever name', async () => {
  const file = `${await configFolder({})}/headgate.db`;
  const names = { 'books.dead-letters': 'broken', 'books.requests': 'jobs' };
  const kept = ['broken', 'followers.dead-letters', 'followers.requests', 'jobs'];
  // The log looks at its topics in order of their names, so the last one shows that it has looked at all.
  const topics = [...kept, 'followers.pages', 'z'].toSorted();
  {
    await using old = await sqliteTopicLog({ file, now: () => Date.now() - 31 * DAY_MS });
    await old.createTopics(topics.map((name) => ({ name, partitions: 1 })));
    await old.append(topics.map((topic) => ({ topic, partition: 0, key: 'k', value: 'old' })));
    // A lane has finished the jobs, and an alert has read the dead letters, each in its group.
    for (const topic of kept) {
      const reader = old.read({ topic, group: 'group' });
      for await (const record of reader) await reader.commit(record);
    }
  }
  const config: TopicsConfig = { driver: 'sqlite', file, retain: 30 * DAY_MS, group: 'headgate', lanes: 1, prefix: '', names };
  await using log = await openTopicLog(config, undefined, { deleteOld: true });
  await expect.poll(async () => (await log.listTopics(['z']))[0]?.offsets[0]?.earliest).toBe(1);
  const left = (await log.listTopics()).flatMap(({ name, offsets }) => (offsets[0]?.earliest === 0 ? [name] : []));
  expect(left).toEqual(kept);
});

test('only a path without a file means that there is no log yet', async () => {
  const folder = await configFolder({});
  await writeFile(`${folder}/file`, '');
  // Like a folder that this user can't enter, a circular link doesn't show whether the file exists.
  await symlink('circle', `${folder}/circle`);
  const files = ['none.db', 'none/headgate.db', 'file/headgate.db', 'file', 'circle/headgate.db'];
  const config = { driver: 'sqlite', group: 'headgate', lanes: 1, prefix: '', names: {} } as const;
  const found = await Promise.all(files.map(async (file) => await logExists({ ...config, file: `${folder}/${file}` })));
  expect(found).toEqual([false, false, false, true, true]);
});
