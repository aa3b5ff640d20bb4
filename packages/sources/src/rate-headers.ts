import type { BudgetEvidence } from '@headgate/throttle';
import type { Answer } from './answer.ts';
import { httpDate } from './http-date.ts';

export interface RateHeadersOptions {
  readonly headers: Answer['headers'];
  /** Our own clock, in ms, for answers without a Date. */
  readonly epochMs: number;
}

/**
 * What `Retry-After` says (RFC 9110, section 10.2.3: seconds, or a date), in ms from now; undefined where it says nothing.
 * A date counts against the same answer's Date, so that the clocks need not agree.
 */
export function retryAfterMs({ headers, epochMs }: RateHeadersOptions): number | undefined {
  const retryAfter = headers['retry-after']?.trim();
  if (retryAfter !== undefined && /^\d{1,9}$/.test(retryAfter)) return Number(retryAfter) * 1000;
  const retryAt = httpDate(retryAfter);
  return retryAt === undefined ? undefined : Math.max(0, retryAt - answeredAt(headers, epochMs));
}

export interface RefusalWaitOptions {
  readonly answer: Answer;
  /** Our own clock, in ms, for answers without a Date. */
  readonly epochMs: number;
}

/**
 * How long a request that was refused for its rate should wait, ms from now, as far as the answer says so.
 *
 * `Retry-After` wins. `x-rate-limit-reset` (epoch seconds of the service's clock) counts with nothing remaining, or with status 429
 * where what remains isn't said, and one second is added: it is rounded.
 */
export function refusalWaitMs({ answer: { status, headers }, epochMs }: RefusalWaitOptions): number | undefined {
  const said = retryAfterMs({ headers, epochMs });
  if (said !== undefined) return said;
  const reset = headers['x-rate-limit-reset']?.trim() ?? '';
  if (!/^\d{1,12}$/.test(reset)) return undefined;
  const remaining = headers['x-rate-limit-remaining']?.trim();
  if (remaining === undefined ? status !== 429 : remaining !== '0') return undefined;
  return Math.max(0, Number(reset) * 1000 - answeredAt(headers, epochMs)) + 1_000;
}

/**
 * What an answer says of its credential's budget: `x-rate-limit-*` (epoch seconds of the service's clock), `RateLimit`
 * (draft-ietf-httpapi-ratelimit-headers) or its older three headers (seconds from now). Undefined where they say nothing that can be so.
 */
export function budgetEvidence({ headers, epochMs }: RateHeadersOptions): BudgetEvidence | undefined {
  const remaining = wholeNumber(headers['x-rate-limit-remaining']);
  const reset = wholeNumber(headers['x-rate-limit-reset']);
  if (remaining !== undefined && reset !== undefined) return { remaining, resetInMs: reset * 1_000 - answeredAt(headers, epochMs) };
  const draft = headers['ratelimit'] ?? '';
  const left = wholeNumber(/(?:^|[;,\s])(?:r|remaining)=(\d+)/.exec(draft)?.[1] ?? headers['ratelimit-remaining']);
  const inSeconds = wholeNumber(/(?:^|[;,\s])(?:t|reset)=(\d+)/.exec(draft)?.[1] ?? headers['ratelimit-reset']);
  return left === undefined || inSeconds === undefined ? undefined : { remaining: left, resetInMs: inSeconds * 1_000 };
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,12}$/.test(text.trim()) ? Number(text) : undefined;
}

function answeredAt(headers: Answer['headers'], epochMs: number): number {
  return httpDate(headers['date']) ?? epochMs;
}
