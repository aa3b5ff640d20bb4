import * as z from 'zod';
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

export type ReadPage =
  | { readonly kind: 'page'; readonly content: PageContent }
  /**
   * `where`: the field that is wrong, and the value expected there. It quotes nothing of the response. `content`: the page with an empty
   * cursor, if only the cursor with which the walk continues is wrong.
   */
  | { readonly kind: 'schema-mismatch'; readonly where: string; readonly content?: PageContent };

/**
 * Reads a page that `parseSpelled` parsed. `needed`: which of the page's cursors the walk needs; if the page lacks the other one, that is
 * `0`. `count`: requested number of IDs.
 */
export function readPage(value: unknown, needed: 'next' | 'previous', count: number): ReadPage {
  const parsed = wirePage.safeParse(value);
  if (!parsed.success) return mismatch(whereOfIds(value));
  const page = parsed.data;
  if (page.ids.length > mostIds(count)) return mismatch(`ids: expected at most ${inWords(count)} (count), got ${inWords(page.ids.length)}`);
  const ids: string[] = [];
  for (const [i, given] of page.ids.entries()) {
    const id = typeof given === 'number' ? String(given) : given;
    if (typeof id !== 'string' || !DIGITS.test(id) || !fitsUint64(id)) return mismatch(whereOfId(i, given));
    ids.push(id);
  }
  const cursors = { next: cursorOf(page, 'next_cursor'), previous: cursorOf(page, 'previous_cursor') };
  const { next = '0', previous = '0' } = cursors;
  const content = { ids, nextCursor: String(next), previousCursor: String(previous) };
  if (cursors[needed] !== undefined) return { kind: 'page', content };
  return { kind: 'schema-mismatch', where: whereOfCursor(page, `${needed}_cursor`), content: { ...content, [`${needed}Cursor`]: '' } };
}

/** Maximum IDs of a page. More are refused, because downstream has reserved capacity only for the requested number. */
export function mostIds(count: number): number {
  return 2 * count;
}

const DIGITS = /^\d+$/;

function inWords(count: number): string {
  return count.toLocaleString('en-US');
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
  // The service may have rounded the number.
  return Number(text) === Number(number) ? text : undefined;
}

function whereOfCursor(page: Readonly<Record<string, unknown>>, name: string): string {
  const [text, number] = [page[`${name}_str`], page[name]];
  if (isCursor(text) && isCursor(number)) return `${name}: expected the number of ${name}_str, got another one`;
  return `${name}: expected a whole number or its digits, got ${jsonKind(text ?? number)}`;
}

function isCursor(value: unknown): value is string | number {
  return typeof value === 'string' ? CURSOR.test(value) : Number.isInteger(value);
}

const CURSOR = /^-?\d{1,20}$/;

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
