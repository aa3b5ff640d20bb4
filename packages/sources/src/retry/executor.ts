import type { Admission, CredentialPool, Delivery, Permit } from '@headgate/throttle';
import { inOrder } from '../budgets.ts';
import type { AttemptEvent } from '../attempt-event.ts';
import type { CheckedOptions } from '../checked-options.ts';
import type { Connections } from '../http/connections.ts';
import { LimitCheck } from '../limit-check.ts';
import type { SourceDefinition } from '../source-definition.ts';
import { atOnce, ofDefinition, SourceError, wholeNumber } from '../source-error.ts';
import type { AskInFlight, AskOptions } from '../source.ts';
import { anySignal } from './any-signal.ts';
import { attempt } from './attempt.ts';
import { pause, backoff } from './backoff.ts';
import { type Progress, retryDecision, type RetryDecision } from './retry-decision.ts';
import { sharedSecret } from './shared-secret.ts';
import type { SourceCredential } from './source-credential.ts';

export interface ExecutorOptions<Ask, Value> {
  readonly definition: SourceDefinition<Ask, Value>;
  readonly options: CheckedOptions;
  readonly admission: Admission;
  readonly pool: CredentialPool;
  /** By name; the pool's members and those that have left it. */
  readonly credentials: ReadonlyMap<string, SourceCredential>;
  readonly connections: Connections;
  /** Filled with the asks that have a permit, for gauges. */
  readonly inFlight: Set<AskInFlight>;
  /** Aborts when no new request may start; requests in flight go on. */
  readonly stop: AbortSignal;
}

/** Repeats a request until it has an answer, a reason to stop, or no more time. */
export type Executor<Ask, Value> = (ask: Ask, options: AskOptions & { readonly signal: AbortSignal }) => Promise<Delivery<Value>>;

export function executor<Ask, Value>(given: ExecutorOptions<Ask, Value>): Executor<Ask, Value> {
  const { definition, options, admission, pool, credentials, connections, inFlight, stop } = given;
  const { service } = definition;
  const { clock, random, retryForMs } = options;
  const shared = sharedSecret();
  const limitCheck = new LimitCheck();
  const names = Object.keys(options.budgets);

  return async (ask, { credits, signal, walk, share }) => {
    const subject = ofDefinition({ service, name: 'subject', call: () => definition.subject(ask) });
    const items = ofDefinition({ service, subject, name: 'items', call: () => wholeNumber(atOnce(definition.items(ask))) });
    const weights = ofDefinition({
      service,
      subject,
      name: 'weights',
      call: () => inOrder(atOnce(definition.weights?.(ask)) ?? {}, names).map((weight) => wholeNumber(weight ?? 1)),
    });
    // Given up by then, it may still be counted for a while.
    const countedWithinMs = (options.journal?.leaseMs ?? 0) + options.timeoutMs + options.maxDelayMs;
    checkWeights({ service, subject, weights, names, pool });
    const progress: Progress = {
      deadline: backoff({ clock, random, retryForMs }),
      wasAmbiguous: false,
      wasUnfit: false,
      redirect: undefined,
      redirects: 0,
      stale: false,
    };
    const { deadline } = progress;

    /** One attempt with a permit: the answer's value, or what to do next. */
    const attemptWith = async (
      permit: Permit,
    ): Promise<{ readonly kind: 'answered'; readonly value: Value } | RetryDecision | 'lapsed'> => {
      const credential = credentials.get(permit.credential);
      if (credential === undefined) throw new Error(`${service}: the pool gave the unknown credential ${permit.credential}`);
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
        ask,
        subject,
        redirect: progress.redirect,
        signal,
      });
      if (attempted === 'lapsed') return attempted;
      const { verdict, status } = attempted;
      const limitMismatch = limitCheck.take();
      const tell = (event: Pick<AttemptEvent, 'outcome' | 'reason' | 'retryInMs'>): void =>
        options.onAttempt({
          service,
          credential: credential.name,
          subject,
          durationMs: clock.monotonicMs() - grantedAtMs,
          ...(status !== undefined && { status }),
          ...(limitMismatch !== undefined && { limitMismatch }),
          ...event,
        });
      if (verdict.kind === 'ok') {
        credential.accepted();
        tell({ outcome: 'ok' });
        return { kind: 'answered', value: verdict.value };
      }
      const about = { service, subject, credential: credential.name, status };
      const decision = retryDecision({
        attempted,
        verdict,
        credential,
        grantedAtMs,
        clockRefusals,
        secretRefusals,
        progress,
        retire: (error) => {
          // Only requests that wait when the last credential leaves see it.
          pool.retire(credential.name, lastOne(error));
          admission.wake();
        },
        gaveUp: (reason, retryInMs) => gaveUp({ ...about, reason, retryInMs, ...deadline }),
        unfit: (where, wasAskedAgain) => unfit({ ...about, where, wasAskedAgain }),
      });
      // No page's transaction will carry what this answer has shown of the budgets.
      if (decision.kind === 'retry' && status !== undefined) credential.journal?.learned();
      const { outcome } = decision;
      tell(
        decision.kind === 'retry'
          ? { outcome, reason: decision.reason, retryInMs: decision.retryInMs }
          : { outcome, reason: decision.error.message },
      );
      return decision;
    };

    let shown: AskInFlight | undefined;
    const show = (next?: AskInFlight): void => {
      if (shown !== undefined) inFlight.delete(shown);
      if (next !== undefined) inFlight.add(next);
      shown = next;
    };
    const waiting = anySignal([signal, stop]);
    try {
      for (;;) {
        const waitedFromMs = clock.monotonicMs();
        const permit = await admission
          .acquire({
            pool,
            weights,
            countedWithinMs,
            credits,
            items,
            label: subject,
            signal: waiting.signal,
            ...(walk !== undefined && { walk }),
            ...(share !== undefined && { share }),
          })
          .catch((error: unknown) => {
            // The last credential that could bear it may have left.
            checkWeights({ service, subject, weights, names, pool });
            throw error;
          });
        deadline.waited(clock.monotonicMs() - waitedFromMs);
        const asking: AskInFlight = {
          label: subject,
          credential: permit.credential,
          since: clock.epochMs(),
          ...(walk !== undefined && { walk }),
        };
        show(asking);
        let pauseMs = 0;
        let reason = '';
        let delivered = false;
        try {
          const next = await attemptWith(permit);
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
            ({ pauseMs, reason } = next);
          }
        } finally {
          // After the budgets were held, so that no request that waits for room slips past them.
          if (!delivered) permit.credit.release();
        }
        show(pauseMs > 0 ? { ...asking, retry: { at: clock.epochMs() + pauseMs, reason } } : undefined);
        if (pauseMs > 0) await pause({ clock, ms: pauseMs, signal: waiting.signal });
        show();
      }
    } finally {
      show();
      waiting.forget();
    }
  };
}

function lastOne({ code, message, service, credential, subject, status, cause }: SourceError): SourceError {
  return new SourceError({
    code,
    message,
    retryable: false,
    service,
    endsSource: true,
    cause,
    ...(credential !== undefined && { credential }),
    ...(subject !== undefined && { subject }),
    ...(status !== undefined && { status }),
  });
}

interface GaveUp {
  readonly service: string;
  readonly subject: string;
  readonly credential: string;
  readonly reason: string;
  readonly failures: number;
  readonly elapsedMs: number;
  readonly leftMs: number;
  /** The wait that the service requests. */
  readonly retryInMs: number | undefined;
  readonly status: number | undefined;
}

function gaveUp({ service, subject, credential, reason, failures, elapsedMs, leftMs, retryInMs = 0, status }: GaveUp): SourceError {
  const over = `${failures} ${failures === 1 ? 'attempt' : `attempts over ${seconds(elapsedMs)}`}`;
  const left = Math.max(0, leftMs);
  const wait = retryInMs > left ? ` The service requests a wait of ${seconds(retryInMs)}, and ${seconds(left)} are left.` : '';
  const message = `${subject}: gave up after ${over}: ${reason}.${wait} Ask again ${wait === '' ? 'later' : 'after that'}, or allow more time (retryForMs).`;
  return new SourceError({
    code: 'HEADGATE_GAVE_UP',
    retryable: true,
    service,
    credential,
    subject,
    message,
    ...(status !== undefined && { status }),
  });
}

interface Unfit {
  readonly service: string;
  readonly subject: string;
  readonly credential: string;
  readonly where: string;
  readonly wasAskedAgain: boolean;
  readonly status: number | undefined;
}

function unfit({ service, subject, credential, where, wasAskedAgain, status }: Unfit): SourceError {
  const message =
    `${subject}: the answer (${status}) is JSON that does not fit the ${service} service: ${where}. ` +
    `${wasAskedAgain ? 'A retry did not help. ' : ''}Check baseUrl; if it is right, the service has changed or fails: try another day.`;
  return new SourceError({
    code: 'HEADGATE_UNFIT_ANSWER',
    retryable: true,
    service,
    credential,
    subject,
    message,
    ...(status !== undefined && { status }),
  });
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000).toLocaleString('en-US')} s`;
}

interface CheckWeightsOptions {
  readonly service: string;
  readonly subject: string;
  readonly weights: readonly number[];
  readonly names: readonly string[];
  readonly pool: CredentialPool;
}

/** A request that costs more than the budgets of any credential ever hold would wait for ever. */
function checkWeights({ service, subject, weights, names, pool }: CheckWeightsOptions): void {
  if (pool.bears(weights)) return;
  for (const { name, budgets } of pool.members) {
    for (const [i, { limit, windowMs }] of budgets.entries()) {
      const weight = weights[i] ?? 1;
      if (weight <= limit) continue;
      const message = `${subject}: the request costs ${weight} of the budget ${names[i]}, ${limit} per ${windowMs} ms (${name}). Request less at once, or raise the limit.`;
      throw new SourceError({ code: 'HEADGATE_OVER_BUDGET', retryable: false, service, credential: name, subject, message });
    }
  }
}
