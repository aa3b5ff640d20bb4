/** An element of a heap. `place` is its index, or -1 while it isn't in a heap. */
export interface Placed {
  place: number;
}

/** A binary heap whose entries can be moved and removed anywhere in O(log n). The smallest comes first. */
export class IndexedHeap<Entry extends Placed> {
  readonly #entries: Entry[] = [];
  readonly #compare: (a: Entry, b: Entry) => number;

  constructor(compare: (a: Entry, b: Entry) => number) {
    this.#compare = compare;
  }

  peek(): Entry | undefined {
    return this.#entries[0];
  }

  push(entry: Entry): void {
    entry.place = this.#entries.length;
    this.#entries.push(entry);
    this.#up(entry);
  }

  /** Moves an entry whose order has changed. */
  moved(entry: Entry): void {
    this.#up(entry);
    this.#down(entry);
  }

  remove(entry: Entry): void {
    const { place } = entry;
    if (this.#entries[place] !== entry) return;
    const last = this.#entries.pop();
    entry.place = -1;
    if (last === undefined || last === entry) return;
    this.#set(last, place);
    this.moved(last);
  }

  #up(entry: Entry): void {
    while (entry.place > 0) {
      const parent = this.#entries[(entry.place - 1) >> 1];
      if (parent === undefined || this.#compare(entry, parent) >= 0) return;
      this.#swap(entry, parent);
    }
  }

  #down(entry: Entry): void {
    for (;;) {
      const left = this.#entries[2 * entry.place + 1];
      const right = this.#entries[2 * entry.place + 2];
      const least = left !== undefined && right !== undefined && this.#compare(right, left) < 0 ? right : left;
      if (least === undefined || this.#compare(least, entry) >= 0) return;
      this.#swap(entry, least);
    }
  }

  #swap(a: Entry, b: Entry): void {
    const place = a.place;
    this.#set(a, b.place);
    this.#set(b, place);
  }

  #set(entry: Entry, place: number): void {
    this.#entries[place] = entry;
    entry.place = place;
  }
}
