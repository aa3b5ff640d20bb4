import type { TopicPartition } from '../../topic-log.ts';
import { partitionKey } from '../../topic-partition.ts';
import { ANSWERS_WITHIN_MS, type PartitionAnswers, topicRights } from '../requests/request.ts';
import type { KafkajsRequest } from './cluster.ts';
import type { FetchedPartition } from './kafkajs-internals.ts';

export interface FetchOptions {
  /** One partition per request: a response over several may omit some, which would look like a gap without committed records. */
  readonly topicPartitions: readonly [TopicPartition];
  readonly offset: number;
  /** How long the broker may wait for records, if there are none. */
  readonly maxWaitMs: number;
  /** A larger first batch still arrives. */
  readonly maxBytes: number;
  readonly isolationLevel: number;
}

/** The batches of a partition from an offset on, decoded by kafkajs. */
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
      // Without a partition a broker says that the user's quota is used up, and for how long.
      if (clientSideThrottleTime <= 0) throw new Error(`The broker sent an empty response to a fetch from ${partitionKey(place)}.`);
    }
  },
};
