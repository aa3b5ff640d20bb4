/** The reason why a compacted topic with `found` partitions can't have another number of them. */
export function fixedPartitionsReason(found: number, wanted: number): string {
  return (
    `has ${found === 1 ? 'one partition' : `${found} partitions`}, but ${wanted} are configured. In a compacted topic, that number can't change: ` +
    `it would keep two newest records of a key. Configure ${found}, or use another topic.`
  );
}
