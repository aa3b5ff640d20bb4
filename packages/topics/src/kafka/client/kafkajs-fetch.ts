import type { TopicPartition } from '../../topic-log.ts';
import { partitionKey } from '../../topic-partition.ts';
import { ANSWERS_WITHIN_MS, type PartitionAnswers, topicRights } from '../requests/request.ts';
import type { KafkajsRequest } from './cluster.ts';
import type { FetchedPartition } from './kafkajs-internals.ts';

export interface FetchOptions {
  /** One partition per request. A response for several can omit some, which would look like a gap without committed records. */
  readonly topicPartitions: readonly [TopicPartition];
  readonly offset: number;
  /** How long the broker can wait for records if there are none, ms. */
  readonly maxWaitMs: number;
  /** Maximum bytes of the response. A first batch that is larger still arrives. */
  readonly maxBytes: number;
  readonly isolationLevel: number;
}

export const fetch: KafkajsRequest<FetchOptions, PartitionAnswers<FetchedPartition>> = {
  api: 'Fetch',
  to: 'leader',
  needs: ({ topicPartitions }) => topicRights('Read', topicPartitions),
  answersWithinMs: ({ maxWaitMs }) => maxWaitMs + ANSWERS_WITHIN_MS,
  async send(broker, { topicPartitions: [place], offset, maxWaitMs, maxBytes, isolationLevel }) {
    const { topic, partition } = place;
    for (;;) {
      const { responses, clientSideThrottleTime = 0 } = await broker.fetch({
        isolationLevel,
        maxWaitTime: maxWaitMs,
        minBytes: 1,
        maxBytes,
        topics: [{ topic, partitions: [{ partition, fetchOffset: String(offset), maxBytes }] }],
      });
      const data = responses[0]?.partitions[0];
      if (data !== undefined) return new Map([[partitionKey(place), data]]);
      // A throttled response without the partition means that the user's quota is used up. The connection delays the next request accordingly.
      if (clientSideThrottleTime <= 0) throw new Error(`The broker sent an empty response to a fetch from ${partitionKey(place)}.`);
    }
  },
};
