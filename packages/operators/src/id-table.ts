import { invalidId } from './operator-error.ts';

/**
 * Compares the IDs of two crawls in limited memory. If the IDs don't all fit, the table splits them into parts by their hash, and holds one
 * part at a time. Each part takes one reading of the crawls.
 */
export interface IdTable {
  /**
   * End of the current part. A part has the IDs with hashes from `start` of `begin` to below `end`. A full table that can't grow lowers
   * `end`.
   */
  readonly end: number;
  /** Forgets all IDs, and begins a part at the hash `start`. Sets `end` to `HASHES`. */
  begin(start: number): void;
  /** Adds an ID of the earlier crawl. If the ID repeats, the first position is kept. */
  addBefore(id: string, position: number): void;
  /**
   * Adds an ID of the later crawl. Call it after all IDs of the earlier crawl. Returns true if the part includes the ID, and the table
   * hasn't seen the ID in either crawl.
   */
  addAfter(id: string): boolean;
  /** Yields the positions and hashes of the part's IDs that only the earlier crawl has, in no particular order. */
  onlyBefore(): Generator<{ readonly position: number; readonly hash: number }, void, undefined>;
  /** Returns the ID's hash, which stays the same from part to part. */
  hash(id: string): number;
}

export interface IdTableOptions {
  /** Maximum size of the table, in bytes. An ID takes 15 bytes. */
  readonly maxBytes: number;
  /** Returns a number from 0 to below 1, which varies the hashes, so that a service can't predict which IDs collide. */
  readonly random: () => number;
}

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

export function idTable({ maxBytes, random }: IdTableOptions): IdTable {
  const maxSlots = Math.floor(maxBytes / SLOT_BYTES);
  let slots = Math.min(FIRST_SLOTS, maxSlots);
  let table = new Uint32Array(slots * WORDS);
  const factor = Math.floor(random() * 2 ** 31) * 2 + 1;
  const halves = { low: 0, high: 0 };
  let start = 0;
  let end = HASHES;
  let used = 0;

  const wordAt = (slot: number, word: number): number => table[slot * WORDS + word] ?? 0;
  const hashOf = (low: number, high: number): number => mixed(low ^ Math.imul(high, factor));
  const isRemembered = (hash: number): boolean => hash >= start && hash < end;

  /** Returns the slot that contains the ID, or a free one. At least one slot is free, because `FULL` is below 1. */
  const slotOf = (low: number, high: number, hash: number): number => {
    // A part has a contiguous range of hashes. This multiplication spreads them over all slots.
    let slot = Math.floor(((Math.imul(hash, 0x9e37_79b1) >>> 0) / HASHES) * slots);
    while (wordAt(slot, 2) !== 0 && (wordAt(slot, 0) !== low || wordAt(slot, 1) !== high)) slot = slot + 1 === slots ? 0 : slot + 1;
    return slot;
  };

  const put = (slot: number, low: number, high: number, mark: number): void => {
    table[slot * WORDS] = low;
    table[slot * WORDS + 1] = high;
    table[slot * WORDS + 2] = mark;
  };

  const grow = (): void => {
    const [outgrown, count] = [table, slots];
    slots = Math.min(slots * GROWTH, maxSlots);
    table = new Uint32Array(slots * WORDS);
    for (let at = 0; at < count * WORDS; at += WORDS) {
      const low = outgrown[at] ?? 0;
      const high = outgrown[at + 1] ?? 0;
      const found = outgrown[at + 2] ?? 0;
      if (found !== 0) put(slotOf(low, high, hashOf(low, high)), low, high, found);
    }
  };

  /** Leaves the IDs with the highest hashes to a later part, and rehashes the other IDs. */
  const shrink = (): void => {
    end = start + Math.ceil((end - start) * KEPT);
    let first = 0;
    while (wordAt(first, 2) !== 0) first += 1;
    // Start at a free slot. Then each ID stays, or moves to a slot that was already visited.
    for (let step = 0, slot = first; step < slots; step += 1, slot = slot + 1 === slots ? 0 : slot + 1) {
      const found = wordAt(slot, 2);
      if (found === 0) continue;
      const low = wordAt(slot, 0);
      const high = wordAt(slot, 1);
      const hash = hashOf(low, high);
      table[slot * WORDS + 2] = 0;
      if (isRemembered(hash)) put(slotOf(low, high, hash), low, high, found);
      else used -= 1;
    }
  };

  /**
   * Sets the mark of the ID in `halves`, unless the ID has a mark and `keepsOld` is true. Returns the previous mark (0 if the ID had none), or
   * undefined if the part doesn't include the ID.
   */
  const mark = (as: number, keepsOld: boolean): number | undefined => {
    const { low, high } = halves;
    const hash = hashOf(low, high);
    while (used >= slots * FULL && isRemembered(hash)) {
      if (slots < maxSlots) grow();
      else shrink();
    }
    if (!isRemembered(hash)) return undefined;
    const slot = slotOf(low, high, hash);
    const before = wordAt(slot, 2);
    if (before === 0) used += 1;
    if (before === 0 || !keepsOld) put(slot, low, high, as);
    return before;
  };

  return {
    get end() {
      return end;
    },
    begin(from) {
      if (used > 0) table.fill(0);
      [start, end, used] = [from, HASHES, 0];
    },
    addBefore(id, position) {
      split(id, halves);
      mark(position + 1, true);
    },
    addAfter(id) {
      split(id, halves);
      return mark(AFTER, false) === 0;
    },
    *onlyBefore() {
      for (let slot = 0; slot < slots; slot += 1) {
        const found = wordAt(slot, 2);
        if (found !== 0 && found !== AFTER) yield { position: found - 1, hash: hashOf(wordAt(slot, 0), wordAt(slot, 1)) };
      }
    },
    hash(id) {
      split(id, halves);
      return hashOf(halves.low, halves.high);
    },
  };
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
