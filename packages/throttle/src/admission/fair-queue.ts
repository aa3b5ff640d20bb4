import { OrderedList } from './ordered-list.ts';

/** An element of a fair queue. */
export interface Queued {
  /** The walk that the element belongs to. Default: a separate walk. */
  readonly walk?: object | undefined;
  /** The walk's share of the turns: a walk with 2 gets twice as many as a walk with 1. Default 1. */
  readonly share?: number;
  /** Elements of a lower rank come first, whatever their turns. Default 0. */
  readonly rank?: number;
  /** The element's turn, in rounds since the beginning; set by the queue. */
  turn: number;
  /** Number of elements that came before this one; set by the queue. */
  arrival: number;
}

export function byTurn(one: Queued, other: Queued): number {
  return (one.rank ?? 0) - (other.rank ?? 0) || one.turn - other.turn || one.arrival - other.arrival;
}

/**
 * Self-clocked fair queueing (Golestani, 1994): however many requests a walk has waiting, walks take turns in proportion to their shares. A
 * new or returning walk starts at the current turn, so it doesn't catch up on the time it was absent.
 */
export class FairQueue<Entry extends Queued> implements Iterable<Entry> {
  readonly #entries = new OrderedList<Entry>(byTurn);
  readonly #lastTurns = new WeakMap<object, number>();
  /** The highest turn that is over. A turn is over when the next entry is served. */
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

  /** Serves an entry at once. For use while the queue is empty. */
  pass(entry: Entry): void {
    this.#turnOf(entry);
    this.served(entry);
  }

  #turnOf(entry: Entry): void {
    const { walk, share = 1 } = entry;
    const last = (walk === undefined ? undefined : this.#lastTurns.get(walk)) ?? 0;
    // A turn is the virtual end of the service, not its start. In the order of starts, new walks would overtake walks that were just
    // served.
    entry.turn = Math.max(this.#now, last) + 1 / share;
    entry.arrival = this.#arrivals;
    this.#arrivals += 1;
    if (walk !== undefined) this.#lastTurns.set(walk, entry.turn);
  }

  delete(entry: Entry): boolean {
    return this.#entries.delete(entry);
  }

  /** Records that an entry has had its turn. */
  served({ turn }: Entry): void {
    if (this.#current > this.#now) this.#now = this.#current;
    this.#current = Math.max(this.#current, turn);
  }

  /** Iterates in the order of turns. No entry may be added or deleted during the iteration. */
  [Symbol.iterator](): Iterator<Entry> {
    return this.#entries[Symbol.iterator]();
  }
}
