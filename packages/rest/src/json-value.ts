import { createHash } from 'node:crypto';
import { jsonKind } from '@headgate/sources';
import type { Json } from '@headgate/throttle';

/** A number that JavaScript would spell differently, as `parseUntouched` keeps it. */
interface RawJson {
  readonly rawJSON: string;
}

// TypeScript's own declarations of JSON don't have it yet; Node has, from version 22.
const { isRawJSON } = JSON as unknown as { readonly isRawJSON: (this: void, value: unknown) => value is RawJson };

/** A text, number or boolean of a response, exact to the digit; undefined for null, lists, objects and nothing. */
export function scalarOf(value: unknown): string | number | boolean | undefined {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return isRawJSON(value) ? value.rawJSON : undefined;
}

/** A value as a parameter or a header carries it. */
export function spelled(value: Json | undefined): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** The kind of a value as text, for messages that must not quote it. */
export function kindOf(value: unknown): string {
  return isRawJSON(value) ? 'a number' : jsonKind(value);
}

/** Eight characters that stand for a value: 48 bits of its SHA-256. */
export function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 8);
}
