/** A set of positions, which are whole numbers from 0. It takes about one bit for each number up to the highest position. */
export interface PositionSet {
  readonly size: number;
  add(position: number): void;
  has(position: number): boolean;
}

const BITS = 32;
/** Bits per stretch. The set grows by adding stretches, without copying the earlier ones. */
const STRETCH_BITS = 2 ** 18;

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
