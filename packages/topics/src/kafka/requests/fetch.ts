import type { TopicPartition } from '../../topic-log.ts';
import { partitionKey } from '../../topic-partition.ts';
import { refusalsOf, writePartitions } from './partition-answers.ts';
import { ANSWERS_WITHIN_MS, type PartitionAnswers, type Refusal, type Request, topicRights } from './request.ts';

const ANY_REPLICA = -1;
const NO_SESSION = { id: 0, epoch: -1 };
const NO_EPOCH = -1;
const NO_OFFSET = '-1';

export interface FetchOptions {
  /** One partition per request. A response for several can omit some, which would look like a gap without committed records. */
  readonly topicPartitions: readonly [TopicPartition];
  readonly offset: number;
  /** How long the broker can wait for records if there are none, ms. */
  readonly maxWaitMs: number;
  /** Maximum bytes of the response. A first batch that is larger still arrives whole. */
  readonly maxBytes: number;
  readonly isolationLevel: number;
}

export interface FetchedPartition {
  /** The end of the replicated records. */
  readonly highWatermark: number;
  /** The last stable offset: no open transaction begins below it. */
  readonly lastStable: number;
  /** The aborted transactions that concern the batches. */
  readonly aborted: readonly AbortedTransaction[];
  /** Record batches. The first one can begin before the requested offset, and the last one can be incomplete. */
  readonly batches: Buffer;
}

export interface AbortedTransaction {
  readonly producerId: string;
  readonly firstOffset: number;
}

/** Fetches record batches. A response without the partition means that the user's quota is used up: the next request waits. */
export const fetch: Request<FetchOptions, PartitionAnswers<FetchedPartition>> = {
  api: 'Fetch',
  key: 1,
  version: 11,
  to: 'leader',
  needs: ({ topicPartitions }) => topicRights('Read', topicPartitions),
  mayWait: ({ maxWaitMs }) => maxWaitMs > 0,
  answersWithinMs: ({ maxWaitMs }) => maxWaitMs + ANSWERS_WITHIN_MS,
  write: (body, { topicPartitions, offset, maxWaitMs, maxBytes, isolationLevel }) =>
    writePartitions(
      body.int32(ANY_REPLICA).int32(maxWaitMs).int32(1).int32(maxBytes).uint8(isolationLevel).int32(NO_SESSION.id).int32(NO_SESSION.epoch),
      topicPartitions,
      () => body.int32(NO_EPOCH).int64(offset).int64(NO_OFFSET).int32(maxBytes),
    )
      // Forget no topics of a session; no rack.
      .array([], () => undefined)
      .string(''),
  read(from) {
    const throttleMs = from.int32();
    const refusals: Refusal[] = [...refusalsOf(from.int16())];
    // Skip the session's ID.
    from.int32();
    const answer = new Map<string, FetchedPartition>();
    from.array(() => {
      const topic = from.string();
      from.array(() => {
        const [partition, errorCode] = [from.int32(), from.int16()];
        const [highWatermark, lastStable] = [Number(from.int64()), Number(from.int64())];
        // Skip the first offset of the partition.
        from.int64();
        const aborted = from.array(() => ({ producerId: String(from.int64()), firstOffset: Number(from.int64()) }));
        // Skip the replica that is nearest to the rack.
        from.int32();
        const batches = from.bytes();
        if (errorCode === 0) answer.set(partitionKey({ topic, partition }), { highWatermark, lastStable, aborted, batches });
        else refusals.push({ errorCode, topic, partition });
      });
    });
    if (answer.size === 0 && refusals.length === 0 && throttleMs <= 0) throw new Error('The broker sent an empty response to a fetch.');
    return { throttleMs, refusals, answer };
  },
};
