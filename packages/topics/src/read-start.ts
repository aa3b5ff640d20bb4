import type { ReadOptions } from './topic-log.ts';

type Start = NonNullable<ReadOptions['from']>;

/** Returns the message of the `RangeError` for a start that no partition has, or a partition that isn't a number; otherwise undefined. */
export function wrongStart(from: Start, partitions: readonly number[]): string | undefined {
  // Plain JavaScript can pass anything, such as digits as text.
  const isWrong = (one: unknown): boolean => !Number.isSafeInteger(one) || Number(one) < 0;
  const partition = partitions.findIndex((one) => typeof one !== 'number');
  if (partition >= 0) return `${String(partitions[partition])} isn't a partition to read: partitions are numbers from 0.`;
  if (from === 'earliest' || from === 'latest') return undefined;
  const starts = [from].flat();
  const start = starts.findIndex(isWrong);
  return start < 0 ? undefined : `${String(starts[start])} isn't an offset to read from.`;
}

/** Returns the offset at which a reader starts in a partition. */
export function startOf(
  from: Start,
  { partition, earliest, end }: { readonly partition: number; readonly earliest: number; readonly end: number },
): number {
  if (from === 'latest') return end;
  if (typeof from === 'number') return from;
  return (from === 'earliest' ? undefined : from[partition]) ?? earliest;
}
