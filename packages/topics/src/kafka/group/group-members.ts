import type { Admin } from '../client/kafkajs-internals.ts';

export interface GroupMembersOptions {
  /** Connected. */
  readonly admin: Admin;
  readonly group: string;
  /** Default 1000. */
  readonly timeoutMs?: number;
}

/**
 * The ids of the group's living members, without those that have left or were silent for a session. Undefined when the group doesn't answer
 * in time.
 */
export async function groupMembers(options: GroupMembersOptions): Promise<ReadonlySet<string> | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), options.timeoutMs ?? 1_000);
  try {
    return await Promise.race([described(options), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function described({ admin, group }: GroupMembersOptions): Promise<ReadonlySet<string> | undefined> {
  try {
    const { groups } = await admin.describeGroups([group]);
    const found = groups.find(({ groupId }) => groupId === group);
    return found && new Set(found.members.map(({ memberId }) => memberId));
  } catch {
    return undefined;
  }
}
