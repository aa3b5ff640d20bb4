/** The distribution of a duration. */
export interface Histogram {
  /** Upper limits of the buckets, ms, inclusive. One more bucket counts all longer durations. */
  readonly boundsMs: readonly number[];
  /** Number of durations in each bucket, without those in the buckets before it. */
  readonly counts: readonly number[];
  /** Sum of all durations, ms. */
  readonly sumMs: number;
}

/** Upper limits that suit both a commit to a local file and a response of a slow service. */
const BOUNDS_MS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000];

/** A histogram that `observe` adds to. */
export type Observed = { boundsMs: number[]; counts: number[]; sumMs: number };

export function noObservations(): Observed {
  return { boundsMs: [...BOUNDS_MS], counts: BOUNDS_MS.map(() => 0).concat(0), sumMs: 0 };
}

export function observe(histogram: Observed, ms: number): void {
  const { boundsMs, counts } = histogram;
  const found = boundsMs.findIndex((bound) => ms <= bound);
  const bucket = found < 0 ? boundsMs.length : found;
  counts[bucket] = (counts[bucket] ?? 0) + 1;
  histogram.sumMs += ms;
}
