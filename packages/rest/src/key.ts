import { scalarOf } from './json-value.ts';
import { type Stream, keyPaths } from './language.ts';

/** A record's key: the value at its path, or a JSON list of the values at several paths. Undefined if a value is missing. */
export function keyOf({ key }: Pick<Stream, 'key'>, record: unknown): string | undefined {
  const parts = keyPaths(key).map((path) => scalarOf(path.first(record)));
  if (!parts.every(isKeyPart)) return undefined;
  return parts.length > 1 ? JSON.stringify(parts.map(String)) : parts[0]?.toString();
}

export function isKeyPart(value: unknown): value is string | number {
  return typeof value === 'number' || (typeof value === 'string' && value !== '');
}
