/**
 * A set of 64-bit ids, each with a mark of 1 to 255: at most 16 bytes an id, once there are some thousands.
 *
 * 256 tables with open addressing, each grown by a quarter at a time: only one is ever copied at once, so that growing needs no more room
 * than the whole set. An id takes 9 bytes, and no table of some size is less than 64 % full.
 */
export interface MarkedIdSet {
  /** How many ids are in the set. */
  readonly size: number;
  /** Gives an id a mark in place of the one it had, adding it where it is new; returns the mark it had, or 0. */
  mark(id: bigint, mark: number): number;
  /** Gives every id with that mark, in an order of its own. */
  withMark(mark: number): Generator<bigint>;
  /** How many bytes the tables take. */
  readonly bytes: number;
}

const TABLES = 256;
const FIRST_SLOTS = 16;
const FULL = 0.8;
const GROWTH = 1.25;

/** Makes an empty set. */
export function markedIdSet(): MarkedIdSet {
  const tables = Array.from({ length: TABLES }, () => new Table());
  // One scratch cell: a bigint is written once and read as two halves, which hash and compare without further bigints.
  const scratch = new BigUint64Array(1);
  const halves = new Uint32Array(scratch.buffer);
  let size = 0;
  return {
    get size() {
      return size;
    },
    get bytes() {
      return tables.reduce((sum, table) => sum + table.bytes, 0);
    },
    mark(id, mark) {
      scratch[0] = id;
      const low = halves[0] ?? 0;
      const high = halves[1] ?? 0;
      const hash = mixed(low, high);
      const table = tables[hash >>> 24];
      const before = table?.mark(low, high, hash, mark) ?? 0;
      size += before === 0 ? 1 : 0;
      return before;
    },
    *withMark(mark) {
      for (const table of tables) {
        yield* table.withMark(mark);
      }
    },
  };
}

class Table {
  #halves = new Uint32Array(FIRST_SLOTS * 2);
  /** 0 where the slot is free. */
  #marks = new Uint8Array(FIRST_SLOTS);
  #used = 0;

  get bytes(): number {
    return this.#halves.byteLength + this.#marks.byteLength;
  }

  mark(low: number, high: number, hash: number, mark: number): number {
    if (this.#used >= this.#marks.length * FULL) {
      this.#grow();
    }
    const slot = this.#slot(low, high, hash);
    const before = this.#marks[slot] ?? 0;
    this.#put(slot, low, high, mark);
    this.#used += before === 0 ? 1 : 0;
    return before;
  }

  *withMark(mark: number): Generator<bigint> {
    for (let slot = 0; slot < this.#marks.length; slot += 1) {
      if (this.#marks[slot] === mark) {
        yield (BigInt(this.#halves[slot * 2 + 1] ?? 0) << 32n) | BigInt(this.#halves[slot * 2] ?? 0);
      }
    }
  }

  /** The slot that holds the id, or the free one where it belongs. There is always a free one. */
  #slot(low: number, high: number, hash: number): number {
    const slots = this.#marks.length;
    // The top 8 bits chose the table; the 24 below them are spread over the slots, so that growth keeps runs short.
    let slot = Math.floor(((hash & 0xff_ffff) / 0x100_0000) * slots);
    while (this.#marks[slot] !== 0 && (this.#halves[slot * 2] !== low || this.#halves[slot * 2 + 1] !== high)) {
      slot = slot + 1 === slots ? 0 : slot + 1;
    }
    return slot;
  }

  #put(slot: number, low: number, high: number, mark: number): void {
    this.#halves[slot * 2] = low;
    this.#halves[slot * 2 + 1] = high;
    this.#marks[slot] = mark;
  }

  #grow(): void {
    const halves = this.#halves;
    const marks = this.#marks;
    const slots = Math.ceil(marks.length * GROWTH);
    this.#halves = new Uint32Array(slots * 2);
    this.#marks = new Uint8Array(slots);
    for (const [slot, mark] of marks.entries()) {
      if (mark !== 0) {
        const low = halves[slot * 2] ?? 0;
        const high = halves[slot * 2 + 1] ?? 0;
        this.#put(this.#slot(low, high, mixed(low, high)), low, high, mark);
      }
    }
  }
}

/** The finisher of MurmurHash3 over both halves: ids made in sequence, or with a time in their upper bits, fall apart. */
function mixed(low: number, high: number): number {
  let hash = low ^ Math.imul(high, 0x9e37_79b1);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
