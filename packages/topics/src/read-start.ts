import type { ReadOptions } from './topic-log.ts';

type Start = NonNullable<ReadOptions['from']>;

/** Returns the message of the `RangeError` for a start that no partition has; undefined for any other. */
export function wrongStart(from: Start): string | undefined {
  const wrong = [from].flat().find((start) => typeof start === 'number' && (!Number.isSafeInteger(start) || start < 0));
  return wrong === undefined ? undefined : `${wrong} isn't an offset to read from.`;
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
