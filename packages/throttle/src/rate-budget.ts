import { type Clock, systemClock } from './clock.ts';
import { busyLog } from './busy-log.ts';

export interface RateBudgetOptions {
  /** Requests (or units of weight) that may start per window. */
  readonly limit: number;
  /** The window's length in ms. */
  readonly windowMs: number;
  /** Added to each window for clock drift and early timers. Default: 500 ppm of the window + 5 ms. */
  readonly guardMs?: number;
  /** Longest a request that was sent and then given up may take to be counted by the service, in ms. Default 5,000. */
  readonly maxDelayMs?: number;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
}

/**
 * How many requests may start per window, as a rolling log anchored at responses.
 *
 * The service counted a request somewhere between its sending and its answer, so a slot is busy until the answer plus a
 * window: safe on windows that start with the first request, on wall-clock windows and on rolling ones alike.
 */
export interface RateBudget {
  readonly limit: number;
  readonly windowMs: number;
  /** Weight in use now: under way, or answered less than a window ago. */
  readonly used: number;
  /**
   * The monotonic ms at which `weight` may be taken; now or earlier when it may be taken at once, `Infinity` while only the
   * end of requests under way can tell. Throws a `RangeError` for a weight above the limit: it could never be taken.
   */
  freeAt(weight?: number): number;
  /** Takes a slot. Throws a `RangeError` unless `freeAt` has come. */
  take(weight?: number): Slot;
  /** Lets nothing start before the monotonic instant `untilMs`: the service has said so. Never shortens an earlier hold. */
  holdUntil(untilMs: number): void;
}

/** One grant of a budget, from its taking until the service can no longer hold it against us. */
export interface Slot {
  /** Its first byte is about to go to the wire. */
  sent(): void;
  /** An answer to it has come. */
  answered(): void;
  /** It was given up: at once free again when it was never sent, else busy until the service must have counted it plus a window. */
  aborted(): void;
}

/** Round trips needed before the least of them is trusted. */
const ROUND_TRIP_SAMPLES = 200;

/** Makes a budget. Throws a `RangeError` for a limit or window that isn't positive. */
export function rateBudget(options: RateBudgetOptions): RateBudget {
  const { limit, windowMs, guardMs = windowMs * 500e-6 + 5, maxDelayMs = 5_000, clock = systemClock() } = options;
  if (!Number.isSafeInteger(limit) || limit < 1) throw new RangeError(`rateBudget: limit must be a whole number above 0, got ${limit}`);
  if (!(windowMs > 0 && windowMs < Infinity)) throw new RangeError(`rateBudget: windowMs must be a positive number of ms, got ${windowMs}`);

  const log = busyLog({ limit, windowMs });
  let underWay = 0;
  let heldUntil = -Infinity;
  let leastRoundTripMs = Infinity;
  let roundTrips = 0;

  const checkWeight = (weight: number): void => {
    if (!(weight >= 1 && weight <= limit)) throw new RangeError(`rateBudget: a weight of ${weight} does not fit a limit of ${limit}`);
  };
  const freeAt = (weight = 1): number => {
    checkWeight(weight);
    return Math.max(heldUntil, log.freeAt(limit - underWay - weight, clock.monotonicMs()));
  };
  const learn = (roundTripMs: number): number => {
    roundTrips += 1;
    leastRoundTripMs = Math.min(leastRoundTripMs, roundTripMs);
    return roundTrips > ROUND_TRIP_SAMPLES ? leastRoundTripMs / 2 : 0;
  };

  return {
    limit,
    windowMs,
    get used() {
      return underWay + log.busy(clock.monotonicMs());
    },
    freeAt,
    take(weight = 1) {
      if (freeAt(weight) > clock.monotonicMs()) throw new RangeError(`rateBudget: no ${weight} of ${limit} free now; ask freeAt first`);
      underWay += weight;
      let sentAt: number | undefined;
      let open = true;
      const settle = (busyUntil: number | undefined): void => {
        open = false;
        underWay -= weight;
        if (busyUntil !== undefined) log.add(busyUntil, weight);
      };
      return {
        sent() {
          sentAt ??= clock.monotonicMs();
        },
        answered() {
          if (!open) return;
          const now = clock.monotonicMs();
          const roundTripFloorMs = sentAt === undefined ? 0 : learn(now - sentAt);
          settle(now - roundTripFloorMs + windowMs + guardMs);
        },
        aborted() {
          if (!open) return;
          settle(sentAt === undefined ? undefined : clock.monotonicMs() + maxDelayMs + windowMs + guardMs);
        },
      };
    },
    holdUntil(untilMs) {
      heldUntil = Math.max(heldUntil, untilMs);
    },
  };
}
