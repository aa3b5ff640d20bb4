import type { AttemptEvent } from '../source-options.ts';
import { SourceError } from '../source-error.ts';
import type { Verdict } from '../verdict.ts';
import { type About, type Attempted, MOST_REDIRECTS, type Redirect } from './attempt.ts';
import type { Backoff } from './backoff.ts';
import type { AfterFault, Fault } from './circuit-breaker.ts';
import { LARGEST_CLOCK_OFFSET_MS, MOST_CLOCK_REFUSALS, type SourceCredential } from './source-credential.ts';

/** Time between two checks for a missing secret, in ms. */
const SECRET_PAUSE_MS = 5_000;

/** The state of one query from attempt to attempt. */
export interface Progress {
  readonly deadline: Backoff;
  /** True after a response that doesn't match the service's format. A second one ends the query. */
  wasMismatch: boolean;
  /** The credentials that got a refusal that may concern only them. */
  readonly refusedBy: Set<string>;
  /** The last such refusal. */
  refusal: SourceError | undefined;
  redirect: Redirect | undefined;
  /** Number of redirects that the query has followed. */
  redirects: number;
  /** True if the last attempt was lost on a stale connection. A second loss in a row counts as a failure. */
  stale: boolean;
}

export interface RetryDecisionOptions {
  /** The attempt, whose verdict isn't `ok`. */
  readonly attempted: Omit<Attempted<unknown>, 'verdict'>;
  readonly verdict: Exclude<Verdict<unknown>, { readonly kind: 'ok' }>;
  /** Fields for the query's error. `status`: of the response, if one came. */
  readonly about: About & { readonly status: number | undefined };
  readonly credential: SourceCredential;
  /** Monotonic ms when the permit of this attempt was granted. */
  readonly grantedAtMs: number;
  /** The request's cost in each budget, in their order. */
  readonly weights: readonly number[];
  /** Epoch ms when the response arrived. */
  readonly epochMs: number;
  /** The credential's `clockRefusals` before the request was signed. */
  readonly clockRefusals: number;
  /** The credential's `secretRefusals` before the request was signed. */
  readonly secretRefusals: number;
  readonly progress: Progress;
  /** Reports an error that may be the service's. */
  readonly faulted: (fault: Fault) => AfterFault;
  readonly retire: (error: SourceError) => void;
  /** Returns true if a credential that isn't in `progress.refusedBy` may send the query. */
  readonly hasOther: () => boolean;
}

/** The next step of a query whose attempt had a verdict other than `ok`. */
export type RetryDecision =
  | {
      readonly kind: 'retry';
      readonly outcome: AttemptEvent['outcome'];
      readonly reason: string;
      /** Expected time until the next attempt, in ms, for displays. */
      readonly retryInMs: number;
      /** Wait before the next permit is acquired, in ms. */
      readonly pauseMs: number;
      /** True if the wait also ends when the service is up again. */
      readonly isUntilUp?: boolean;
    }
  | { readonly kind: 'reject'; readonly outcome: AttemptEvent['outcome']; readonly error: SourceError };

/** Acts on a verdict other than `ok`: decides what the query does next, and reports refusals to the credential. */
export function retryDecision(options: RetryDecisionOptions): RetryDecision {
  const { attempted, verdict, credential, progress } = options;
  const wasStale = progress.stale;
  progress.stale = false;
  if (attempted.redirect !== undefined && progress.redirects < MOST_REDIRECTS) {
    progress.redirect = attempted.redirect;
    progress.redirects += 1;
    credential.accepted();
    return { kind: 'retry', outcome: 'transient', reason: `redirected (${attempted.status}), and followed`, retryInMs: 0, pauseMs: 0 };
  }
  switch (verdict.kind) {
    case 'rate-limited': {
      const { grantedAtMs, weights } = options;
      if (verdict.retryInMs !== undefined && credential.isTooLong(verdict.retryInMs)) {
        const error = waitTooLong(options, verdict.reason, verdict.retryInMs);
        return { ...withoutCredential(options, error), outcome: 'rate-limited' };
      }
      const retryInMs = credential.refused({ grantedAtMs, weights, retryInMs: verdict.retryInMs });
      // The credential's budgets are on hold, but another credential may start at once.
      return { kind: 'retry', outcome: 'rate-limited', reason: verdict.reason, retryInMs, pauseMs: 0 };
    }
    case 'transient': {
      const { reason } = verdict;
      // A definition may have computed it from a header that isn't a number.
      const retryInMs = Number.isNaN(verdict.retryInMs) ? undefined : verdict.retryInMs;
      if (attempted.stale === true && !wasStale) {
        progress.stale = true;
        // The retry gets a new connection, because undici's pool first picks the client that lost its connection.
        return {
          kind: 'retry',
          outcome: 'transient',
          reason: `${reason}; the connection had been idle, so Headgate sends the request again on a new one`,
          retryInMs: 0,
          pauseMs: 0,
        };
      }
      if (attempted.awaitsSecret === true) {
        // The request isn't at fault, so it waits for the secret without a time limit, as it would for a budget.
        return { kind: 'retry', outcome: 'transient', reason, retryInMs: SECRET_PAUSE_MS, pauseMs: SECRET_PAUSE_MS };
      }
      // Checked only once: a moment later, the time could be over, although this error wasn't treated as the last one.
      const isOver = progress.deadline.isOver();
      const isLast = progress.deadline.isOver(retryInMs);
      const after = options.faulted({ kind: faultKind(options), reason, retryInMs, isLast });
      switch (after.kind) {
        case 'wait': {
          const { ms, retryInMs: nextInMs, probedMs } = after;
          if (probedMs > 0) progress.deadline.probed(probedMs);
          if (probedMs > 0 && progress.deadline.isOver()) return { kind: 'reject', outcome: 'transient', error: gaveUp(options, reason) };
          return { kind: 'retry', outcome: 'transient', reason, retryInMs: nextInMs, pauseMs: ms, isUntilUp: true };
        }
        case 'back off': {
          // A request at fault ignores a wait that is longer than its remaining time, because other requests get responses.
          const heeded = after.isAtFault && isLast && !isOver ? undefined : retryInMs;
          const pauseMs = progress.deadline.failed(heeded, heeded === undefined ? isOver : isLast);
          if (pauseMs === undefined) return { kind: 'reject', outcome: 'transient', error: gaveUp(options, reason, heeded) };
          return { kind: 'retry', outcome: 'transient', reason, retryInMs: pauseMs, pauseMs };
        }
      }
    }
    case 'schema-mismatch': {
      const { where } = verdict;
      const wasRetried = progress.wasMismatch;
      const pauseMs = wasRetried ? undefined : progress.deadline.failed();
      progress.wasMismatch = true;
      if (pauseMs === undefined) return { kind: 'reject', outcome: 'fatal', error: schemaMismatch(options, where, wasRetried) };
      return { kind: 'retry', outcome: 'transient', reason: `the response doesn't match: ${where}`, retryInMs: pauseMs, pauseMs };
    }
    case 'unauthorized':
      return withoutSecret(options, verdict.error);
    case 'clock-wrong': {
      const { offsetMs, error } = verdict;
      if (credential.signer.adjustClock === undefined) return withoutSecret(options, error);
      const wasSignedBefore = options.clockRefusals < credential.clockRefusals;
      const correction = wasSignedBefore ? 'corrected' : credential.clockRefused(offsetMs);
      const clock = `service's clock is ${seconds(Math.abs(offsetMs))} ${offsetMs < 0 ? 'behind' : 'ahead of'} ours`;
      if (correction === 'fatal') {
        const isTooFar = Math.abs(offsetMs) > LARGEST_CLOCK_OFFSET_MS;
        error.message += ` The ${clock} in its last response${isTooFar ? ": set this machine's clock." : `, and ${MOST_CLOCK_REFUSALS} corrections in a row didn't help.`}`;
        return withoutCredential(options, error);
      }
      const done = correction === 'corrected' ? '; corrected' : ": more than a day isn't corrected, so the request is retried";
      return { kind: 'retry', outcome: 'transient', reason: `${credential.name}: the ${clock}${done}`, retryInMs: 0, pauseMs: 0 };
    }
    case 'ambiguous':
      // The response may be a refusal, so it doesn't end a series of refusals (`credential.accepted`).
      return { kind: 'reject', outcome: 'ambiguous', error: verdict.error };
    case 'not-found':
    case 'fatal': {
      const { error } = verdict;
      const outcome = verdict.kind === 'fatal' ? 'fatal' : 'gone';
      credential.accepted();
      if (verdict.perCredential === true) {
        progress.refusedBy.add(credential.name);
        progress.refusal = error;
        if (progress.refusedBy.size > 1) error.message += ` Headgate requested it with each of ${[...progress.refusedBy].join(', ')}.`;
        if (options.hasOther()) {
          const reason = `${error.message} Headgate requests it with another credential.`;
          return { kind: 'retry', outcome: 'unauthorized', reason, retryInMs: 0, pauseMs: 0 };
        }
      }
      return { kind: 'reject', outcome, error };
    }
  }
}

function faultKind({ attempted, about: { status } }: RetryDecisionOptions): Fault['kind'] {
  if (attempted.unsent === true) return 'unreached';
  if (status === undefined ? attempted.begun !== true : UNAVAILABLE.has(status) || status >= 520) return 'down';
  return attempted.begun === true ? 'unreadable' : 'unusable';
}

/**
 * 502 Bad Gateway, 503 Service Unavailable, 504 Gateway Timeout. `faultKind` adds 520 and above, which some proxies use if they can't reach
 * the service.
 */
const UNAVAILABLE: ReadonlySet<number> = new Set([502, 503, 504]);

/** Lets the credential read its secret again. If it can't, removes it. */
function withoutSecret(options: RetryDecisionOptions, error: SourceError): RetryDecision {
  const { attempted, credential } = options;
  const wasSignedBefore = options.secretRefusals < credential.secretRefusals;
  if (!wasSignedBefore && !credential.secretRefused(attempted.secret, error)) return withoutCredential(options, error);
  const reason = `${error.message} Headgate reads its secret again.`;
  return { kind: 'retry', outcome: 'unauthorized', reason, retryInMs: 0, pauseMs: 0 };
}

/** Removes the credential and continues with another. If none is left, the next wait for a permit rejects. */
function withoutCredential({ retire }: RetryDecisionOptions, error: SourceError): RetryDecision {
  retire(error);
  return { kind: 'retry', outcome: 'unauthorized', reason: `${error.message} It is no longer used.`, retryInMs: 0, pauseMs: 0 };
}

function waitTooLong({ about, credential, epochMs }: RetryDecisionOptions, reason: string, retryInMs: number): SourceError {
  const days = Math.round(retryInMs / 86_400_000);
  const until = new Date(epochMs + retryInMs).toISOString().slice(0, 16).replace('T', ' ');
  const message = `${credential.name}: ${about.service} asks for a wait of ${days === 1 ? '1 day' : `${days} days`}, until ${until} UTC (${reason}). Headgate doesn't use it until the next run: start it after that time.`;
  return new SourceError({ ...about, code: 'HEADGATE_WAIT_TOO_LONG', retryable: false, message });
}

function gaveUp(options: RetryDecisionOptions, reason: string, retryInMs = 0): SourceError {
  const { about, progress } = options;
  const { failures, elapsedMs, leftMs } = progress.deadline;
  const attempts = failures === 1 ? '1 attempt' : `${failures} attempts over ${seconds(elapsedMs)}`;
  const left = Math.max(0, leftMs);
  const wait = retryInMs > left ? ` The service asks for a wait of ${seconds(retryInMs)}, but only ${seconds(left)} are left.` : '';
  const hasResponse = ['unusable', 'unreadable'].includes(faultKind(options));
  const same = hasResponse && wait === '' ? ' If the service keeps responding so, report it to the service.' : '';
  const message = `${about.subject}: gave up after ${attempts}: ${reason}.${wait} Retry ${wait === '' ? 'later' : 'after that'}, or allow more time (retryForMs).${same}`;
  return new SourceError({ ...about, code: 'HEADGATE_GAVE_UP', retryable: true, message });
}

function schemaMismatch({ about }: RetryDecisionOptions, where: string, wasRetried: boolean): SourceError {
  const message =
    `${about.subject}: the response (${about.status}) doesn't match the ${about.service} service: ${where}. ` +
    `${wasRetried ? "A retry didn't help. " : ''}Check baseUrl. If it is right, the service may have changed or have an error: try another day.`;
  return new SourceError({ ...about, code: 'HEADGATE_UNFIT_ANSWER', retryable: true, message });
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000).toLocaleString('en-US')} s`;
}
