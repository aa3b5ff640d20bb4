import type { z } from 'zod';
import { parseExact } from './exact-json.ts';
import { foreignBody, jsonVerdict } from './http/json-body.ts';
import { httpDate, retryAfterMs } from '@headgate/throttle';
import { refusalWaitMs } from './http/rate-headers.ts';
import type { HttpResponse } from './http/response.ts';
import type { ClassifyContext } from './source-definition.ts';
import { SourceError, type SourceErrorCode } from './source-error.ts';
import type { Verdict } from './verdict.ts';

/** Options of {@link statusVerdict}. */
export interface StatusVerdictOptions {
  /** Parses the body. Default: `parseExact`, which returns long integers as text; `exactId` accepts either. */
  readonly parse?: (text: string) => unknown;
}

/**
 * Returns the verdict on a response of a JSON service by its status. Handle what the service does differently before you call it.
 *
 * - 2xx: `jsonVerdict` with the schema.
 * - 420, 429, and 403 whose headers name a wait: `rate-limited`.
 * - 408, 425, 5xx, and an error that is HTML, which probably comes from a gateway: `transient`.
 * - 401: `unauthorized`, or `clock-wrong` if the response's Date is more than four minutes from the local clock. 404, 410: `not-found`. Any other: `fatal`, because the service would send the same response again. The form of the
 *   body doesn't count.
 */
export function statusVerdict<Value>(
  answer: HttpResponse,
  context: ClassifyContext<unknown>,
  schema: z.ZodType<Value>,
  { parse = parseExact }: StatusVerdictOptions = {},
): Verdict<Value> {
  const { status, headers } = answer;
  const { service, subject, credential, epochMs, recentlyRefused } = context;
  if (status >= 200 && status < 300) return jsonVerdict(answer, schema, parse);
  const waitMs = refusalWaitMs({ answer, epochMs, recentlyRefused });
  if (status === 420 || status === 429 || (status === 403 && waitMs !== undefined)) {
    return { kind: 'rate-limited', reason: `the rate limit is reached (${status})`, retryInMs: waitMs };
  }
  const retryInMs = retryAfterMs({ headers, epochMs });
  if (status >= 500 || status === 408 || status === 425) return { kind: 'transient', reason: `the service answered ${status}`, retryInMs };
  const foreign = foreignBody(answer);
  if (foreign !== undefined) return { kind: 'transient', reason: `${foreign} (${status})`, retryInMs };
  const error = (code: SourceErrorCode, message: string): SourceError =>
    new SourceError({ code, message, retryable: false, service, subject, credential, status });
  if (status === 401) {
    const message = `${credential}: ${service} refuses the credential (401). Check its secret.`;
    return refusedCredential(answer, context, error('HEADGATE_UNAUTHORIZED', message));
  }
  if (status === 404 || status === 410) {
    const message = `${subject}: ${service} doesn't have it (${status}). Check the request; if everything is missing, check baseUrl.`;
    return { kind: 'not-found', error: error('HEADGATE_NOT_FOUND', message) };
  }
  const code = status === 403 ? 'HEADGATE_FORBIDDEN' : status === 400 ? 'HEADGATE_BAD_REQUEST' : 'HEADGATE_UNEXPECTED_STATUS';
  const message = `${subject}: ${service} refuses the request (${status}), and a retry won't change that. Check the request and the credential's rights.`;
  return { kind: 'fatal', error: error(code, message) };
}

/** Returns the verdict on a refused credential, whose signature may have been refused because of the clock. */
export function refusedCredential({ headers }: HttpResponse, { epochMs }: ClassifyContext<unknown>, error: SourceError): Verdict<never> {
  const offsetMs = (httpDate(headers['date']) ?? epochMs) - epochMs;
  return Math.abs(offsetMs) > CLOCK_TOLERANCE_MS ? { kind: 'clock-wrong', offsetMs, error } : { kind: 'unauthorized', error };
}

/** Services that check timestamps tolerate about five minutes. */
const CLOCK_TOLERANCE_MS = 4 * 60_000;
