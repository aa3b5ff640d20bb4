/** Whole numbers, stored as ranges: the finished part of a partition or a list, most of which is contiguous. */
export interface OffsetRanges {
  /** Every number below it has been added. */
  readonly next: number;
  has(offset: number): boolean;
  add(offset: number): void;
  /** Adds all from the first to the last; nothing if the last is below the first. */
  addRange(from: number, to: number): void;
  /** The argument from which `offsetRanges` restores the same ranges. */
  snapshot(): OffsetRangesSnapshot;
}

export interface OffsetRangesSnapshot {
  readonly next: number;
  /** First and last of each piece above `next`, ascending. */
  readonly done: readonly (readonly [from: number, to: number])[];
}

interface Piece {
  readonly from: number;
  readonly to: number;
}

/** Recreates the set from its snapshot; without one, an empty set. */
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
