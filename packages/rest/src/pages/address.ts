/**
 * The address of a request. One that is neither whole nor begins with a slash is relative to `path` under `baseUrl`. With `origin: base`, a whole
 * one keeps only its path and query.
 */
export function addressAt(given: string, origin: 'base' | undefined, baseUrl: string, path: string): string {
  if (given.startsWith('/')) return given;
  if (!/^https?:/i.test(given)) return new URL(given, baseUrl.replace(/\/?$/, path)).href;
  if (origin !== 'base') return given;
  const { pathname, search } = new URL(given);
  return pathname + search;
}
