/** Above this limit, ends are rounded up to a multiple of `grainMs` and counted together. */
const EXACT_UP_TO = 1_024;

interface Entry {
  readonly until: number;
  weight: number;
}

interface SlidingWindowLogOptions {
  readonly limit: number;
  readonly windowMs: number;
  readonly grainMs?: number;
}

/**
 * A log of weights, each with the time at which it ends, in order of these times. For a large limit, ends share buckets of `grainMs`, by
 * default a thousand per window, so that the log stays small.
 */
export class SlidingWindowLog {
  readonly #bucketMs: number;
  readonly #entries: Entry[] = [];
  #total = 0;
  #freedAt = -Infinity;

  readonly #options: SlidingWindowLogOptions;

  constructor(options: SlidingWindowLogOptions) {
    const { limit, windowMs, grainMs = windowMs / 1_000 } = options;
    this.#options = options;
    this.#bucketMs = limit > EXACT_UP_TO ? grainMs : 0;
  }

  copy(): SlidingWindowLog {
    const copy = new SlidingWindowLog(this.#options);
    for (const { until, weight } of this.#entries) copy.add(until, weight);
    return copy;
  }

  busy(now: number): number {
    this.#expire(now);
    return this.#total;
  }

  /** Returns when the latest of the slots that are free at `now` became free; `-Infinity` if there is none. */
  freedAt(now: number): number {
    this.#expire(now);
    return this.#freedAt;
  }

  /** Returns the weight that ends at `at` or later. */
  busyAt(at: number): number {
    return this.#entries.reduce((sum, { until, weight }) => (until < at ? sum : sum + weight), 0);
  }

  /** Returns the instant at which no more than `room` is busy: `now` if that is already so, `Infinity` for a negative `room`. */
  freeAt(room: number, now: number): number {
    let busy = this.busy(now);
    if (busy <= room) return now;
    for (const { until, weight } of this.#entries) {
      busy -= weight;
      if (busy <= room) return until;
    }
    return Infinity;
  }

  /** Adds weight that is busy until `exactUntil`. A negative weight subtracts from the weight added for the same instant. */
  add(exactUntil: number, weight: number): void {
    const until = this.#bucketMs > 0 ? Math.ceil(exactUntil / this.#bucketMs) * this.#bucketMs : exactUntil;
    this.#total += weight;
    // Most ends arrive in order, so search from the back.
    const at = this.#entries.findLastIndex((entry) => entry.until <= until) + 1;
    const same = this.#entries[at - 1];
    if (same?.until === until) same.weight += weight;
    else this.#entries.splice(at, 0, { until, weight });
  }

  /**
   * Returns the slots that are busy after `now`, in order of their ends, as at most `most` pairs. If there are more, neighbors are joined
   * under their latest end.
   */
  left(now: number, most: number): (readonly [ms: number, weight: number])[] {
    this.#expire(now);
    const per = Math.ceil(this.#entries.length / most);
    const pairs: (readonly [number, number])[] = [];
    for (let i = 0; i < this.#entries.length; i += per) {
      const group = this.#entries.slice(i, i + per);
      pairs.push([(group.at(-1)?.until ?? now) - now, group.reduce((sum, { weight }) => sum + weight, 0)]);
    }
    return pairs;
  }

  #expire(now: number): void {
    let gone = 0;
    for (const { until, weight } of this.#entries) {
      if (until > now) break;
      this.#total -= weight;
      this.#freedAt = Math.max(this.#freedAt, until);
      gone += 1;
    }
    if (gone > 0) this.#entries.splice(0, gone);
  }
}
