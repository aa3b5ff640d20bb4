import { type KafkaBroker, startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import type { Admin } from 'kafkajs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TopicLostError } from '../../topic-errors.ts';
import type { TopicLog } from '../../topic-log.ts';
import { kafkaTopicLog } from '../index.ts';
import { createTopics, plainKafka } from './committed-records.fixture.ts';

const why = await whyNoKafkaBroker();
const because = why === undefined ? '' : ` (skipped: ${why})`;

describe.skipIf(why !== undefined)(`a reader whose topic ends before its position${because}`, () => {
  let broker: KafkaBroker;
  let log: TopicLog;
  let admin: Admin;
  beforeAll(async () => {
    broker = await startKafkaBroker();
    log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1, compression: 'none' });
    admin = plainKafka(broker.brokers).admin();
    await admin.connect();
  });
  afterAll(async () => {
    await Promise.allSettled([admin.disconnect(), log.close()]);
    await broker.close();
  });

  /** Appends records that are so large that a response to a fetch has space for only one. */
  async function append(topic: string, count: number): Promise<void> {
    for (let left = count; left > 0; left -= 1) await log.append([{ topic, key: null, value: 'x'.repeat(3_000_000) }]);
  }

  async function madeWith(topic: string, partitions: number): Promise<void> {
    await createTopics(admin, [{ topic, numPartitions: partitions, configEntries: [{ name: 'max.message.bytes', value: '4000000' }] }]);
  }

  /** Deletes a topic and creates it again, which a broker refuses for a moment after the deletion. */
  async function makeAnew(topic: string, partitions = 1): Promise<void> {
    await admin.deleteTopics({ topics: [topic] });
    const made = (): Promise<boolean> =>
      madeWith(topic, partitions).then(
        () => true,
        () => sleep(50, false),
      );
    await expect.poll(made).toBe(true);
  }

  const cases = [
    { follow: false, taken: 0, left: 0 },
    { follow: false, taken: 1, left: 1 },
    { follow: false, taken: 2, left: 0 },
    { follow: false, taken: 0, left: 1 },
    { follow: true, taken: 2, left: 0 },
    { follow: true, taken: 4, left: 2 },
  ];
  it.for(cases)(
    'reports the topic as lost (follow $follow, $taken of 4 records read, $left in the new topic)',
    async ({ follow, taken, left }) => {
      const topic = `anew-${String(follow)}-${taken}-${left}`;
      await madeWith(topic, 1);
      await append(topic, 4);
      await using reader = log.read({ topic, follow });
      const records = reader[Symbol.asyncIterator]();
      // An append waits until the reader knows where it starts.
      if (taken === 0) await log.append([{ topic, key: null, value: 'behind its end' }]);
      for (let count = 0; count < taken; count += 1) expect((await records.next()).done).toBe(false);
      await makeAnew(topic);
      await append(topic, left);
      await expect(records.next()).rejects.toThrow(TopicLostError);
    },
  );

  it('reports that even if it follows several partitions', async () => {
    const topic = 'anew-partitions';
    await madeWith(topic, 2);
    await log.append([0, 1].map((partition) => ({ topic, partition, key: null, value: 'old' })));
    await using reader = log.read({ topic, follow: true });
    const records = reader[Symbol.asyncIterator]();
    for (let count = 0; count < 2; count += 1) expect((await records.next()).done).toBe(false);
    await makeAnew(topic, 2);
    await expect(records.next()).rejects.toThrow(TopicLostError);
  });

  it('reports that even if it continues from an offset that the topic had', async () => {
    const topic = 'anew-from';
    await madeWith(topic, 1);
    await log.append(['0', '1'].map((value) => ({ topic, key: null, value })));
    const ended = { done: true, value: undefined };
    // Offset 3 is after two records and the end marker of their transaction.
    expect(await log.read({ topic, from: 3 })[Symbol.asyncIterator]().next()).toEqual(ended);
    await makeAnew(topic);
    await expect(log.read({ topic, from: 3 })[Symbol.asyncIterator]().next()).rejects.toThrow(TopicLostError);
    expect(await log.read({ topic })[Symbol.asyncIterator]().next()).toEqual(ended);
  });

  it('reports that even if its group has read further', async () => {
    const topic = 'short';
    await madeWith(topic, 1);
    await log.append(['0', '1'].map((value) => ({ topic, key: null, value })));
    await admin.setOffsets({ groupId: 'further', topic, partitions: [{ partition: 0, offset: '4' }] });
    await expect(log.read({ topic, group: 'further' })[Symbol.asyncIterator]().next()).rejects.toThrow(TopicLostError);
  });
});
