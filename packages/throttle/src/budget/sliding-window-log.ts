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
  /** Returns by how much all ends are later than they were added, in ms, because the clock that they follow was set back. Default: 0. */
  readonly setBackMs?: (() => number) | undefined;
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
    const setBackMs = this.#setBackMs;
    for (const { until, weight } of this.#entries) copy.add(until + setBackMs, weight);
    return copy;
  }

  busy(now: number): number {
    this.#expire(now);
    return this.#total;
  }

  /** Returns when the latest of the slots that are free at `now` became free; `-Infinity` if there is none. */
  freedAt(now: number): number {
    this.#expire(now);
    return this.#freedAt + this.#setBackMs;
  }

  /** Returns the weight that ends at `at` or later. */
  busyAt(at: number): number {
    const from = at - this.#setBackMs;
    return this.#entries.reduce((sum, { until, weight }) => (until < from ? sum : sum + weight), 0);
  }

  /**
   * Returns the instant at which no more than `room` is busy: `now` if that is already so, `Infinity` for a negative `room`. Slots that were
   * free before the clock was set back are busy again, with an unknown weight.
   */
  freeAt(room: number, now: number): number {
    let busy = this.busy(now);
    if (busy <= room) return Math.max(now, this.freedAt(now));
    for (const { until, weight } of this.#entries) {
      busy -= weight;
      if (busy <= room) return until + this.#setBackMs;
    }
    return Infinity;
  }

  /** Adds weight that is busy until `exactUntil`. A negative weight subtracts from the weight added for the same instant. */
  add(exactUntil: number, weight: number): void {
    const exact = exactUntil - this.#setBackMs;
    const until = this.#bucketMs > 0 ? Math.ceil(exact / this.#bucketMs) * this.#bucketMs : exact;
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
    const from = now - this.#setBackMs;
    const per = Math.ceil(this.#entries.length / most);
    const pairs: (readonly [number, number])[] = [];
    for (let i = 0; i < this.#entries.length; i += per) {
      const group = this.#entries.slice(i, i + per);
      pairs.push([(group.at(-1)?.until ?? from) - from, group.reduce((sum, { weight }) => sum + weight, 0)]);
    }
    return pairs;
  }

  get #setBackMs(): number {
    return this.#options.setBackMs?.() ?? 0;
  }

  #expire(now: number): void {
    let gone = 0;
    const to = now - this.#setBackMs;
    for (const { until, weight } of this.#entries) {
      if (until > to) break;
      this.#total -= weight;
      this.#freedAt = Math.max(this.#freedAt, until);
      gone += 1;
    }
    if (gone > 0) this.#entries.splice(0, gone);
  }
}
