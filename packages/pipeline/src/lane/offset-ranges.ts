export interface OffsetRangesSnapshot {
  readonly next: number;
  /** First and last number of each range above `next`, ascending. */
  readonly done: readonly (readonly [from: number, to: number])[];
}

interface Piece {
  readonly from: number;
  readonly to: number;
}

/** A set of whole numbers, such as the finished offsets of a partition, stored as ranges. */
export class OffsetRanges {
  #next: number;
  #pieces: readonly Piece[];

  /** Without a snapshot, the set is empty. */
  constructor({ next, done }: OffsetRangesSnapshot = { next: 0, done: [] }) {
    this.#next = next;
    this.#pieces = done.map(([from, to]) => ({ from, to }));
  }

  /** The smallest number that isn't in the set. */
  get next(): number {
    return this.#next;
  }

  has(offset: number): boolean {
    return offset < this.#next || this.#pieces.some(({ from, to }) => from <= offset && offset <= to);
  }

  add(offset: number): void {
    this.addRange(offset, offset);
  }

  /** Adds all numbers from `from` to `to`, both included. Adds none if `to` is below `from`. */
  addRange(from: number, to: number): void {
    const start = Math.max(from, this.#next);
    if (to < start) return;
    const touches = (piece: Piece): boolean => piece.from <= to + 1 && piece.to >= start - 1;
    const touching = this.#pieces.filter(touches);
    const apart = this.#pieces.filter((piece) => !touches(piece));
    const joined = {
      from: Math.min(start, ...touching.map((piece) => piece.from)),
      to: Math.max(to, ...touching.map((piece) => piece.to)),
    };
    const [first = joined, ...rest] = [...apart, joined].sort((a, b) => a.from - b.from);
    const isNext = first.from === this.#next;
    this.#pieces = isNext ? rest : [first, ...rest];
    if (isNext) this.#next = first.to + 1;
  }

  /** Returns the argument from which the constructor creates the same set. */
  snapshot(): OffsetRangesSnapshot {
    return { next: this.#next, done: this.#pieces.map(({ from, to }) => [from, to]) };
  }
}
