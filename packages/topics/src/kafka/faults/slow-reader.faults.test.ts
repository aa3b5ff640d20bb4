import { startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kafkaTopicLog } from '../index.ts';
import { type ProxiedBroker, holdFirst, proxiedBroker } from './proxied-broker.fixture.ts';

const why = await whyNoKafkaBroker();
const because = why === undefined ? '' : ` (skipped: ${why})`;

describe.skipIf(why !== undefined)(`a reader that doesn't know yet where it starts${because}`, () => {
  let proxied: ProxiedBroker;
  beforeAll(async () => {
    proxied = await proxiedBroker(startKafkaBroker);
  });
  afterAll(() => proxied.close());

  it('delays appends to its topic, so that it reads their records, and no others', async () => {
    await using log = await kafkaTopicLog({ brokers: proxied.brokers, clientId: 'slow', replication: 1 });
    await log.createTopics(['own', 'other'].map((name) => ({ name, partitions: 1 })));
    const start = holdFirst(proxied, 'slow', ({ api }) => api === 'ListOffsets');
    await using reader = log.read({ topic: 'own', from: 'latest', follow: true });
    const next = reader[Symbol.asyncIterator]().next();
    await start.reached;
    const appending = log.append([{ topic: 'own', key: 'k', value: 'own' }]);
    await log.append([{ topic: 'other', key: 'k', value: 'other' }]);
    start.letGo();
    await appending;
    expect((await next).value?.value).toBe('own');
  });
});
