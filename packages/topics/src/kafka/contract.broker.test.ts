import { describe, inject, it } from 'vitest';
import { contractChecks } from '../testing/index.ts';
import { kafkaTopicLog } from './index.ts';

const { why, ...broker } = inject('kafkaBroker');

describe.skipIf(why !== undefined)(`the Kafka driver keeps the promises of TopicLog${why === undefined ? '' : `: skipped, ${why}`}`, () => {
  // The checks run concurrently, because some take several seconds to be sure that a topic is missing.
  it.concurrent.for(contractChecks({ newcomer: 'fences' }))('$name', async (check, { expect }) => {
    await expect(check.run(() => kafkaTopicLog({ brokers: broker.brokers, replication: 1 }))).resolves.toBeUndefined();
  });
});
