import type { Delivery, Permit } from '@headgate/throttle';
import { anySignal, pause } from '@headgate/throttle/internal';
import { inOrder } from '../budgets.ts';
import type { AllowedRequest } from '../request-allowance.ts';
import type { AttemptEvent } from '../source-options.ts';
import { ofDefinition, type SourceError, wholeNumber } from '../source-error.ts';
import type { SourceParts } from '../source-parts.ts';
import type { QueryOptions, QueryState } from '../source.ts';
import { Attempt } from './attempt.ts';
import type { Call } from './circuit-breaker.ts';
import { Deadline, delayMs } from './deadline.ts';
import type { Redirect, Result } from './outcome.ts';
import { faultOf, isOver, policy, type Step, usable } from './policy.ts';
import type { RefusedRequest, SourceCredential } from './source-credential.ts';

/** An unfinished query, for gauges. */
export interface RunningQuery {
  readonly id: object;
  readonly subject: string;
  readonly weights: readonly number[];
  /** Names of the credentials that may still send the query; undefined if any may. */
  readonly credentials: readonly string[] | undefined;
  /** The last state other than that of waiting for a permit. */
  readonly state: QueryState | undefined;
}

/** Sends a query, and retries it until it has a usable response, a reason to stop, or no more time. */
export async function execute<Query, Value>(
  parts: SourceParts<Query, Value>,
  query: Query,
  options: QueryOptions & { readonly signal: AbortSignal },
): Promise<Delivery<Value>> {
  return await new Execution(parts, query, options).run();
}

class Execution<Query, Value> implements RunningQuery {
  readonly id: object;
  readonly subject: string;
  readonly weights: readonly number[];
  state: QueryState | undefined;
  readonly #parts: SourceParts<Query, Value>;
  readonly #query: Query;
  readonly #given: QueryOptions & { readonly signal: AbortSignal };
  readonly #items: number;
  /** Names of the credentials that may send the query; undefined if any may. */
  readonly #among: readonly string[] | undefined;
  readonly #deadline: Deadline;
  readonly #call: Call;
  #allowed: AllowedRequest | undefined;
  /** The credential of the current attempt, from the grant of its permit on. */
  #carrier: SourceCredential | undefined;
  /** True from the first byte of the current attempt on. */
  #isSent = false;
  #redirect: Redirect | undefined;
  #redirects = 0;
  #wasStale = false;
  #wasMismatch = false;
  /** The refusals that may concern only their credential, by its name. */
  readonly #refusals = new Map<string, SourceError>();

  constructor(parts: SourceParts<Query, Value>, query: Query, given: QueryOptions & { readonly signal: AbortSignal }) {
    const { definition, options, breaker, budgets } = parts;
    const { service } = definition;
    this.#parts = parts;
    this.#query = query;
    this.#given = given;
    this.subject = parts.subjectOf(query);
    const about = { service, subject: this.subject };
    this.#items = ofDefinition(about, 'items', () => definition.items?.(query) ?? 1, wholeNumber);
    this.weights = ofDefinition(
      about,
      'weights',
      () => definition.weights?.(query) ?? {},
      (costs) => inOrder(costs, budgets).map((cost) => wholeNumber(cost ?? 1)),
    );
    this.#among = parts.carriersOf(query, this.subject, this.weights);
    this.#deadline = new Deadline(() => breaker.upMs(), options.retryForMs);
    this.#call = breaker.begin(this.#among);
    this.id = given.walk ?? this.#call;
  }

  get credentials(): readonly string[] | undefined {
    return this.#call.among;
  }

  async run(): Promise<Delivery<Value>> {
    const { breaker, options, sender, stopping } = this.#parts;
    const waiting = anySignal([this.#given.signal, stopping.signal]);
    try {
      for (let retry: Retry = AT_ONCE; ;) {
        // Before the pause, because the run ends now if it may send no more requests.
        this.#allowed = options.allowance?.wait(sender);
        if (retry.kind === 'wait' && retry.ms > 0) await this.#pause(retry, waiting.signal);
        try {
          const permit = await this.#permitted(waiting.signal);
          const result = await this.#sent(permit);
          if ('credit' in result) return result;
          retry = result;
        } finally {
          this.#end();
        }
      }
    } finally {
      this.#allowed?.end('unsent');
      breaker.ended(this.#call);
      waiting.forget();
    }
  }

  async #pause({ ms, reason, isUntilUp }: Extract<Retry, { readonly kind: 'wait' }>, signal: AbortSignal): Promise<void> {
    const { options, breaker, inFlight } = this.#parts;
    const { clock } = options;
    this.state = { state: 'retrying', until: clock.epochMs() + ms, reason };
    inFlight.add(this);
    try {
      await pause({ clock, ms, signal, ...(isUntilUp && { early: (end: () => void) => breaker.onceUp(end) }) });
    } finally {
      inFlight.delete(this);
    }
  }

  /** Begins an attempt. Called in the synchronous step in which the permit is granted. */
  #begin(name: string): void {
    const { credentials, breaker } = this.#parts;
    this.#carrier = credentials.get(name);
    this.#isSent = false;
    this.#allowed?.take();
    this.#carrier?.begin();
    breaker.granted(this.#call, name);
  }

  /** Ends what `#begin` began, if it was called. */
  #end(): void {
    const { breaker, inFlight, admission } = this.#parts;
    const carrier = this.#carrier;
    if (carrier === undefined) return;
    this.#carrier = undefined;
    inFlight.delete(this);
    this.#allowed?.end(this.#isSent ? undefined : 'unsent');
    breaker.released(this.#call);
    if (carrier.end()) admission.wake();
  }

  /** Returns the names of the credentials that may send the query if these have refused it; undefined if any may. */
  #leftWithout(refusedBy: readonly string[]): readonly string[] | undefined {
    if (refusedBy.length === 0) return this.#among;
    return (this.#among ?? this.#parts.pool.members.map(({ name }) => name)).filter((name) => !refusedBy.includes(name));
  }

  async #permitted(signal: AbortSignal): Promise<Permit> {
    const { breaker, pool } = this.#parts;
    const waitedFromMs = breaker.upMs();
    this.#call.among = this.#leftWithout([...this.#refusals.keys()]);
    try {
      return await this.#acquired(signal);
    } catch (error) {
      // The last credential that may send the query may have been retired.
      if (pool.exhausted === undefined) {
        const refusal = [...this.#refusals.values()].at(-1);
        if (refusal !== undefined && !signal.aborted && !pool.bears(this.weights, this.#call.among)) throw refusal;
        this.#parts.carriersOf(this.#query, this.subject, this.weights);
      }
      throw error;
    } finally {
      // `upMs` can jump back during the wait: an outage counts from its first error, before it was detected.
      this.#deadline.waited(Math.max(0, breaker.upMs() - waitedFromMs));
    }
  }

  /** Waits for a permit. A request that has failed in an outage lets others go first until the service is up. */
  async #acquired(signal: AbortSignal): Promise<Permit> {
    const { breaker } = this.#parts;
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
    const { credits, walk } = this.#given;
    return await this.#parts.admission.acquire({
      weights: this.weights,
      among: this.#call.among,
      credits,
      items: this.#items,
      label: this,
      signal,
      rank,
      onGranted: (name) => {
        onGranted?.();
        this.#begin(name);
      },
      walk,
    });
  }

  /** Makes the attempt of a permit. */
  async #sent(permit: Permit): Promise<Delivery<Value> | Retry> {
    const { definition, options, breaker, inFlight } = this.#parts;
    const { clock, timeoutMs } = options;
    const { service } = definition;
    const credential = this.#carrier;
    if (credential === undefined) throw new Error(`${service}: the pool returned the unknown credential ${permit.credential}`);
    // Not before the grant is durable: as long as a log can't take it, a display shows what is being written instead.
    this.state = { state: 'requesting', credential: credential.name, since: clock.epochMs() };
    inFlight.add(this);
    const grantedAtMs = clock.monotonicMs();
    const request = { grantedAtMs, weights: this.weights, corrections: credential.corrections };
    let delivered = false;
    try {
      const send = (): boolean => (this.#isSent = breaker.maySend(this.#call) && permit.sent());
      const { subject } = this;
      const { signal } = this.#given;
      const outcome = await new Attempt(this.#parts, this.#query, subject, credential, permit, this.#redirect, send, signal).run();
      // Signing and connecting take at most `timeoutMs` each. A longer time shows that the machine was asleep, so the rest doesn't count.
      const lapsedAfterMs = Math.min(clock.monotonicMs() - grantedAtMs, 2 * timeoutMs);
      credential.prepared(outcome.kind === 'lapsed' ? { lapsedAfterMs } : 'in time');
      if (outcome.kind === 'lapsed') return AT_ONCE;
      const secret = 'secret' in outcome ? outcome.secret : undefined;
      const next = this.#judged(outcome, credential, { ...request, secret });
      if (next.kind === 'reject') throw next.error;
      if (next.kind !== 'usable') return next;
      const { value } = next;
      permit.credit.resize(ofDefinition({ service, subject }, 'itemsOf', () => definition.itemsOf?.(value) ?? 1, wholeNumber));
      delivered = true;
      return { value, credit: permit.credit };
    } finally {
      // Releases the credit only after the budgets were put on hold. Otherwise a request that waits for capacity could start before the hold.
      if (!delivered) permit.credit.release();
    }
  }

  /** Decides what follows a result, and applies and reports it. */
  #judged(result: Result<Value>, credential: SourceCredential, request: RefusedRequest): Step<Value>['next'] {
    const { breaker, streak, credentials } = this.#parts;
    const status = 'status' in result ? result.status : undefined;
    const limitMismatch = this.#parts.limitCheck.take();
    if (isUp(result)) breaker.answered(this.#call);
    const { outcome, next, credential: effect } = this.#step(result, credential, request, status);
    credential.apply(effect, request);
    if (effect.kind === 'retire') this.#parts.retire([credential], effect.error);
    if (next.kind === 'usable') streak.succeeded();
    else if (next.kind !== 'reject') {
      // The next grant may be far off, so the journal writes now what this response has changed in the budgets.
      if (status !== undefined) credential.journal?.flush();
    } else if (status !== undefined && !isAskedAgain(result)) {
      const end = streak.failed(next.error, status, outcome === 'gone' || outcome === 'ambiguous');
      if (end !== undefined) this.#parts.retire(credentials.values(), end);
    }
    this.#report(credential, request.grantedAtMs, {
      outcome,
      ...wordsOf(next),
      ...(status !== undefined && { status }),
      ...(limitMismatch !== undefined && { limitMismatch }),
    });
    return next;
  }

  #step(result: Result<Value>, credential: SourceCredential, request: RefusedRequest, status: number | undefined): Step<Value> {
    if (result.kind === 'usable') return usable(result.value);
    const { definition, options, breaker, pool } = this.#parts;
    const { clock, random } = options;
    const time = this.#deadline.now;
    const wasStale = this.#wasStale;
    const fault = faultOf(result, wasStale);
    const afterFault = fault && breaker.failed(this.#call, { ...fault, isLast: isOver(time, fault.retryInMs) });
    const refusedBy = [...this.#refusals.keys()];
    const step = policy(
      {
        about: { service: definition.service, subject: this.subject, credential: credential.name, status },
        epochMs: clock.epochMs(),
        redirects: this.#redirects,
        wasStale,
        wasMismatch: this.#wasMismatch,
        refusedBy,
        hasOther: pool.bears(this.weights, this.#leftWithout([...refusedBy, credential.name])),
        time,
        delayMs: delayMs(time.failures, random),
        afterFault,
        credential: credential.stateFor(request),
      },
      result,
    );
    const isMismatch = result.kind === 'answered' && result.verdict.kind === 'schema-mismatch';
    if (afterFault?.kind === 'wait') this.#deadline.probed(afterFault.probedMs);
    else if (afterFault !== undefined || isMismatch) this.#deadline.failed();
    this.#wasMismatch ||= isMismatch;
    this.#wasStale = result.kind === 'lost' && result.isStale && !wasStale;
    if (step.next.kind === 'again' && step.next.to !== undefined) {
      this.#redirect = step.next.to;
      this.#redirects += 1;
    }
    if (step.credential.kind === 'passed over') this.#refusals.set(credential.name, step.credential.error);
    return step;
  }

  #report(
    { name: credential }: SourceCredential,
    grantedAtMs: number,
    event: Omit<AttemptEvent, 'service' | 'credential' | 'subject' | 'durationMs' | 'walk'>,
  ): void {
    const { definition, options } = this.#parts;
    const { walk } = this.#given;
    const durationMs = options.clock.monotonicMs() - grantedAtMs;
    const { service } = definition;
    options.onAttempt({ service, credential, subject: this.subject, durationMs, ...event, ...(walk !== undefined && { walk }) });
  }
}

type Retry = Extract<Step['next'], { readonly kind: 'again' | 'wait' }>;

const AT_ONCE: Retry = { kind: 'again', reason: '', inMs: 0 };

/** True if the response shows that the service is up. */
function isUp(result: Result): boolean {
  return result.kind === 'usable' || result.kind === 'redirected' || (result.kind === 'answered' && result.verdict.kind !== 'transient');
}

function isAskedAgain(result: Result): boolean {
  return result.kind === 'answered' && result.verdict.kind === 'ambiguous' && result.verdict.isAskedAgain === true;
}

function wordsOf(next: Step['next']): Pick<AttemptEvent, 'reason' | 'retryInMs'> {
  if (next.kind === 'usable') return {};
  return next.kind === 'reject' ? { reason: next.error.message } : { reason: next.reason, retryInMs: next.inMs };
}
