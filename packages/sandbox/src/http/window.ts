import { checkNumbers } from '../option-number.ts';
import { SandboxOptionError } from '../sandbox-option-error.ts';

/**
 * The start of a window. `first-request`: at the first request after the previous window. `wall-clock`: at whole multiples of its length since the
 * epoch. `rolling`: with every request, so no interval of `windowMs` contains more than `limit` requests.
 */
export type WindowKind = 'first-request' | 'wall-clock' | 'rolling';

const windowKinds: readonly WindowKind[] = ['first-request', 'wall-clock', 'rolling'];

/** A limit of requests per window. */
export interface WindowOptions {
  /** The start of a window. */
  readonly kind: WindowKind;
  /** Maximum requests per window; a whole number from 1. */
  readonly limit: number;
  /** Length of a window in milliseconds. */
  readonly windowMs: number;
}

export interface WindowVerdict {
  readonly allowed: boolean;
  readonly limit: number;
  /** Requests left after this one. */
  readonly remaining: number;
  /** Epoch milliseconds at which the window ends or, if it is rolling, at which its oldest request expires. */
  readonly resetMs: number;
}

/** A window that counts requests. A refused request isn't counted. */
export interface RequestWindow {
  take(nowMs: number): WindowVerdict;
}

/** Creates an empty window. Throws `SandboxOptionError` for an invalid kind, limit or length. */
export function createRequestWindow(options: WindowOptions): RequestWindow {
  const { kind, limit, windowMs } = options;
  if (!windowKinds.includes(kind)) throw new SandboxOptionError(`window.kind is "${kind}"; give one of ${windowKinds.join(', ')}.`);
  checkNumbers({ 'window.limit': limit }, { least: 1 });
  checkNumbers({ 'window.windowMs': windowMs }, { least: 1, fractions: true });
  if (kind === 'rolling') return rollingWindow(limit, windowMs);
  const startOf = kind === 'wall-clock' ? (nowMs: number) => Math.floor(nowMs / windowMs) * windowMs : (nowMs: number) => nowMs;
  return intervalWindow(limit, windowMs, startOf);
}

function intervalWindow(limit: number, windowMs: number, startOf: (nowMs: number) => number): RequestWindow {
  let startMs = Number.NEGATIVE_INFINITY;
  let used = 0;
  return {
    take(nowMs) {
      if (nowMs >= startMs + windowMs) {
        startMs = startOf(nowMs);
        used = 0;
      }
      const allowed = used < limit;
      if (allowed) used += 1;
      return { allowed, limit, remaining: limit - used, resetMs: startMs + windowMs };
    },
  };
}

function rollingWindow(limit: number, windowMs: number): RequestWindow {
  const counted: number[] = [];
  return {
    take(nowMs) {
      while (counted.length > 0 && (counted[0] ?? nowMs) <= nowMs - windowMs) counted.shift();
      const allowed = counted.length < limit;
      if (allowed) counted.push(nowMs);
      return { allowed, limit, remaining: limit - counted.length, resetMs: (counted[0] ?? nowMs) + windowMs };
    },
  };
}
