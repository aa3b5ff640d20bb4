export interface BackoffOptions {
  /** Returns monotonic ms. If outages are waited out, their time is left out. */
  readonly nowMs: () => number;
  /** Returns a random number in [0, 1). */
  readonly random: () => number;
  /** Time for retries after a request's first failure, in ms. */
  readonly retryForMs: number;
}

/** Decides when a failing request is retried, and when the request is given up. */
export interface Backoff {
  readonly failures: number;
  /** Ms since the first failure, without the waits for a permit, and of the outages' time only what the request's own probes took. */
  readonly elapsedMs: number;
  /** Ms left of the time for retries. */
  readonly leftMs: number;
  /** True if the time for retries is over, or is shorter than `atLeastMs`, the wait that the service requests. Default: 0 ms. */
  isOver(atLeastMs?: number): boolean;
  /**
   * Records a failed attempt. Returns the wait before the next one in ms, or undefined if the parameter `isOver` is true. The parameter
   * defaults to the result of the method `isOver`.
   */
  failed(atLeastMs?: number, isOver?: boolean): number | undefined;
  /** Excludes a wait for a permit from the time for retries. */
  waited(ms: number): void;
  /** Records a failed attempt in an outage, `ms` of which count towards the time for retries. */
  probed(ms: number): void;
}

const BASE_MS = 500;
const CAP_MS = 30_000;

/**
 * Returns the wait after a failure, in ms: half to all of a delay that doubles with each failure, from 500 ms to 30 s. No wait is close to
 * 0, and none is shorter than the one before it.
 */
export function delayMs(failures: number, random: () => number): number {
  return Math.min(CAP_MS, BASE_MS * 2 ** failures) * (0.5 + random() / 2);
}

/** Creates a backoff whose waits are random, so that clients that failed together don't retry together. */
export function backoff({ nowMs, random, retryForMs }: BackoffOptions): Backoff {
  let failures = 0;
  let countedFrom: number | undefined;
  const elapsedMs = (): number => (countedFrom === undefined ? 0 : Math.max(0, nowMs() - countedFrom));
  const leftMs = (): number => retryForMs - elapsedMs();
  const isOver = (atLeastMs = 0): boolean => {
    const left = leftMs();
    return left <= 0 || atLeastMs > left;
  };
  return {
    isOver,
    get failures() {
      return failures;
    },
    get elapsedMs() {
      return elapsedMs();
    },
    get leftMs() {
      return leftMs();
    },
    failed(atLeastMs = 0, isLast = isOver(atLeastMs)) {
      countedFrom ??= nowMs();
      const delay = delayMs(failures, random);
      failures += 1;
      return isLast ? undefined : Math.max(0, Math.min(leftMs(), Math.max(delay, atLeastMs)));
    },
    waited(ms) {
      if (countedFrom !== undefined) countedFrom += ms;
    },
    probed(ms) {
      failures += 1;
      countedFrom = (countedFrom ?? nowMs()) - ms;
    },
  };
}
