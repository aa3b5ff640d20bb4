import type { TopicPartition } from '../../topic-log.ts';
import { AssignerProtocol, type Assignment, type PartitionAssigner } from '../client/kafkajs-internals.ts';
import { assignPartitions } from './assign-partitions.ts';
import { PROTOCOL_VERSION, decodeMetadata, encodeMetadata } from './member-metadata.ts';

/** Part of the wire format. Members of different releases can share a group only if their assigners have the same name. */
const NAME = 'headgate-sticky-1';

export interface StickyAssignerOptions {
  readonly agreement: string;
  /** Returns the partitions that this member owns; called at every join. */
  readonly owned: () => readonly TopicPartition[];
}

/**
 * The partition assigner of Headgate's groups. Partitions stay with their members, and members whose agreement differs from the leader's get none.
 */
export function stickyAssigner(options: StickyAssignerOptions): PartitionAssigner {
  return ({ cluster }) => ({
    name: NAME,
    version: PROTOCOL_VERSION,
    protocol: ({ topics }) => ({
      name: NAME,
      metadata: encodeMetadata(topics, { owned: options.owned(), agreement: options.agreement }),
    }),
    assign: async ({ members, topics }) => {
      const agreeing = members.flatMap(({ memberId, memberMetadata }) => {
        const terms = decodeMetadata(memberMetadata);
        return terms?.agreement === options.agreement ? [{ memberId, owned: terms.owned }] : [];
      });
      const partitions = topics.flatMap((topic) =>
        cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => ({ topic, partition: partitionId })),
      );
      const assigned = assignPartitions({ partitions, members: agreeing });
      return members.map(({ memberId }) => ({
        memberId,
        memberAssignment: AssignerProtocol.MemberAssignment.encode({
          version: PROTOCOL_VERSION,
          assignment: byTopic(assigned.get(memberId) ?? []),
          userData: Buffer.alloc(0),
        }),
      }));
    },
  });
}

function byTopic(partitions: readonly TopicPartition[]): Assignment {
  const topics: Assignment = {};
  for (const { topic, partition } of partitions) (topics[topic] ??= []).push(partition);
  return topics;
}
