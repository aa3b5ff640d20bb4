import { digest } from './digest.ts';

/**
 * Returns a text that is the same for jobs that are equal after parsing, whatever the order of their keys. `value`: the job's JSON,
 * compared instead if the parsed job contains something that JSON can't represent, such as a `Map`.
 */
export function jobIdentity(request: unknown, value: string): string {
  return digest(canonicalText(request) ?? canonicalText(JSON.parse(value)) ?? value, 22);
}

/** Serializes a value with sorted keys. Undefined if JSON can't represent the value. */
function canonicalText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, (_, part: unknown) => canonicalPart(part));
  } catch {
    return undefined;
  }
}

function canonicalPart(part: unknown): unknown {
  if (typeof part === 'bigint' || (typeof part === 'number' && !Number.isFinite(part))) return { [typeof part]: String(part) };
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
  const prototype: unknown = Object.getPrototypeOf(part);
  if (prototype !== Object.prototype && prototype !== null) throw new TypeError("JSON can't represent all of it");
  return Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)));
}
