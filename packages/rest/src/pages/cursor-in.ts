import type { Json } from '@headgate/throttle';
import type { Cursor } from '../cursor.ts';
import { kindOf, scalarOf, spelled } from '../json-value.ts';
import type { Said } from '../places.ts';
import { type End, type Found, LAST, type NextAt, lastUnless } from './style.ts';

/** The cursor or address that a response has at `place`, unless it is one of `end`. `read`: decodes it. */
export function cursorIn(found: Found, place: Said, end: End | undefined, read?: (text: string) => string): NextAt {
  return cursorOf(found, found.at(place), 'text' in place ? place.text : 'the cursor', end, read);
}

/** The cursor or address that a response gives at a place of this name, unless it is one of `end`. */
export function cursorOf(found: Found, given: unknown, name: string, end: End | undefined, read = (text: string): string => text): NextAt {
  const sent = sendable(given, found);
  const at = typeof sent === 'string' ? read(sent) : sent;
  // An end is compared as text, because a service can write the same cursor both as a number and as text.
  const ends: readonly unknown[] = end === undefined ? [] : [end].flat();
  if (ends.some((one) => String(one) === spelled(at))) return LAST;
  if (isNone(given)) return lastUnless(found, name);
  return at === undefined ? { unfit: `${name}: expected text or a number, got ${kindOf(given)}` } : { at };
}

/** True for what services write instead of a cursor on the last page. */
function isNone(given: unknown): boolean {
  if (given === undefined || given === null || given === '' || given === false) return true;
  return typeof given === 'object' && !Array.isArray(given) && scalarOf(given) === undefined && Object.keys(given).length === 0;
}

/** A cursor that the next request can carry: text or a number, and in a JSON body also a list or an object. Otherwise undefined. */
function sendable(given: unknown, { takesJson }: Found): Cursor['at'] | undefined {
  const at = scalarOf(given);
  if (at !== undefined) return typeof at === 'boolean' ? undefined : at;
  return takesJson && typeof given === 'object' && given !== null && Object.keys(given).length > 0 ? keptValue(given) : undefined;
}

/** JSON that a checkpoint can store: a number whose text JavaScript would change becomes text. */
function keptValue(given: object): Exclude<Json, boolean> {
  return JSON.parse(JSON.stringify(given, (_, value: unknown) => scalarOf(value) ?? value)) as Exclude<Json, boolean>;
}
