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
  #freedAt = -Infinity;

  constructor(limit: number, windowMs: number, grainMs?: number, setBackMs: () => number = () => 0) {
    this.#bucketMs = limit > EXACT_UP_TO ? (grainMs ?? windowMs / 1_000) : 0;
    this.#keptMs = grainMs === undefined ? windowMs : 0;
    this.#setBackMs = setBackMs;
  }

  busy(now: number, which: 'all' | 'unrefused' = 'all'): number {
    return this.#busy(now).reduce((sum, entry) => sum + entry[which], 0);
  }

  /** Returns when the latest of the slots that are free at `now` became free; `-Infinity` if there is none. */
  freedAt(now: number): number {
    this.#busy(now);
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
    for (const entry of this.#busy(now)) {
      busy -= entry[which];
      if (busy <= room) return entry.until + this.#setBackMs();
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
    if (entry?.until !== until) {
      entry = { until, all: 0, unrefused: 0, own: 0 };
      this.#entries.splice(at, 0, entry);
    }
    entry.all += weight;
    if (!wasRefused) entry.unrefused += weight;
    if (!elsewhere) entry.own += weight;
  }

  /**
   * Returns the slots that are busy after `now` and that no other entry of the journal keeps, in order of their ends, as at most `most`
   * pairs. If there are more, neighbors are joined under their latest end.
   */
  left(now: number, most: number): (readonly [ms: number, weight: number])[] {
    const from = now - this.#setBackMs();
    const own = this.#busy(now).filter((entry) => entry.own !== 0);
    const per = Math.ceil(own.length / most);
    const pairs: (readonly [number, number])[] = [];
    for (let i = 0; i < own.length; i += per) {
      const group = own.slice(i, i + per);
      pairs.push([(group.at(-1)?.until ?? from) - from, group.reduce((sum, entry) => sum + entry.own, 0)]);
    }
    return pairs;
  }

  /** Returns the entries that end after `now`. Drops those that ended too long ago to matter. */
  #busy(now: number): readonly Entry[] {
    const to = now - this.#setBackMs();
    const ended = this.#entries.findLastIndex(({ until }) => until <= to) + 1;
    const busy = this.#entries.slice(ended);
    this.#freedAt = Math.max(this.#freedAt, this.#entries[ended - 1]?.until ?? -Infinity);
    this.#entries.splice(0, this.#entries.findLastIndex(({ until }) => until <= to - this.#keptMs) + 1);
    return busy;
  }
}
