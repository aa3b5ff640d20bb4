const BITS = 32;
/** Bits per stretch. The set grows by adding stretches, without copying the earlier ones. */
const STRETCH_BITS = 2 ** 18;

/** A set of positions of IDs, which are whole numbers from 0. It takes about one bit for each number up to the highest position. */
export class PositionSet {
  readonly #stretches: Uint32Array[] = [];
  #size = 0;
  #digest = 0;

  get size(): number {
    return this.#size;
  }

  /** The combined hashes of the IDs at the positions. */
  get digest(): number {
    return this.#digest;
  }

  add(position: number, hash: number): void {
    if (this.has(position)) return;
    const at = Math.floor(position / STRETCH_BITS);
    while (this.#stretches.length <= at) this.#stretches.push(new Uint32Array(STRETCH_BITS / BITS));
    const stretch = this.#stretches[at];
    if (stretch !== undefined) stretch[wordOf(position)] = (stretch[wordOf(position)] ?? 0) | bitOf(position);
    this.#size += 1;
    this.#digest ^= hash;
  }

  has(position: number): boolean {
    const word = this.#stretches[Math.floor(position / STRETCH_BITS)]?.[wordOf(position)] ?? 0;
    return (word & bitOf(position)) !== 0;
  }
}

function wordOf(position: number): number {
  return Math.floor((position % STRETCH_BITS) / BITS);
}

function bitOf(position: number): number {
  return 1 << (position % BITS);
}
