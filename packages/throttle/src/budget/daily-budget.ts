import { type Clock, systemClock } from '../clock.ts';
import { nextTimeOfDay } from './next-time-of-day.ts';
import { RollingBudget, type RateBudget } from './rate-budget.ts';

export interface DailyBudgetOptions {
  /** Units that may be used from one reset to the next. */
  readonly limit: number;
  /** Time of day at which the service counts anew, as `HH:MM`. Default `00:00`. */
  readonly resetsAt?: string;
  /** IANA name of the zone of that time. Default `UTC`. */
  readonly zone?: string;
  /** Waited beyond the reset, for clocks that don't agree, in ms. Default 5,000. */
  readonly guardMs?: number;
  /** Longest a request that was sent and then given up may take to be counted by the service, in ms. Default 5,000. */
  readonly maxDelayMs?: number;
  /** Longest a slot may wait between its taking and its sending, in ms. Default: as long as it likes. */
  readonly leaseMs?: () => number;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
}

const DAY_MS = 86_400_000;

/** Makes a budget that is whole again at a time of day. Throws a `RangeError` for a limit, time or zone that can't be. */
export function dailyBudget(options: DailyBudgetOptions): RateBudget {
  const { limit, resetsAt = '00:00', zone = 'UTC', guardMs = 5_000, maxDelayMs, leaseMs, clock = systemClock() } = options;
  if (!Number.isSafeInteger(limit) || limit < 1) throw new RangeError(`dailyBudget: limit must be a whole number above 0, got ${limit}`);
  const msToReset = (epochMs: number): number => nextTimeOfDay({ at: resetsAt, zone, afterMs: epochMs }) - epochMs;
  // Thrown now, not at the first request.
  msToReset(clock.epochMs());
  return new RollingBudget({
    limit,
    windowMs: DAY_MS,
    guardMs,
    endGrainMs: guardMs,
    clock,
    busyForMs: (countedWithinMs) => countedWithinMs + msToReset(clock.epochMs() + countedWithinMs) + guardMs,
    ...(maxDelayMs !== undefined && { maxDelayMs }),
    ...(leaseMs !== undefined && { leaseMs }),
  });
}
