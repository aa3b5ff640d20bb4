/** A set of positions of IDs, which are whole numbers from 0. It takes about one bit for each number up to the highest position. */
export interface PositionSet {
  readonly size: number;
  /** The combined hashes of the IDs at the positions. */
  readonly digest: number;
  add(position: number, hash: number): void;
  has(position: number): boolean;
}

const BITS = 32;
/** Bits per stretch. The set grows by adding stretches, without copying the earlier ones. */
const STRETCH_BITS = 2 ** 18;

export function positionSet(): PositionSet {
  const stretches: Uint32Array[] = [];
  let [size, digest] = [0, 0];
  const stretchOf = (position: number): number => Math.floor(position / STRETCH_BITS);
  const wordOf = (position: number): number => Math.floor((position % STRETCH_BITS) / BITS);
  const bitOf = (position: number): number => 1 << (position % BITS);
  const has = (position: number): boolean => ((stretches[stretchOf(position)]?.[wordOf(position)] ?? 0) & bitOf(position)) !== 0;
  return {
    get size() {
      return size;
    },
    get digest() {
      return digest;
    },
    has,
    add(position, hash) {
      if (has(position)) return;
      while (stretches.length <= stretchOf(position)) stretches.push(new Uint32Array(STRETCH_BITS / BITS));
      const stretch = stretches[stretchOf(position)];
      if (stretch !== undefined) stretch[wordOf(position)] = (stretch[wordOf(position)] ?? 0) | bitOf(position);
      size += 1;
      digest ^= hash;
    },
  };
}
