import { kafkaTopicLog } from '@headgate/topics/kafka';
import { describe, inject, it } from 'vitest';
import { treeContract } from './family.fixture.ts';
import { pipelineContract } from './pipeline-contract.ts';

const { why, brokers } = inject('kafkaBroker');

describe.skipIf(why !== undefined)(`a pipeline whose pages request more, on Kafka${why === undefined ? '' : `: skipped, ${why}`}`, () => {
  const checks = pipelineContract({ ...treeContract, openLog: () => kafkaTopicLog({ brokers, replication: 1 }) });
  it.concurrent.for(checks)('$name', async (check, { expect }) => {
    await expect(check.run()).resolves.toBeUndefined();
  });
});
