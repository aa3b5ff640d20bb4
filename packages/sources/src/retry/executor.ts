import type { Admission, CredentialPool, Delivery, Permit } from '@headgate/throttle';
import { anySignal, pause } from '@headgate/throttle/internal';
import { inOrder } from '../budgets.ts';
import type { AllowanceSender, AllowedRequest } from '../request-allowance.ts';
import type { AttemptEvent } from '../source-options.ts';
import { atOnce, ofDefinition, SourceError, wholeNumber } from '../source-error.ts';
import type { QueryOptions, QueryState } from '../source.ts';
import { attempt, type AttemptContext } from './attempt.ts';
import type { Call, CircuitBreaker } from './circuit-breaker.ts';
import { Deadline, delayMs } from './deadline.ts';
import type { FailureStreak } from './failure-streak.ts';
import type { Failure, Outcome, Redirect } from './outcome.ts';
import { faultOf, isOver, policy, type Step } from './policy.ts';
import type { QueryCredentials } from './query-credentials.ts';
import type { RefusedRequest, SourceCredential } from './source-credential.ts';
import type { UnderWay } from './under-way.ts';

/** The parts of a source that its queries share. */
export interface ExecutionContext<Query, Value> extends AttemptContext<Query, Value> {
  readonly admission: Admission<RunningQuery>;
  readonly pool: CredentialPool;
  /** Undefined if each credential may send any query. */
  readonly credentialsOf: QueryCredentials<Query> | undefined;
  /** Stops using the credentials. `last`: the error for requests if no credential is left. Default: `error`. */
  readonly retire: (some: Iterable<SourceCredential>, error: SourceError, last?: SourceError) => void;
  readonly breaker: CircuitBreaker;
  readonly underWay: UnderWay;
  readonly streak: FailureStreak;
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
export async function execute<Query, Value>(
  source: ExecutionContext<Query, Value>,
  query: Query,
  options: QueryOptions & { readonly signal: AbortSignal },
): Promise<Delivery<Value>> {
  return await new Execution(source, query, options).run();
}

class Execution<Query, Value> {
  readonly #source: ExecutionContext<Query, Value>;
  readonly #query: Query;
  readonly #given: QueryOptions & { readonly signal: AbortSignal };
  readonly #subject: string;
  readonly #items: number;
  readonly #weights: readonly number[];
  /** Names of the credentials that may send the query; undefined if any may. */
  readonly #among: readonly string[] | undefined;
  readonly #deadline: Deadline;
  readonly #call: Call;
  readonly #running: RunningQuery;
  #allowed: AllowedRequest | undefined;
  /** Name of the credential of the current attempt. */
  #carrier: string | undefined;
  #redirect: Redirect | undefined;
  #redirects = 0;
  #wasStale = false;
  #wasMismatch = false;
  /** The credentials that got a refusal that may concern only them, with the last such refusal. */
  readonly #refusedBy = new Set<string>();
  #refusal: SourceError | undefined;

  constructor(source: ExecutionContext<Query, Value>, query: Query, given: QueryOptions & { readonly signal: AbortSignal }) {
    const { definition, options, credentialsOf, breaker } = source;
    const { service } = definition;
    const subject = ofDefinition(service, undefined, 'subject', () => definition.subject(query));
    const costs = () => inOrder(atOnce(definition.weights?.(query)) ?? {}, Object.keys(options.budgets));
    this.#source = source;
    this.#query = query;
    this.#given = given;
    this.#subject = subject;
    this.#items = ofDefinition(service, subject, 'items', () => wholeNumber(atOnce(definition.items(query))));
    const call = () => costs().map((weight) => wholeNumber(weight ?? 1));
    this.#weights = ofDefinition(service, subject, 'weights', call);
    this.#among = credentialsOf?.(query);
    this.#checkWeights();
    this.#deadline = new Deadline(() => breaker.upMs(), options.retryForMs);
    this.#call = breaker.begin(this.#among);
    const state = { state: 'queued', for: 'budget' } as const;
    this.#running = { id: given.walk ?? this.#call, subject, weights: this.#weights, credentials: this.#among, state };
  }

  async run(): Promise<Delivery<Value>> {
    const { breaker, inFlight, stop, options } = this.#source;
    const running = this.#running;
    const waiting = anySignal([this.#given.signal, stop]);
    try {
      this.#waitForAllowance();
      for (;;) {
        const permit = await this.#permitted(waiting.signal);
        running.state = { state: 'requesting', credential: permit.credential, since: options.clock.epochMs() };
        inFlight.add(running);
        const next = await this.#attempted(permit);
        if ('credit' in next) return next;
        await this.#paused(next, waiting.signal);
        inFlight.delete(running);
      }
    } finally {
      // A request that is aborted in flight may have been sent.
      this.#allowed?.end(running.state.state === 'requesting' ? undefined : 'unsent');
      this.#released();
      breaker.ended(this.#call);
      inFlight.delete(running);
      waiting.forget();
    }
  }

  #waitForAllowance(): void {
    const { options, pool, admission } = this.#source;
    const sender: AllowanceSender = {
      get canSend() {
        return pool.exhausted === undefined;
      },
      onGivenBack: () => admission.wake(),
    };
    this.#allowed = options.allowance?.wait(sender);
  }

  async #paused(next: Retry, signal: AbortSignal): Promise<void> {
    const { options, breaker } = this.#source;
    const { clock } = options;
    const ms = next.kind === 'wait' ? next.ms : 0;
    this.#running.state = { state: 'retrying', until: clock.epochMs() + ms, reason: next.reason };
    const early = next.kind === 'wait' && next.isUntilUp ? { early: (end: () => void) => breaker.onceUp(end) } : {};
    if (ms > 0) await pause({ clock, ms, signal, ...early });
  }

  /** Returns the names of the credentials that may send the query if these have refused it; undefined if any may. */
  #leftWithout(refusedBy: readonly string[]): readonly string[] | undefined {
    if (refusedBy.length === 0) return this.#among;
    return (this.#among ?? this.#source.pool.members.map(({ name }) => name)).filter((name) => !refusedBy.includes(name));
  }

  async #permitted(signal: AbortSignal): Promise<Permit> {
    const { breaker, pool, credentialsOf } = this.#source;
    const waitedFromMs = breaker.upMs();
    const may = this.#leftWithout([...this.#refusedBy]);
    this.#call.among = may;
    this.#running.credentials = may;
    try {
      return await this.#acquired(signal);
    } catch (error) {
      // The last credential that may send the query may have been retired.
      if (pool.exhausted === undefined) {
        if (this.#refusal !== undefined && !signal.aborted && !pool.bears(this.#weights, may)) throw this.#refusal;
        credentialsOf?.(this.#query);
        this.#checkWeights();
      }
      throw error;
    } finally {
      // `upMs` can jump back during the wait: an outage counts from its first error, before it was detected.
      this.#deadline.waited(Math.max(0, breaker.upMs() - waitedFromMs));
    }
  }

  /** Waits for a permit. A request that has failed in an outage lets others go first until the service is up. */
  async #acquired(signal: AbortSignal): Promise<Permit> {
    const { breaker } = this.#source;
    const rank = breaker.rankOf(this.#call);
    if (rank === 0) return await this.#acquire(signal, 0);
    const up = new AbortController();
    const forgetUp = breaker.onceUp(() => up.abort(), 'queued');
    const either = anySignal([signal, up.signal]);
    try {
      return await this.#acquire(either.signal, rank, forgetUp);
    } catch (error) {
      if (error !== up.signal.reason) throw error;
      return await this.#acquired(signal);
    } finally {
      forgetUp();
      either.forget();
    }
  }

  async #acquire(signal: AbortSignal, rank: number, onGranted?: () => void): Promise<Permit> {
    const { admission, underWay, breaker } = this.#source;
    const { credits, walk } = this.#given;
    return await admission.acquire({
      weights: this.#weights,
      among: this.#call.among,
      credits,
      items: this.#items,
      label: this.#running,
      signal,
      rank,
      onGranted: (credential) => {
        onGranted?.();
        this.#allowed?.take();
        this.#carrier = credential;
        underWay.begin(credential);
        breaker.granted(this.#call, credential);
      },
      walk,
    });
  }

  #released(): void {
    if (this.#carrier !== undefined) this.#source.underWay.end(this.#carrier);
    this.#carrier = undefined;
  }

  /** Makes an attempt. Resolves to the delivery, or to the retry that follows; rejects if none does. */
  async #attempted(permit: Permit): Promise<Delivery<Value> | Retry> {
    const { definition, options, credentials, breaker } = this.#source;
    const { clock, timeoutMs } = options;
    const { service } = definition;
    const subject = this.#subject;
    const credential = credentials.get(permit.credential);
    if (credential === undefined) throw new Error(`${service}: the pool returned the unknown credential ${permit.credential}`);
    const grantedAtMs = clock.monotonicMs();
    const request = { grantedAtMs, weights: this.#weights, corrections: credential.corrections };
    let delivered = false;
    try {
      const outcome = await attempt(this.#source, {
        query: this.#query,
        subject,
        credential,
        permit,
        maySend: () => breaker.maySend(this.#call),
        redirect: this.#redirect,
        signal: this.#given.signal,
      });
      // Signing and connecting take at most `timeoutMs` each. A longer time shows that the machine was asleep, so the rest doesn't count.
      const lapsedAfterMs = Math.min(clock.monotonicMs() - grantedAtMs, 2 * timeoutMs);
      credential.prepared(outcome.kind === 'lapsed' ? { lapsedAfterMs } : 'in time');
      const next = outcome.kind === 'lapsed' ? LAPSED : this.#judged(outcome, credential, request);
      this.#allowed?.end(isSent(outcome) ? undefined : 'unsent');
      if (next.kind === 'reject') throw next.error;
      if (next.kind === 'usable') {
        const { value } = next;
        const call = () => wholeNumber(atOnce(definition.itemsOf(value)));
        permit.credit.resize(ofDefinition(service, subject, 'itemsOf', call));
        delivered = true;
        return { value, credit: permit.credit };
      }
      // Before the pause, because the run ends now if it may send no more requests.
      this.#waitForAllowance();
      return next;
    } finally {
      // Releases the credit only after the budgets were put on hold. Otherwise a request that waits for capacity could start before the hold.
      if (!delivered) permit.credit.release();
      this.#released();
      breaker.released(this.#call);
    }
  }

  /** Reports an outcome, and decides what follows it. */
  #judged(
    outcome: Exclude<Outcome<Value>, { readonly kind: 'lapsed' }>,
    credential: SourceCredential,
    sent: Omit<RefusedRequest, 'secret'>,
  ): { readonly kind: 'usable'; readonly value: Value } | Step['next'] {
    const { breaker, streak, retire, limitCheck, credentials } = this.#source;
    const status = 'status' in outcome ? outcome.status : undefined;
    const secret = 'secret' in outcome ? outcome.secret : undefined;
    const request = { ...sent, secret };
    const limitMismatch = limitCheck.take();
    const report = (event: Pick<AttemptEvent, 'outcome' | 'reason' | 'error' | 'retryInMs'>): void =>
      this.#report(
        { ...event, ...(status !== undefined && { status }), ...(limitMismatch !== undefined && { limitMismatch }) },
        credential,
        sent,
      );
    if (isUp(outcome)) breaker.answered(this.#call);
    const usable = this.#usable(outcome);
    if (usable.kind === 'usable') {
      credential.apply({ kind: 'accepted' }, request);
      streak.succeeded();
      report({ outcome: 'ok' });
      return usable;
    }
    const step = this.#step(usable, credential, request, status);
    credential.apply(step.credential, request);
    // The second error is for requests that still wait when no credential is left.
    if (step.credential.kind === 'retire') retire([credential], step.credential.error, lastOne(step.credential.error));
    const { next } = step;
    // The next grant may be far off, so the journal writes now what this response has changed in the budgets.
    if (next.kind !== 'reject' && status !== undefined) credential.journal?.flush();
    const isAskedAgain = outcome.kind === 'answered' && outcome.verdict.kind === 'ambiguous' && outcome.verdict.isAskedAgain === true;
    if (next.kind === 'reject' && status !== undefined && !isAskedAgain) {
      const end = streak.failed(next.error, status, step.outcome === 'gone' || step.outcome === 'ambiguous');
      if (end !== undefined) retire(credentials.values(), end);
    }
    report(
      next.kind === 'reject'
        ? { outcome: step.outcome, reason: next.error.message, ...(step.outcome === 'ambiguous' && { error: next.error }) }
        : { outcome: step.outcome, reason: next.reason, retryInMs: next.inMs },
    );
    return next;
  }

  /** Returns the usable part of a second response that doesn't match, if there is one, and any other outcome as it is. */
  #usable(outcome: Exclude<Outcome<Value>, { readonly kind: 'lapsed' }>): Exclude<Outcome<Value>, { readonly kind: 'lapsed' }> {
    if (!this.#wasMismatch || outcome.kind !== 'answered' || outcome.verdict.kind !== 'schema-mismatch') return outcome;
    const { value } = outcome.verdict;
    return value === undefined ? outcome : { kind: 'usable', status: outcome.status, value };
  }

  #step(failure: Failure<Value>, credential: SourceCredential, request: RefusedRequest, status: number | undefined): Step {
    const { definition, options, breaker, pool } = this.#source;
    const { clock, random } = options;
    const time = this.#deadline.now;
    const wasStale = this.#wasStale;
    const fault = faultOf(failure, wasStale);
    const afterFault = fault && breaker.failed(this.#call, { ...fault, isLast: isOver(time, fault.retryInMs) });
    const refusedBy = [...this.#refusedBy];
    const step = policy(
      {
        about: { service: definition.service, subject: this.#subject, credential: credential.name, status },
        epochMs: clock.epochMs(),
        redirects: this.#redirects,
        wasStale,
        wasMismatch: this.#wasMismatch,
        refusedBy,
        hasOther: pool.bears(this.#weights, this.#leftWithout([...refusedBy, credential.name])),
        time,
        delayMs: delayMs(time.failures, random),
        afterFault,
        credential: credential.stateFor(request),
      },
      failure,
    );
    const isMismatch = failure.kind === 'answered' && failure.verdict.kind === 'schema-mismatch';
    if (afterFault?.kind === 'wait') this.#deadline.probed(afterFault.probedMs);
    else if (afterFault !== undefined || isMismatch) this.#deadline.failed();
    this.#wasMismatch ||= isMismatch;
    this.#wasStale = failure.kind === 'lost' && failure.isStale && !wasStale;
    if (step.next.kind === 'again' && step.next.to !== undefined) {
      this.#redirect = step.next.to;
      this.#redirects += 1;
    }
    if (step.credential.kind === 'passed over') {
      this.#refusedBy.add(credential.name);
      this.#refusal = step.credential.error;
    }
    return step;
  }

  #report(
    event: Omit<AttemptEvent, 'service' | 'credential' | 'subject' | 'durationMs' | 'walk'>,
    { name: credential }: SourceCredential,
    { grantedAtMs }: Omit<RefusedRequest, 'secret'>,
  ): void {
    const { definition, options } = this.#source;
    const { walk } = this.#given;
    const durationMs = options.clock.monotonicMs() - grantedAtMs;
    const { service } = definition;
    options.onAttempt({ service, credential, subject: this.#subject, durationMs, ...event, ...(walk !== undefined && { walk }) });
  }

  /** Throws if no credential's budgets are large enough for the request, because the request would wait forever. */
  #checkWeights(): void {
    const { definition, options, pool } = this.#source;
    const { service } = definition;
    const subject = this.#subject;
    if (pool.bears(this.#weights, this.#among)) return;
    const names = Object.keys(options.budgets);
    for (const { name, budgets } of pool.members) {
      if (this.#among?.includes(name) === false) continue;
      for (const [i, { limit, windowMs }] of budgets.entries()) {
        const weight = this.#weights[i] ?? 1;
        if (weight <= limit) continue;
        const message = `${subject}: the request costs ${weight} of the budget ${names[i]}, but that allows ${limit} per ${windowMs} ms (${name}). Request less at once, or raise the limit.`;
        throw new SourceError({ code: 'HEADGATE_OVER_BUDGET', retryable: false, service, credential: name, subject, message });
      }
    }
  }
}

type Retry = Exclude<Step['next'], { readonly kind: 'reject' }>;

const LAPSED: Retry = { kind: 'again', reason: '', inMs: 0 };

/** True unless no byte of the request was sent. */
function isSent({ kind }: Outcome<unknown>): boolean {
  return kind !== 'lapsed' && kind !== 'unsent' && kind !== 'unreached';
}

/** True if the response shows that the service is up. */
function isUp(outcome: Outcome<unknown>): boolean {
  return (
    outcome.kind === 'usable' || outcome.kind === 'redirected' || (outcome.kind === 'answered' && outcome.verdict.kind !== 'transient')
  );
}

function lastOne({ code, message, service, credential, subject, status, cause }: SourceError): SourceError {
  return new SourceError({ code, message, retryable: false, service, endsSource: true, cause, credential, subject, status });
}
