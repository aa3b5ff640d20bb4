import { type Limiter, refused } from './limiter.ts';

/** Options of {@link limitedFetch}. */
export interface LimitedFetchOptions {
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

/**
 * Returns a `fetch` whose requests start as the budgets of a limiter permit. A request that the service refuses with status 429 is sent
 * again when the wait that the response asks for is over, so its body must be one that can be sent twice, such as text. Any other response
 * is returned. An abort of `signal` also ends the wait for the request's turn. Rejects as `Limiter.run` does, and as `fetch` does.
 */
export function limitedFetch(
  limiter: Pick<Limiter, 'run'>,
  { fetch = globalThis.fetch }: LimitedFetchOptions = {},
): typeof globalThis.fetch {
  return async (input, init) => {
    const signal = init?.signal ?? (typeof input === 'object' && 'signal' in input ? input.signal : undefined);
    return await limiter.run(
      async () => {
        // A request that is sent again needs its body again.
        const response = await fetch(typeof input === 'object' && 'clone' in input ? input.clone() : input, init);
        if (response.status !== 429) return response;
        // An unread body would keep its connection.
        await response.body?.cancel();
        return refused(response);
      },
      { signal },
    );
  };
}
