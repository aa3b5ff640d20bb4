/** How a service counts: in windows that start at a request, in windows by the wall clock, or over the last `windowMs`. */
export type WindowKind = 'first-request' | 'wall-clock' | 'rolling';

export const WINDOW_KINDS: readonly WindowKind[] = ['first-request', 'wall-clock', 'rolling'];

export interface ServerWindowOptions {
  readonly kind: WindowKind;
  readonly limit: number;
  /** Length of the window by the server's clock, ms. */
  readonly windowMs: number;
  /** Start of a wall-clock window, ms. */
  readonly phaseMs: number;
}

/** The window of one credential on a server. Times are ms of the server's clock and must not decrease. */
export interface ServerWindow {
  /** Counts a request. Returns false if the request is refused, and so isn't counted. */
  count(atMs: number): boolean;
  /** Number of requests that would still be counted. */
  readonly remaining: number;
  /** Time at which the window ends, or at which the oldest request leaves a rolling one. */
  resetAtMs(): number;
}

export function serverWindow(options: ServerWindowOptions): ServerWindow {
  return options.kind === 'rolling' ? rollingWindow(options) : steppedWindow(options);
}

function steppedWindow({ kind, limit, windowMs, phaseMs }: ServerWindowOptions): ServerWindow {
  let endsAt = -Infinity;
  let used = 0;
  return {
    count(atMs) {
      if (atMs >= endsAt) {
        endsAt = (kind === 'first-request' ? atMs : Math.floor((atMs - phaseMs) / windowMs) * windowMs + phaseMs) + windowMs;
        used = 0;
      }
      if (used >= limit) return false;
      used += 1;
      return true;
    },
    get remaining() {
      return limit - used;
    },
    resetAtMs: () => endsAt,
  };
}

function rollingWindow({ limit, windowMs }: ServerWindowOptions): ServerWindow {
  const times = new Float64Array(limit).fill(-Infinity);
  let oldest = 0;
  let lastAt = -Infinity;
  return {
    count(atMs) {
      lastAt = atMs;
      if (atMs - (times[oldest] ?? 0) < windowMs) return false;
      times[oldest] = atMs;
      oldest = (oldest + 1) % limit;
      return true;
    },
    get remaining() {
      return times.filter((at) => lastAt - at >= windowMs).length;
    },
    resetAtMs: () => (times[oldest] ?? 0) + windowMs,
  };
}
