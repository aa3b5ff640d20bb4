import { httpDate, retryAfterMs } from '@headgate/throttle';
import { nextTimeOfDay } from '@headgate/throttle/internal';
import type { HttpResponse } from '../http/response.ts';
import type { Verdict } from '../verdict.ts';
import type { QuotaReset } from './options.ts';
import { refusalAnswer } from './schema.ts';

/** A response that may name a limit. */
export interface Refusal {
  readonly answer: HttpResponse;
  /** Epoch ms when the response arrived, used if it has no Date header. */
  readonly epochMs: number;
  readonly quotaReset: QuotaReset;
}

/**
 * Returns the limit that the text of an error response names. Undefined if it names none. The text is matched but never passed on, because
 * a service may put the key into it.
 */
export function readRefusal(refusal: Refusal): Verdict<never> | undefined {
  const message = messageOf(refusal.answer);
  // The text may quote a name with the words of a limit: `"Too Many Books" was not found`.
  if (message === undefined || !LIMIT.test(message) || NOT_FOUND.test(message)) return undefined;
  return limitReached(refusal, message);
}

/** Reads which limit a refusal is about. */
export function readLimit(refusal: Refusal): Verdict<never> {
  return limitReached(refusal, messageOf(refusal.answer) ?? '');
}

const LIMIT = /\b(?:limit(?:s|ed)?|quotas?|throttl\w+|exceed\w*|too many)\b/i;
const NOT_FOUND =
  /\bnot found\b|\b(?:no|unknown|invalid) (?:such|match\w*|results?|records?|books?|authors?|isbns?)\b|\bdoes(?:n't| not) exist\b/i;

function limitReached({ answer, epochMs, quotaReset }: Refusal, message: string): Verdict<never> {
  const said = retryAfterMs({ headers: answer.headers, epochMs });
  if (/\b(?:daily|day)\b/i.test(message)) {
    const afterMs = httpDate(answer.headers['date']) ?? epochMs;
    const resetMs = nextTimeOfDay(quotaReset.resetsAt, quotaReset.zone)(afterMs) - afterMs + AFTER_RESET_MS;
    return { kind: 'rate-limited', reason: `the daily quota is used up (${answer.status})`, retryInMs: Math.max(resetMs, said ?? 0) };
  }
  if (/\bminute\b/i.test(message)) {
    return {
      kind: 'rate-limited',
      reason: `the quota per minute is used up (${answer.status})`,
      retryInMs: Math.max(MINUTE_MS, said ?? 0),
    };
  }
  return { kind: 'rate-limited', reason: `the request limit is reached (${answer.status})`, retryInMs: said };
}

const MINUTE_MS = 60_000;
/**
 * Ms to wait after the reset. If the service resets a moment late, an earlier request would be refused, and Headgate would wait another
 * day.
 */
const AFTER_RESET_MS = 1_000;

function messageOf(answer: HttpResponse): string | undefined {
  try {
    const body = refusalAnswer.safeParse(JSON.parse(answer.body.toString('utf8')));
    if (!body.success) return undefined;
    const { errorMessage, error_message: spelledOut, message } = body.data;
    return [errorMessage, spelledOut, message].find((text) => text !== undefined && text.trim() !== '');
  } catch {
    return undefined;
  }
}
