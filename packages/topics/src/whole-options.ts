import type { NewTopicSpec } from './topic-log.ts';

/**
 * Throws a `RangeError` unless each option is a whole number from `least` to `most`, because plain JavaScript isn't type-checked. `name`: the
 * function with these options.
 */
export function assertWhole(
  name: string,
  given: Readonly<Record<string, unknown>>,
  least: number,
  most: number = Number.MAX_SAFE_INTEGER,
): void {
  for (const [option, value] of Object.entries(given)) {
    if (typeof value === 'number' && value >= least && value <= most && (Number.isSafeInteger(value) || value === Infinity)) continue;
    const shown =
      typeof value === 'number' ? value : value === null || value === undefined ? String(value) : `a value of type ${typeof value}`;
    throw new RangeError(`${name}: ${option} must be a whole number from ${least}${most < Infinity ? ` to ${most}` : ''}, got ${shown}`);
  }
}

/** Throws a `RangeError` for an invalid number in the settings of a topic. */
export function assertTopics(topics: readonly NewTopicSpec[]): void {
  for (const { name, partitions, minRecordBytes = 0, usualRecordBytes = 0 } of topics) {
    assertWhole(`topic "${name}"`, { partitions }, 1, MAX_INT32);
    assertWhole(`topic "${name}"`, { minRecordBytes, usualRecordBytes }, 0);
  }
}

/** Maximum of a signed integer of 32 bits, which timers, SQLite and Kafka take. */
export const MAX_INT32: number = 2 ** 31 - 1;
