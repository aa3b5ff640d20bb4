import * as z from 'zod';
import type { Cursor } from '../cursor.ts';
import { exactNumber, numberOf, scalar } from '../json-value.ts';
import { type Place, type Said, given } from '../places.ts';

/** A way to get the next page, with the settings of a stream. */
export interface Style {
  readonly name: string;
  /** The cursor, number or offset of the first page. Null: it is requested without one. */
  readonly first: Cursor['at'];
  /** The place that carries the cursor, number or offset. Undefined if responses have whole addresses. */
  readonly place?: Place;
  /** The request's address, if responses have addresses. `at`: what the response said. `path`: that of the first page. */
  readonly address?: (at: string, baseUrl: string, path: string) => string;
  /** True if the next number or offset is counted from the first one. */
  readonly isCounted: boolean;
  /**
   * Whether a record that changes place between two pages can move another one past them: `unseen`, `seen` because pages overlap by one record,
   * or `never` as far as the service keeps the place itself.
   */
  readonly moves: 'unseen' | 'seen' | 'never';
  readonly next: (found: Found) => NextAt;
}

/** A style as it is written: its settings, and what it does with them. To add one, write a file like these and its line in `index.ts`. */
export interface StyleDefinition<Settings extends z.ZodRawShape> {
  /** The settings. The one with the name of the style chooses it. */
  readonly settings: Settings;
  /** The reason why the settings don't fit together. */
  readonly flaw?: (own: Partial<Own<Settings>>) => { readonly at: string; readonly message: string } | undefined;
  readonly style: (own: Own<Settings>) => Omit<Style, 'name'>;
}
type Own<Settings extends z.ZodRawShape> = z.output<z.ZodObject<Settings>>;

/** The facts of a response and its listing that a style can use. */
export interface Found {
  /** The value at a place of the response. */
  readonly at: (place: Said) => unknown;
  /** The target of a relation in the Link header. */
  readonly linked: (relation: string) => string | undefined;
  /** The number of records in the response. */
  readonly records: number;
  /** The cursor of the response's own request. */
  readonly cursor: Cursor;
  /** The page size that is requested; undefined without one. */
  readonly size: number | undefined;
  /** True if `while` says that more pages follow. */
  readonly saysMore: boolean;
  /** True if the stream has `while` or `until`, neither of which has ended the listing. */
  readonly isFlagged: boolean;
  /** True if a cursor can be a JSON list or object, because the request's JSON body carries it. */
  readonly takesJson: boolean;
  /** True if the page should begin with the last record of the page before. */
  readonly overlaps: boolean;
  /** Returns true if a record of the page came before. */
  readonly isKnown: () => boolean;
}

/** The next page, or the reason why the response is unfit. */
export type NextAt = Following | { readonly unfit: string };

export interface Following extends Pick<Cursor, 'overlaps' | 'again' | 'circle'> {
  /** The cursor, address, number or offset of the next page; undefined after the last one. */
  readonly at: Cursor['at'] | undefined;
}

export const LAST: Following = { at: undefined };

/** The end of a listing, unless `while` says that more pages follow. */
export function lastUnless({ saysMore }: Found, place: string): NextAt {
  return saysMore ? { unfit: `${place}: expected the next page, because while says that more pages follow, got none` } : LAST;
}

/** A number of pages or records. Undefined for 0 and less, which a service can send if it hasn't counted. */
export function countOf(value: unknown): number | undefined {
  const count = numberOf(value);
  return count === undefined || count <= 0 ? undefined : count;
}

/** Settings that several styles have. */
export const shared = {
  first: z
    .union([exactNumber(), z.string()])
    .exactOptional()
    .describe('First cursor, number or offset. Default: no cursor, page 1, offset 0.'),
  end: z
    .union([scalar, z.array(scalar)])
    .exactOptional()
    .describe('Cursor or address that marks the end, in addition to a missing, null or empty one.'),
  total: given.exactOptional().describe('Path of the total number of records, or `{ header: name }`.'),
  alone: z.boolean().exactOptional().describe('Send only the cursor in later requests, without other parameters.'),
  origin: z
    .literal('base')
    .exactOptional()
    .describe('`base`: next addresses keep only their path and query, for a service behind a proxy that names its inner host.'),
};

/** The settings `first` and `end` in a style. */
export type First = z.output<typeof shared.first>;
export type End = z.output<typeof shared.end>;

/** The reason why a first number can't be counted from. */
export function firstFlaw(name: string, first: First | undefined): { readonly at: 'first'; readonly message: string } | undefined {
  if (first === undefined || numberOf(first) !== undefined) return undefined;
  return { at: 'first', message: `must be a number for ${name}, because the next ones are counted from it.` };
}
