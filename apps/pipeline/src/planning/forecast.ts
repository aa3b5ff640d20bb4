/**
 * Requests until each of several crawls is done, when they take turns: a crawl of n pages has waited for n of every longer one, and for
 * all of every shorter one.
 */
export function requestsUntilDone(pages: readonly number[]): number[] {
  const ascending = pages.toSorted((one, other) => one - other);
  const requests = new Map<number, number>();
  let shorter = 0;
  for (const [i, own] of ascending.entries()) {
    if (!requests.has(own)) requests.set(own, shorter + own * (ascending.length - i));
    shorter += own;
  }
  return pages.map((own) => requests.get(own) ?? 0);
}

/** When work that needs so many requests is done, at a budget of `limit` per `windowMs` of each of `credentials`, starting with all of it free. */
export function forecastMs({
  requests,
  limit,
  windowMs,
  credentials,
}: {
  requests: number;
  limit: number;
  windowMs: number;
  credentials: number;
}): number {
  if (requests <= 0) return 0;
  const perWindow = limit * credentials;
  return (Math.ceil(requests / perWindow) - 1) * windowMs;
}
