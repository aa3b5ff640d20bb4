import { placeOf } from '../../topic-partition.ts';

/**
 * Per partition the last stretch that was found to hold no record, such as the mark at the end of a transaction: whoever looks for news again
 * and again need not fetch it each time.
 */
export class BarrenStretches {
  readonly #stretches = new Map<string, { readonly from: number; readonly to: number }>();

  /** Nothing is to be read from `from` to before `to`. */
  add(topic: string, partition: number, from: number, to: number): void {
    if (to > from) this.#stretches.set(placeOf(topic, partition), { from, to });
  }

  /** `offset`, or the end of the stretch it lies in. */
  behind(topic: string, partition: number, offset: number): number {
    const stretch = this.#stretches.get(placeOf(topic, partition));
    return stretch !== undefined && stretch.from <= offset && offset < stretch.to ? stretch.to : offset;
  }
}
