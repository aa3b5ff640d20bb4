import type { GroupMembership, GroupMembershipOptions } from './group-membership.ts';
import { Member } from './member.ts';

/**
 * Joins the group and stays in it, however often its brokers go and come back. It reads no record and commits no offset. The group only says
 * who should work a partition: for a moment two members may both believe it is theirs.
 */
export function joinGroup(options: GroupMembershipOptions): GroupMembership {
  return new Member(options);
}
