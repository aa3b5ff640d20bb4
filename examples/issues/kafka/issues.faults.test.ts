import { pipelineContract } from '@headgate/pipeline/testing';
import { startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { kafkaTopicLog } from '@headgate/topics/kafka';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { throughTheApp } from '../app.fixture.ts';
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

  it('the command checks, plans, runs over kills in two lanes, takes lines, replays and reads it', async () => {
    const { brokers } = broker;
    const topics = `driver: kafka, brokers: [${brokers.join(', ')}], replication: 1, lanes: 2`;
    const openLog = () => kafkaTopicLog({ brokers, replication: 1 });
    await expect(throughTheApp({ topics, openLog })).resolves.toBeUndefined();
  });
});
