import type { Answer } from './answer.ts';
import { httpDate } from './http-date.ts';

export interface RetryAfterOptions {
  readonly headers: Answer['headers'];
  /** Our own clock, in ms, for answers without a Date. */
  readonly epochMs: number;
}

/**
 * What `Retry-After` says (RFC 9110, section 10.2.3: seconds, or a date), in ms from now; undefined where it says nothing.
 * A date counts against the same answer's Date, so that the clocks need not agree.
 */
export function retryAfterMs({ headers, epochMs }: RetryAfterOptions): number | undefined {
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
 * `Retry-After` wins. `x-rate-limit-reset` (epoch seconds of the service's clock) counts with status 429 or with nothing remaining,
 * and one second is added: it is rounded.
 */
export function refusalWaitMs({ answer: { status, headers }, epochMs }: RefusalWaitOptions): number | undefined {
  const said = retryAfterMs({ headers, epochMs });
  if (said !== undefined) return said;
  const reset = headers['x-rate-limit-reset']?.trim() ?? '';
  if (!/^\d{1,12}$/.test(reset)) return undefined;
  if (status !== 429 && headers['x-rate-limit-remaining']?.trim() !== '0') return undefined;
  return Math.max(0, Number(reset) * 1000 - answeredAt(headers, epochMs)) + 1_000;
}

function answeredAt(headers: Answer['headers'], epochMs: number): number {
  return httpDate(headers['date']) ?? epochMs;
}
