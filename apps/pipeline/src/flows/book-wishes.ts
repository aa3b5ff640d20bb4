import type { NewRecord } from '@headgate/topics';
import type { Lane, StateChange } from '../lanes/lane.ts';
import { type OffsetRanges, offsetRanges } from '../lanes/offset-ranges.ts';
import type { WishRecord } from '../lanes/wishes-in-order.ts';
import { begunLists, listBegun, listDone, listGoesOn } from './book-list.ts';

/** A wish under way: what it asks for, by place, and which places are answered. */
export interface BookWish {
  readonly id: string;
  readonly offset: number;
  readonly key: string | null;
  /** Each once; what is no ISBN comes last. */
  readonly asks: readonly string[];
  readonly answered: OffsetRanges;
  /** Places whose answer is not durable. */
  left: number;
}

/** One thing that a wish asks for. */
export interface Place {
  readonly wish: BookWish;
  readonly place: number;
}

/** The wishes under way of a lane, and how far each is. */
export interface BookWishes {
  /** Places taken whose answer is not durable. */
  readonly load: number;
  /** Those begun before the lane was opened. */
  readonly begun: readonly WishRecord[];
  has(offset: number): boolean;
  /** Takes a wish for one thing. */
  open(record: WishRecord, asks: string): BookWish;
  /** Takes a wish for a list of ISBNs. */
  openList(record: WishRecord, texts: readonly string[]): BookWish;
  /** Writes the records of some places, which are answered with them, and what else the lane's state is to keep. */
  write(places: readonly Place[], records: readonly NewRecord[], more?: readonly StateChange[]): Promise<void>;
}

export function bookWishes(lane: Lane): BookWishes {
  const lists = begunLists((prefix) => lane.stateUnder(prefix));
  const active = new Map<number, BookWish>();
  /** Of which the lane's state holds something. */
  const kept = new Set(lists.answered.keys());

  const add = ({ offset, key }: WishRecord, asks: readonly string[]): BookWish => {
    const answered = offsetRanges(lists.answered.get(offset));
    const left = asks.filter((_, place) => !answered.has(place)).length;
    const wish = { id: `${lane.topic}-${lane.partition}-${offset}`, offset, key, asks, answered, left };
    active.set(offset, wish);
    return wish;
  };

  const isDone = ({ answered, asks }: BookWish): boolean => answered.next >= asks.length;

  /** A wish that one transaction answers needs no state of its own: it is finished or it is not. */
  const stateOf = (wish: BookWish): readonly StateChange[] => {
    const { offset, asks, answered } = wish;
    if (isDone(wish)) return kept.delete(offset) ? listDone(offset, asks) : [];
    const goesOn = listGoesOn(offset, answered.snapshot());
    if (kept.has(offset)) return [goesOn];
    kept.add(offset);
    return [...listBegun(offset, asks), goesOn];
  };

  return {
    get load() {
      let load = 0;
      for (const { left } of active.values()) load += left;
      return load;
    },
    begun: lists.wishes,
    has: (offset) => active.has(offset),
    open: (record, asks) => add(record, [asks]),
    openList: (record, texts) => add(record, lists.asks(record.offset, texts)),
    async write(places, records, more = []) {
      const wishes = [...new Set(places.map(({ wish }) => wish))];
      for (const { wish, place } of places) wish.answered.add(place);
      const state = [...wishes.flatMap(stateOf), ...more];
      await lane.commit({ records, state, finished: wishes.filter(isDone).map(({ offset }) => offset) });
      for (const { wish } of places) wish.left -= 1;
      for (const wish of wishes) if (wish.left === 0) active.delete(wish.offset);
    },
  };
}
