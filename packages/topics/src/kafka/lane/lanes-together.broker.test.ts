import { randomUUID } from 'node:crypto';
import { expect, inject, it, vi } from 'vitest';
import { Cluster } from '../client/cluster.ts';
import { kafkaTopicLog } from '../kafka-topic-log.ts';

const { why, brokers } = inject('kafkaBroker');

it.skipIf(why !== undefined)(
  `lanes that open don't each fetch the metadata, which lists the partitions of all lanes${why === undefined ? '' : ` (skipped: ${why})`}`,
  { timeout: 600_000 },
  async () => {
    await using log = await kafkaTopicLog({ brokers, replication: 1 });
    const [state, topic] = ['state', 'records'].map((name) => `${name}-${randomUUID()}`) as [string, string];
    await log.createTopics([
      { name: state, partitions: 4, compacted: true },
      { name: topic, partitions: 4 },
    ]);
    const exchange = vi.spyOn(Cluster.prototype, 'exchange');
    try {
      for (let partition = 0; partition < 4; partition += 1) {
        await using lane = await log.openLane({
          name: `lane-${partition}-${topic}`,
          state: { topic: state, partition },
          writes: [{ topic, partition }],
        });
        await lane.transaction((tx) => tx.append([{ topic, partition, key: null, value: 'v' }]));
        expect(await log.offsets([{ topic, partition }], 'earliest')).toEqual([0]);
      }
      const asked = exchange.mock.calls.map(([, { api }]) => api);
      expect(asked.filter((api) => api === 'Produce').length).toBeGreaterThanOrEqual(4 * 3);
      expect(asked).not.toContain('DescribeConfigs');
      // After an error, such as that of a partition that has no leader yet, the leaders are fetched again.
      const ended = await Promise.allSettled(exchange.mock.results.map(({ value }) => value));
      const refused = ended.filter((each) => each.status === 'rejected' || each.value.refusals.length > 0);
      expect(asked.filter((api) => api === 'Metadata').length).toBeLessThan(3 + refused.length);
    } finally {
      exchange.mockRestore();
    }
  },
);
