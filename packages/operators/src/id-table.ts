import { invalidId } from './operator-error.ts';

export const HASHES: number = 2 ** 32;

/**
 * Words of a slot: the two halves of an ID, and a mark. The mark is 0 if the slot is free, `AFTER` if the later crawl has the ID, and
 * otherwise the ID's position in the earlier crawl plus 1.
 */
const WORDS = 3;
const SLOT_BYTES = WORDS * Uint32Array.BYTES_PER_ELEMENT;
const AFTER = 0xffff_ffff;
/** Share of used slots at which the table is full. In a fuller table, the search for a free slot would be slow. */
const FULL = 0.8;
/** Number of slots in a new table, unless `maxBytes` allows fewer. The table grows when it is full. */
const FIRST_SLOTS = 2_048;
/** Factor by which the table grows, up to `maxBytes`. A large factor means few copies. */
const GROWTH = 64;
/** Share of the hashes that stay in the part when the table is full and can't grow. The others move to a later part. */
const KEPT = 0.75;

/**
 * Compares the IDs of two crawls in limited memory. If the IDs don't all fit, the table splits them into parts by their hash, and holds one
 * part at a time. Each part takes one reading of the crawls.
 */
export class IdTable {
  readonly #maxSlots: number;
  readonly #factor: number;
  readonly #halves = { low: 0, high: 0 };
  #slots: number;
  #table: Uint32Array;
  #start = 0;
  #end = HASHES;
  #used = 0;

  /**
   * `maxBytes`: maximum size of the table; an ID takes 15 bytes. `random`: returns a number from 0 to below 1, which varies the hashes, so that
   * a service can't predict which IDs collide.
   */
  constructor(maxBytes: number, random: () => number) {
    this.#maxSlots = Math.floor(maxBytes / SLOT_BYTES);
    this.#slots = Math.min(FIRST_SLOTS, this.#maxSlots);
    this.#table = new Uint32Array(this.#slots * WORDS);
    this.#factor = Math.floor(random() * 2 ** 31) * 2 + 1;
  }

  /**
   * End of the current part. A part has the IDs with hashes from `start` of `begin` to below `end`. A full table that can't grow lowers
   * `end`.
   */
  get end(): number {
    return this.#end;
  }

  /** Forgets all IDs, and begins a part at the hash `start`. Sets `end` to `HASHES`. */
  begin(start: number): void {
    if (this.#used > 0) this.#table.fill(0);
    this.#start = start;
    this.#end = HASHES;
    this.#used = 0;
  }

  /** Adds an ID of the earlier crawl. If the ID repeats, the first position is kept. */
  addBefore(id: string, position: number): void {
    this.#mark(id, position + 1, true);
  }

  /**
   * Adds an ID of the later crawl. Call it after all IDs of the earlier crawl. Returns true if the part includes the ID, and the table
   * hasn't seen the ID in either crawl.
   */
  addAfter(id: string): boolean {
    return this.#mark(id, AFTER, false) === 0;
  }

  /** Yields the positions and hashes of the part's IDs that only the earlier crawl has, in no particular order. */
  *onlyBefore(): Generator<{ readonly position: number; readonly hash: number }, void, undefined> {
    for (let slot = 0; slot < this.#slots; slot += 1) {
      const mark = this.#word(slot, 2);
      if (mark !== 0 && mark !== AFTER) yield { position: mark - 1, hash: this.#hash(this.#word(slot, 0), this.#word(slot, 1)) };
    }
  }

  /** Returns the ID's hash, which stays the same from part to part. */
  hash(id: string): number {
    split(id, this.#halves);
    return this.#hash(this.#halves.low, this.#halves.high);
  }

  #hash(low: number, high: number): number {
    return mixed(low ^ Math.imul(high, this.#factor));
  }

  /**
   * Sets the mark of an ID, unless the ID has a mark and `keepsOld` is true. Returns the previous mark (0 if the ID had none), or undefined
   * if the part doesn't include the ID.
   */
  #mark(id: string, mark: number, keepsOld: boolean): number | undefined {
    const hash = this.hash(id);
    const { low, high } = this.#halves;
    while (this.#used >= this.#slots * FULL && this.#isInPart(hash)) {
      if (this.#slots < this.#maxSlots) this.#grow();
      else this.#shrink();
    }
    if (!this.#isInPart(hash)) return undefined;
    const slot = this.#slotOf(low, high, hash);
    const before = this.#word(slot, 2);
    if (before === 0) this.#used += 1;
    if (before === 0 || !keepsOld) this.#put(slot, low, high, mark);
    return before;
  }

  #isInPart(hash: number): boolean {
    return hash >= this.#start && hash < this.#end;
  }

  #word(slot: number, word: number): number {
    return this.#table[slot * WORDS + word] ?? 0;
  }

  #put(slot: number, low: number, high: number, mark: number): void {
    this.#table[slot * WORDS] = low;
    this.#table[slot * WORDS + 1] = high;
    this.#table[slot * WORDS + 2] = mark;
  }

  /** Returns the slot that contains the ID, or a free one. At least one slot is free, because `FULL` is below 1. */
  #slotOf(low: number, high: number, hash: number): number {
    // A part has a contiguous range of hashes. This multiplication spreads them over all slots.
    let slot = Math.floor(((Math.imul(hash, 0x9e37_79b1) >>> 0) / HASHES) * this.#slots);
    while (this.#word(slot, 2) !== 0 && (this.#word(slot, 0) !== low || this.#word(slot, 1) !== high)) slot = this.#after(slot);
    return slot;
  }

  #after(slot: number): number {
    return slot + 1 === this.#slots ? 0 : slot + 1;
  }

  #grow(): void {
    const outgrown = this.#table;
    this.#slots = Math.min(this.#slots * GROWTH, this.#maxSlots);
    this.#table = new Uint32Array(this.#slots * WORDS);
    for (let at = 0; at < outgrown.length; at += WORDS) {
      const low = outgrown[at] ?? 0;
      const high = outgrown[at + 1] ?? 0;
      const mark = outgrown[at + 2] ?? 0;
      if (mark !== 0) this.#put(this.#slotOf(low, high, this.#hash(low, high)), low, high, mark);
    }
  }

  /** Leaves the IDs with the highest hashes to a later part, and rehashes the other IDs. */
  #shrink(): void {
    this.#end = this.#start + Math.ceil((this.#end - this.#start) * KEPT);
    let slot = 0;
    while (this.#word(slot, 2) !== 0) slot += 1;
    // Start at a free slot. Then each ID stays, or moves to a slot that was already visited.
    for (let step = 0; step < this.#slots; step += 1, slot = this.#after(slot)) {
      const mark = this.#word(slot, 2);
      if (mark === 0) continue;
      const low = this.#word(slot, 0);
      const high = this.#word(slot, 1);
      const hash = this.#hash(low, high);
      this.#table[slot * WORDS + 2] = 0;
      if (this.#isInPart(hash)) this.#put(this.#slotOf(low, high, hash), low, high, mark);
      else this.#used -= 1;
    }
  }
}

const ZERO = 48;

/** Splits an ID into two halves of 32 bits. Throws an `OperatorError` if the value isn't an ID. */
function split(id: string, into: { low: number; high: number }): void {
  if (typeof id !== 'string') throw invalidId(id);
  let low = 0;
  let high = 0;
  for (let at = 0; at < id.length && high < HASHES; at += 1) {
    const digit = id.charCodeAt(at) - ZERO;
    if (!(digit >= 0 && digit <= 9)) throw invalidId(id);
    low = low * 10 + digit;
    high = high * 10 + Math.floor(low / HASHES);
    low %= HASHES;
  }
  const isPadded = id.length > 1 && id.charCodeAt(0) === ZERO;
  if (id.length === 0 || isPadded || high >= HASHES) throw invalidId(id);
  into.low = low;
  into.high = high;
}

/** The finalizer of MurmurHash3. It also spreads IDs that are sequential, or that have a time in their upper bits. */
function mixed(hash: number): number {
  let mix = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  mix = Math.imul(mix ^ (mix >>> 13), 0xc2b2_ae35);
  return (mix ^ (mix >>> 16)) >>> 0;
}
