export { type AcquireOptions, type Admission, type AdmissionOptions, admission, type Permit, type Waiting } from './admission.ts';
export { agedSnapshots } from './aged-snapshots.ts';
export { type Clock, systemClock } from './clock.ts';
export { type CredentialPool, credentialPool, type CredentialPoolOptions, type Grant, type PoolMember } from './credential-pool.ts';
export type { BudgetSnapshot, Journal, JournalEntry } from './journal.ts';
export { type Credit, type CreditPool, type CreditPoolOptions, creditPool } from './credit-pool.ts';
export { dailyBudget, type DailyBudgetOptions } from './daily-budget.ts';
export { drain, type DrainOptions } from './drain.ts';
export { gather, type GatherOptions } from './gather.ts';
export {
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
export { mergePages, type MergePagesOptions } from './merge-pages.ts';
export { nextTimeOfDay, type NextTimeOfDayOptions } from './next-time-of-day.ts';
export type { Delivery, PageReader, ReadOptions } from './page-reader.ts';
export { PageStream, type PageStreamOptions } from './page-stream.ts';
export { resumable } from './resumable.ts';
export { type BudgetEvidence, type RateBudget, type RateBudgetOptions, rateBudget, type Slot } from './rate-budget.ts';
export { type Json, type OpenTransform, type Transform, transform, type TransformOptions } from './transform.ts';
export type { PageStage, Stage } from './through.ts';
