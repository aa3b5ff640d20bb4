/** The part of a whole address that stays with `origin: base`. Undefined if the address stays whole. */
export function byOrigin(given: string, origin: 'base' | undefined): string | undefined {
  if (origin !== 'base' || !isWhole(given)) return undefined;
  const { pathname, search } = new URL(given);
  return pathname + search;
}

/** An address that is relative to `path` under `baseUrl`. An absolute one, and a path with a leading slash, stay as they are. */
export function addressAt(given: string, baseUrl: string, path: string): string {
  return given.startsWith('/') || isWhole(given) ? given : new URL(given, baseUrl.replace(/\/?$/, path)).href;
}

function isWhole(given: string): boolean {
  return /^https?:/i.test(given);
}
