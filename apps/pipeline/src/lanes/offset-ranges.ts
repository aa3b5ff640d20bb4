/** Whole numbers, kept as ranges: what is finished of a partition or of a list, of which most is in one piece. */
export interface OffsetRanges {
  /** Every number below it has been added. */
  readonly next: number;
  has(offset: number): boolean;
  add(offset: number): void;
  /** What `offsetRanges` takes to make the same again. */
  snapshot(): OffsetRangesSnapshot;
}

export interface OffsetRangesSnapshot {
  readonly next: number;
  /** First and last of each piece above `next`, ascending. */
  readonly done: readonly (readonly [from: number, to: number])[];
}

/** Makes the set again that gave the snapshot; an empty one without. */
export function offsetRanges({ next: start, done }: OffsetRangesSnapshot = { next: 0, done: [] }): OffsetRanges {
  let next = start;
  let pieces = done.map(([from, to]) => ({ from, to }));

  const has = (offset: number): boolean => offset < next || pieces.some(({ from, to }) => from <= offset && offset <= to);

  return {
    get next() {
      return next;
    },
    has,
    add(offset) {
      if (has(offset)) return;
      const before = pieces.find(({ to }) => to === offset - 1);
      const after = pieces.find(({ from }) => from === offset + 1);
      const joined = { from: before?.from ?? offset, to: after?.to ?? offset };
      pieces = [...pieces.filter((piece) => piece !== before && piece !== after), joined].sort((a, b) => a.from - b.from);
      const [first] = pieces;
      if (first?.from !== next) return;
      next = first.to + 1;
      pieces.shift();
    },
    snapshot: () => ({ next, done: pieces.map(({ from, to }) => [from, to]) }),
  };
}
