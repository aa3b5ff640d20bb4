/**
 * Rate limits for promises: calls start as their budgets permit. This entry needs no other package.
 *
 * @packageDocumentation
 */
export { type BootTime, type Clock, systemClock } from '../clock.ts';
export { dailyBudget, type DailyBudgetOptions, monthlyBudget, type MonthlyBudgetOptions } from '../budget/calendar-budget.ts';
export type { BudgetSnapshot } from '../budget/journal.ts';
export { type BudgetEvidence, type RateBudget, type RateBudgetOptions, rateBudget, type Slot } from '../budget/rate-budget.ts';
export { limitedFetch, type LimitedFetchOptions } from './limited-fetch.ts';
export {
  failed,
  type Failed,
  limiter,
  type Limiter,
  type LimiterCredential,
  type LimiterOptions,
  QueueFullError,
  refused,
  type Refused,
  RefusedError,
  type RefusedOptions,
  type RunOptions,
  type Work,
} from './limiter.ts';
