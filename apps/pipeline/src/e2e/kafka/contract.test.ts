import { pipelineContract } from '@headgate/pipeline/testing';
import { startKafkaBroker } from '@headgate/sandbox/kafka-broker';
import { kafkaTopicLog } from '@headgate/topics/kafka';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { contracts } from '../contract.fixture.ts';
import { BECAUSE, WHY_NOT } from './kafka-place.fixture.ts';

describe.skipIf(WHY_NOT !== undefined)(`on Kafka${BECAUSE}`, () => {
  let broker: Awaited<ReturnType<typeof startKafkaBroker>>;
  beforeAll(async () => {
    broker = await startKafkaBroker();
  });
  afterAll(() => broker.close());

  describe.each(Object.entries(contracts))('%s', (_, contract) => {
    const checks = pipelineContract({ ...contract, openLog: () => kafkaTopicLog({ brokers: broker.brokers, replication: 1 }) });
    it.concurrent.for(checks)('$name', async (check, { expect }) => {
      await expect(check.run()).resolves.toBeUndefined();
    });
  });
});
