import { anySignal } from '@headgate/throttle/internal';
import { checkedOptions } from './checked-options.ts';
import { execute } from './retry/executor.ts';
import type { SourceDefinition } from './source-definition.ts';
import { SourceError, ofDefinition } from './source-error.ts';
import { sourceGauges } from './source-gauges.ts';
import type { SourceOptions } from './source-options.ts';
import { SourceParts } from './source-parts.ts';
import type { Source } from './source.ts';
import { type PagingCalls, walkPages } from './walk-pages.ts';

/**
 * Defines a service. Returns the function that creates a source for it from the user's options.
 *
 * The returned function throws a `SourceError` with `HEADGATE_INVALID_OPTION` for invalid options.
 */
export function defineSource<Query, Value>(definition: SourceDefinition<Query, Value>): (options: SourceOptions) => Source<Query, Value> {
  const { service } = definition;
  return (given) => {
    const options = checkedOptions(service, given, definition);
    const parts = new SourceParts(definition, options);
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
          subject: () => parts.subjectOf(paging.query(paging.first)),
          query: (query, reading) => source.query(query, reading),
        }),
      ...(definition.credentialsOf !== undefined && { credentialsOf: (query) => parts.credentialsOf(query) ?? [] }),
      ...sourceGauges(parts),
      stop() {
        parts.stopping.abort(stoppedError(service));
      },
      async close() {
        closing.abort(closedError(service));
        parts.rows?.release();
        await parts.connections.close();
      },
      [Symbol.asyncDispose]: () => source.close(),
    };
    return source;
  };
}

/** Returns functions that call a paging as the functions of a definition are called, with the same errors. */
export function pagingCalls(service: string): PagingCalls {
  return {
    call: (name, call) => ofDefinition({ service }, `${name} of the paging`, call, (result) => result),
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
