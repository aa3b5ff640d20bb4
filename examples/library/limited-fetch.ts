import { dailyBudget, limiter, rateBudget, refused } from '@headgate/throttle';

export interface Token {
  readonly name: string;
  readonly token: string;
}

/** `fetch` with the token that can be used first. Each token permits 5 requests a second and 10,000 a day. */
export function limitedFetch(tokens: readonly Token[]): (url: string, options?: { readonly signal?: AbortSignal }) => Promise<Response> {
  const budgets = () => [rateBudget({ limit: 5, windowMs: 1_000 }), dailyBudget({ limit: 10_000 })];
  const { run } = limiter({ credentials: tokens, budgets });
  return async (url, { signal } = {}) =>
    await run(
      async ({ token }) => {
        const response = await fetch(url, { signal: signal ?? null, headers: { authorization: `Bearer ${token}` } });
        if (response.status === 429) return refused(response);
        return response;
      },
      { signal },
    );
}
