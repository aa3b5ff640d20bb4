import { createHash } from 'node:crypto';
import { jsonKind } from '@headgate/sources';
import type { Json } from '@headgate/throttle';

/** A number whose text JavaScript would change, such as a 20-digit ID. `parseUntouched` keeps it in this form. */
interface RawJson {
  readonly rawJSON: string;
}

// TypeScript doesn't declare `JSON.isRawJSON` yet. Node 22 has it.
const { isRawJSON } = JSON as unknown as { readonly isRawJSON: (this: void, value: unknown) => value is RawJson };

/** A text, number or boolean of a response, exact to the digit; undefined for null, lists, objects and missing values. */
export function scalarOf(value: unknown): string | number | boolean | undefined {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return isRawJSON(value) ? value.rawJSON : undefined;
}

/** A value as text, as a parameter or a header carries it. */
export function spelled(value: Json | undefined): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** The kind of a value, such as "a number", for messages that must not quote the value. */
export function kindOf(value: unknown): string {
  return isRawJSON(value) ? 'a number' : jsonKind(value);
}

/** A digest of eight characters: 48 bits of the SHA-256 of the value's JSON. */
export function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 8);
}
