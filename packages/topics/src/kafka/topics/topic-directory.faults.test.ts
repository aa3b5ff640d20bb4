import { startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { TopicUnknownError } from '../../topic-errors.ts';
import { plainConfig } from '../client/plain-cluster.fixture.ts';
import { Client } from '../client/client.ts';
import { createTopics, plainKafka } from '../faults/committed-records.fixture.ts';
import { type ProxiedBroker, holdFirst, proxiedBroker } from '../faults/proxied-broker.fixture.ts';
import { unknownTopicError } from '../client/answered-error.ts';
import { Cluster } from '../client/cluster.ts';
import { TopicDirectory } from './topic-directory.ts';

const why = await whyNoKafkaBroker();
const because = why === undefined ? '' : ` (skipped: ${why})`;

describe.skipIf(why !== undefined)(`cached topic metadata${because}`, () => {
  let proxied: ProxiedBroker;
  beforeAll(async () => {
    proxied = await proxiedBroker(startKafkaBroker);
  });
  afterAll(() => proxied.close());

  it('stays available while it is fetched again, and the size limit even after the topic is deleted', async ({ expect }) => {
    const kafka = plainKafka(proxied.brokers);
    const admin = kafka.admin();
    await admin.connect();
    await createTopics(admin, [{ topic: 'roomy', numPartitions: 1, configEntries: [{ name: 'max.message.bytes', value: '8388608' }] }]);
    const client = new Client(new Cluster(plainConfig(proxied.brokers, 'book')));
    const metadata = new TopicDirectory(client);
    const places = [{ topic: 'roomy', partition: 0 }];
    await metadata.withPartitions([{ topic: 'roomy', key: 'k', value: 'v' }]);
    const asked = holdFirst(proxied, 'book', ({ api }) => api === 'Metadata');
    const looking = metadata.refresh(places);
    await asked.reached;
    expect(metadata.maxMessageBytes('roomy')).toBe(8_388_608);
    expect(await metadata.describe('roomy')).toMatchObject({ partitions: 1 });
    asked.letGo();
    await looking;
    const unknown = unknownTopicError('roomy');
    const wrapped = new Error('lane', { cause: unknown });
    const other = new Error('other');
    const explained = async (): Promise<readonly unknown[]> =>
      await Promise.all([unknown, wrapped, other].map((error) => metadata.explained(error)));
    expect(await explained()).toEqual([unknown, wrapped, other]);
    expect(await metadata.explained(unknownTopicError('roomy', 3))).toMatchObject({
      partition: 3,
      message: expect.stringContaining('it has 1'),
    });
    await admin.deleteTopics({ topics: ['roomy'] });
    await admin.disconnect();
    const gone = expect.any(TopicUnknownError) as unknown;
    expect(await explained()).toEqual([gone, gone, other]);
    expect(metadata.maxMessageBytes('roomy')).toBe(8_388_608);
    await expect(metadata.describe('roomy')).rejects.toThrow(TopicUnknownError);
    client.cluster.close();
  });
});
