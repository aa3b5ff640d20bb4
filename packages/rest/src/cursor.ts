import { httpDate, type Json } from '@headgate/throttle';
import type { Carried } from './carried.ts';
import type { Circle } from './circle.ts';
import type { Since } from './since.ts';
import type { Stream } from './streams.ts';
import { digestOf } from './json-value.ts';
import { type Time, isoOf, shifted, timeOf } from './time.ts';
import type { Zone } from './zone.ts';

/** The place at which a listing continues: JSON, written with the records of the previous page. */
export type Cursor = {
  /** The cursor or address from a response, the page number, or the offset. Null: the first page, requested without a cursor. */
  readonly at: Exclude<Json, boolean>;
  /** Value of `{since}` in the requests. */
  readonly since?: Time | undefined;
  /** Value of `{until}` in the requests. */
  readonly until?: Time | undefined;
  /** Epoch ms at which the listing began. No window ends later. */
  readonly began?: number | undefined;
  /** Number of pages before this one, if the stream sets `pages.most`. */
  readonly pages?: number | undefined;
  /** Number of records on the pages before this one, if the stream sets `pages.total`. */
  readonly records?: number | undefined;
  /** Digest of the previous page's records, if the stream has `since`, and uses page numbers or offsets. */
  readonly before?: string | undefined;
  /** Pages so far, by which the listing notices that pages come again. Only in a stream without `since`, which omits such records. */
  readonly circle?: Circle | undefined;
  /** Digests that identify the last records: those of the previous page (`repeats: drop`), or more of them in a stream with `since`. */
  readonly keys?: readonly string[] | undefined;
  /** Set if this page is requested from the last record of the previous page on. If none of `keys` is on it, the list has moved. */
  readonly overlaps?: true | undefined;
  /** Epoch ms, by the clock of the service, at which the listing began at the latest. Undefined until its first response. */
  readonly upTo?: number | undefined;
  /** The newest time of a record so far, if the listing is ordered by time. */
  readonly newest?: Time | undefined;
  /** The previous page, if this one follows it by number or address among records of one time. */
  readonly last?: { readonly at: Cursor['at']; readonly digest: string } | undefined;
  /** Set if this page is requested a second time, to see that it didn't move. `then`: where the listing continues; null if it is complete. */
  readonly check?: { readonly digest: string; readonly then: Cursor | null } | undefined;
  /** How often the listing has gone back because none of `keys` was on a page. */
  readonly moves?: number | undefined;
  /** How often the listing has restarted. If it is ordered by time: since it last returned a newer record. */
  readonly again?: number | undefined;
  /** Digest of the stream's path and `pages`. If it differs from the current one, the listing restarts instead of following this cursor. */
  readonly way?: string | undefined;
};

/**
 * The first cursor of a listing that begins at `began`, epoch ms. `held`: the times from which earlier listings couldn't write a record; null
 * for the first listing's beginning.
 */
export function firstCursor(stream: Stream, carried: Carried | undefined, began: number, held: readonly (Time | null)[] = []): Cursor {
  const { pages, since } = stream;
  const at = firstAt(pages);
  const way = wayOf(stream);
  if (since === undefined) return { at, way };
  const { overlap = 0, first, zone } = since;
  const newest = oldestOf([carried?.newest ?? null, ...held], zone);
  const from = newest === null ? first : shifted(newest, -overlap, zone);
  return { at, way, began, ...windowFrom(since, from, began) };
}

/** The oldest of these times; null if one of them is null. */
function oldestOf(times: readonly (Time | null)[], zone: Since['zone']): Time | null {
  return times.reduce((one, other) => ((timeOf(other, zone) ?? -Infinity) < (timeOf(one, zone) ?? -Infinity) ? other : one));
}

/** A digest of the path and of `pages`; undefined if the stream has no `pages`. */
function wayOf({ method, path, pages }: Stream): string | undefined {
  return pages === undefined ? undefined : digestOf([method, path?.text, pages]);
}

/** The part of a cursor that tells its page from others. */
export function placeOf(cursor: Cursor): Json {
  return { ...cursor, circle: undefined, records: undefined, pages: undefined };
}

/** The cursor, number or offset of a listing's first page. */
export function firstAt(pages: Stream['pages']): Cursor['at'] {
  return pages?.style?.first ?? null;
}

/** `{since}` and `{until}` of a listing from `from` to the end of its window, at most to `began`. */
function windowFrom({ window, zone }: Since, from: Time | undefined, began: number): Pick<Cursor, 'since' | 'until'> {
  const end = from === undefined || window === undefined ? undefined : endAfter(from, window, zone);
  return { since: from, until: end === undefined || (timeOf(end, zone) ?? 0) >= began ? untilOf(from, began, zone) : end };
}

/** The end of a window. It is later than `from` even if `from` is less precise than the window, as a date is. */
function endAfter(from: Time, window: number, zone: Zone | undefined): Time {
  const end = shifted(from, window, zone);
  return (timeOf(end, zone) ?? Infinity) > (timeOf(from, zone) ?? 0) ? end : endAfter(from, 2 * window, zone);
}

/** The time `ms` in the form of `like`; ISO 8601 without `like`. */
function untilOf(like: Time | undefined, ms: number, zone: Zone | undefined): Time {
  return like === undefined ? isoOf(ms) : shifted(like, ms - (timeOf(like, zone) ?? 0), zone);
}

/** The cursor of the next window; undefined after the last one. */
export function nextWindow(
  { pages, since }: Pick<Stream, 'pages' | 'since'>,
  { until, began, upTo, newest, way }: Cursor,
): Cursor | undefined {
  if (since?.window === undefined || until === undefined || began === undefined) return undefined;
  const times = windowFrom(since, until, began);
  // The last window ends at `began`, rounded down to the precision of the service's times. After it, the end no longer advances.
  if ((timeOf(times.until, since.zone) ?? 0) <= (timeOf(until, since.zone) ?? 0)) return undefined;
  return { at: firstAt(pages), way, began, upTo, ...times, newest };
}

/** Maximum number of restarts of a listing. In one that is ordered by time, a newer record sets the number back. */
export const MAX_AGAIN = 3;

/** The cursor with which a listing restarts; undefined after `MAX_AGAIN` restarts. */
export function againFrom(stream: Pick<Stream, 'pages' | 'since'>, cursor: Cursor): Cursor | undefined {
  const { pages, since } = stream;
  const { began, upTo, newest, again = 0, way } = cursor;
  if (again >= MAX_AGAIN) return undefined;
  const from = restartTime(stream, cursor);
  const times = since === undefined || began === undefined ? {} : { began, ...windowFrom(since, from ?? cursor.since, began) };
  return { at: firstAt(pages), way, ...times, upTo, newest, again: again + 1 };
}

/** The time at which a listing that is ordered by time restarts. Undefined without an order, or if no record has a time that counts. */
export function restartTime(stream: Pick<Stream, 'since'>, { since, newest: edge }: Cursor): Time | undefined {
  const { order, zone } = stream.since ?? {};
  const newest = order === 'ascending' ? edge : undefined;
  // A restart must not return to a window that is complete: the next window would begin again without the number of restarts.
  return newest === undefined || (timeOf(newest, zone) ?? 0) > (timeOf(since, zone) ?? -Infinity) ? newest : since;
}

/** Ms by which our clock may be ahead of a service's that sends no `Date`. */
const CLOCK_MARGIN_MS = 60_000;

/**
 * Epoch ms, by the clock of the service, at which a listing began at the latest. `began`: the same by our clock, before its first request.
 * The service's `Date` is at most its time when our clock says `receivedMs`, so the result is never too late.
 */
export function upToOf(began: number, receivedMs: number, date: string | undefined): number {
  const serviceMs = httpDate(date);
  return began + (serviceMs === undefined ? -CLOCK_MARGIN_MS : serviceMs - receivedMs);
}
