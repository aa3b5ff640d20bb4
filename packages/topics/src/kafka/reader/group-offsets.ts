import type { OffsetCommit, OffsetPlace } from '../../topic-log.ts';
import { partitionKey } from '../../topic-partition.ts';
import { TopicLogError } from '../../topic-log-error.ts';
import type { Cluster } from '../client/cluster.ts';
import { isAnswer } from '../client/driver-errors.ts';
import { type CommittedOffset, offsetCommit, offsetFetch } from '../requests/offsets.ts';

/** The offsets that a group reads next, by partition, without partitions for which the group has committed none. */
export async function groupOffsets(
  cluster: Cluster,
  { group, topic, partitions }: { readonly group: string; readonly topic: string; readonly partitions: readonly number[] },
): Promise<ReadonlyMap<number, number>> {
  const committed = await committedOffsets(
    cluster,
    partitions.map((partition) => ({ group, topic, partition })),
  );
  return new Map(
    Array.from(committed, ([{ partition }, of]) => [partition, of?.offset ?? -1] as const).filter(([, offset]) => offset >= 0),
  );
}

/** The committed offset in each of these places, by place. `showsPending`: as in the request. */
export async function committedOffsets<Place extends OffsetPlace>(
  cluster: Cluster,
  places: readonly Place[],
  showsPending = false,
): Promise<ReadonlyMap<Place, CommittedOffset | undefined>> {
  const all = new Map<Place, CommittedOffset | undefined>();
  for (const [groupId, topicPartitions] of Map.groupBy(places, ({ group }) => group)) {
    const committed = await cluster.ask(offsetFetch, { groupId, topicPartitions, showsPending });
    for (const place of topicPartitions) all.set(place, committed.get(partitionKey(place)));
  }
  return all;
}

/**
 * Commits the offset that a group reads next, unless the group has committed a later one. Throws a `TopicLogError` (HEADGATE_GROUP_IN_USE) if the
 * group has active members, or its last ones are just leaving.
 */
export async function commitGroupOffset(cluster: Cluster, { group, topic, partition, nextOffset }: OffsetCommit): Promise<void> {
  const committed = (await groupOffsets(cluster, { group, topic, partitions: [partition] })).get(partition);
  if (committed !== undefined && committed >= nextOffset) return;
  try {
    await cluster.ask(offsetCommit, { groupId: group, topicPartitions: [{ topic, partition, offset: nextOffset }] });
  } catch (error) {
    // Brokers accept commits for a group with members only from these.
    if (!isAnswer(error, 'UNKNOWN_MEMBER_ID', 'ILLEGAL_GENERATION', 'REBALANCE_IN_PROGRESS')) throw error;
    const message =
      `Offsets of group "${group}" can't be committed: the group has active members, and only they can commit. ` +
      'Read with another group, or stop its members first.';
    throw new TopicLogError({ code: 'HEADGATE_GROUP_IN_USE', message }, { cause: error });
  }
}
