import { pipelineContract } from '@headgate/pipeline/testing';
import { startKafkaBroker, whyNoKafkaBroker } from '@headgate/sandbox/kafka-broker';
import { kafkaTopicLog } from '@headgate/topics/kafka';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { issuesContract } from '../contract.fixture.ts';

const why = await whyNoKafkaBroker();

describe.skipIf(why !== undefined)(`issues on Kafka${why === undefined ? '' : `: skipped, ${why}`}`, () => {
  let broker: Awaited<ReturnType<typeof startKafkaBroker>>;
  beforeAll(async () => {
    broker = await startKafkaBroker();
  });
  afterAll(() => broker.close());

  const checks = pipelineContract({ ...issuesContract, openLog: () => kafkaTopicLog({ brokers: broker.brokers, replication: 1 }) });
  it.concurrent.for(checks)('$name', async (check, { expect }) => {
    await expect(check.run()).resolves.toBeUndefined();
  });
});
