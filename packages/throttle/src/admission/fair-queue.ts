import { OrderedList } from './ordered-list.ts';

/** An element of a fair queue. */
export interface Queued {
  /** The walk whose turn it uses. Default: its own. */
  readonly walk?: object | undefined;
  /** The walk's share of the turns, against 1 of others. Default 1. */
  readonly share?: number;
  /** When its turn is, in rounds since the beginning; set by the queue. */
  turn: number;
  /** How many were added to the queue before it; set by the queue. */
  arrival: number;
}

/** By turn, then by arrival. */
export function byTurn(one: Queued, other: Queued): number {
  return one.turn - other.turn || one.arrival - other.arrival;
}

/**
 * Self-clocked fair queueing (Golestani, 1994): however many requests a walk has waiting, walks take turns in proportion to their shares. A
 * new or returning walk gets its turn in the current round: it neither catches up on time it was absent, nor overtakes waiting walks of the
 * same share.
 */
export class FairQueue<Entry extends Queued> implements Iterable<Entry> {
  readonly #entries = new OrderedList<Entry>(byTurn);
  readonly #lastTurns = new WeakMap<object, number>();
  /** The end of the last turn that is over: each lasts until the next is served. */
  #now = 0;
  #current = 0;
  #arrivals = 0;

  get isEmpty(): boolean {
    return this.#entries.first === undefined;
  }

  add(entry: Entry): void {
    this.#turnOf(entry);
    this.#entries.add(entry);
  }

  /** Serves an entry that finds the queue empty, without a place in it. */
  pass(entry: Entry): void {
    this.#turnOf(entry);
    this.served(entry);
  }

  #turnOf(entry: Entry): void {
    const { walk, share = 1 } = entry;
    const last = (walk === undefined ? undefined : this.#lastTurns.get(walk)) ?? 0;
    // Ordered by end: ordered by start, newcomers of a round would always overtake those that wait for the next one.
    entry.turn = Math.max(this.#now, last) + 1 / share;
    entry.arrival = this.#arrivals;
    this.#arrivals += 1;
    if (walk !== undefined) this.#lastTurns.set(walk, entry.turn);
  }

  /** Removes an entry. Returns false if it wasn't in the queue. */
  delete(entry: Entry): boolean {
    return this.#entries.delete(entry);
  }

  /** An entry has got its turn. */
  served({ turn }: Entry): void {
    if (this.#current > this.#now) this.#now = this.#current;
    this.#current = Math.max(this.#current, turn);
  }

  /** By their turns. No entry may be added or deleted during the iteration. */
  [Symbol.iterator](): Iterator<Entry> {
    return this.#entries[Symbol.iterator]();
  }
}
