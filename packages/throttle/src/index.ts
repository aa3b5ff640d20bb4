/**
 * Rate limits and backpressure for requests to a service. A request starts when the rate limits permit it and the consumer has room for the
 * response. Responses can be read as streams of pages.
 *
 * @packageDocumentation
 */
export { type AcquireOptions, type Admission, type AdmissionOptions, admission, type Waiting } from './admission/admission.ts';
export type { Permit } from './admission/permit.ts';
export { agedSnapshots, stampedSnapshots } from './budget/aged-snapshots.ts';
export { type BootTime, type Clock, systemClock } from './clock.ts';
export {
  type Among,
  type Claims,
  type CredentialPool,
  credentialPool,
  type CredentialPoolOptions,
  type PoolMember,
  type Taken,
} from './admission/credential-pool.ts';
export type { BudgetSnapshot, GrantsAhead, Journal, JournalEntry } from './budget/journal.ts';
export { limitedFetch, type LimitedFetchOptions } from './admission/limited-fetch.ts';
export { type Credit, type CreditPool, type CreditPoolOptions, creditPool } from './admission/credit-pool.ts';
export { dailyBudget, type DailyBudgetOptions, monthlyBudget, type MonthlyBudgetOptions } from './budget/calendar-budget.ts';
export { drain, type DrainOptions } from './pages/drain.ts';
export { gather, type GatherOptions } from './pages/gather.ts';
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
} from './admission/limiter.ts';
export { mergePages, type MergePagesOptions } from './pages/merge-pages.ts';
export type { Delivery, PageReader, PageReadOptions } from './pages/page-reader.ts';
export { PageStream, type PageStreamOptions } from './pages/page-stream.ts';
export { type BudgetEvidence, type RateBudget, type RateBudgetOptions, rateBudget, type Slot } from './budget/rate-budget.ts';
export { type Json, type OpenTransform, type Transform, transform, type TransformOptions } from './pages/transform.ts';
export { httpDate, retryAfterMs, type RetryAfterOptions, waitMs, type WaitOptions } from './retry-after.ts';
export type { PageStage, Stage } from './pages/through.ts';
