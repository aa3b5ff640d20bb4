import { setTimeout as sleep } from 'node:timers/promises';
import { TopicLogError } from '../../topic-log-error.ts';
import type { Cluster } from '../client/cluster.ts';
import { type GroupDescription, describeGroup } from '../requests/groups.ts';
import { decodeAssignment, decodeMetadata } from './member-metadata.ts';

const POLL_MS = 200;

/**
 * Resolves when no member with partitions has another agreement. Throws a `TopicLogError` (HEADGATE_GROUP_DISAGREEMENT) if such a member is
 * still there after a session timeout: the group lists members that have died for so long.
 */
export async function waitForAgreement(
  log: Cluster,
  group: string,
  agreement: string,
  sessionTimeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + sessionTimeoutMs + 1_000;
  while (disagrees(await log.ask(describeGroup, { groupId: group }), agreement)) {
    if (performance.now() > deadline) throw disagreementError(group);
    await sleep(POLL_MS, undefined, { signal });
  }
}

/**
 * True if a member with partitions has another agreement. Members without partitions don't count, because the leader gives none to members whose
 * agreement differs from its own. A group in a rebalance shows no assignments, so the result is false.
 */
function disagrees(group: GroupDescription, agreement: string): boolean {
  return group.members.some(({ assignment, metadata }) => {
    const terms = decodeAssignment(assignment).partitions.length > 0 ? decodeMetadata(metadata) : undefined;
    return terms !== undefined && terms.agreement !== agreement;
  });
}

export function disagreementError(group: string): TopicLogError {
  const message =
    `Group "${group}" has processes with other settings: lanes, pipelines, credential names, limits or topics. ` +
    'All processes of a group must share these settings. Stop the others, or start this one with their configuration.';
  return new TopicLogError({ code: 'HEADGATE_GROUP_DISAGREEMENT', message });
}
