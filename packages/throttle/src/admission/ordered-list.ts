/** A chunk with more entries than this is split in two. */
const CHUNK = 512;

/** A sorted list in chunks, so that adding or removing an entry shifts few others. No two entries may compare as equal. */
export class OrderedList<Entry> implements Iterable<Entry> {
  readonly #compare: (a: Entry, b: Entry) => number;
  /** Chunks in order; none of them is empty. */
  readonly #chunks: Entry[][] = [];

  constructor(compare: (a: Entry, b: Entry) => number) {
    this.#compare = compare;
  }

  get first(): Entry | undefined {
    return this.#chunks[0]?.[0];
  }

  /** Returns the first entry that comes after `entry`, which itself needn't be in the list. */
  after(entry: Entry): Entry | undefined {
    const chunkAt = this.#chunkOf(entry);
    const chunk = this.#chunks[chunkAt];
    if (chunk === undefined) return undefined;
    const at = this.#placeIn(chunk, entry);
    const found = chunk[at];
    if (found !== undefined && this.#compare(found, entry) > 0) return found;
    return chunk[at + 1] ?? this.#chunks[chunkAt + 1]?.[0];
  }

  add(entry: Entry): void {
    const at = Math.min(this.#chunkOf(entry), Math.max(0, this.#chunks.length - 1));
    const chunk = this.#chunks[at];
    if (chunk === undefined) {
      this.#chunks.push([entry]);
      return;
    }
    chunk.splice(this.#placeIn(chunk, entry), 0, entry);
    if (chunk.length > CHUNK) this.#chunks.splice(at + 1, 0, chunk.splice(CHUNK / 2));
  }

  /** Removes an entry. Returns false if it isn't in the list. */
  delete(entry: Entry): boolean {
    const chunkAt = this.#chunkOf(entry);
    const chunk = this.#chunks[chunkAt];
    if (chunk === undefined) return false;
    const at = this.#placeIn(chunk, entry);
    if (chunk[at] !== entry) return false;
    chunk.splice(at, 1);
    if (chunk.length === 0) this.#chunks.splice(chunkAt, 1);
    return true;
  }

  /** Iterates in order. The list must not change during the iteration. */
  *[Symbol.iterator](): Iterator<Entry> {
    for (const chunk of this.#chunks) yield* chunk;
  }

  /** Returns the index of the first chunk that ends with this entry or a later one; the number of chunks if there is none. */
  #chunkOf(entry: Entry): number {
    return firstOf(this.#chunks.length, (i) => {
      const last = this.#chunks[i]?.at(-1);
      return last !== undefined && this.#compare(last, entry) >= 0;
    });
  }

  /** Returns the index in a chunk at which the entry is, or would be. */
  #placeIn(chunk: readonly Entry[], entry: Entry): number {
    return firstOf(chunk.length, (i) => {
      const other = chunk[i];
      return other !== undefined && this.#compare(other, entry) >= 0;
    });
  }
}

/**
 * Returns the first number below `count` for which `isSo` is true, or `count` if there is none. `isSo` must be true for all later numbers,
 * too.
 */
function firstOf(count: number, isSo: (i: number) => boolean): number {
  let [from, to] = [0, count];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (isSo(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}
