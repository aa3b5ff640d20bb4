import { partitionKey } from '../../topic-partition.ts';

/**
 * Per partition the last range of offsets that was found to hold no record, such as the marker at the end of a transaction: a reader that looks
 * for news again and again need not fetch it each time.
 */
export class EmptyRanges {
  readonly #ranges = new Map<string, { readonly from: number; readonly to: number }>();

  /** Nothing is to be read from `from` to before `to`. */
  add(topic: string, partition: number, from: number, to: number): void {
    if (to > from) this.#ranges.set(partitionKey({ topic, partition }), { from, to });
  }

  /** `offset`, or the end of the range it lies in. */
  behind(topic: string, partition: number, offset: number): number {
    const range = this.#ranges.get(partitionKey({ topic, partition }));
    return range !== undefined && range.from <= offset && offset < range.to ? range.to : offset;
  }
}
