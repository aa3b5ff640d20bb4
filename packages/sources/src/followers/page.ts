import * as z from 'zod';
import { parseSpelled } from '../exact-json.ts';
import { jsonKind } from '../http/json-body.ts';
import type { Checkpoint } from '../paging.ts';

/**
 * A page on the wire; other fields pass. `readPage` checks the IDs itself, because a schema takes too long over 5,000. Cursors are checked
 * when they are used: the service may send anything in an unused field.
 */
const wirePage = z.looseObject({ ids: z.custom<readonly unknown[]>(Array.isArray) });

/** The errors' envelope, and the other one, for protected accounts. */
const wireErrors = z.looseObject({
  errors: z
    .array(z.looseObject({ code: z.coerce.number().optional(), message: z.string().optional() }))
    .optional()
    .catch(undefined),
  error: z.string().optional().catch(undefined),
});

export interface SpokenErrors {
  readonly errors: readonly { readonly code?: number | undefined; readonly message?: string | undefined }[];
  /** The error of the other envelope. */
  readonly error: string | undefined;
}

/** The errors in a response that isn't a page; empty for anything unexpected. */
export function spokenErrors(value: unknown): SpokenErrors {
  const { data } = wireErrors.safeParse(value);
  return { errors: data?.errors ?? [], error: data?.error };
}

/** True for one of the two envelopes that the service uses for errors. */
export function isSpokenError(value: unknown): boolean {
  const { data } = wireErrors.safeParse(value);
  return data?.errors !== undefined || data?.error !== undefined;
}

export interface PageContent {
  readonly ids: readonly string[];
  readonly nextCursor: string;
  readonly previousCursor: string;
}

export interface ReadPageOptions {
  /** Returns the text that was parsed, for numbers that lost digits. */
  readonly text: () => string;
  /** The cursor with which the walk continues. */
  readonly needed: 'next' | 'previous';
}

export type ReadPage =
  | { readonly kind: 'page'; readonly content: PageContent }
  /** `where`: the place that doesn't fit, and what is expected there; it contains nothing of the text. */
  | { readonly kind: 'schema-mismatch'; readonly where: string };

/** Reads a page from parsed JSON. The unneeded cursor is `0` if the page has none. */
export function readPage(value: unknown, options: ReadPageOptions, isExact = false): ReadPage {
  const { text, needed } = options;
  const parsed = wirePage.safeParse(value);
  if (!parsed.success) return mismatch(whereOfIds(value));
  const page = parsed.data;
  const cursors = { next: cursorOf(page, 'next_cursor'), previous: cursorOf(page, 'previous_cursor') };
  if (cursors[needed] === undefined) {
    const name = `${needed}_cursor`;
    return mismatch(`${name}: expected a whole number or its digits, got ${jsonKind(page[`${name}_str`] ?? page[name])}`);
  }
  const { next = '0', previous = '0' } = cursors;
  const ids: string[] = [];
  let hasNumbers = typeof next === 'number' || typeof previous === 'number';
  if (!isExact && (hasLostDigits(next) || hasLostDigits(previous))) return readExactPage(options);
  for (let i = 0; i < page.ids.length; i += 1) {
    const given = page.ids[i];
    if (!isExact && hasLostDigits(given)) return readExactPage(options);
    hasNumbers ||= typeof given === 'number';
    const id = typeof given === 'number' ? String(given) : given;
    if (typeof id !== 'string' || !fitsUint64(id)) return mismatch(whereOfId(i, given));
    ids.push(id);
  }
  // `1e3` and `1.0` are whole after parsing, but the service may not send them.
  if (hasNumbers && !isExact && /\d[.eE]/.test(text())) return readExactPage(options);
  // All at once, because thousands of small tests would take longer than parsing.
  if (/[^0-9]/.test(ids.join(''))) {
    const at = ids.findIndex((id) => /[^0-9]/.test(id));
    return mismatch(whereOfId(at, page.ids[at]));
  }
  return { kind: 'page', content: { ids, nextCursor: String(next), previousCursor: String(previous) } };
}

/** The slow way, only for numbers that may have lost digits: those are read as their own text. */
function readExactPage(options: ReadPageOptions): ReadPage {
  let exact: unknown;
  try {
    exact = parseSpelled(options.text());
  } catch {
    return mismatch('ids, cursors: expected whole numbers in less deeply nested JSON');
  }
  return readPage(exact, options, true);
}

function mismatch(where: string): ReadPage {
  return { kind: 'schema-mismatch', where };
}

function whereOfIds(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return `expected an object with ids, got ${jsonKind(value)}`;
  return `ids: expected a list, got ${jsonKind('ids' in value ? value.ids : undefined)}`;
}

function whereOfId(at: number, given: unknown): string {
  return `ids.${at}: expected digits of at most 64 bits, got ${jsonKind(given)}`;
}

/** The cursor of a field, or of the field that has it as text. An invalid one of the two is ignored; if both are valid, the text counts. */
function cursorOf(page: Readonly<Record<string, unknown>>, name: string): string | number | undefined {
  return [page[`${name}_str`], page[name]].find(isCursor);
}

function isCursor(value: unknown): value is string | number {
  return typeof value === 'string' ? CURSOR.test(value) : Number.isInteger(value);
}

const CURSOR = /^-?\d{1,20}$/;

function hasLostDigits(value: unknown): boolean {
  return typeof value === 'number' && !Number.isSafeInteger(value);
}

/** The digits of the largest 64-bit ID. */
export const MOST_DIGITS = 20;
const LARGEST = '18446744073709551615';

/** True when a text of digits fits 64 bits. */
export function fitsUint64(id: string): boolean {
  return id.length > 0 && (id.length < MOST_DIGITS || (id.length === MOST_DIGITS && id <= LARGEST));
}

/** The service's response for one page of a user's followers. Ids and cursors are spelled as the service spelled them. */
export interface FollowersAnswer<Id extends string | bigint = string> {
  /** `@alpha`, or the digits of an ID. */
  readonly user: string;
  /** The cursor of its request. */
  readonly cursor: string;
  /** `0` on the last page, and when walking backward if the service sends none. */
  readonly nextCursor: string;
  /** `0` on the first page, and when walking forward if the service sends none. */
  readonly previousCursor: string;
  /** In the order of the service. A page may be short or empty without being the last. */
  readonly ids: readonly Id[];
  /** The name of the credential of its request. */
  readonly credential: string;
}

/** One page of a walk through a user's followers. */
export interface FollowerPage<Id extends string | bigint = string> extends FollowersAnswer<Id> {
  /** From 1, in this walk. */
  readonly page: number;
  /** The place at which the walk continues. Pass it to a later walk as `from`. */
  readonly next: Checkpoint<string> | 'last';
}
