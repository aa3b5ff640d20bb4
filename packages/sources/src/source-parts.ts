import { admission, credentialPool, type Admission, type CredentialPool } from '@headgate/throttle';
import type { CheckedOptions } from './checked-options.ts';
import { connections, type Connections } from './http/connections.ts';
import type { AllowanceSender } from './request-allowance.ts';
import { LimitCheck } from './limit-check.ts';
import { CircuitBreaker } from './retry/circuit-breaker.ts';
import type { RunningQuery } from './retry/executor.ts';
import { FailureStreak } from './retry/failure-streak.ts';
import { openRows, type OpenRows } from './retry/rows.ts';
import { SharedLimits } from './retry/shared-limits.ts';
import { SharedSecrets } from './retry/shared-secret.ts';
import { SourceCredential } from './retry/source-credential.ts';
import type { SourceDefinition } from './source-definition.ts';
import { ofDefinition, SourceError } from './source-error.ts';

/** The parts of a source that its queries share. */
export class SourceParts<Query, Value> {
  readonly definition: SourceDefinition<Query, Value>;
  readonly options: CheckedOptions;
  /** Names of the budgets, in the order of weights and evidence. */
  readonly budgets: readonly string[];
  readonly shared: SharedLimits;
  /** Credentials by name, including ones that are no longer used. */
  readonly credentials: ReadonlyMap<string, SourceCredential>;
  /** Undefined without a journal. */
  readonly rows: OpenRows | undefined;
  readonly pool: CredentialPool;
  readonly admission: Admission<RunningQuery>;
  readonly breaker: CircuitBreaker;
  readonly connections: Connections;
  readonly streak: FailureStreak;
  readonly sharedSecrets: SharedSecrets = new SharedSecrets();
  readonly limitCheck: LimitCheck = new LimitCheck();
  /** The queries that have a permit or wait for a retry, for gauges. */
  readonly inFlight: Set<RunningQuery> = new Set();
  /** For the allowance of requests. */
  readonly sender: AllowanceSender;
  /** Aborts when no new request may start. Requests in flight continue. */
  readonly stopping: AbortController = new AbortController();

  constructor(definition: SourceDefinition<Query, Value>, options: CheckedOptions) {
    const { service } = definition;
    const { clock, journal, maxDelayMs, budgets, allowance, concurrency } = options;
    this.definition = definition;
    this.options = options;
    this.budgets = Object.keys(budgets);
    const lease = { maxDelayMs, clock, ...(journal !== undefined && { leaseMs: () => journal.leaseMs }) };
    this.shared = new SharedLimits(budgets, lease);
    const members = options.credentials.map((one) => new SourceCredential(one, budgets, this.shared, lease, concurrency));
    this.credentials = new Map(members.map((member) => [member.name, member]));
    this.rows = journal && openRows(journal, service, clock, members, this.shared.all);
    for (const credential of members) credential.journal = this.rows?.entries.get(credential.name);
    const wake = (): void => this.admission.wake();
    const names = (): readonly string[] => this.pool.members.map(({ name }) => name);
    this.breaker = new CircuitBreaker(clock, options.random, options.waitOutOutages, names, wake);
    this.pool = credentialPool({
      members: members.map((credential) => ({
        name: credential.name,
        budgets: credential.budgets,
        journal: credential.journal,
        heldUntilMs: () => (allowance?.isTaken === true || credential.isFull ? Infinity : this.breaker.heldUntilMs(credential.name)),
      })),
      clock,
    });
    this.admission = admission({ pool: this.pool, clock });
    const { pool } = this;
    this.sender = {
      get canSend() {
        return pool.exhausted === undefined;
      },
      onGivenBack: wake,
    };
    this.connections = connections(options);
    this.streak = new FailureStreak(service, options.stopAfterFailures);
  }

  /** Returns the user, ISBN or page of a query. */
  subjectOf(query: Query): string {
    const { definition } = this;
    return ofDefinition(
      { service: definition.service },
      'subject',
      () => definition.subject?.(query) ?? definition.service,
      (subject) => subject,
    );
  }

  /** Stops using credentials. */
  retire(some: Iterable<SourceCredential>, error: SourceError): void {
    const last = error.endsSource ? error : endingSource(error);
    for (const credential of some) {
      credential.retired(error);
      this.pool.retire(credential.name, last);
    }
    this.admission.wake();
  }

  /**
   * Returns the names of the credentials that may send a query; undefined if any may. Throws a `SourceError` if none of them is left, or if
   * none of their budgets is large enough, because the query would wait forever.
   */
  carriersOf(query: Query, subject: string, weights: readonly number[]): readonly string[] | undefined {
    const among = this.credentialsOf(query);
    if (this.pool.bears(weights, among)) return among;
    const { service } = this.definition;
    for (const { name, budgets } of this.pool.members) {
      if (among?.includes(name) === false) continue;
      for (const [i, { limit, windowMs }] of budgets.entries()) {
        const weight = weights[i] ?? 1;
        if (weight <= limit) continue;
        const message = `${subject}: the request costs ${weight} of the budget ${this.budgets[i]}, but that allows ${limit} per ${windowMs} ms (${name}). Request less at once, or raise the limit.`;
        throw new SourceError({ code: 'HEADGATE_OVER_BUDGET', retryable: false, service, credential: name, subject, message });
      }
    }
    return among;
  }

  /**
   * Returns the names of the credentials that may send a query; undefined if each may. Throws a `SourceError` if none of them is left, or
   * one is unknown.
   */
  credentialsOf(query: Query): readonly string[] | undefined {
    const { definition, credentials } = this;
    const { service } = definition;
    if (definition.credentialsOf === undefined) return undefined;
    const subject = this.subjectOf(query);
    const names = ofDefinition(
      { service, subject },
      'credentialsOf',
      () => definition.credentialsOf?.(query) ?? [],
      (given) => [...new Set(given)],
    );
    const refuse = (what: string, cause?: SourceError): never => {
      const message = `${subject}: ${what}`;
      throw new SourceError({ code: 'HEADGATE_NO_CREDENTIAL', retryable: false, service, subject, message, cause });
    };
    if (names.length === 0) return refuse(`no credential may send this request: credentialsOf of the ${service} source returned none.`);
    const unknown = names.find((name) => !credentials.has(name));
    if (unknown !== undefined) {
      const known = [...credentials.keys()].join(', ');
      return refuse(
        `there is no credential ${JSON.stringify(unknown)} to send this request. The ${service} source has ${known}. Add it to its credentials, or fix credentialsOf.`,
      );
    }
    // If the source has no credential left at all, admission rejects with the error that ends the source.
    const left = new Set(this.pool.members.map(({ name }) => name));
    if (left.size > 0 && !names.some((name) => left.has(name))) {
      const cause = names.map((name) => credentials.get(name)?.retiredBy).find((error) => error !== undefined);
      return refuse(
        `no credential is left to send this request: ${names.join(', ')} can't be used any more. ${cause?.message ?? ''}`.trim(),
        cause,
      );
    }
    return names;
  }
}

/** The same error for requests that still wait when no credential is left. */
function endingSource({ code, message, service, credential, subject, status, cause }: SourceError): SourceError {
  return new SourceError({ code, message, retryable: false, service, endsSource: true, cause, credential, subject, status });
}
