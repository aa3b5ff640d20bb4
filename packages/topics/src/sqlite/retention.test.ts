import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { TopicLog } from '../topic-log.ts';
import { sqliteTopicLog } from './index.ts';
import { temporaryFolder } from './temporary-folder.fixture.ts';

const DAY_MS = 86_400_000;
const retention = { maxAgeMs: 30 * DAY_MS, keep: (topic: string) => topic.endsWith('.requests') };

describe('retention', () => {
  it('deletes older records, but neither state nor topics to keep; offsets stay, and readers begin at the first remaining record', async () => {
    const file = join(temporaryFolder(), 'log.db');
    let now = 0;
    {
      await using log = await sqliteTopicLog({ file, now: () => now });
      await log.createTopics([
        { name: 'pages', partitions: 2 },
        { name: 'a.requests', partitions: 1 },
        { name: 'state', partitions: 1, compacted: true },
      ]);
      await log.append(numbered('pages', 120));
      await log.append(numbered('a.requests', 5));
      await log.append([{ topic: 'state', key: 'k', value: 'old' }]);
      now = 20 * DAY_MS;
      await log.append(numbered('pages', 3, 120));
    }
    now = 31 * DAY_MS;
    await using log = await sqliteTopicLog({ file, now: () => now, retention });
    const earliest = async (): Promise<unknown> => (await log.listTopics()).map(({ name, offsets }) => [name, ...offsets]);
    await expect.poll(earliest).toEqual([
      ['a.requests', { earliest: 0, end: 5 }],
      ['pages', { earliest: 120, end: 123 }, { earliest: 0, end: 0 }],
      ['state', { earliest: 0, end: 1 }],
    ]);
    expect(await valuesOf(log, 'pages')).toEqual(['120', '121', '122']);
    expect(await valuesOf(log, 'pages', 121)).toEqual(['121', '122']);
    expect(await valuesOf(log, 'a.requests')).toEqual(['0', '1', '2', '3', '4']);
    expect((await log.readState('state', 0)).get('k')).toBe('old');
    await log.append(numbered('pages', 1, 123));
    now = 90 * DAY_MS;
    // A newly opened log soon looks for old records.
    await using again = await sqliteTopicLog({ file, now: () => now, retention });
    await expect.poll(async () => (await again.listTopics(['pages']))[0]?.offsets[0]).toEqual({ earliest: 124, end: 124 });
    expect(await valuesOf(again, 'pages')).toEqual([]);
    // `log` was open before the deletion, and still reads what follows the deleted records.
    await again.append(numbered('pages', 1, 124));
    expect(await valuesOf(log, 'pages')).toEqual(['124']);
  });

  it('reuses the space', async () => {
    const file = join(temporaryFolder(), 'log.db');
    let now = 0;
    const fill = async (log: TopicLog): Promise<void> => {
      for (let i = 0; i < 20; i++) await log.append([{ topic: 'pages', key: 'k', value: 'x'.repeat(200_000) }]);
    };
    {
      await using log = await sqliteTopicLog({ file, now: () => now });
      await log.createTopics([{ name: 'pages', partitions: 1 }]);
      await fill(log);
    }
    const filled = statSync(file).size;
    now = 31 * DAY_MS;
    {
      await using log = await sqliteTopicLog({ file, now: () => now, retention });
      await expect.poll(async () => (await log.listTopics())[0]?.offsets[0]?.earliest).toBe(20);
      await fill(log);
    }
    expect(filled).toBeGreaterThan(4_000_000);
    expect(statSync(file).size).toBeLessThan(filled * 1.05);
  });
});

function numbered(topic: string, count: number, from = 0) {
  return Array.from({ length: count }, (_, i) => ({ topic, partition: 0, key: 'k', value: String(from + i) }));
}

async function valuesOf(log: TopicLog, topic: string, from = 0): Promise<(string | null)[]> {
  const values: (string | null)[] = [];
  for await (const { value } of log.read({ topic, from })) values.push(value);
  return values;
}
