import type { Json } from '@headgate/throttle';
import type { Carried } from './carried.ts';
import type { Pages, Since, Stream } from './language.ts';
import { digestOf } from './json-value.ts';
import { type Time, isoOf, shifted, timeOf } from './time.ts';

/** The place at which a listing continues: JSON, written with the records of the previous page. */
export type Cursor = {
  /** The cursor or address that a response gave, the number of the page, or the offset; null: of the first page. */
  readonly at: Exclude<Json, boolean>;
  /** `{since}`. */
  readonly since?: Time | undefined;
  /** `{until}`. */
  readonly until?: Time | undefined;
  /** Epoch ms at which the listing began: the last window ends there. */
  readonly began?: number | undefined;
  /** Pages before it, if the service returns at most a certain number of them. */
  readonly pages?: number | undefined;
  /** Digest of the page before, where pages are counted. */
  readonly before?: string | undefined;
  /** Digests of the previous page's keys, if the stream drops repeated ones. */
  readonly keys?: readonly string[] | undefined;
  /** The newest records so far, if the listing is ordered by time and may start again there, or comes in windows. */
  readonly edge?: Carried | undefined;
  /** Digests of records that were written before this window, or before the listing began again: those are not written twice. */
  readonly seen?: readonly string[] | undefined;
  /** How often it has begun again since its newest record. */
  readonly again?: number | undefined;
  /** Digest of the way from page to page. A cursor of another way isn't followed. */
  readonly way?: string | undefined;
};

/** The first cursor of a listing that begins at `began`, epoch ms. */
export function firstCursor(stream: Stream, carried: Carried | undefined, began: number): Cursor {
  const { pages, since } = stream;
  const at = firstAt(pages);
  const way = wayOf(stream);
  if (since === undefined) return { at, way };
  const { overlap = 0, first } = since;
  const from = carried === undefined ? first : shifted(carried.newest, -overlap);
  return { at, way, began, ...windowFrom(since, from, began) };
}

/** A digest of the address and of `pages`; undefined for a single page. */
function wayOf({ get, post, pages }: Pick<Stream, 'get' | 'post' | 'pages'>): string | undefined {
  return pages === undefined ? undefined : digestOf([get?.text, post?.text, pages]);
}

/** The cursor, number or offset of a listing's first page. */
export function firstAt(pages: Pages | undefined): Cursor['at'] {
  if (pages === undefined) return null;
  return pages.first ?? (pages.page !== undefined ? 1 : pages.offset !== undefined ? 0 : null);
}

/** The times of a listing from `from` on: until its window ends, or until it began. */
function windowFrom({ window }: Since, from: Time | undefined, began: number): Pick<Cursor, 'since' | 'until'> {
  const end = from === undefined || window === undefined ? Infinity : (timeOf(from) ?? 0) + window;
  return { since: from, until: from === undefined || end >= began ? untilOf(from, began) : shifted(from, window ?? 0) };
}

/** A time in the form of another one. */
function untilOf(like: Time | undefined, ms: number): Time {
  return like === undefined ? isoOf(ms) : shifted(like, ms - (timeOf(like) ?? 0));
}

/** The cursor of the next window; undefined after the last one. */
export function nextWindow({ pages, since }: Pick<Stream, 'pages' | 'since'>, { until, began, edge, way }: Cursor): Cursor | undefined {
  if (since?.window === undefined || until === undefined || began === undefined) return undefined;
  const times = windowFrom(since, until, began);
  // A date is never later than its day's beginning: without progress this was the last window.
  if ((timeOf(times.until) ?? 0) <= (timeOf(until) ?? 0)) return undefined;
  // The service may count the end of one window as the beginning of the next one.
  return {
    at: firstAt(pages),
    way,
    began,
    ...times,
    edge,
    seen: edge?.digests,
  };
}

/** Maximum times that a listing begins again without a newer record between. */
const MAX_AGAIN = 3;

/** The cursor with which a listing begins again; undefined if that has led nowhere. */
export function againFrom({ pages, since }: Pick<Stream, 'pages' | 'since'>, cursor: Cursor): Cursor | undefined {
  const { began, edge, again = 0, way } = cursor;
  if (again >= MAX_AGAIN) return undefined;
  const isOrdered = since?.order === 'ascending' && edge !== undefined;
  const times =
    since === undefined || began === undefined ? {} : { began, ...windowFrom(since, isOrdered ? edge.newest : cursor.since, began) };
  const seen = [...(cursor.seen ?? []), ...(isOrdered ? edge.digests : [])];
  return { at: firstAt(pages), way, ...times, edge, seen, again: again + 1 };
}
