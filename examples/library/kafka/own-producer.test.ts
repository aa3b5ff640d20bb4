import { bearer } from '@headgate/auth';
import { startFollowers } from '@headgate/sandbox';
import { startKafkaBroker, whyNoKafkaBroker } from '@headgate/sandbox/kafka-broker';
import { followers } from '@headgate/sources/followers';
import { kafkaTopicLog } from '@headgate/topics/kafka';
import kafkajs from 'kafkajs';
import { expect, test } from 'vitest';
import { ownProducer } from '../own-producer.ts';

const why = await whyNoKafkaBroker();

test.skipIf(why !== undefined)(
  `own-producer: pages and cursors in transactions, all or nothing${why === undefined ? '' : `: skipped, ${why}`}`,
  async () => {
    await using broker = await startKafkaBroker();
    await using service = await startFollowers({ users: { alpha: { followers: 25, pageSize: 10 } } });
    await using api = followers({ baseUrl: service.url, credentials: [{ name: 'app', signer: bearer('token') }] });
    await using log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    await log.createTopics(['own.ids', 'own.cursors'].map((name) => ({ name, partitions: 1 })));
    const kafka = new kafkajs.Kafka({ brokers: [...broker.brokers], logLevel: kafkajs.logLevel.NOTHING });
    const producer = kafka.producer({ transactionalId: 'own', idempotent: true, maxInFlightRequests: 1 });
    await producer.connect();
    try {
      const nowhere = ownProducer({ api, screenName: 'alpha', producer, topics: { ids: 'own.ids', cursors: 'no such topic' } });
      await expect(nowhere).rejects.toThrow(/topic/i);
      await ownProducer({ api, screenName: 'alpha', producer, topics: { ids: 'own.ids', cursors: 'own.cursors' } });
    } finally {
      await producer.disconnect();
    }
    const values = async (topic: string) => (await Array.fromAsync(log.read({ topic }))).map(({ value }) => value);
    expect(await values('own.ids')).toEqual(service.followersOf('alpha'));
    const cursors = await values('own.cursors');
    expect([cursors.length, cursors.at(-1)]).toEqual([3, '0']);
  },
);
