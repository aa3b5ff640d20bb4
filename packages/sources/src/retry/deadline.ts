/** The retry time of a query at one moment. */
export interface TimeLeft {
  /** Number of failed attempts. */
  readonly failures: number;
  /** Ms since the first failure, without the waits for a permit, and of the outages' time only what the query's own probes took. */
  readonly elapsedMs: number;
  /** Ms left of the retry time. */
  readonly leftMs: number;
}

/** Measures the retry time of a query, which begins with the query's first failure. */
export class Deadline {
  readonly #nowMs: () => number;
  readonly #retryForMs: number;
  #failures = 0;
  #countedFrom: number | undefined;

  /** `nowMs`: returns monotonic ms; if outages are waited out, their time is left out. */
  constructor(nowMs: () => number, retryForMs: number) {
    this.#nowMs = nowMs;
    this.#retryForMs = retryForMs;
  }

  get now(): TimeLeft {
    const elapsedMs = this.#countedFrom === undefined ? 0 : Math.max(0, this.#nowMs() - this.#countedFrom);
    return { failures: this.#failures, elapsedMs, leftMs: this.#retryForMs - elapsedMs };
  }

  /** Records a failed attempt. */
  failed(): void {
    this.#countedFrom ??= this.#nowMs();
    this.#failures += 1;
  }

  /** Records a probe of an outage, `ms` of which count. With 0 ms, nothing counts. */
  probed(ms: number): void {
    if (ms === 0) return;
    this.#failures += 1;
    this.#countedFrom = (this.#countedFrom ?? this.#nowMs()) - ms;
  }

  /** Excludes a wait for a permit. */
  waited(ms: number): void {
    if (this.#countedFrom !== undefined) this.#countedFrom += ms;
  }
}

const BASE_MS = 500;
const CAP_MS = 30_000;

/**
 * Returns the wait after a failure, in ms: half to all of a delay that doubles with each failure, from 500 ms to 30 s. It is random, so that
 * clients that failed together don't retry together. No wait is close to 0, and none is shorter than the one before it.
 */
export function delayMs(failures: number, random: () => number): number {
  return Math.min(CAP_MS, BASE_MS * 2 ** failures) * (0.5 + random() / 2);
}
