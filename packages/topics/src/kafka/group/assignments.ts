import type { TopicPartition } from '../../topic-log.ts';
import type { DescribedMember, JoinedGroup } from '../requests/groups.ts';
import { assignPartitions } from './assign-partitions.ts';
import { decodeMetadata, encodeAssignment } from './member-metadata.ts';

/** Part of the wire format. Members of different releases can share a group only if their protocols have the same name. */
export const PROTOCOL = 'headgate-sticky-1';

/**
 * What the leader of a group assigns to its members. Partitions stay with their members, and members whose agreement differs from the leader's get
 * none.
 */
export function assignments(
  members: JoinedGroup['members'],
  partitions: readonly TopicPartition[],
  agreement: string,
): readonly Omit<DescribedMember, 'metadata'>[] {
  const agreeing = members.flatMap(({ memberId, metadata }) => {
    const terms = decodeMetadata(metadata);
    return terms?.agreement === agreement ? [{ memberId, owned: terms.owned }] : [];
  });
  const assigned = assignPartitions(partitions, agreeing);
  return members.map(({ memberId }) => {
    return { memberId, assignment: encodeAssignment({ partitions: assigned.get(memberId) ?? [], agreement }) };
  });
}
