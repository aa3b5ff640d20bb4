/** A set of positions that takes one bit for each position. */
export interface PositionSet {
  readonly size: number;
  add(position: number): void;
  has(position: number): boolean;
}

const BITS = 32;
/** Bits per stretch. The set grows by adding stretches, without copying the others. */
const STRETCH_BITS = 2 ** 18;

/** Creates an empty set. */
export function positionSet(): PositionSet {
  const stretches: Uint32Array[] = [];
  let size = 0;
  const stretchOf = (position: number): number => Math.floor(position / STRETCH_BITS);
  const wordOf = (position: number): number => Math.floor((position % STRETCH_BITS) / BITS);
  const bitOf = (position: number): number => 1 << (position % BITS);
  const has = (position: number): boolean => ((stretches[stretchOf(position)]?.[wordOf(position)] ?? 0) & bitOf(position)) !== 0;
  return {
    get size() {
      return size;
    },
    has,
    add(position) {
      if (has(position)) return;
      while (stretches.length <= stretchOf(position)) stretches.push(new Uint32Array(STRETCH_BITS / BITS));
      const stretch = stretches[stretchOf(position)];
      if (stretch !== undefined) stretch[wordOf(position)] = (stretch[wordOf(position)] ?? 0) | bitOf(position);
      size += 1;
    },
  };
}
