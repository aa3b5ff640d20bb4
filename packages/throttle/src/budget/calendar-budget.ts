import { type Clock, systemClock } from '../clock.ts';
import { rangeChecks } from '../number-checks.ts';
import { type NextReset, nextDayOfMonth, nextTimeOfDay } from './next-reset.ts';
import { checkBudget, RateBudget, type RateBudgetOptions } from './rate-budget.ts';

/** Options of {@link dailyBudget}. */
export interface DailyBudgetOptions extends Omit<RateBudgetOptions, 'windowMs'> {
  /** Maximum requests, or units of weight, from one reset to the next. */
  readonly limit: number;
  /** Time of day at which the service resets its count, as `HH:MM`. Default `00:00`. */
  readonly resetsAt?: string | undefined;
  /** IANA name of the time zone of that reset. Default `UTC`. */
  readonly zone?: string | undefined;
  /** Extra wait after the reset, for clocks that don't agree, in ms. Default 5,000. */
  readonly guardMs?: number | undefined;
}

/** Options of {@link monthlyBudget}. */
export interface MonthlyBudgetOptions extends DailyBudgetOptions {
  /** Day of the month, 1 to 31, at which the service resets its count; in a shorter month its last day. Default 1. */
  readonly resetsOn?: number | undefined;
}

const DAY_MS = 86_400_000;
const LONGEST_MONTH_MS = 31 * DAY_MS;

/** Creates a budget that resets at a time of day. Throws a `RangeError` for an invalid number, time or zone. */
export function dailyBudget({ resetsAt = '00:00', zone = 'UTC', ...options }: DailyBudgetOptions): RateBudget {
  return calendarBudget('dailyBudget', DAY_MS, `day ${resetsAt} ${zone}`, nextTimeOfDay(resetsAt, zone), options);
}

/** Creates a budget that resets on a day of the month. Throws a `RangeError` for an invalid number, day, time or zone. */
export function monthlyBudget({ resetsOn = 1, resetsAt = '00:00', zone = 'UTC', ...options }: MonthlyBudgetOptions): RateBudget {
  rangeChecks('monthlyBudget').whole({ resetsOn }, 1, 31);
  const nextReset = nextDayOfMonth(resetsOn, resetsAt, zone);
  return calendarBudget('monthlyBudget', LONGEST_MONTH_MS, `month ${resetsOn} ${resetsAt} ${zone}`, nextReset, options);
}

/** `name`: the function's, for errors. `resets`: when the budget resets, as text. */
function calendarBudget(name: string, windowMs: number, resets: string, nextReset: NextReset, options: DailyBudgetOptions): RateBudget {
  const { guardMs = 5_000, clock = systemClock() } = options;
  checkBudget(name, options);
  const busyForMs = (countedWithinMs: number): number => {
    const now = clock.epochMs();
    return nextReset(now + countedWithinMs) - now + guardMs;
  };
  return new RateBudget({ windowMs, resets, endGrainMs: guardMs, busyForMs, setBackMs: setBackOf(clock) }, { ...options, clock });
}

/** Smaller differences between the clocks are their jitter, in ms. */
const JITTER_MS = 1_000;

/** Returns a function that returns how far the wall clock was set back since the call of `setBackOf`, in ms, all steps together. */
function setBackOf(clock: Clock): () => number {
  const ahead = (): number => clock.epochMs() - clock.monotonicMs();
  let seen = ahead();
  let setBackMs = 0;
  return () => {
    const now = ahead();
    if (Math.abs(now - seen) < JITTER_MS) return setBackMs;
    setBackMs += Math.max(0, seen - now);
    seen = now;
    return setBackMs;
  };
}
