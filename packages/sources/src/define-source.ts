import { admission, credentialPool, PageStream, type RateBudget } from '@headgate/throttle';
import { map } from 'rxjs';
import { budgetSlots, nextReset } from './budget-slots.ts';
import { asker } from './asker.ts';
import { checkedOptions } from './checked-options.ts';
import { connections } from './connections.ts';
import type { AskInFlight, Source, SourceGauges } from './source.ts';
import { sourceCredential } from './source-credential.ts';
import type { SourceDefinition } from './source-definition.ts';
import { SourceError } from './source-error.ts';
import type { DailyLimit, Limit, SourceOptions } from './source-options.ts';
import { walkReader } from './walk-reader.ts';

/**
 * Makes a source out of what is peculiar to a service: a definition in, a function that takes its users' options out.
 *
 * That function throws a `SourceError` with `HEADGATE_INVALID_OPTION` for options that can't be.
 */
export function defineSource<Ask, Value>(definition: SourceDefinition<Ask, Value>): (options: SourceOptions) => Source<Ask, Value> {
  const { service } = definition;
  return (given) => {
    const options = checkedOptions(service, given, definition.limit);
    const { clock, limit, maxDelayMs, timeoutMs, env, proxy, ca } = options;
    const members = options.credentials.map((credential) =>
      sourceCredential({ credential, limit, maxDelayMs, clock, journal: options.journal }),
    );
    const pool = credentialPool({ members, clock });
    const queue = admission({ clock });
    const wires = connections({ env, connectTimeoutMs: timeoutMs, ...(proxy !== undefined && { proxy }), ...(ca !== undefined && { ca }) });
    const credentials = new Map(members.map((member) => [member.name, member]));
    const stopping = new AbortController();
    const inFlight = new Set<AskInFlight>();
    const askOnce = asker({
      definition,
      options,
      admission: queue,
      pool,
      credentials,
      connections: wires,
      inFlight,
      stop: stopping.signal,
    });
    const underWay = new Set<AbortController>();
    let closed = false;

    /** Something of each budget of the credentials that have not left. */
    const inUse = <Of>(read: (credential: string, budget: RateBudget, of: Limit | DailyLimit) => Of): Of[] =>
      pool.members.flatMap(({ name, budgets }) => {
        const limits = credentials.get(name)?.limits ?? [];
        return budgets.map((budget, i) => read(name, budget, limits[i] ?? limit));
      });
    const budgetGauges = (): SourceGauges['budgets'] => {
      const offset = clock.epochMs() - clock.monotonicMs();
      return inUse((credential, budget, of) => {
        const { limit: most, windowMs, used } = budget;
        const at = budget.freeAt();
        const resetsAt = nextReset(of, clock);
        return {
          credential,
          limit: most,
          windowMs,
          used,
          ...(at < Infinity && { freeAt: at + offset }),
          ...(of.unit !== undefined && { unit: of.unit }),
          ...(resetsAt !== undefined && { resetsAt }),
        };
      });
    };

    const source: Source<Ask, Value> = {
      async ask(ask, { signal, ...wish }) {
        if (closed) throw closedError(service);
        const abort = new AbortController();
        const relay = (): void => abort.abort(signal?.reason);
        if (signal?.aborted === true) relay();
        signal?.addEventListener('abort', relay);
        underWay.add(abort);
        try {
          return await askOnce(ask, { ...wish, signal: abort.signal });
        } finally {
          signal?.removeEventListener('abort', relay);
          underWay.delete(abort);
        }
      },
      walk: (first, next, { share, signal } = {}) =>
        new PageStream(
          () => {
            const turns = { walk: {}, ...(share !== undefined && { share }) };
            return walkReader({ first, next, ask: (ask, reading) => source.ask(ask, { ...turns, ...reading }) });
          },
          { signal },
        ),
      gauges: () => ({ budgets: budgetGauges(), waiting: queue.waiting(), inFlight: [...inFlight] }),
      slots: () => inUse((credential, budget, of) => budgetSlots({ credential, budget, limit: of, clock })),
      changes: queue.changes.pipe(map((waiting) => ({ budgets: budgetGauges(), waiting, inFlight: [...inFlight] }))),
      stop() {
        stopping.abort(stoppedError(service));
      },
      async close() {
        closed = true;
        for (const abort of underWay) abort.abort(closedError(service));
        await wires.close();
      },
      [Symbol.asyncDispose]: () => source.close(),
    };
    return source;
  };
}

function stoppedError(service: string): SourceError {
  return new SourceError({
    code: 'HEADGATE_STOPPED',
    retryable: true,
    service,
    message: `${service}: the source was stopped. What was asked goes on where it stopped when it is asked again.`,
  });
}

function closedError(service: string): SourceError {
  return new SourceError({
    code: 'HEADGATE_CLOSED',
    retryable: false,
    service,
    message: `${service}: the source was closed. Make a new one to go on.`,
  });
}
