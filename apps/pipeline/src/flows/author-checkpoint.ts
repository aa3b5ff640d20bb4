import type { AuthorCheckpoint } from '@headgate/sources/books';
import type { LaneValue } from '../lanes/lane-keys.ts';
import type { WishRecord } from '../lanes/wishes-in-order.ts';
import type { AuthorWish } from '../records/wish.ts';

/** An author whose first pages are written, as the lane's state keeps it. */
export interface BegunAuthor {
  readonly from: AuthorCheckpoint;
  /** The request itself: its topic may not hold it as long as the pages take. */
  readonly wish: AuthorWish;
}

const AUTHOR = 'author/';

/** The key of an author's checkpoint in its lane's state. */
export function authorKey(offset: number): string {
  return `${AUTHOR}${offset}`;
}

/** Authors of a lane's state, by the offset of their wish. */
export function begunAuthors(stateUnder: (prefix: string) => readonly LaneValue[]): ReadonlyMap<number, BegunAuthor> {
  return new Map(stateUnder(AUTHOR).map(({ key, value }) => [Number(key), value as BegunAuthor]));
}

/** The wishes that they keep. */
export function authorWishes(begun: ReadonlyMap<number, BegunAuthor>): readonly WishRecord[] {
  return [...begun].map(([offset, { wish }]) => ({ offset, key: wish.author, value: JSON.stringify(wish) }));
}
