/** Above this limit, ends are rounded up to a thousandth of the window and counted together. */
const EXACT_UP_TO = 1_024;

interface Entry {
  readonly until: number;
  weight: number;
}

/**
 * Weights and the end of each, in order of their ends. Its memory is bounded by the limit, or by about a thousand buckets for large limits.
 */
export class SlidingWindowLog {
  readonly #bucketMs: number;
  readonly #entries: Entry[] = [];
  #total = 0;
  #freedAt = -Infinity;

  constructor({ limit, windowMs }: { readonly limit: number; readonly windowMs: number }) {
    this.#bucketMs = limit > EXACT_UP_TO ? windowMs / 1_000 : 0;
  }

  /** Weight still busy at `now`. */
  busy(now: number): number {
    this.#expire(now);
    return this.#total;
  }

  /** When the last slot came free that is no longer busy at `now`; `-Infinity` if there is none. */
  freedAt(now: number): number {
    this.#expire(now);
    return this.#freedAt;
  }

  /** Weight that is busy at `at` or later. */
  busyAt(at: number): number {
    return this.#entries.reduce((sum, { until, weight }) => (until < at ? sum : sum + weight), 0);
  }

  /** The instant at which no more than `room` is busy: `now` if that is already so, `Infinity` for a negative `room`. */
  freeAt(room: number, now: number): number {
    let busy = this.busy(now);
    if (busy <= room) return now;
    for (const { until, weight } of this.#entries) {
      busy -= weight;
      if (busy <= room) return until;
    }
    return Infinity;
  }

  /** Adds weight that is busy until then; a negative weight subtracts from what was added for the same instant. */
  add(exactUntil: number, weight: number): void {
    const until = this.#bucketMs > 0 ? Math.ceil(exactUntil / this.#bucketMs) * this.#bucketMs : exactUntil;
    this.#total += weight;
    // Ends arrive in order, except for aborted requests, so search from the back.
    const at = this.#entries.findLastIndex((entry) => entry.until <= until) + 1;
    const same = this.#entries[at - 1];
    if (same?.until === until) same.weight += weight;
    else this.#entries.splice(at, 0, { until, weight });
  }

  /** The slots that are busy after `now`, ascending: at most `most` pairs; beyond that, a later end replaces earlier ones. */
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
