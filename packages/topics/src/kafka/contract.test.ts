import { startKafkaBroker, whyNoKafkaBroker } from '@headgate/sandbox/kafka-broker';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { contractChecks } from '../testing/index.ts';
import { kafkaTopicLog } from './index.ts';

const why = await whyNoKafkaBroker();

describe.skipIf(why !== undefined)(`the Kafka driver keeps the promises of TopicLog${why === undefined ? '' : `: skipped, ${why}`}`, () => {
  let broker: Awaited<ReturnType<typeof startKafkaBroker>>;
  beforeAll(async () => {
    broker = await startKafkaBroker();
  });
  afterAll(() => broker.close());

  // Some wait for seconds until brokers are sure.
  it.concurrent.for(contractChecks({ newcomer: 'fences' }))('$name', async (check, { expect }) => {
    await expect(check.run(() => kafkaTopicLog({ brokers: broker.brokers, replication: 1 }))).resolves.toBeUndefined();
  });
});
