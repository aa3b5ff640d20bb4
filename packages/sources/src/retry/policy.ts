import { SourceError } from '../source-error.ts';
import type { AttemptEvent } from '../source-options.ts';
import type { Verdict } from '../verdict.ts';
import type { AfterFault, Fault } from './circuit-breaker.ts';
import type { TimeLeft } from './deadline.ts';
import type { Failure, Redirect } from './outcome.ts';

/** The facts that decide what follows a failure. */
export interface PolicyState {
  /** Fields for the query's error. `status`: of the response, if one came. */
  readonly about: { readonly service: string; readonly credential: string; readonly subject: string; readonly status: number | undefined };
  /** Epoch ms when the response arrived. */
  readonly epochMs: number;
  /** Number of redirects that the query has followed. */
  readonly redirects: number;
  /** True if the attempt before was lost on a stale connection. */
  readonly wasStale: boolean;
  /** True if an earlier response didn't match the service's format. */
  readonly wasMismatch: boolean;
  /** Names of the credentials that got a refusal that may concern only them, before this one. */
  readonly refusedBy: readonly string[];
  /** True if another credential that isn't in `refusedBy` may send the query. */
  readonly hasOther: boolean;
  /** The retry time before this failure. */
  readonly time: TimeLeft;
  /** The wait if the query backs off, in ms. */
  readonly delayMs: number;
  /** The circuit breaker's answer to the failure; undefined if the failure isn't a fault. */
  readonly afterFault: AfterFault | undefined;
  /** The credential that the attempt used. */
  readonly credential: CredentialState;
}

/** The facts about a credential that decide what follows a refusal. */
export interface CredentialState {
  /** True if its secret or clock was corrected after this request was signed, so that this refusal says nothing new. */
  readonly isCorrected: boolean;
  /** Number of refusals in a row because of a rate limit, with this one. Requests that are refused together count as one. */
  readonly refusals: number;
  /** The shortest window of the budgets that the request used, in ms. */
  readonly windowMs: number;
  /** Maximum wait that a run waits out, in ms. */
  readonly longestHoldMs: number;
  /** True if the signer can read its secret again, and hasn't done so since the last accepted request. */
  readonly canReadSecret: boolean;
  /** True if the signer has a clock that can be corrected. */
  readonly hasClock: boolean;
  /** Number of refusals in a row because of the clock, before this one. */
  readonly clockRefusals: number;
}

/** The query's next step after an attempt, and its effect on the credential. */
export interface Step<Value = unknown> {
  readonly outcome: AttemptEvent['outcome'];
  readonly next:
    | { readonly kind: 'usable'; readonly value: Value }
    /** The query asks for its next permit. `inMs`: the time until the next attempt may start, for displays. */
    | { readonly kind: 'again'; readonly reason: string; readonly inMs: number; readonly to?: Redirect }
    /** The query waits for `ms` first; with `isUntilUp`, at most until the service is up again. */
    | { readonly kind: 'wait'; readonly reason: string; readonly inMs: number; readonly ms: number; readonly isUntilUp: boolean }
    | { readonly kind: 'reject'; readonly error: SourceError };
  readonly credential:
    | { readonly kind: 'unchanged' }
    /** The response isn't a refusal of the credential. */
    | { readonly kind: 'accepted' }
    /** `error`: the response may be refused for this credential alone. */
    | { readonly kind: 'passed over'; readonly error: SourceError }
    /** The budgets that the request used are on hold. */
    | { readonly kind: 'hold'; readonly ms: number }
    | { readonly kind: 'read secret'; readonly error: SourceError }
    /** `offsetMs`: the correction; undefined for an offset that is too large to be believed. */
    | { readonly kind: 'set clock'; readonly offsetMs: number | undefined }
    /** The source no longer uses it. */
    | { readonly kind: 'retire'; readonly error: SourceError };
}

/** Time between two checks for a missing secret, in ms. */
const SECRET_PAUSE_MS = 5_000;
/** Maximum wait in ms after a refusal that doesn't request one. Such waits start with one window and double with each refusal in a row. */
const LONGEST_STEP_MS = 15 * 60_000;
/** Maximum plausible wait in ms, about a year. A longer one is ignored. */
const LONGEST_WAIT_MS = 400 * 24 * 60 * 60_000;
/** Minimum wait after a refusal, in ms, even if the service requests less. If the window is shorter, one window is enough. */
const SHORTEST_HOLD_MS = 1_000;
/** Maximum clock offset that is corrected, in ms. */
const LARGEST_CLOCK_OFFSET_MS = 24 * 60 * 60_000;
/** Maximum number of clock corrections in a row. After that, the clock is probably not the cause of the refusals. */
const MOST_CLOCK_REFUSALS = 3;
/** Maximum number of redirects that a query follows. */
export const MOST_REDIRECTS = 5;

const UNCHANGED = { kind: 'unchanged' } as const;
const ACCEPTED = { kind: 'accepted' } as const;

/** Returns the fault of the service that a failure may show; undefined for any other failure. */
export function faultOf(failure: Failure, wasStale: boolean): Pick<Fault, 'kind' | 'reason' | 'retryInMs'> | undefined {
  switch (failure.kind) {
    case 'unsent': {
      const { verdict, isAwaitingSecret } = failure;
      return verdict.kind === 'transient' && !isAwaitingSecret ? { kind: 'unreached', ...faultBy(verdict) } : undefined;
    }
    case 'unreached':
      return { kind: 'unreached', reason: failure.reason, retryInMs: undefined };
    case 'lost':
      return failure.isStale && !wasStale ? undefined : { kind: 'down', reason: failure.reason, retryInMs: undefined };
    case 'unreadable':
      return { kind: isUnavailable(failure.status) ? 'down' : 'unreadable', reason: failure.reason, retryInMs: undefined };
    case 'answered':
      if (failure.verdict.kind !== 'transient') return undefined;
      return { kind: isUnavailable(failure.status) ? 'down' : 'unusable', ...faultBy(failure.verdict) };
    case 'redirected':
      return undefined;
  }
}

function faultBy({ reason, retryInMs }: Extract<Verdict<never>, { readonly kind: 'transient' }>): Pick<Fault, 'reason' | 'retryInMs'> {
  // A definition may have computed it from a header that isn't a number.
  return { reason, retryInMs: Number.isNaN(retryInMs) ? undefined : retryInMs };
}

/** 502 Bad Gateway, 503 Service Unavailable, 504 Gateway Timeout, and 520 and above, which some proxies use if they can't reach the service. */
function isUnavailable(status: number | undefined): boolean {
  return status !== undefined && ([502, 503, 504].includes(status) || status >= 520);
}

/** Returns true if a wait that the service requests is longer than the retry time that is left. */
export function isOver({ leftMs }: TimeLeft, retryInMs: number = 0): boolean {
  return leftMs <= 0 || retryInMs > leftMs;
}

/** Decides what follows a failure. Changes nothing. */
export function policy<Value>(state: PolicyState, failure: Failure<Value>): Step<Value> {
  switch (failure.kind) {
    case 'unreached':
    case 'unreadable':
      return afterFault(state, failure);
    case 'lost': {
      if (!failure.isStale || state.wasStale) return afterFault(state, failure);
      // The retry gets a new connection, because undici's pool first picks the client that lost its connection.
      const reason = `${failure.reason}; the connection had been idle, so Headgate sends the request again on a new one`;
      return again('transient', reason, UNCHANGED);
    }
    case 'redirected': {
      const { to, status, error } = failure;
      if (state.redirects >= MOST_REDIRECTS) return { outcome: 'fatal', next: { kind: 'reject', error }, credential: ACCEPTED };
      const next = { kind: 'again', reason: `redirected (${status}), and followed`, inMs: 0, to } as const;
      return { outcome: 'transient', next, credential: ACCEPTED };
    }
    case 'unsent': {
      const { verdict } = failure;
      if (verdict.kind !== 'transient' || !failure.isAwaitingSecret) return byVerdict(state, failure, verdict);
      // The request isn't at fault, so it waits for the secret without a time limit, as it would for a budget.
      return wait('transient', verdict.reason, SECRET_PAUSE_MS);
    }
    case 'answered':
      return byVerdict(state, failure, failure.verdict);
  }
}

function byVerdict<Value>(state: PolicyState, failure: Failure, verdict: Exclude<Verdict<Value>, { readonly kind: 'ok' }>): Step<Value> {
  switch (verdict.kind) {
    case 'rate-limited':
      return afterRefusal(state, verdict);
    case 'transient':
      return afterFault(state, failure);
    case 'schema-mismatch': {
      const { time, wasMismatch, delayMs } = state;
      if (wasMismatch && verdict.value !== undefined) return usable(verdict.value);
      if (wasMismatch || isOver(time)) return reject('fatal', schemaMismatch(state, verdict.where), UNCHANGED);
      return wait('transient', `the response doesn't match: ${verdict.where}`, Math.min(time.leftMs, delayMs));
    }
    case 'unauthorized':
      return withoutSecret(state, verdict.error);
    case 'clock-wrong':
      return withoutClock(state, verdict);
    case 'ambiguous':
      // The response may be a refusal, so it doesn't end a series of refusals.
      return reject('ambiguous', verdict.error, UNCHANGED);
    case 'not-found':
    case 'fatal': {
      const { error, perCredential = false } = verdict;
      const outcome = verdict.kind === 'fatal' ? 'fatal' : 'gone';
      if (!perCredential) return reject(outcome, error, ACCEPTED);
      const { refusedBy, about, hasOther } = state;
      if (refusedBy.length > 0) error.message += ` Headgate requested it with each of ${[...refusedBy, about.credential].join(', ')}.`;
      const credential = { kind: 'passed over', error } as const;
      if (!hasOther) return reject(outcome, error, credential);
      return again('unauthorized', `${error.message} Headgate requests it with another credential.`, credential);
    }
  }
}

/** The step after a usable response. */
export function usable<Value>(value: Value): Step<Value> {
  return { outcome: 'ok', next: { kind: 'usable', value }, credential: ACCEPTED };
}

function again(outcome: Step['outcome'], reason: string, credential: Step['credential'], inMs = 0): Step<never> {
  return { outcome, next: { kind: 'again', reason, inMs }, credential };
}

function wait(outcome: Step['outcome'], reason: string, ms: number): Step<never> {
  return { outcome, next: { kind: 'wait', reason, inMs: ms, ms, isUntilUp: false }, credential: UNCHANGED };
}

function reject(outcome: Step['outcome'], error: SourceError, credential: Step['credential']): Step<never> {
  return { outcome, next: { kind: 'reject', error }, credential };
}

/** The step after an error that may be the service's. */
function afterFault(state: PolicyState, failure: Failure): Step<never> {
  const fault = faultOf(failure, state.wasStale);
  const { afterFault: after, time, delayMs } = state;
  if (fault === undefined || after === undefined) throw new TypeError(`policy: no fault in ${failure.kind}`);
  const { reason, retryInMs } = fault;
  if (after.kind === 'wait') {
    const { probedMs, ms, retryInMs: inMs } = after;
    const left = { ...time, elapsedMs: time.elapsedMs + probedMs, leftMs: time.leftMs - probedMs };
    if (probedMs > 0 && isOver(left)) return reject('transient', gaveUp(state, fault, left), UNCHANGED);
    return { outcome: 'transient', next: { kind: 'wait', reason, inMs, ms, isUntilUp: true }, credential: UNCHANGED };
  }
  // A request at fault ignores a wait that is longer than its remaining time, because other requests get responses.
  const isIgnored = after.isAtFault && isOver(time, retryInMs) && !isOver(time);
  const heededMs = isIgnored ? 0 : (retryInMs ?? 0);
  if (isOver(time, heededMs)) return reject('transient', gaveUp(state, fault, time, heededMs), UNCHANGED);
  return wait('transient', reason, Math.min(time.leftMs, Math.max(delayMs, heededMs)));
}

/** The step after a refusal because of a rate limit. Another credential may send the request at once. */
function afterRefusal(state: PolicyState, { reason, retryInMs }: Extract<Verdict<never>, { readonly kind: 'rate-limited' }>): Step<never> {
  const { refusals, windowMs, longestHoldMs } = state.credential;
  const isBelieved = retryInMs !== undefined && retryInMs <= longestHoldMs;
  if (retryInMs !== undefined && retryInMs > longestHoldMs && retryInMs <= LONGEST_WAIT_MS)
    return retired(waitTooLong(state, reason, retryInMs), 'rate-limited');
  const stepMs = Math.min(LONGEST_STEP_MS, windowMs * 2 ** (refusals - 1));
  const ms = isBelieved ? Math.max(retryInMs, Math.min(windowMs, SHORTEST_HOLD_MS)) : stepMs;
  return again('rate-limited', reason, { kind: 'hold', ms }, ms);
}

function retired(error: SourceError, outcome: Step['outcome'] = 'unauthorized'): Step<never> {
  return again(outcome, `${error.message} It is no longer used.`, { kind: 'retire', error });
}

function withoutSecret({ credential: { isCorrected, canReadSecret } }: PolicyState, error: SourceError): Step<never> {
  if (!isCorrected && !canReadSecret) return retired(error);
  const effect = isCorrected ? UNCHANGED : ({ kind: 'read secret', error } as const);
  return again('unauthorized', `${error.message} Headgate reads its secret again.`, effect);
}

function withoutClock(state: PolicyState, { offsetMs, error }: Extract<Verdict<never>, { readonly kind: 'clock-wrong' }>): Step<never> {
  const { isCorrected, hasClock, clockRefusals } = state.credential;
  if (!hasClock) return withoutSecret(state, error);
  const wrong = `service's clock is ${seconds(Math.abs(offsetMs))} ${offsetMs < 0 ? 'behind' : 'ahead of'} ours`;
  const isTooFar = Math.abs(offsetMs) > LARGEST_CLOCK_OFFSET_MS;
  if (!isCorrected && (!Number.isFinite(offsetMs) || clockRefusals >= MOST_CLOCK_REFUSALS)) {
    error.message += ` The ${wrong} in its last response${isTooFar ? ": set this machine's clock." : `, and ${MOST_CLOCK_REFUSALS} corrections in a row didn't help.`}`;
    return retired(error);
  }
  const done = isCorrected || !isTooFar ? '; corrected' : ": more than a day isn't corrected, so the request is retried";
  const effect = isCorrected ? UNCHANGED : ({ kind: 'set clock', offsetMs: isTooFar ? undefined : offsetMs } as const);
  return again('transient', `${state.about.credential}: the ${wrong}${done}`, effect);
}

function waitTooLong({ about, epochMs }: PolicyState, reason: string, retryInMs: number): SourceError {
  const days = Math.round(retryInMs / 86_400_000);
  const until = new Date(epochMs + retryInMs).toISOString().slice(0, 16).replace('T', ' ');
  const message = `${about.credential}: ${about.service} asks for a wait of ${days === 1 ? '1 day' : `${days} days`}, until ${until} UTC (${reason}). Headgate doesn't use it until the next run: start it after that time.`;
  return new SourceError({ ...about, code: 'HEADGATE_WAIT_TOO_LONG', retryable: false, message });
}

function gaveUp({ about }: PolicyState, { kind, reason }: Pick<Fault, 'kind' | 'reason'>, time: TimeLeft, retryInMs = 0): SourceError {
  const failures = time.failures + 1;
  const attempts = failures === 1 ? '1 attempt' : `${failures} attempts over ${seconds(time.elapsedMs)}`;
  const left = Math.max(0, time.leftMs);
  const wanted = retryInMs > left ? ` The service asks for a wait of ${seconds(retryInMs)}, but only ${seconds(left)} are left.` : '';
  const hasResponse = kind === 'unusable' || kind === 'unreadable';
  const same = hasResponse && wanted === '' ? ' If the service keeps responding so, report it to the service.' : '';
  const message = `${about.subject}: gave up after ${attempts}: ${reason}.${wanted} Retry ${wanted === '' ? 'later' : 'after that'}, or allow more time (retryFor; in code retryForMs).${same}`;
  return new SourceError({ ...about, code: 'HEADGATE_GAVE_UP', retryable: true, message });
}

function schemaMismatch({ about, wasMismatch }: PolicyState, where: string): SourceError {
  const message =
    `${about.subject}: the response (${about.status}) doesn't match the ${about.service} service: ${where}. ` +
    `${wasMismatch ? "A retry didn't help. " : ''}Check baseUrl. If it is right, compare the response with the documentation of the service, which may have changed.`;
  return new SourceError({ ...about, code: 'HEADGATE_UNFIT_ANSWER', retryable: true, message });
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000).toLocaleString('en-US')} s`;
}
