/** What a fair queue can hold. */
export interface Queued {
  /** Whose turn it is of; default: its own. */
  readonly walk?: object;
  /** How large a share of the turns the walk gets, against 1 of others. Default 1. */
  readonly share?: number;
  /** When its turn is, in turns since the beginning; set by the queue. */
  turn: number;
}

/**
 * Start-time fair queueing: however many requests a walk has waiting, walks take turns in proportion to their shares, and
 * one that comes late gets its turn next, without catching up on the time it wasn't there.
 */
export class FairQueue<Entry extends Queued> implements Iterable<Entry> {
  /** By turn, then by arrival. */
  #entries: Entry[] = [];
  readonly #nextTurns = new Map<object, number>();
  #now = 0;

  add(entry: Entry): void {
    const { walk, share = 1 } = entry;
    entry.turn = Math.max(this.#now, (walk === undefined ? undefined : this.#nextTurns.get(walk)) ?? 0);
    if (walk !== undefined) this.#nextTurns.set(walk, entry.turn + 1 / share);
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
    if (turn <= this.#now) return;
    this.#now = turn;
    // Whoever's next turn has come anyway needs no remembering.
    for (const [walk, next] of this.#nextTurns) if (next <= turn) this.#nextTurns.delete(walk);
  }

  /** By their turns; entries may be deleted on the way. */
  [Symbol.iterator](): Iterator<Entry> {
    return this.#entries.values();
  }
}
