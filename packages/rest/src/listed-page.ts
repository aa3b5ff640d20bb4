import type { ClassifyContext, HttpResponse } from '@headgate/sources';
import { newestOf } from './carried.ts';
import { type Cursor, firstAt, nextWindow, upToOf } from './cursor.ts';
import { digestOf, scalarOf } from './json-value.ts';
import { type Following, LAST } from './pages/index.ts';
import { flawOf } from './records.ts';
import { type RestQuery, valuesOf } from './request.ts';
import type { Stream } from './streams.ts';
import { type Time, shifted, timeOf } from './time.ts';

export interface RestPage {
  readonly stream: string;
  readonly records: readonly unknown[];
  /**
   * Number of records in the response, except those of the previous page that are dropped; at least 1 at the end of a window. Too many pages with
   * 0 in a row end the listing, because the service probably never returns a last page. Old records and windows are never endless.
   */
  readonly found: number;
  /** Records that are older than `{since}`, if they create child jobs, too. */
  readonly older: readonly unknown[];
  /** For each record, the reason why it can't be written, or undefined. Empty in a stream with `batch`, whose jobs each get their records. */
  readonly flaws: readonly (string | undefined)[];
  /** In a stream with `since`: a digest of each record. Otherwise empty. */
  readonly digests: readonly string[];
  /** Epoch ms, by the clock of the service, at which the listing began at the latest. */
  readonly upTo: number;
  /** The `{since}` of the request. */
  readonly since: Time | undefined;
  /** True for the first response of a listing. */
  readonly isFirst: boolean;
  /** The cursor with which the listing continues; undefined after its last page. */
  readonly next: Cursor | undefined;
  /** A notice about the listing for the user of the run. */
  readonly notice?: string;
}

/** A response with its body as JSON, and what is known of its request. */
export interface Answered {
  readonly value: unknown;
  readonly answer: HttpResponse;
  readonly context: ClassifyContext<RestQuery>;
}

/** A page without records. `found`: number of records in the response. */
export function noRecords({ answer: { headers }, context: { query, epochMs } }: Answered, found: number): Omit<RestPage, 'next'> {
  const { began = epochMs, upTo, since } = query.cursor;
  const { stream } = query;
  return {
    stream,
    records: [],
    flaws: [],
    older: [],
    digests: [],
    found,
    since,
    upTo: upTo ?? upToOf(began, epochMs, headers['date']),
    isFirst: upTo === undefined,
  };
}

/** The last page of a listing, without records. */
export function emptyPage(stream: Stream, answered: Answered): RestPage {
  return listedPage(stream, answered, [], [], LAST);
}

/** The page and its next cursor. If the stream's settings ask for it, drops records that were returned before or are older than `{since}`. */
export function listedPage(
  stream: Stream,
  answered: Answered,
  found: readonly unknown[],
  digests: readonly string[],
  following: Following,
): RestPage {
  const { pages } = stream;
  const { query, epochMs } = answered.context;
  const { cursor } = query;
  const page = noRecords(answered, found.length);
  const start = cursor.overlaps === true ? freshFrom(cursor, digests) : 0;
  const isLost = cursor.overlaps === true && start === 0 && !(found.length === 0 && following.at !== undefined);
  const { at: now, moves = 0 } = cursor;
  // None of the last records is on this page, so records before it have left the list, and others have moved up. Go back until one is there.
  if (isLost && Number(now) > Number(firstAt(pages))) {
    const step = pages?.size?.is ?? (found.length || cursor.keys?.length) ?? 1;
    const at = Math.max(Number(firstAt(pages)), Number(now) - step);
    return { ...page, next: { ...cursor, upTo: page.upTo, at, before: undefined, moves: moves + 1 } };
  }
  const keys = stream.since !== undefined ? digests : pages?.repeats === undefined ? [] : found.map((record) => digestOf(record));
  const known = new Set(cursor.keys);
  const from = olderThan(stream, cursor);
  const isFresh = (i: number): boolean => i >= start && !known.has(keys[i] ?? '');
  const isOlder = (record: unknown): boolean => (timeOf(scalarOf(stream.since?.from.first(record)), stream.since?.zone) ?? Infinity) < from;
  const isNew = (record: unknown, i: number): boolean => isFresh(i) && !isOlder(record);
  const records = found.filter(isNew);
  const older = stream.since?.children === 'all' ? found.filter((record, i) => isFresh(i) && isOlder(record)) : [];
  const fresh = keys.filter((key, i) => i >= start && !known.has(key));
  const count = found.length - keys.length + fresh.length;
  const newest =
    stream.since?.order === 'ascending'
      ? newestOf(stream.since, { records: found, upTo: epochMs + MAX_AHEAD_MS }, cursor.newest)
      : undefined;
  const next = nextCursor(stream, cursor, {
    ...following,
    keys: stream.since === undefined ? keys : [...(cursor.keys ?? []), ...fresh].slice(-Math.max(MIN_KEYS, found.length)),
    again: following.again ?? (newest === cursor.newest ? cursor.again : undefined),
    upTo: page.upTo,
    newest,
    found: found.length,
    digest: digestOf(digests),
  });
  // The end of a window without records isn't an empty page of a listing that never ends.
  const isWindow = following.at === undefined && next !== undefined;
  return {
    ...page,
    records,
    flaws: stream.batch === undefined ? records.map((record) => flawOf(stream, record, query.fields)) : [],
    older,
    found: isWindow ? Math.max(1, count) : count,
    digests: digests.filter((_, i) => isNew(found[i], i)),
    next,
  };
}

/**
 * Maximum ms by which a time can be ahead of the response for a listing to continue there. A time such as 9999-12-31 would hide the others.
 * Local times without a zone are at most 14 hours ahead.
 */
const MAX_AHEAD_MS = 86_400_000;

interface Followed extends Following, Pick<Cursor, 'upTo' | 'newest'> {
  readonly keys: readonly string[];
  readonly found: number;
  readonly digest: string;
}

/** The cursor after a page; undefined after the last one. */
function nextCursor(
  stream: Stream,
  cursor: Cursor,
  { at, keys, overlaps, again, circle, upTo, newest, found, digest }: Followed,
): Cursor | undefined {
  const { pages } = stream;
  const { since, until, began, way, last, check, moves } = cursor;
  const listing: Cursor = { at: firstAt(pages), since, until, began, upTo, way, newest, again, moves };
  if (check !== undefined) return check.digest === digest ? (check.then ?? undefined) : { ...listing, again: (again ?? 0) + 1 };
  const isTimed = stream.isByTime;
  const step = isTimed && at !== undefined ? stepAfter(stream, since, newest) : undefined;
  const next: Cursor | undefined =
    at === undefined
      ? nextWindow(stream, { ...cursor, upTo, newest })
      : step !== undefined
        ? { ...listing, since: step }
        : {
            ...listing,
            at,
            pages: pages?.most === undefined ? undefined : (cursor.pages ?? 0) + 1,
            records: pages?.total === undefined ? undefined : (cursor.records ?? 0) + found,
            before: pages?.style?.isCounted === true && stream.since !== undefined ? digest : undefined,
            circle,
            keys: keys.length > 0 ? keys : undefined,
            overlaps,
            last: isTimed && pages?.style?.moves === 'unseen' ? { at: cursor.at, digest } : undefined,
          };
  // More records of one time than a page holds: the page before is requested again, to see that none has left it and moved others up.
  return last === undefined ? next : { ...listing, at: last.at, check: { digest: last.digest, then: next ?? null } };
}

/** The `{since}` of the next page, if it is requested by time. Undefined if it would be the same request again. */
function stepAfter(stream: Stream, since: Time | undefined, newest: Time | undefined): Time | undefined {
  if (newest === undefined) return undefined;
  // A service can exclude the time that it is given. Such a stream has an overlap, and one second of it is enough here.
  const { overlap = 0, zone } = stream.since ?? {};
  const step = shifted(newest, -Math.min(1_000, overlap), zone);
  const spelledAs = (time: Time): string =>
    stream.placeholders.map((one) => (one.name === 'since' ? valuesOf({}, { since: time, until: undefined }, zone)(one) : '')).join(' ');
  const isLater = since === undefined || ((timeOf(step, zone) ?? 0) > (timeOf(since, zone) ?? 0) && spelledAs(step) !== spelledAs(since));
  return isLater ? step : undefined;
}

/** The time (epoch ms) before which records are dropped. Without a parameter with `{since}`, the service returns older records again. */
function olderThan(stream: Stream, { since }: Cursor): number {
  if (since === undefined || stream.sendsSince) return -Infinity;
  return timeOf(since, stream.since?.zone) ?? -Infinity;
}

/**
 * Minimum number of last records whose digests a cursor keeps, in a stream with `since`. If more records are added before them, or leave the
 * list, between two pages, others can be written again.
 */
const MIN_KEYS = 100;

/** Maximum number of times that a listing goes back for records that moved up. */
export const MAX_MOVES = 20;

/** The index after the last record that the pages before had, too. */
export function freshFrom({ keys }: Cursor, digests: readonly string[]): number {
  const known = new Set(keys);
  return digests.findLastIndex((digest) => known.has(digest)) + 1;
}
