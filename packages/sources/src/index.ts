/**
 * Sources of pages: they turn rate-limited HTTP services into streams that request a page when the consumer has room for it. `defineSource`
 * creates a source for your service.
 *
 * @packageDocumentation
 */
export type { HttpResponse } from './http/response.ts';
export type { BudgetSlots, FreeSlots } from './budget-slots.ts';
export { nextReset } from './budgets.ts';
export { retryAfterMs, type RetryAfterOptions, waitMs, type WaitOptions } from '@headgate/throttle';
export { defineSource } from './define-source.ts';
export { exactId } from './exact-id.ts';
export { parseExact, parseUntouched } from './exact-json.ts';
export { jsonBody, type JsonBody, jsonKind, jsonVerdict } from './http/json-body.ts';
export { type Redact, redaction } from './http/redaction.ts';
export { budgetEvidence, type BudgetEvidenceOptions, refusalWaitMs, type RefusalWaitOptions } from './http/rate-headers.ts';
export type { QueryOptions, QueryState, QueryStatus, Source, SourceBudgetGauge, SourceGauges, SourceOutage } from './source.ts';
export {
  type Checkpoint,
  type NextPage,
  cursorParameter,
  type CursorParameterOptions,
  linkTarget,
  nextAddress,
  type NextAddressOptions,
  nextLink,
  type NextLinkOptions,
  offsets,
  type OffsetsOptions,
  pageNumbers,
  type PageNumbersOptions,
  type Paging,
  type WalkedPage,
  type WalkOptions,
} from './paging.ts';
export { walkPages, type PagingCalls, type WalkPagesOptions } from './walk-pages.ts';
export type {
  AnyRequest,
  ClassifyContext,
  EvidenceContext,
  PathRequest,
  SourceDefinition,
  SourceRequest,
  UrlRequest,
} from './source-definition.ts';
export { SourceError, type SourceErrorCode, type SourceErrorOptions } from './source-error.ts';
export { statusVerdict, type StatusVerdictOptions } from './status-verdict.ts';
export {
  type AllowanceSender,
  type AllowedRequest,
  type RequestAllowance,
  type RequestAllowanceOptions,
  requestAllowance,
} from './request-allowance.ts';
export type { AttemptEvent, Budgets, Credential, Limit, LimitMismatch, Quota, SourceOptions } from './source-options.ts';
export type { Verdict } from './verdict.ts';
// Types from `@headgate/throttle` that this package's declarations use, and the functions that create them, so that users need no other
// package for them.
export {
  type BudgetEvidence,
  type BudgetSnapshot,
  type Clock,
  type Credit,
  type CreditPool,
  creditPool,
  type CreditPoolOptions,
  type Delivery,
  type DrainOptions,
  type Journal,
  type JournalEntry,
  PageStream,
} from '@headgate/throttle';
