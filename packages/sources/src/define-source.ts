import { admission, credentialPool, type PoolMember } from '@headgate/throttle';
import { anySignal } from '@headgate/throttle/internal';
import { checkedOptions } from './checked-options.ts';
import { connections } from './http/connections.ts';
import { LimitCheck } from './limit-check.ts';
import { CircuitBreaker } from './retry/circuit-breaker.ts';
import { execute, type RunningQuery } from './retry/executor.ts';
import { FailureStreak } from './retry/failure-streak.ts';
import { queryCredentials } from './retry/query-credentials.ts';
import { openRows } from './retry/rows.ts';
import { SharedLimits } from './retry/shared-limits.ts';
import { SharedSecrets } from './retry/shared-secret.ts';
import { SourceCredential } from './retry/source-credential.ts';
import { UnderWay } from './retry/under-way.ts';
import type { SourceDefinition, WholeDefinition } from './source-definition.ts';
import { SourceError, ofDefinition } from './source-error.ts';
import type { SourceOptions } from './source-options.ts';
import type { Source } from './source.ts';
import { sourceGauges } from './source-gauges.ts';
import { type PagingCalls, walkPages } from './walk-pages.ts';

/**
 * Defines a service. Returns the function that creates a source for it from the user's options.
 *
 * The returned function throws a `SourceError` with `HEADGATE_INVALID_OPTION` for invalid options.
 */
export function defineSource<Query, Value>(defined: SourceDefinition<Query, Value>): (options: SourceOptions) => Source<Query, Value> {
  const { service } = defined;
  const definition: WholeDefinition<Query, Value> = { subject: () => service, items: () => 1, itemsOf: () => 1, ...defined };
  return (given) => {
    const options = checkedOptions(service, given, definition);
    const { clock, budgets, concurrency, allowance, maxDelayMs, timeoutMs, env, proxy, ca, dispatcher, fetch } = options;
    const { journal } = options;
    const lease = { maxDelayMs, clock, ...(journal !== undefined && { leaseMs: () => journal.leaseMs }) };
    const shared = new SharedLimits(budgets, lease);
    const members = options.credentials.map((credential) => new SourceCredential(credential, budgets, shared, lease));
    const rows = journal && openRows(journal, service, clock, members, shared.all);
    for (const credential of members) credential.journal = rows?.entries.get(credential.name);
    const breaker = new CircuitBreaker({
      clock,
      random: options.random,
      waitsOutOutages: options.waitOutOutages,
      credentials: () => pool.members.map(({ name }) => name),
      onChange: () => queue.wake(),
    });
    // After a refusal, one request at a time finds out whether the service takes requests again.
    const maxOf = (name: string): number => (credentials.get(name)?.isRefused === true ? 1 : concurrency);
    const underWay = new UnderWay(maxOf, () => queue.wake());
    const memberOf = ({ name, budgets: own, journal: entry }: SourceCredential): PoolMember => ({
      name,
      budgets: own,
      journal: entry,
      heldUntilMs: () => (allowance?.isTaken === true || underWay.isFull(name) ? Infinity : breaker.heldUntilMs(name)),
    });
    const pool = credentialPool({ members: members.map(memberOf), clock });
    const queue = admission<RunningQuery>({ pool, clock });
    const wires = connections({
      env,
      dispatcher,
      fetch,
      connectTimeoutMs: timeoutMs,
      proxy,
      ca,
    });
    const credentials = new Map(members.map((member) => [member.name, member]));
    const credentialsOf = queryCredentials(definition, credentials, pool);
    const retire = (some: Iterable<SourceCredential>, error: SourceError, last = error): void => {
      for (const credential of some) {
        credential.retired(error);
        pool.retire(credential.name, last);
      }
      queue.wake();
    };
    const stopping = new AbortController();
    const inFlight = new Set<RunningQuery>();
    const parts = {
      definition,
      options,
      admission: queue,
      pool,
      retire,
      credentials,
      credentialsOf,
      connections: wires,
      breaker,
      underWay,
      streak: new FailureStreak(service, options.stopAfterFailures),
      sharedSecrets: new SharedSecrets(),
      limitCheck: new LimitCheck(),
      inFlight,
      stop: stopping.signal,
    };
    const closing = new AbortController();

    const source: Source<Query, Value> = {
      async query(query, { signal, ...rest }) {
        if (closing.signal.aborted) throw closedError(service);
        const ended = anySignal([signal, closing.signal]);
        try {
          return await execute(parts, query, { ...rest, signal: ended.signal });
        } finally {
          ended.forget();
        }
      },
      pages: (paging, walked = {}) =>
        walkPages({
          ...walked,
          ...pagingCalls(service),
          paging,
          service,
          subject: () => definition.subject(paging.query(paging.first)),
          query: (query, reading) => source.query(query, reading),
        }),
      ...(credentialsOf !== undefined && { credentialsOf }),
      ...sourceGauges(parts, shared),
      stop() {
        stopping.abort(stoppedError(service));
      },
      async close() {
        closing.abort(closedError(service));
        rows?.release();
        await wires.close();
      },
      [Symbol.asyncDispose]: () => source.close(),
    };
    return source;
  };
}

/** Returns functions that call a paging as the functions of a definition are called, with the same errors. */
export function pagingCalls(service: string): PagingCalls {
  return {
    call: (name, call) => ofDefinition(service, undefined, `${name} of the paging`, call),
    misuse: (name, what, why) => {
      const message = `${service}: ${name} of the paging of the ${service} source ${what}. ${why}.`;
      return new SourceError({ code: 'HEADGATE_DEFINITION', retryable: false, service, message });
    },
  };
}

function stoppedError(service: string): SourceError {
  return new SourceError({
    code: 'HEADGATE_STOPPED',
    retryable: true,
    service,
    message: `${service}: the source was stopped. Send the request again to continue.`,
  });
}

function closedError(service: string): SourceError {
  return new SourceError({
    code: 'HEADGATE_CLOSED',
    retryable: false,
    service,
    message: `${service}: the source was closed. Create a new one to continue.`,
  });
}
