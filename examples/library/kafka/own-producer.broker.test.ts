import { randomUUID } from 'node:crypto';
import { bearer } from '@headgate/auth';
import { startFollowers } from '@headgate/sandbox';
import { followers } from '@headgate/sources/followers';
import { kafkaTopicLog } from '@headgate/topics/kafka';
import kafkajs from 'kafkajs';
import { expect, inject, test } from 'vitest';
import { ownProducer } from '../own-producer.ts';

const { why, brokers } = inject('kafkaBroker');
const [IDS, CURSORS] = ['ids', 'cursors'].map((name) => `own.${name}-${randomUUID()}`) as [string, string];

test.skipIf(why !== undefined)(
  `own-producer: pages and cursors in transactions, all or nothing${why === undefined ? '' : `: skipped, ${why}`}`,
  async () => {
    await using service = await startFollowers({ users: { alpha: { followers: 25, pageSize: 10 } } });
    await using api = followers({ baseUrl: service.url, credentials: [{ name: 'app', signer: bearer('token') }] });
    await using log = await kafkaTopicLog({ brokers, replication: 1 });
    await log.createTopics([IDS, CURSORS].map((name) => ({ name, partitions: 1 })));
    const kafka = new kafkajs.Kafka({ brokers: [...brokers], logLevel: kafkajs.logLevel.NOTHING });
    const producer = kafka.producer({ transactionalId: IDS, idempotent: true, maxInFlightRequests: 1 });
    await producer.connect();
    try {
      const nowhere = ownProducer({ api, screenName: 'alpha', producer, topics: { ids: IDS, cursors: 'no such topic' } });
      await expect(nowhere).rejects.toThrow(/topic/i);
      await ownProducer({ api, screenName: 'alpha', producer, topics: { ids: IDS, cursors: CURSORS } });
    } finally {
      await producer.disconnect();
    }
    const values = async (topic: string) => (await Array.fromAsync(log.read({ topic }))).map(({ value }) => value);
    // Brokers acknowledge a commit before its records are visible.
    await expect.poll(() => values(IDS)).toEqual(service.followersOf('alpha'));
    await expect.poll(() => values(CURSORS)).toHaveLength(3);
    expect((await values(CURSORS)).at(-1)).toBe('0');
  },
);
