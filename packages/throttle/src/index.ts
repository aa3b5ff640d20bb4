export { type AcquireOptions, type Admission, type AdmissionOptions, admission, type Permit, type Waiting } from './admission.ts';
export { type Clock, systemClock } from './clock.ts';
export { type CredentialPool, credentialPool, type CredentialPoolOptions, type Grant, type PoolMember } from './credential-pool.ts';
export type { BudgetSnapshot, Journal, JournalEntry } from './journal.ts';
export { type Credit, type CreditPool, type CreditPoolOptions, creditPool } from './credit-pool.ts';
export { drain, type DrainOptions } from './drain.ts';
export type { Delivery, PageReader, ReadOptions } from './page-reader.ts';
export { PageStream } from './page-stream.ts';
export { type BudgetEvidence, type RateBudget, type RateBudgetOptions, rateBudget, type Slot } from './rate-budget.ts';
