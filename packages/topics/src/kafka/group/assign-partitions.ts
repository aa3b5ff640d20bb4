import type { TopicPartition } from '../../topic-log.ts';
import { partitionKey } from '../../topic-partition.ts';

export interface Owner {
  readonly memberId: string;
  readonly owned: readonly TopicPartition[];
}

/**
 * Assigns every partition to one member. A partition stays with its owner, but no member keeps more than ceil(partitions / members) over all
 * topics. The remaining partitions go one by one to the member that has the fewest. The order of the input doesn't matter. `all`: each partition once;
 * `owners`: at least one member, with distinct IDs.
 */
export function assignPartitions(all: readonly TopicPartition[], owners: readonly Owner[]): ReadonlyMap<string, readonly TopicPartition[]> {
  const partitions = all.toSorted(inOrder);
  const members = owners.toSorted((one, other) => compare(one.memberId, other.memberId));
  const share = Math.ceil(partitions.length / members.length);
  const assigned = new Map<string, TopicPartition[]>(members.map(({ memberId }) => [memberId, []]));
  const claims = ownersOf(members);
  const left = partitions.filter((partition) => {
    const kept = claims
      .get(partitionKey(partition))
      ?.map((memberId) => assigned.get(memberId) ?? [])
      .find((list) => list.length < share);
    kept?.push(partition);
    return kept === undefined;
  });
  for (const partition of left) leastLoaded(assigned)?.push(partition);
  for (const list of assigned.values()) list.sort(inOrder);
  return assigned;
}

function ownersOf(members: readonly Owner[]): ReadonlyMap<string, readonly string[]> {
  const owners = new Map<string, string[]>();
  for (const { memberId, owned } of members) {
    for (const key of new Set(owned.map(partitionKey))) owners.set(key, [...(owners.get(key) ?? []), memberId]);
  }
  return owners;
}

function leastLoaded(assigned: ReadonlyMap<string, TopicPartition[]>): TopicPartition[] | undefined {
  let found: TopicPartition[] | undefined;
  for (const list of assigned.values()) if (found === undefined || list.length < found.length) found = list;
  return found;
}

function inOrder(one: TopicPartition, other: TopicPartition): number {
  return compare(one.topic, other.topic) || one.partition - other.partition;
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
