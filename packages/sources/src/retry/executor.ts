import type { Admission, CredentialPool, Delivery, Permit } from '@headgate/throttle';
import { ABOVE_0, anySignal, pause } from '@headgate/throttle/internal';
import { inOrder } from '../budgets.ts';
import { optionChecks } from '../checked-options.ts';
import type { AllowanceSender, AllowedRequest } from '../request-allowance.ts';
import type { AttemptEvent } from '../source-options.ts';
import { LimitCheck } from '../limit-check.ts';
import { atOnce, ofDefinition, SourceError, wholeNumber } from '../source-error.ts';
import type { QueryOptions, QueryState } from '../source.ts';
import type { Verdict } from '../verdict.ts';
import { attempt, type AttemptContext } from './attempt.ts';
import { backoff } from './backoff.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';
import { FailureStreak } from './failure-streak.ts';
import { type Progress, retryDecision, type RetryDecision } from './retry-decision.ts';
import { sharedSecret } from './shared-secret.ts';
import type { QueryCredentials } from './query-credentials.ts';
import type { SourceCredential } from './source-credential.ts';
import type { UnderWay } from './under-way.ts';

export interface ExecutorOptions<Query, Value> extends AttemptContext<Query, Value> {
  readonly admission: Admission<RunningQuery>;
  readonly pool: CredentialPool;
  /** Undefined if each credential may send any query. */
  readonly credentialsOf: QueryCredentials<Query> | undefined;
  /** Stops using the credentials. `last`: the error for requests if no credential is left. Default: `error`. */
  readonly retire: (some: Iterable<SourceCredential>, error: SourceError, last?: SourceError) => void;
  readonly breaker: CircuitBreaker;
  readonly underWay: UnderWay;
  /** The queries that have a permit or wait for a retry, for gauges. */
  readonly inFlight: Set<RunningQuery>;
  /** Aborts when no new request may start. Requests in flight continue. */
  readonly stop: AbortSignal;
}

/** An unfinished query, for gauges. */
export interface RunningQuery {
  readonly id: object;
  readonly subject: string;
  readonly weights: readonly number[];
  /** Names of the credentials that may still send the query; undefined if any may. */
  credentials: readonly string[] | undefined;
  /** State of the query while it is in flight. It doesn't change while the query waits for a permit. */
  state: QueryState;
}

/** Sends a query, and retries it until it has a usable response, a reason to stop, or no more time. */
export type Executor<Query, Value> = (query: Query, options: QueryOptions & { readonly signal: AbortSignal }) => Promise<Delivery<Value>>;

export function executor<Query, Value>(given: ExecutorOptions<Query, Value>): Executor<Query, Value> {
  const { definition, options, connections, credentials, credentialsOf, admission, pool, retire, breaker, underWay, inFlight, stop } =
    given;
  const { service } = definition;
  const { clock, random, retryForMs } = options;
  const shared = sharedSecret();
  const limitCheck = new LimitCheck();
  const streak = new FailureStreak({ service, stopAfter: options.stopAfterFailures });
  const names = Object.keys(options.budgets);
  const sender: AllowanceSender = {
    get canSend() {
      return pool.exhausted === undefined;
    },
    onGivenBack: () => admission.wake(),
  };

  return async (query, { credits, signal, walk, share = 1 }) => {
    optionChecks(service).number({ share }, ABOVE_0);
    const subject = ofDefinition({ service, name: 'subject', call: () => definition.subject(query) });
    const items = ofDefinition({ service, subject, name: 'items', call: () => wholeNumber(atOnce(definition.items(query))) });
    const weights = ofDefinition({
      service,
      subject,
      name: 'weights',
      call: () => inOrder(atOnce(definition.weights?.(query)) ?? {}, names).map((weight) => wholeNumber(weight ?? 1)),
    });
    // Assumed maximum time from the permit until the service has counted the request, in ms, even if the request is aborted.
    const countedWithinMs = (options.journal?.leaseMs ?? 0) + options.timeoutMs + options.maxDelayMs;
    const among = credentialsOf?.(query);
    checkWeights({ service, subject, weights, names, pool, among });
    const progress: Progress = {
      deadline: backoff({ nowMs: () => breaker.upMs(), random, retryForMs }),
      wasMismatch: false,
      refusedBy: new Set(),
      refusal: undefined,
      redirect: undefined,
      redirects: 0,
      stale: false,
    };
    const { deadline } = progress;
    const call = breaker.begin(among);
    /** Returns the names of the credentials that may still send the query; undefined if any may. */
    const left = (): readonly string[] | undefined => {
      const { refusedBy } = progress;
      if (refusedBy.size === 0) return among;
      return (among ?? pool.members.map(({ name }) => name)).filter((name) => !refusedBy.has(name));
    };

    const attemptWith = async (
      permit: Permit,
    ): Promise<(({ readonly kind: 'answered'; readonly value: Value } | RetryDecision) & { readonly unsent: boolean }) | 'lapsed'> => {
      const credential = credentials.get(permit.credential);
      if (credential === undefined) throw new Error(`${service}: the pool returned the unknown credential ${permit.credential}`);
      const { clockRefusals, secretRefusals } = credential;
      const grantedAtMs = clock.monotonicMs();
      const attempted = await attempt({
        definition,
        options,
        connections,
        credential,
        credentials,
        sharedSecret: shared,
        limitCheck,
        permit,
        maySend: () => breaker.maySend(call),
        query,
        subject,
        redirect: progress.redirect,
        signal,
      });
      // Signing and connecting take at most `timeoutMs` each. A longer time shows that the machine was asleep, so the rest doesn't count.
      const lapsedAfterMs = Math.min(clock.monotonicMs() - grantedAtMs, 2 * options.timeoutMs);
      credential.prepared(attempted === 'lapsed' ? { lapsedAfterMs } : 'in time');
      if (attempted === 'lapsed') return attempted;
      const { status } = attempted;
      const verdict = progress.wasMismatch ? usable(attempted.verdict) : attempted.verdict;
      const limitMismatch = limitCheck.take();
      const report = (event: Pick<AttemptEvent, 'outcome' | 'reason' | 'error' | 'retryInMs'>): void =>
        options.onAttempt({
          service,
          credential: credential.name,
          subject,
          durationMs: clock.monotonicMs() - grantedAtMs,
          ...(status !== undefined && { status }),
          ...(limitMismatch !== undefined && { limitMismatch }),
          ...(walk !== undefined && { walk }),
          ...event,
        });
      if (status !== undefined && verdict.kind !== 'transient') breaker.answered(call);
      if (verdict.kind === 'ok') {
        credential.accepted();
        streak.succeeded();
        report({ outcome: 'ok' });
        return { kind: 'answered', value: verdict.value, unsent: false };
      }
      const about = { service, subject, credential: credential.name, status };
      const decision = retryDecision({
        attempted,
        verdict,
        about,
        credential,
        grantedAtMs,
        weights,
        epochMs: clock.epochMs(),
        clockRefusals,
        secretRefusals,
        progress,
        faulted: (fault) => breaker.failed(call, fault),
        // The second error is for requests that still wait when no credential is left.
        retire: (error) => retire([credential], error, lastOne(error)),
        hasOther: () => pool.bears(weights, left()),
      });
      // The next grant may be far off, so the journal writes now what this response has changed in the budgets.
      if (decision.kind === 'retry' && status !== undefined) credential.journal?.flush();
      const { outcome } = decision;
      const isAskedAgain = verdict.kind === 'ambiguous' && verdict.isAskedAgain === true;
      if (decision.kind === 'reject' && status !== undefined && !isAskedAgain) {
        const end = streak.failed(decision.error, { status, isGone: outcome === 'gone' || outcome === 'ambiguous' });
        if (end !== undefined) retire(credentials.values(), end);
      }
      report(
        decision.kind === 'retry'
          ? { outcome, reason: decision.reason, retryInMs: decision.retryInMs }
          : { outcome, reason: decision.error.message, ...(outcome === 'ambiguous' && { error: decision.error }) },
      );
      return { ...decision, unsent: attempted.unsent === true };
    };

    const running: RunningQuery = { id: walk ?? call, subject, weights, credentials: among, state: { state: 'queued', for: 'budget' } };
    let carrier: string | undefined;
    const ended = (): void => {
      if (carrier !== undefined) underWay.end(carrier);
      carrier = undefined;
    };
    const waiting = anySignal([signal, stop]);
    const allow = (): AllowedRequest | undefined => options.allowance?.wait(sender);
    let allowed = allow();
    const acquire = async (signal: AbortSignal, rank: number, onGranted?: () => void): Promise<Permit> =>
      await admission.acquire({
        weights,
        among: call.among,
        countedWithinMs,
        credits,
        items,
        label: running,
        signal,
        share,
        rank,
        onGranted(credential) {
          onGranted?.();
          allowed?.take();
          carrier = credential;
          underWay.begin(credential);
          breaker.granted(call, credential);
        },
        walk,
      });
    /** Waits for a permit. A request that has failed in an outage lets others go first until the service is up. */
    const acquired = async (): Promise<Permit> => {
      const rank = breaker.rankOf(call);
      if (rank === 0) return await acquire(waiting.signal, 0);
      const up = new AbortController();
      const forgetUp = breaker.onceUp(() => up.abort(), 'queued');
      const either = anySignal([waiting.signal, up.signal]);
      try {
        return await acquire(either.signal, rank, forgetUp);
      } catch (error) {
        if (error !== up.signal.reason) throw error;
        return await acquired();
      } finally {
        forgetUp();
        either.forget();
      }
    };
    const permitted = async (): Promise<Permit> => {
      const waitedFromMs = breaker.upMs();
      const may = left();
      call.among = may;
      running.credentials = may;
      try {
        return await acquired();
      } catch (error) {
        // The last credential that may send the query may have been retired.
        if (pool.exhausted === undefined) {
          if (progress.refusal !== undefined && !waiting.signal.aborted && !pool.bears(weights, may)) throw progress.refusal;
          credentialsOf?.(query);
          checkWeights({ service, subject, weights, names, pool, among });
        }
        throw error;
      } finally {
        // `upMs` can jump back during the wait: an outage counts from its first error, before it was detected.
        deadline.waited(Math.max(0, breaker.upMs() - waitedFromMs));
      }
    };
    let isUnsent = true;
    try {
      for (;;) {
        const permit = await permitted();
        running.state = { state: 'requesting', credential: permit.credential, since: clock.epochMs() };
        inFlight.add(running);
        let pauseMs = 0;
        let isUntilUp = false;
        let reason = '';
        let delivered = false;
        try {
          isUnsent = false;
          const next = await attemptWith(permit);
          isUnsent = true;
          allowed?.end(next === 'lapsed' || next.unsent ? 'unsent' : undefined);
          if (next !== 'lapsed') {
            if (next.kind === 'reject') throw next.error;
            if (next.kind === 'answered') {
              const { value } = next;
              permit.credit.resize(
                ofDefinition({ service, subject, name: 'itemsOf', call: () => wholeNumber(atOnce(definition.itemsOf(value))) }),
              );
              delivered = true;
              return { value, credit: permit.credit };
            }
            ({ pauseMs, reason, isUntilUp = false } = next);
          }
          // Before the pause, because the run ends now if it may send no more requests.
          allowed = allow();
        } finally {
          // Releases the credit only after the budgets were put on hold. Otherwise a request that waits for capacity could start before the
          // hold.
          if (!delivered) permit.credit.release();
          ended();
          breaker.released(call);
        }
        running.state = { state: 'retrying', until: clock.epochMs() + pauseMs, reason };
        const early = isUntilUp ? { early: (end: () => void) => breaker.onceUp(end) } : {};
        if (pauseMs > 0) await pause({ clock, ms: pauseMs, signal: waiting.signal, ...early });
        inFlight.delete(running);
      }
    } finally {
      allowed?.end(isUnsent ? 'unsent' : undefined);
      ended();
      breaker.ended(call);
      inFlight.delete(running);
      waiting.forget();
    }
  };
}

/** Returns the usable part of a second response that doesn't match, if there is one. */
function usable<Value>(verdict: Verdict<Value>): Verdict<Value> {
  return verdict.kind === 'schema-mismatch' && verdict.value !== undefined ? { kind: 'ok', value: verdict.value } : verdict;
}

function lastOne({ code, message, service, credential, subject, status, cause }: SourceError): SourceError {
  return new SourceError({
    code,
    message,
    retryable: false,
    service,
    endsSource: true,
    cause,
    credential,
    subject,
    status,
  });
}

interface CheckWeightsOptions {
  readonly service: string;
  readonly subject: string;
  readonly weights: readonly number[];
  readonly names: readonly string[];
  readonly pool: CredentialPool;
  readonly among: readonly string[] | undefined;
}

/** Throws if no credential's budgets are large enough for the request, because the request would wait forever. */
function checkWeights({ service, subject, weights, names, pool, among }: CheckWeightsOptions): void {
  if (pool.bears(weights, among)) return;
  for (const { name, budgets } of pool.members) {
    if (among?.includes(name) === false) continue;
    for (const [i, { limit, windowMs }] of budgets.entries()) {
      const weight = weights[i] ?? 1;
      if (weight <= limit) continue;
      const message = `${subject}: the request costs ${weight} of the budget ${names[i]}, but that allows ${limit} per ${windowMs} ms (${name}). Request less at once, or raise the limit.`;
      throw new SourceError({ code: 'HEADGATE_OVER_BUDGET', retryable: false, service, credential: name, subject, message });
    }
  }
}
