import { httpDate, nextTimeOfDay, retryAfterMs } from '@headgate/throttle';
import type { HttpResponse } from '../http/response.ts';
import type { QuotaReset } from './options.ts';
import { refusalAnswer } from './schema.ts';

export interface RefusalOptions {
  readonly answer: HttpResponse;
  /** Epoch ms when the response arrived, used if it has no Date header. */
  readonly epochMs: number;
  readonly quotaReset: QuotaReset;
}

export interface LimitReached {
  readonly reason: string;
  /** Ms until the next request may start; undefined if the response doesn't say. */
  readonly retryInMs?: number | undefined;
}

/**
 * Returns the limit that the text of an error response names. Undefined if it names none. The text is matched but never passed on, because
 * a service may put the key into it.
 */
export function readRefusal(options: RefusalOptions): LimitReached | undefined {
  const message = messageOf(options.answer);
  // The text may quote a name with the words of a limit: `"Too Many Books" was not found`.
  if (message === undefined || !LIMIT.test(message) || NOT_FOUND.test(message)) return undefined;
  return limitReached(options, message);
}

/** Reads which limit a 429 is about. */
export function readLimit(options: RefusalOptions): LimitReached {
  return limitReached(options, messageOf(options.answer) ?? '');
}

const LIMIT = /\b(?:limit(?:s|ed)?|quotas?|throttl\w+|exceed\w*|too many)\b/i;
const NOT_FOUND =
  /\bnot found\b|\b(?:no|unknown|invalid) (?:such|match\w*|results?|records?|books?|authors?|isbns?)\b|\bdoes(?:n't| not) exist\b/i;

function limitReached({ answer, epochMs, quotaReset }: RefusalOptions, message: string): LimitReached {
  const said = retryAfterMs({ headers: answer.headers, epochMs });
  if (/\b(?:daily|day)\b/i.test(message)) {
    const afterMs = httpDate(answer.headers['date']) ?? epochMs;
    const resetMs = nextTimeOfDay({ at: quotaReset.resetsAt, zone: quotaReset.zone, afterMs }) - afterMs + AFTER_RESET_MS;
    return { reason: `the daily quota is used up (${answer.status})`, retryInMs: Math.max(resetMs, said ?? 0) };
  }
  if (/\bminute\b/i.test(message)) {
    return { reason: `the quota per minute is used up (${answer.status})`, retryInMs: Math.max(MINUTE_MS, said ?? 0) };
  }
  return { reason: `the request limit is reached (${answer.status})`, retryInMs: said };
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
