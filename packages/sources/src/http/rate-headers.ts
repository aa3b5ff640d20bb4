import { type BudgetEvidence, retryAfterMs, waitMs, type WaitOptions } from '@headgate/throttle';
import type { HttpResponse } from './response.ts';

/** Options of {@link refusalWaitMs}. */
export interface RefusalWaitOptions {
  /** The refusal. Its body isn't read. */
  readonly answer: HttpResponse;
  /** Epoch ms by the local clock, used if the response has no valid Date header. */
  readonly epochMs: number;
  /** `ClassifyContext.recentlyRefused`: then a reset that didn't help doesn't count again while requests remain. Default false. */
  readonly recentlyRefused?: boolean;
}

/**
 * Returns how long a rate-limited request should wait, in ms from now, if the response says so.
 *
 * `Retry-After` comes first. Otherwise, the reset that `budgetEvidence` reads counts if no request remains, or if the status is 429. If
 * requests remain, a 429 may concern another limit, so after a recent refusal its reset doesn't count. One second is added, because services
 * round the reset.
 */
export function refusalWaitMs({ answer, epochMs, recentlyRefused = false }: RefusalWaitOptions): number | undefined {
  const { status, headers } = answer;
  const said = retryAfterMs({ headers, epochMs });
  if (said !== undefined) return said;
  const { remaining, resetInMs } = rateHeaders({ headers, epochMs });
  const mayBeAnother = remaining !== undefined && remaining > 0 && recentlyRefused;
  if (resetInMs === undefined || (remaining !== 0 && status !== 429) || mayBeAnother) return undefined;
  return Math.max(0, resetInMs) + 1_000;
}

/** Options of {@link budgetEvidence}. */
export interface BudgetEvidenceOptions {
  /** Status and headers of the response. */
  readonly head: Omit<HttpResponse, 'body'>;
  /** Epoch ms by the local clock, used if the response has no valid Date header. */
  readonly epochMs: number;
}

/**
 * Reads the state of a credential's budget from a response, in the spellings that services use: `x-rate-limit-*`, `x-ratelimit-*` (GitHub,
 * Reddit, Discord), `RateLimit` (draft-ietf-httpapi-ratelimit-headers) and `ratelimit-*`, each with the remaining requests and the time of
 * the reset, as epoch seconds of the service's clock or as seconds from now. Undefined if either is missing. Also undefined for a 429 whose
 * `Retry-After` ends before that reset, because the refusal probably concerns another limit.
 */
export function budgetEvidence({ head: { status, headers }, epochMs }: BudgetEvidenceOptions): BudgetEvidence | undefined {
  const { limit, remaining, resetInMs } = rateHeaders({ headers, epochMs });
  if (remaining === undefined || resetInMs === undefined) return undefined;
  const said = { remaining, resetInMs, ...(limit !== undefined && { limit }) };
  if (status !== 429) return said;
  const retryInMs = retryAfterMs({ headers, epochMs }) ?? Infinity;
  return retryInMs + 1_000 < resetInMs ? undefined : { ...said, refused: true };
}

interface RateHeaders {
  /** Requests left, rounded down, because some services send fractions. */
  readonly remaining: number | undefined;
  readonly resetInMs: number | undefined;
  readonly limit: number | undefined;
}

function rateHeaders({ headers, epochMs }: Pick<HttpResponse, 'headers'> & { readonly epochMs: number }): RateHeaders {
  const structured = headers['ratelimit'] ?? '';
  const member = (names: string): string | undefined => new RegExp(`(?:^|[;,\\s])(?:${names})=(\\d+)`).exec(structured)?.[1];
  const spelled = [
    ...['x-rate-limit', 'x-ratelimit'].map((name) => [
      headers[`${name}-remaining`],
      headers[`${name}-reset-after`] ?? headers[`${name}-reset`],
      headers[`${name}-limit`],
    ]),
    [member('r|remaining'), member('t|reset'), member('limit')],
    [headers['ratelimit-remaining'], headers['ratelimit-reset'], headers['ratelimit-limit']],
  ].map(([left, reset, most]) => windowsOf({ left, reset, most }, { headers, epochMs }));
  const [windows = []] = spelled.filter((some) => some.length > 0);
  const leastLeft = Math.min(...windows.map(({ remaining }) => remaining ?? 0));
  const deciding = windows.filter(({ remaining }) => (remaining ?? 0) === leastLeft);
  return deciding.toSorted((one, other) => other.resetInMs - one.resetInMs)[0] ?? NOTHING;
}

type Spelled = Readonly<Record<'left' | 'reset' | 'most', string | undefined>>;

/** The windows of one spelling whose reset is readable. A service with several windows lists their values, as in `0, 100`. */
function windowsOf({ left, reset, most }: Spelled, at: Omit<WaitOptions, 'text'>) {
  const [lefts, mosts] = [listOf(left), listOf(most)];
  return listOf(reset).flatMap((text, i) => {
    const resetInMs = waitMs({ ...at, text });
    const remaining = plainNumber(lefts[i]);
    if (resetInMs === undefined) return [];
    return [{ resetInMs, remaining: remaining === undefined ? undefined : Math.floor(remaining), limit: plainNumber(mosts[i]) }];
  });
}

const NOTHING: RateHeaders = { remaining: undefined, resetInMs: undefined, limit: undefined };

/** The values of a header that lists them. The comma of a date separates nothing. */
function listOf(header: string | undefined): readonly (string | undefined)[] {
  return header === undefined ? [] : /^[\d.,\s]+$/.test(header) ? header.split(',').map((value) => value.trim()) : [header];
}

function plainNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,12}(?:\.\d{1,9})?$/.test(text.trim()) ? Number(text) : undefined;
}
