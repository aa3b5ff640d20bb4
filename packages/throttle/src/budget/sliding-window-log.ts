/** Above this limit, ends are rounded up to a multiple of `grainMs` and counted together. */
const EXACT_UP_TO = 1_024;

interface Kept {
  /** True if the service refused the request. */
  readonly wasRefused?: boolean;
  /** True if another entry of the journal keeps the weight. */
  readonly elsewhere?: boolean;
}

/**
 * The weights that end at one instant: of all requests, of those that the service didn't refuse, and of those that no other entry of the
 * journal keeps.
 */
interface Entry {
  readonly until: number;
  all: number;
  unrefused: number;
  own: number;
}

/**
 * A log of weights, each with the time at which it ends, in order of these times. For a large limit, ends share buckets of `grainMs`, by
 * default a thousand per window, so that the log stays small.
 */
export class SlidingWindowLog {
  readonly #bucketMs: number;
  /** Time for which ended weights of a rolling window are kept, in ms: a service with a slower clock may still count them. */
  readonly #keptMs: number;
  /** Returns by how much all ends are later than they were added, in ms, because the clock that they follow was set back. */
  readonly #setBackMs: () => number;
  readonly #entries: Entry[] = [];
  /** Index of the first entry that is busy. */
  #first = 0;
  /** Weights of the busy entries. */
  readonly #sums = { all: 0, unrefused: 0 };
  #freedAt = -Infinity;

  constructor(limit: number, windowMs: number, grainMs?: number, setBackMs: () => number = () => 0) {
    this.#bucketMs = limit > EXACT_UP_TO ? (grainMs ?? windowMs / 1_000) : 0;
    this.#keptMs = grainMs === undefined ? windowMs : 0;
    this.#setBackMs = setBackMs;
  }

  busy(now: number, which: 'all' | 'unrefused' = 'all'): number {
    this.#advance(now);
    return this.#sums[which];
  }

  /** Returns when the latest of the slots that are free at `now` became free; `-Infinity` if there is none. */
  freedAt(now: number): number {
    this.#advance(now);
    return this.#freedAt + this.#setBackMs();
  }

  /** Returns the weight of requests that weren't refused and end at `at` or later. */
  unrefusedAt(at: number): number {
    const from = at - this.#setBackMs();
    return this.#entries.reduce((sum, { until, unrefused }) => (until < from ? sum : sum + unrefused), 0);
  }

  /**
   * Returns the instant at which no more than `room` is busy: `now` if that is already so, `Infinity` for a negative `room`. Slots that were
   * free before the clock was set back are busy again, with an unknown weight.
   */
  freeAt(room: number, now: number, which: 'all' | 'unrefused' = 'all'): number {
    let busy = this.busy(now, which);
    if (busy <= room) return Math.max(now, this.freedAt(now));
    for (let i = this.#first; i < this.#entries.length; i += 1) {
      const entry = this.#entries[i];
      busy -= entry?.[which] ?? 0;
      if (entry !== undefined && busy <= room) return entry.until + this.#setBackMs();
    }
    return Infinity;
  }

  /**
   * Adds weight that is busy until `exactUntil`. A negative weight subtracts from the weight added for the same instant.
   */
  add(exactUntil: number, weight: number, { wasRefused = false, elsewhere = false }: Kept = {}): void {
    const exact = exactUntil - this.#setBackMs();
    const until = this.#bucketMs > 0 ? Math.ceil(exact / this.#bucketMs) * this.#bucketMs : exact;
    // Most ends arrive in order, so search from the back.
    const at = this.#entries.findLastIndex((entry) => entry.until <= until) + 1;
    let entry = this.#entries[at - 1];
    let index = at - 1;
    if (entry?.until !== until) {
      entry = { until, all: 0, unrefused: 0, own: 0 };
      index = at;
      this.#entries.splice(at, 0, entry);
      if (at < this.#first) this.#first += 1;
    }
    const added = { all: weight, unrefused: wasRefused ? 0 : weight };
    entry.all += added.all;
    entry.unrefused += added.unrefused;
    if (!elsewhere) entry.own += weight;
    if (index >= this.#first) this.#count(added, 1);
  }

  /**
   * Returns the slots that are busy after `now` and that no other entry of the journal keeps, in order of their ends, as at most `most`
   * pairs. If there are more, neighbors are joined under their latest end.
   */
  left(now: number, most: number): (readonly [ms: number, weight: number])[] {
    const from = now - this.#setBackMs();
    this.#advance(now);
    const own = this.#entries.slice(this.#first).filter((entry) => entry.own !== 0);
    const per = Math.ceil(own.length / most);
    const pairs: (readonly [number, number])[] = [];
    for (let i = 0; i < own.length; i += per) {
      const group = own.slice(i, i + per);
      pairs.push([(group.at(-1)?.until ?? from) - from, group.reduce((sum, entry) => sum + entry.own, 0)]);
    }
    return pairs;
  }

  /**
   * Counts the entries that end after `now` as busy, and no others. Drops those that ended too long ago to matter. A clock that was set back
   * makes none busy again: where it can be, ended entries are dropped at once.
   */
  #advance(now: number): void {
    const to = now - this.#setBackMs();
    for (let next = this.#entries[this.#first]; next !== undefined && next.until <= to; next = this.#entries[this.#first]) {
      this.#freedAt = Math.max(this.#freedAt, next.until);
      this.#count(next, -1);
      this.#first += 1;
    }
    let dropped = 0;
    while (dropped < this.#first && (this.#entries[dropped]?.until ?? Infinity) <= to - this.#keptMs) dropped += 1;
    if (dropped === 0) return;
    this.#entries.splice(0, dropped);
    this.#first -= dropped;
  }

  #count({ all, unrefused }: Pick<Entry, 'all' | 'unrefused'>, sign: 1 | -1): void {
    this.#sums.all += sign * all;
    this.#sums.unrefused += sign * unrefused;
  }
}
