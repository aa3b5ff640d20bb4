import { createHash } from 'node:crypto';
import { jsonKind } from '@headgate/sources';
import type { Json } from '@headgate/throttle';
import * as z from 'zod';
import type { Path } from './path.ts';

/** A number whose text JavaScript would change, such as a 20-digit ID. `parseUntouched` keeps it in this form. */
interface RawJson {
  readonly rawJSON: string;
}

// TypeScript doesn't declare `JSON.isRawJSON` yet. Node 22 has it.
const { isRawJSON } = JSON as unknown as { readonly isRawJSON: (this: void, value: unknown) => value is RawJson };

/** True for a number from 2^53 on, which stands for several integers. */
function isWide(value: number): boolean {
  return Math.abs(value) > Number.MAX_SAFE_INTEGER;
}

/**
 * The schema for a number in a section or a job. In a section of a file, a number that loses digits is read as text where the setting also takes
 * text. `abort`: skip the checks of the settings around it, as is necessary if a transform follows.
 */
export function exactNumber({ abort = false }: { readonly abort?: boolean } = {}): z.ZodNumber {
  return z.number().refine((value) => !isWide(value), { error: 'loses digits as a number. Write it in quotes.', abort });
}

/** The schema for a value of JSON that has no members. The first alternative that fits reads a value of a file. */
export const scalar = z.union([exactNumber(), z.boolean(), z.string(), z.null()]);

/**
 * A text, number or boolean of a response, exact to the digit; undefined for null, lists, objects and missing values. A number that JavaScript
 * can't keep is text.
 */
export function scalarOf(value: unknown): string | number | boolean | undefined {
  if (typeof value === 'number' && isWide(value)) return String(value);
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return isRawJSON(value) ? value.rawJSON : undefined;
}

/** A finite number, or text that is one, of a response; undefined for anything else. */
export function numberOf(value: unknown): number | undefined {
  const scalar = scalarOf(value);
  const number = typeof scalar === 'boolean' || String(scalar).trim() === '' ? NaN : Number(scalar);
  return Number.isFinite(number) ? number : undefined;
}

/** A value as text, as a parameter or a header carries it. */
export function spelled(value: Json | undefined): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** The kind of a value, such as "a number", for messages that must not quote the value. */
export function kindOf(value: unknown): string {
  return isRawJSON(value) ? 'a number' : jsonKind(value);
}

/**
 * A digest of eight characters: 48 bits of the SHA-256 of the value's JSON, whatever the order of its members. Leaves out the values at
 * `ignored`.
 */
export function digestOf(value: unknown, ignored: readonly Path[] = []): string {
  const places = new Set(ignored.flatMap((path) => path.places(value)));
  const text = JSON.stringify(inOrder(value, places, '')) ?? '';
  return createHash('sha256').update(text).digest('base64url').slice(0, 8);
}

/** A copy of the value with its members in order, and without the values at `places`. `at`: the value's own place. */
function inOrder(value: unknown, places: ReadonlySet<string>, at: string): unknown {
  if (typeof value !== 'object' || value === null || isRawJSON(value)) return value;
  const kept = Object.entries(value)
    .filter(([name]) => !places.has(`${at}\0${name}`))
    .map(([name, one]) => [name, inOrder(one, places, `${at}\0${name}`)] as const);
  return Array.isArray(value) ? kept.map(([, one]) => one) : Object.fromEntries(kept.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
