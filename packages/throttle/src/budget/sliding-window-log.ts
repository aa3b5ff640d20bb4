/** Above this limit ends are rounded up to a thousandth of the window and counted together. */
const EXACT_UP_TO = 1_024;

interface Entry {
  readonly until: number;
  weight: number;
}

/** Weights and until when each is busy, in order of their ends. Its memory is bounded by the limit, or by about a thousand buckets for big limits. */
export class SlidingWindowLog {
  readonly #bucketMs: number;
  #entries: Entry[] = [];
  #first = 0;
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

  /** When the last came free of what is no longer busy at `now`; `-Infinity` where nothing has. */
  freedAt(now: number): number {
    this.#expire(now);
    return this.#freedAt;
  }

  /** Weight that is busy at `at` or later. */
  busyAt(at: number): number {
    let weight = 0;
    for (let i = this.#entries.length - 1; i >= this.#first; i -= 1) {
      const entry = this.#entries[i];
      if (entry === undefined || entry.until < at) break;
      weight += entry.weight;
    }
    return weight;
  }

  /** The instant at which no more than `room` is busy: `now` when that is so already, `Infinity` for negative room. */
  freeAt(room: number, now: number): number {
    if (room < 0) return Infinity;
    this.#expire(now);
    let busy = this.#total;
    let at = now;
    for (let i = this.#first; busy > room; i += 1) {
      const entry = this.#entries[i];
      if (entry === undefined) return Infinity;
      busy -= entry.weight;
      at = entry.until;
    }
    return at;
  }

  /** Adds weight that is busy until then; below 0 it takes off what was added for the same instant. */
  add(exactUntil: number, weight: number): void {
    const until = this.#bucketMs > 0 ? Math.ceil(exactUntil / this.#bucketMs) * this.#bucketMs : exactUntil;
    const entries = this.#entries;
    this.#total += weight;
    // Ends come in order, but for the requests that were given up: look from the back.
    let at = entries.length;
    for (let before = entries[at - 1]; at > this.#first && before !== undefined && before.until > until; before = entries[at - 1]) at -= 1;
    const same = at > this.#first ? entries[at - 1] : undefined;
    if (same?.until === until) same.weight += weight;
    else entries.splice(at, 0, { until, weight });
  }

  /** The slots that are busy after `now`, ascending: at most `most` pairs; where there are more, a later end stands for earlier ones. */
  left(now: number, most: number): (readonly [ms: number, weight: number])[] {
    this.#expire(now);
    const live = this.#entries.slice(this.#first);
    const per = Math.ceil(live.length / most);
    const pairs: (readonly [number, number])[] = [];
    for (let i = 0; i < live.length; i += per) {
      const group = live.slice(i, i + per);
      pairs.push([(group.at(-1)?.until ?? now) - now, group.reduce((sum, { weight }) => sum + weight, 0)]);
    }
    return pairs;
  }

  #expire(now: number): void {
    for (let entry = this.#entries[this.#first]; entry !== undefined && entry.until <= now; entry = this.#entries[this.#first]) {
      this.#total -= entry.weight;
      this.#first += 1;
      this.#freedAt = Math.max(this.#freedAt, entry.until);
    }
    if (this.#first > 64 && this.#first * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#first);
      this.#first = 0;
    }
  }
}
