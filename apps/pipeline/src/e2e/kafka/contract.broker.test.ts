import { pipelineContract } from '@headgate/pipeline/testing';
import { kafkaTopicLog } from '@headgate/topics/kafka';
import { describe, inject, it } from 'vitest';
import { contracts } from '../contract.fixture.ts';

const { why, brokers } = inject('kafkaBroker');

describe.skipIf(why !== undefined)(`on Kafka${why === undefined ? '' : `: skipped, ${why}`}`, () => {
  describe.each(Object.entries(contracts))('%s', (_, contract) => {
    const checks = pipelineContract({ ...contract, openLog: () => kafkaTopicLog({ brokers, replication: 1 }) });
    it.concurrent.for(checks)('$name', async (check, { expect }) => {
      await expect(check.run()).resolves.toBeUndefined();
    });
  });
});
