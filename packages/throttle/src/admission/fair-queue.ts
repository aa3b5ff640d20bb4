/** An element of a fair queue. */
export interface Queued {
  /** The walk that the element belongs to. Default: a separate walk. */
  readonly walk?: object | undefined;
  /** Elements of a lower rank come first, whatever their turns. Default 0. */
  readonly rank?: number;
  /** The element's turn, in rounds since the beginning; set by the queue. */
  turn: number;
}

/**
 * Self-clocked fair queueing (Golestani, 1994): however many requests a walk has waiting, walks take turns. A new or returning walk starts
 * at the current turn, so it doesn't catch up on the time it was absent.
 */
export class FairQueue<Entry extends Queued> {
  readonly #entries: Entry[] = [];
  readonly #lastTurns = new WeakMap<object, number>();
  /** The highest turn that is over. A turn is over when the next entry is served. */
  #now = 0;
  #current = 0;

  /** The waiting entries by rank, turn and arrival. */
  get entries(): readonly Entry[] {
    return this.#entries;
  }

  add(entry: Entry): void {
    const { walk } = entry;
    const last = (walk === undefined ? undefined : this.#lastTurns.get(walk)) ?? 0;
    // A turn is the virtual end of the service, not its start. In the order of starts, new walks would overtake walks that were just
    // served.
    entry.turn = Math.max(this.#now, last) + 1;
    if (walk !== undefined) this.#lastTurns.set(walk, entry.turn);
    // Most entries come after all others, so search from the back.
    const at = this.#entries.findLastIndex((other) => !isBefore(entry, other)) + 1;
    this.#entries.splice(at, 0, entry);
  }

  delete(entry: Entry): void {
    const at = this.#entries.indexOf(entry);
    if (at !== -1) this.#entries.splice(at, 1);
  }

  /** Records that an entry has had its turn. */
  served({ turn }: Entry): void {
    if (this.#current > this.#now) this.#now = this.#current;
    this.#current = Math.max(this.#current, turn);
  }
}

function isBefore({ rank = 0, turn }: Queued, { rank: otherRank = 0, turn: otherTurn }: Queued): boolean {
  return rank < otherRank || (rank === otherRank && turn < otherTurn);
}
