/** What a fair queue can hold. */
export interface Queued {
  /** Whose turn it is of; default: its own. */
  readonly walk?: object;
  /** How large a share of the turns the walk gets, against 1 of others. Default 1. */
  readonly share?: number;
  /** When its turn is, in rounds since the beginning; set by the queue. */
  turn: number;
}

/**
 * Self-clocked fair queueing (Golestani, 1994): however many requests a walk has waiting, walks take turns in proportion to their
 * shares. One that comes late, or comes back, gets its turn in the round that is being served: it neither catches up on the time it
 * wasn't there, nor goes before those of its share that wait already.
 */
export class FairQueue<Entry extends Queued> implements Iterable<Entry> {
  /** By turn, then by arrival. */
  #entries: Entry[] = [];
  readonly #lastTurns = new Map<object, number>();
  /** The end of the last turn that is over: each lasts until the next is served. */
  #now = 0;
  #current = 0;

  add(entry: Entry): void {
    const { walk, share = 1 } = entry;
    const last = (walk === undefined ? undefined : this.#lastTurns.get(walk)) ?? 0;
    // By its end: by starts, all who come during a round would go before those who wait for the next, for ever.
    entry.turn = Math.max(this.#now, last) + 1 / share;
    if (walk !== undefined) this.#lastTurns.set(walk, entry.turn);
    let at = this.#entries.length;
    for (let before = this.#entries[at - 1]; before !== undefined && before.turn > entry.turn; before = this.#entries[at - 1]) at -= 1;
    this.#entries.splice(at, 0, entry);
  }

  /** Takes an entry out; false when it wasn't in. */
  delete(entry: Entry): boolean {
    const at = this.#entries.indexOf(entry);
    if (at === -1) return false;
    this.#entries = this.#entries.toSpliced(at, 1);
    return true;
  }

  /** An entry has got its turn. */
  served({ turn }: Entry): void {
    if (this.#current > this.#now) this.#endTurn();
    this.#current = Math.max(this.#current, turn);
  }

  /** By their turns; entries may be deleted on the way. */
  [Symbol.iterator](): Iterator<Entry> {
    return this.#entries.values();
  }

  #endTurn(): void {
    this.#now = this.#current;
    // Whose last turn is over needs no remembering.
    for (const [walk, last] of this.#lastTurns) if (last <= this.#now) this.#lastTurns.delete(walk);
  }
}
