import { invalidId } from './operator-error.ts';

/**
 * Compares the IDs of two crawls in limited memory: if they don't all fit, it splits them into parts by their hash and holds one part at a
 * time. Each part takes one reading of the crawls.
 */
export interface IdTable {
  /** The end of the remembered part: hashes from `start` of `begin` up to below this one. Lowered whenever the table is full. */
  readonly end: number;
  /** Forgets all IDs, and remembers those whose hash is `start` or more; there is no end but `HASHES` yet. */
  begin(start: number): void;
  /** Adds an ID of the earlier crawl. Its position is that of its first occurrence. */
  addBefore(id: string, position: number): void;
  /** Adds an ID of the later crawl, after all of the earlier one. Returns whether it is in the part, and in neither crawl so far. */
  addAfter(id: string): boolean;
  /** The positions of the IDs that only the earlier crawl has, in no order. */
  onlyBefore(): Generator<number, void, undefined>;
}

export interface IdTableOptions {
  /** Maximum size of the table: an ID takes 15 bytes. */
  readonly maxBytes: number;
  /** A number in [0, 1). It keeps a service from choosing IDs that collide. */
  readonly random: () => number;
}

/** How many hashes there are. */
export const HASHES: number = 2 ** 32;

/** Two halves of an ID, and a mark: 0 if the slot is free, `AFTER`, or the position in the earlier crawl plus 1. */
const WORDS = 3;
const SLOT_BYTES = WORDS * Uint32Array.BYTES_PER_ELEMENT;
const AFTER = 0xffff_ffff;
/** Fuller, and the search for a free slot takes long. */
const FULL = 0.8;
/** Small crawls need a small table. It grows in steps so large that copying costs almost nothing. */
const FIRST_SLOTS = 2_048;
const GROWTH = 64;
/** Each time the table is full, a quarter of the hashes moves to a later part. */
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

  /** The slot that contains the ID, or the free one for it. There is always a free one. */
  const slotOf = (low: number, high: number, hash: number): number => {
    // The part is a stretch of hashes; another multiplication spreads it over all slots.
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

  /** Moves the highest hashes of this part to a later part, and rehashes the other IDs. */
  const shrink = (): void => {
    end = start + Math.ceil((end - start) * KEPT);
    let first = 0;
    while (wordAt(first, 2) !== 0) first += 1;
    // From a free slot on: no ID of a slot that is still to come has its place before one that was looked at.
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

  /** Marks the ID that was split last, and returns the mark it had; undefined outside of the part. */
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
        if (found !== 0 && found !== AFTER) yield found - 1;
      }
    },
  };
}

const ZERO = 48;

/** An ID as the halves of 64 bits. Throws an `OperatorError`. */
function split(id: string, into: { low: number; high: number }): void {
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

/** The finisher of MurmurHash3 separates IDs that are sequential, or have a time in their upper bits. */
function mixed(hash: number): number {
  let mix = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  mix = Math.imul(mix ^ (mix >>> 13), 0xc2b2_ae35);
  return (mix ^ (mix >>> 16)) >>> 0;
}
