import type { StateReading, TopicPartition } from '@headgate/topics';
import { laneState } from './lane-state.ts';
import { OffsetRanges, type OffsetRangesSnapshot } from './offset-ranges.ts';

/** Number of offsets per note. Each note then fits into a record, however many gaps the closed dead letters leave. */
const NOTED_TOGETHER = 2_000;

/** The dead letters of a partition that were replayed or dismissed, as stored in the group's state. */
export class ClosedDeadLetters {
  /** Start of the notes' keys in the group's state. */
  readonly #place: string;
  readonly #blocks: Map<number, OffsetRanges>;
  readonly #changed = new Set<number>();

  /**
   * Reads the group's state. `end`: offset of the partition's next record. If a note is about an offset from `end` on, the notes are about
   * an earlier topic of the same name, and are ignored.
   */
  constructor(group: string, state: StateReading, { topic, partition }: TopicPartition, end: number) {
    const { prefix, under } = laneState(group, state);
    const place = `closed/${topic}/${partition}/`;
    this.#place = prefix + place;
    this.#blocks = new Map(under(place).map(({ key, value }) => [Number(key), new OffsetRanges(value as OffsetRangesSnapshot)]));
    if ([...this.#blocks.values()].some((block) => lastOf(block) >= end)) this.#blocks.clear();
  }

  /** The first offset that isn't known to be closed. */
  get next(): number {
    let number = 0;
    while ((this.#blocks.get(number)?.next ?? 0) >= (number + 1) * NOTED_TOGETHER) number += 1;
    return this.#blocks.get(number)?.next ?? number * NOTED_TOGETHER;
  }

  has(offset: number): boolean {
    return this.#blocks.get(blockOf(offset))?.has(offset) ?? false;
  }

  /** Closes the dead letter at `offset`, and the offsets from `from` up to it, which must contain no other dead letter. */
  close(offset: number, from: number): void {
    for (let number = blockOf(from); number <= blockOf(offset); number += 1) {
      const start = number * NOTED_TOGETHER;
      const block = this.#blocks.get(number) ?? new OffsetRanges({ next: start, done: [] });
      block.addRange(Math.max(from, start), Math.min(offset, start + NOTED_TOGETHER - 1));
      this.#blocks.set(number, block);
      this.#changed.add(number);
    }
  }

  /** Returns the changes of the group's state since the last call, as keys and values. Write them to make the changes durable. */
  notes(): readonly (readonly [key: string, value: string])[] {
    const numbers = [...this.#changed];
    this.#changed.clear();
    return numbers.map((number) => [this.#place + String(number), JSON.stringify(this.#blocks.get(number)?.snapshot())]);
  }
}

function blockOf(offset: number): number {
  return Math.floor(offset / NOTED_TOGETHER);
}

function lastOf(block: OffsetRanges): number {
  const { next, done } = block.snapshot();
  return done.at(-1)?.[1] ?? next - 1;
}
