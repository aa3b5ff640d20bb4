/** How a service counts: from the first request on, by the clock on the wall, or over the last `windowMs`. */
export type WindowKind = 'first-request' | 'wall-clock' | 'rolling';

export const WINDOW_KINDS: readonly WindowKind[] = ['first-request', 'wall-clock', 'rolling'];

export interface ServerWindowOptions {
  readonly kind: WindowKind;
  readonly limit: number;
  /** Ms of the server's own clock. */
  readonly windowMs: number;
  /** Where a wall-clock window begins, ms. */
  readonly phaseMs: number;
}

/** One credential's window on a server. Instants are ms of the server's clock and never go back. */
export interface ServerWindow {
  /** A request is counted; false where it is refused. Refused ones don't count. */
  count(atMs: number): boolean;
  /** Requests that would be counted now. */
  readonly remaining: number;
  /** When a window ends, or the oldest request leaves it. */
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
