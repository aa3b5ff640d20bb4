import type { TopicPartition } from '../../topic-log.ts';
import { partitionKey } from '../../topic-partition.ts';
import { readPartitions, refusalsOf, writePartitions } from './partition-answers.ts';
import { type AboutPartitions, type PartitionAnswers, type Refusal, type Request, rights, topicRights } from './request.ts';

const ANY_REPLICA = -1;
/** Isolation levels of ListOffsets and Fetch. */
export const READ_UNCOMMITTED = 0;
export const READ_COMMITTED = 1;
const EARLIEST = '-2';
const LATEST = '-1';
const UNSTABLE_OFFSET_COMMIT = 88;

/**
 * An offset of a partition: the first one kept, the last stable one (no transaction is open below it), or the end of the replicated records.
 */
export type WhichOffset = 'earliest' | 'stable' | 'replicated';

export interface ListOffsetsOptions extends AboutPartitions {
  /** A number stands for the first record with this timestamp or a later one, milliseconds since the epoch. Its offset is negative if there is none. */
  readonly which: WhichOffset | number;
}

export const listOffsets: Request<ListOffsetsOptions, PartitionAnswers<number>> = {
  api: 'ListOffsets',
  key: 2,
  version: 2,
  to: 'leader',
  needs: ({ topicPartitions }) => topicRights('Describe', topicPartitions),
  write: (body, { topicPartitions, which }) =>
    writePartitions(body.int32(ANY_REPLICA).uint8(which === 'replicated' ? READ_UNCOMMITTED : READ_COMMITTED), topicPartitions, () =>
      body.int64(typeof which === 'number' ? which : which === 'earliest' ? EARLIEST : LATEST),
    ),
  read: (from, { topicPartitions }) => ({
    throttleMs: from.int32(),
    ...readPartitions(from, topicPartitions, () => {
      // Skip the record's timestamp.
      from.int64();
      return Number(from.int64());
    }),
  }),
};

export interface OffsetFetchOptions extends AboutPartitions {
  readonly groupId: string;
  /** True to report where an open transaction may still commit an offset (`isPending`). */
  readonly showsPending?: boolean;
}

export interface CommittedOffset {
  /** Negative if the group has committed none. */
  readonly offset: number;
  /** True if an open transaction may still commit an offset. */
  readonly isPending: boolean;
}

export const offsetFetch: Request<OffsetFetchOptions, PartitionAnswers<CommittedOffset>> = {
  api: 'OffsetFetch',
  key: 9,
  version: 7,
  isFlexible: true,
  to: 'group coordinator',
  needs: ({ groupId, topicPartitions }) => [...rights('group', ['Describe'], [groupId]), ...topicRights('Describe', topicPartitions)],
  write: (body, { groupId, topicPartitions, showsPending = false }) =>
    writePartitions(body.string(groupId), topicPartitions).boolean(showsPending).tags(),
  read(from) {
    const throttleMs = from.int32();
    const answer = new Map<string, CommittedOffset>();
    const refusals: Refusal[] = [];
    from.array(() => {
      const topic = from.string();
      from.array(() => {
        const place: TopicPartition = { topic, partition: from.int32() };
        const offset = Number(from.int64());
        // Skip the leader's epoch and the metadata of the commit.
        from.int32();
        from.string();
        const errorCode = from.int16();
        const isPending = errorCode === UNSTABLE_OFFSET_COMMIT;
        if (errorCode !== 0 && !isPending) refusals.push({ errorCode, ...place });
        answer.set(partitionKey(place), { offset, isPending });
        from.tags();
      });
      from.tags();
    });
    refusals.push(...refusalsOf(from.int16()));
    return { throttleMs, refusals, answer };
  },
};

export interface OffsetCommitOptions {
  readonly groupId: string;
  /** `offset`: the one that the group reads next. */
  readonly topicPartitions: readonly (TopicPartition & { readonly offset: number })[];
}

/** Commits offsets outside of any generation of the group, like consumers that assign partitions themselves. */
export const offsetCommit: Request<OffsetCommitOptions, PartitionAnswers<void>> = {
  api: 'OffsetCommit',
  key: 8,
  version: 3,
  to: 'group coordinator',
  needs: ({ groupId, topicPartitions }) => [...rights('group', ['Read'], [groupId]), ...topicRights('Read', topicPartitions)],
  write: (body, { groupId, topicPartitions }) =>
    // No generation, no member, and the brokers' own retention time.
    writePartitions(body.string(groupId).int32(-1).string('').int64(-1), topicPartitions, ({ offset }) => body.int64(offset).string('')),
  read: (from, { topicPartitions }) => ({ throttleMs: from.int32(), ...readPartitions(from, topicPartitions, () => undefined) }),
};
