import { startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import type { Admin } from 'kafkajs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { RecordPosition } from '../../topic-log.ts';
import { kafkaTopicLog } from '../index.ts';
import { committedRecords, createTopics, plainKafka } from './committed-records.fixture.ts';
import { type ProxiedBroker, proxiedBroker } from './proxied-broker.fixture.ts';

const why = await whyNoKafkaBroker();
const because = why === undefined ? '' : ` (skipped: ${why})`;

describe.skipIf(why !== undefined)(
  `an append whose outcome is unknown until a broker has thrown it away${because}`,
  { timeout: 600_000 },
  () => {
    let proxied: ProxiedBroker;
    let admin: Admin;
    beforeAll(async () => {
      proxied = await proxiedBroker(({ settings }) => startKafkaBroker({ settings: { ...settings, 'log.cleaner.backoff.ms': '100' } }));
      admin = plainKafka(proxied.brokers).admin();
      await admin.connect();
    });
    afterAll(async () => {
      await admin.disconnect();
      await proxied.close();
    });

    /** Appends a record. The response to its commit is lost, and `meanwhile` runs before the driver can look for the record. */
    async function appendBlindly(topic: string, key: string, meanwhile: () => Promise<void>): Promise<readonly RecordPosition[]> {
      const clientId = `blind-${topic}`;
      await using log = await kafkaTopicLog({ brokers: proxied.brokers, clientId, replication: 1 });
      let over: Promise<void> | undefined;
      proxied.rules.set(clientId, ({ api }) => {
        if (api !== 'EndTxn' || over !== undefined) return over ?? 'pass';
        over = meanwhile();
        return 'cut answer';
      });
      return await log.append([{ topic, partition: 0, key, value: 'ours' }]);
    }

    it('by retention isn’t waited for', async ({ expect }) => {
      const topic = 'retention';
      await createTopics(admin, [{ topic, numPartitions: 1 }]);
      await admin.fetchTopicOffsets(topic);
      const positions = await appendBlindly(topic, 'k', async () => {
        // Offset 2 is after the record and the end marker of its transaction.
        const remove = (): Promise<boolean> =>
          admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '2' }] }).then(
            () => true,
            () => false,
          );
        await expect.poll(remove).toBe(true);
      });
      expect(positions).toEqual([{ topic, partition: 0, offset: 0 }]);
      expect(await committedRecords(proxied.brokers, topic)).toEqual([]);
    });

    it('by compaction doesn’t come back over a newer one', async ({ expect }) => {
      const topic = 'compaction';
      const settings = {
        'cleanup.policy': 'compact',
        'segment.ms': '100',
        'min.cleanable.dirty.ratio': '0.001',
        'delete.retention.ms': '0',
      };
      const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
      await createTopics(admin, [{ topic, numPartitions: 1, configEntries }]);
      const writer = plainKafka(proxied.brokers).producer();
      await writer.connect();
      const seen = async (): Promise<(string | null)[]> => (await committedRecords(proxied.brokers, topic)).map(({ value }) => value);
      await appendBlindly(topic, 'k', async () => {
        await expect.poll(seen).toContain('ours');
        for (const value of ['theirs', 'newest']) {
          await sleep(150);
          await writer.send({ topic, messages: [{ key: 'k', value }] });
        }
        await expect.poll(seen, { interval: 200 }).not.toContain('ours');
      });
      expect((await seen()).at(-1)).toBe('newest');
      expect(await seen()).not.toContain('ours');
      await writer.disconnect();
    });
  },
);
