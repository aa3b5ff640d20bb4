import { normalizeIsbn } from '@headgate/operators';
import type { LaneValue } from '../lanes/lane-keys.ts';
import type { StateChange } from '../lanes/lane.ts';
import type { OffsetRangesSnapshot } from '../lanes/offset-ranges.ts';
import type { WishRecord } from '../lanes/wishes-in-order.ts';

/** What the lane's state keeps of lists of ISBNs that were begun, by the offset of their wish. */
export interface BegunLists {
  /** Which places of each are answered. */
  readonly answered: ReadonlyMap<number, OffsetRangesSnapshot>;
  /** The wishes, for when the requests topic no longer holds them. */
  readonly wishes: readonly WishRecord[];
  /** What a list asks for, by place: each once, and what is no ISBN last. */
  asks(offset: number, texts: readonly string[]): readonly string[];
}

const ANSWERED = 'wish/';
const ISBNS = 'isbns/';
/** ISBNs of one key of the state, 32 kB: half of what the state takes at the least. Earlier versions kept 10,000. */
const PART = 2_000;

/** Reads what `listBegun` and `listGoesOn` have written. */
export function begunLists(stateUnder: (prefix: string) => readonly LaneValue[]): BegunLists {
  const parts = new Map<number, string[][]>();
  for (const { key, value } of stateUnder(ISBNS)) {
    const [offset = NaN, part = NaN] = key.split('/').map(Number);
    const list = parts.get(offset) ?? [];
    list[part] = value as string[];
    parts.set(offset, list);
  }
  const answered = new Map(stateUnder(ANSWERED).map(({ key, value }) => [Number(key), value as OffsetRangesSnapshot]));
  return {
    answered,
    wishes: [...parts].map(([offset, list]) => ({ offset, key: null, value: JSON.stringify({ isbns: list.flat() }) })),
    asks(offset, texts) {
      // An earlier version kept no ISBNs, and counted places as the wish does.
      if (answered.has(offset) && !parts.has(offset)) return texts;
      return eachOnce(texts);
    },
  };
}

/** Keeps what a list asks for. What is no ISBN need not be kept: its dead letter is written first. */
export function listBegun(offset: number, asks: readonly string[]): StateChange[] {
  return partsOf(asks.filter(isIsbn)).map((part, i) => [`${ISBNS}${offset}/${i}`, part]);
}

export function listGoesOn(offset: number, answered: OffsetRangesSnapshot): StateChange {
  return [`${ANSWERED}${offset}`, answered];
}

/** Forgets a list. */
export function listDone(offset: number, asks: readonly string[]): StateChange[] {
  return [[`${ANSWERED}${offset}`, null], ...partsOf(asks).map((_, i): StateChange => [`${ISBNS}${offset}/${i}`, null])];
}

/** Whether a text is an ISBN, of 10 or 13 digits. */
export function isIsbn(text: string): boolean {
  return isbn13(text) !== undefined;
}

function isbn13(text: string): string | undefined {
  try {
    return normalizeIsbn(text);
  } catch {
    return undefined;
  }
}

function eachOnce(texts: readonly string[]): readonly string[] {
  const isbns = new Set<string>();
  const others = new Set<string>();
  for (const text of texts) {
    const isbn = isbn13(text);
    if (isbn === undefined) others.add(text);
    else isbns.add(isbn);
  }
  return [...isbns, ...others];
}

function partsOf(isbns: readonly string[]): string[][] {
  return Array.from({ length: Math.ceil(isbns.length / PART) }, (_, i) => isbns.slice(i * PART, (i + 1) * PART));
}
