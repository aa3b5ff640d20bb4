import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { wishesInOrder } from './wishes-in-order.ts';

const topic = 'followers.requests';
const begun = [7, 5, 1, 0].map((offset) => ({ offset, key: null, value: `kept ${offset}` }));

describe('wishesInOrder', () => {
  it('gives each wish once and by offset: as the topic has it, else as it was kept', async () => {
    const values: (string | null)[] = [];
    for await (const { value } of wishesInOrder({ log: await logOfThree(), topic, partition: 0, from: 1, begun })) values.push(value);
    expect(values).toEqual(['wish 1', 'wish 2', 'kept 5', 'kept 7']);
  });

  it('takes nothing for deleted when the reading was cut short', async () => {
    const stop = new AbortController();
    const offsets: number[] = [];
    const wishes = wishesInOrder({ log: await logOfThree(), topic, partition: 0, from: 0, begun, signal: stop.signal });
    for await (const { offset } of wishes) {
      offsets.push(offset);
      stop.abort();
    }
    expect(offsets).toEqual([0]);
  });
});

async function logOfThree() {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-wishes-'));
  const log = await sqliteTopicLog({ file: join(folder, 'headgate.db') });
  onTestFinished(async () => {
    await log.close();
    rmSync(folder, { recursive: true });
  });
  await log.createTopics([{ name: topic, partitions: 1 }]);
  await log.append([0, 1, 2].map((offset) => ({ topic, key: null, value: `wish ${offset}` })));
  return log;
}
