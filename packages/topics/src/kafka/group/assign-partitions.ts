/** One partition of one topic. */
export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** A member and the partitions it works already. */
export interface Claimant {
  readonly memberId: string;
  readonly claims: readonly TopicPartition[];
}

export interface AssignPartitionsOptions {
  /** Every partition of all topics, each once. */
  readonly partitions: readonly TopicPartition[];
  /** At least one, each id once. */
  readonly members: readonly Claimant[];
}

/**
 * Gives every partition to one member. It stays with its claimant, who keeps up to ceil(partitions / members) over all topics; the others
 * go one by one to the member that has fewest. The order of what comes in plays no part.
 */
export function assignPartitions(options: AssignPartitionsOptions): ReadonlyMap<string, readonly TopicPartition[]> {
  const partitions = [...options.partitions].sort(inOrder);
  const members = [...options.members].sort((one, other) => compare(one.memberId, other.memberId));
  const share = Math.ceil(partitions.length / members.length);
  const assigned = new Map<string, TopicPartition[]>(members.map(({ memberId }) => [memberId, []]));
  const claimants = claimantsOf(members);
  const left = partitions.filter((partition) => {
    const kept = claimants
      .get(partitionKey(partition))
      ?.map((memberId) => assigned.get(memberId) ?? [])
      .find((list) => list.length < share);
    kept?.push(partition);
    return kept === undefined;
  });
  for (const partition of left) poorest(assigned)?.push(partition);
  for (const list of assigned.values()) list.sort(inOrder);
  return assigned;
}

/** Different for different partitions; a topic's name has no slash. */
export function partitionKey({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`;
}

function claimantsOf(members: readonly Claimant[]): ReadonlyMap<string, readonly string[]> {
  const claimants = new Map<string, string[]>();
  for (const { memberId, claims } of members) {
    for (const key of new Set(claims.map(partitionKey))) claimants.set(key, [...(claimants.get(key) ?? []), memberId]);
  }
  return claimants;
}

function poorest(assigned: ReadonlyMap<string, TopicPartition[]>): TopicPartition[] | undefined {
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
