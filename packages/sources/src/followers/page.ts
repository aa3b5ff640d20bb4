import * as z from 'zod';
import { parseSpelled } from '../exact-json.ts';
import { jsonKind } from '../http/json-body.ts';
import type { Checkpoint } from '../paging.ts';

/**
 * A page as the service sends it; other fields are allowed. `readPage` checks the IDs itself, because a schema would be slow for 5,000 of
 * them. It also checks cursors: only the one with which the walk continues must be valid.
 */
const wirePage = z.looseObject({ ids: z.custom<readonly unknown[]>(Array.isArray) });

export interface PageContent {
  readonly ids: readonly string[];
  readonly nextCursor: string;
  readonly previousCursor: string;
}

export interface ReadPageOptions {
  /** Returns the JSON text of the page, which is parsed again if a number may have lost digits. */
  readonly text: () => string;
  /** Which of the page's cursors the walk needs. */
  readonly needed: 'next' | 'previous';
}

export type ReadPage =
  | { readonly kind: 'page'; readonly content: PageContent }
  /**
   * `where`: the field that is wrong, and the value expected there. It quotes nothing of the response. `content`: the page with an empty
   * cursor, if only the cursor with which the walk continues is wrong.
   */
  | { readonly kind: 'schema-mismatch'; readonly where: string; readonly content?: PageContent };

/** Reads a page from parsed JSON. If the page lacks the cursor that the walk doesn't need, that cursor is `0`. */
export function readPage(value: unknown, options: ReadPageOptions, isExact = false): ReadPage {
  const { text, needed } = options;
  const parsed = wirePage.safeParse(value);
  if (!parsed.success) return mismatch(whereOfIds(value));
  const page = parsed.data;
  const cursors = { next: cursorOf(page, 'next_cursor'), previous: cursorOf(page, 'previous_cursor') };
  const { next = '0', previous = '0' } = cursors;
  const ids: string[] = [];
  let hasNumbers = CURSOR_FIELDS.some((name) => typeof page[name] === 'number');
  if (!isExact && (hasLostDigits(next) || hasLostDigits(previous))) return readExactPage(options);
  for (let i = 0; i < page.ids.length; i += 1) {
    const given = page.ids[i];
    if (!isExact && hasLostDigits(given)) return readExactPage(options);
    hasNumbers ||= typeof given === 'number';
    const id = typeof given === 'number' ? String(given) : given;
    if (typeof id !== 'string' || !fitsUint64(id)) return mismatch(whereOfId(i, given));
    ids.push(id);
  }
  // JSON.parse turns `1e3` and `1.0` into whole numbers, but neither is a valid ID: the exact reading refuses them.
  if (hasNumbers && !isExact && /\d[.eE]/.test(text())) return readExactPage(options);
  // Tests all IDs at once, because testing them one by one would be slower.
  if (/[^0-9]/.test(ids.join(''))) {
    const at = ids.findIndex((id) => /[^0-9]/.test(id));
    return mismatch(whereOfId(at, page.ids[at]));
  }
  const content = { ids, nextCursor: String(next), previousCursor: String(previous) };
  if (cursors[needed] !== undefined) return { kind: 'page', content };
  return { kind: 'schema-mismatch', where: whereOfCursor(page, `${needed}_cursor`), content: { ...content, [`${needed}Cursor`]: '' } };
}

/** Parses the page again with numbers as their source text. Slower, so only for pages that need it. */
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

/**
 * Reads a cursor from its number field and its string field (`_str`). An invalid field is ignored. If both are valid and one of them is 0,
 * the other counts, because ending a walk too early would lose IDs. Undefined if there is no valid field, or if they name different pages.
 */
function cursorOf(page: Readonly<Record<string, unknown>>, name: string): string | number | undefined {
  const [text, number] = [page[`${name}_str`], page[name]].filter(isCursor);
  if (text === undefined || number === undefined || Number(number) === 0) return text;
  if (Number(text) === 0) return number;
  // The number can have lost digits.
  return Number(text) === Number(number) ? text : undefined;
}

const CURSOR_FIELDS = ['next_cursor', 'next_cursor_str', 'previous_cursor', 'previous_cursor_str'];

function whereOfCursor(page: Readonly<Record<string, unknown>>, name: string): string {
  const [text, number] = [page[`${name}_str`], page[name]];
  if (isCursor(text) && isCursor(number)) return `${name}: expected the number of ${name}_str, got another one`;
  return `${name}: expected a whole number or its digits, got ${jsonKind(text ?? number)}`;
}

function isCursor(value: unknown): value is string | number {
  return typeof value === 'string' ? CURSOR.test(value) : Number.isInteger(value);
}

const CURSOR = /^-?\d{1,20}$/;

function hasLostDigits(value: unknown): boolean {
  return typeof value === 'number' && !Number.isSafeInteger(value);
}

/** Number of digits of the largest unsigned 64-bit integer. */
export const MOST_DIGITS = 20;
const LARGEST = '18446744073709551615';

/** True if a text of digits is an unsigned 64-bit integer. */
export function fitsUint64(id: string): boolean {
  return id.length > 0 && (id.length < MOST_DIGITS || (id.length === MOST_DIGITS && id <= LARGEST));
}

/** The service's response for one page of a user's followers. IDs and cursors have exactly the digits that the service sent. */
export interface FollowersAnswer {
  /** `@alpha`, or the digits of an ID. */
  readonly user: string;
  /** Cursor with which the page was requested. */
  readonly cursor: string;
  /**
   * Cursor of the next page. `0` on the last page, and in a backward walk if the service sends none. Empty if a forward walk needs it and the
   * service sends none that is valid: the walk then ends with `HEADGATE_UNFIT_ANSWER`.
   */
  readonly nextCursor: string;
  /** Cursor of the previous page: as `nextCursor`, with the directions exchanged. `0` on the first page. */
  readonly previousCursor: string;
  /** IDs in the order of the service. A page can be short or empty without being the last. */
  readonly ids: readonly string[];
  /** Name of the credential that requested the page. */
  readonly credential: string;
}

/** One page of a walk through a user's followers. */
export interface FollowerPage extends FollowersAnswer {
  /** Number of the page, from 1. A resumed walk continues the count. */
  readonly page: number;
  /** The place at which the walk continues, or `last`. Pass it to a later walk as `from`. */
  readonly next: Checkpoint<string> | 'last';
}
