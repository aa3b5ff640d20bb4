/** A set of whole numbers, such as the finished offsets of a partition, stored as ranges. */
export interface OffsetRanges {
  /** The smallest number that isn't in the set. */
  readonly next: number;
  has(offset: number): boolean;
  add(offset: number): void;
  /** Adds all numbers from `from` to `to`, both included. Adds none if `to` is below `from`. */
  addRange(from: number, to: number): void;
  /** Returns the argument from which `offsetRanges` creates the same set. */
  snapshot(): OffsetRangesSnapshot;
}

export interface OffsetRangesSnapshot {
  readonly next: number;
  /** First and last number of each range above `next`, ascending. */
  readonly done: readonly (readonly [from: number, to: number])[];
}

interface Piece {
  readonly from: number;
  readonly to: number;
}

/** Creates a set from a snapshot. Without one, the set is empty. */
export function offsetRanges({ next: start, done }: OffsetRangesSnapshot = { next: 0, done: [] }): OffsetRanges {
  let next = start;
  let pieces: Piece[] = done.map(([from, to]) => ({ from, to }));

  const has = (offset: number): boolean => offset < next || pieces.some(({ from, to }) => from <= offset && offset <= to);

  const addRange = (from: number, to: number): void => {
    const start = Math.max(from, next);
    if (to < start) return;
    const touches = (piece: Piece): boolean => piece.from <= to + 1 && piece.to >= start - 1;
    const touching = pieces.filter(touches);
    const apart = pieces.filter((piece) => !touches(piece));
    const joined = {
      from: Math.min(start, ...touching.map((piece) => piece.from)),
      to: Math.max(to, ...touching.map((piece) => piece.to)),
    };
    pieces = [...apart, joined].sort((a, b) => a.from - b.from);
    const [first] = pieces;
    if (first?.from !== next) return;
    next = first.to + 1;
    pieces.shift();
  };

  return {
    get next() {
      return next;
    },
    has,
    add(offset) {
      addRange(offset, offset);
    },
    addRange,
    snapshot: () => ({ next, done: pieces.map(({ from, to }) => [from, to]) }),
  };
}
