import type { StateReading, TopicPartition } from '@headgate/topics';
import { laneState } from './lane-state.ts';
import { type OffsetRanges, type OffsetRangesSnapshot, offsetRanges } from './offset-ranges.ts';

/** Number of offsets per note. Each note then fits into a record, however many gaps the closed dead letters leave. */
const NOTED_TOGETHER = 2_000;

/** The dead letters of a partition that were replayed or dismissed, as stored in the group's state. */
export interface ClosedDeadLetters {
  /** The first offset that isn't known to be closed. */
  readonly next: number;
  has(offset: number): boolean;
  /** Closes the dead letter at `offset`, and the offsets from `from` up to it, which must contain no other dead letter. */
  close(offset: number, from: number): void;
  /** Returns the changes of the group's state since the last call, as keys and values. Write them to make the changes durable. */
  notes(): readonly (readonly [key: string, value: string])[];
}

/**
 * Reads the closed dead letters of a partition from the group's state. `end`: offset of the partition's next record. If a note is about an
 * offset from `end` on, the notes are about an earlier topic of the same name, and are ignored.
 */
export function closedDeadLetters(
  group: string,
  state: StateReading,
  { topic, partition }: TopicPartition,
  end: number,
): ClosedDeadLetters {
  const { prefix, under } = laneState(group, state);
  const place = `closed/${topic}/${partition}/`;
  const blocks = new Map<number, OffsetRanges>();
  for (const { key, value } of under(place)) blocks.set(Number(key), offsetRanges(value as OffsetRangesSnapshot));
  const isOfAnotherTopic = [...blocks.values()].some((block) => lastOf(block) >= end);
  if (isOfAnotherTopic) blocks.clear();
  const changed = new Set<number>();
  const closeIn = (number: number, from: number, to: number): void => {
    const block = blocks.get(number) ?? offsetRanges({ next: number * NOTED_TOGETHER, done: [] });
    block.addRange(from, to);
    blocks.set(number, block);
    changed.add(number);
  };
  return {
    get next() {
      let number = 0;
      while ((blocks.get(number)?.next ?? 0) >= (number + 1) * NOTED_TOGETHER) number += 1;
      return blocks.get(number)?.next ?? number * NOTED_TOGETHER;
    },
    has: (offset) => blocks.get(blockOf(offset))?.has(offset) ?? false,
    close(offset, from) {
      for (let number = blockOf(from); number <= blockOf(offset); number += 1)
        closeIn(number, Math.max(from, number * NOTED_TOGETHER), Math.min(offset, (number + 1) * NOTED_TOGETHER - 1));
    },
    notes() {
      const numbers = [...changed];
      changed.clear();
      return numbers.map((number) => [`${prefix}${place}${number}`, JSON.stringify(blocks.get(number)?.snapshot())]);
    },
  };
}

function blockOf(offset: number): number {
  return Math.floor(offset / NOTED_TOGETHER);
}

function lastOf(block: OffsetRanges): number {
  const { next, done } = block.snapshot();
  return done.at(-1)?.[1] ?? next - 1;
}
