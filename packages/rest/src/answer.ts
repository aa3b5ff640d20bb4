import {
  type ClassifyContext,
  type HttpResponse,
  SourceError,
  type SourceErrorCode,
  type Verdict,
  jsonBody,
  linkTarget,
  parseUntouched,
  refusalWaitMs,
  retryAfterMs,
  statusVerdict,
} from '@headgate/sources';
import type { Json } from '@headgate/throttle';
import * as z from 'zod';
import { newestOf } from './carried.ts';
import { type Shown, circleAfter } from './circle.ts';
import { type Cursor, MAX_AGAIN, againFrom, firstAt, nextWindow, restartTime, upToOf } from './cursor.ts';
import { type Said, saidAt, waitAt } from './evidence.ts';
import { digestOf, kindOf, numberOf, scalarOf, spelled } from './json-value.ts';
import {
  type ErrorRule,
  type Pages,
  type Stream,
  isByTime,
  keyPaths,
  overlapsPages,
  placeholders,
  sendsSince,
  sinceRoughness,
} from './language.ts';
import type { Path } from './path.ts';
import { type RestQuery, valuesOf, withFields } from './request.ts';
import { type Time, shifted, timeOf } from './time.ts';

/** Error codes of sections, in addition to those of every source. */
export type RestErrorCode = 'HEADGATE_PAGE_REPEATED' | 'HEADGATE_SINCE_CROWDED';

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

/**
 * Judges a response: by the stream's rules first, then by its status and body. `keyParameters` are the query parameters that carry a credential's
 * key.
 */
export function verdictOf(
  stream: Stream,
  keyParameters: readonly string[],
  answer: HttpResponse,
  context: ClassifyContext<RestQuery>,
): Verdict<RestPage> {
  const { status, headers } = answer;
  const { epochMs } = context;
  const body = status === 204 || status === 304 ? undefined : jsonBody(answer, parseUntouched);
  const value = body?.kind === 'json' ? body.value : undefined;
  const isEmpty = (): boolean => body === undefined || !/\S/.test(answer.body.toString('latin1'));
  const rule = stream.errors?.find((one) => fits(one, status, value, isEmpty));
  if (rule !== undefined) return ruledVerdict(rule, stream, { value, answer, context });
  if (body === undefined) return bodylessVerdict(stream, { value: undefined, answer, context });
  if (status === 202) return { kind: 'transient', reason: 'the service is not ready (202)', retryInMs: retryAfterMs({ headers, epochMs }) };
  if (status < 200 || status >= 300) return statusVerdict(answer, context, z.never());
  if (body.kind === 'broken') return foreignVerdict(answer, context) ?? { kind: 'transient', reason: body.reason };
  return pageVerdict(stream, { value, answer, context }, keyParameters);
}

/** The verdict on a body that isn't JSON, if its `content-type` names a format that gateways don't send, such as XML. Otherwise undefined. */
function foreignVerdict(
  { status, headers }: HttpResponse,
  { service, subject }: ClassifyContext<RestQuery>,
): Verdict<RestPage> | undefined {
  const [type = ''] = (headers['content-type'] ?? '').split(/\s*;/);
  // Some services send JSON as JavaScript.
  if (/^$|\bjson$|javascript$|html|^text\/plain/i.test(type)) return undefined;
  const message = `${subject}: ${service} returned ${type.slice(0, 60)}, but a section reads only JSON. If the service has JSON, request it with a header or a parameter.`;
  return { kind: 'fatal', error: new SourceError({ code: 'HEADGATE_UNFIT_ANSWER', message, retryable: false, service, subject, status }) };
}

function fits({ status, when }: ErrorRule, answered: number, value: unknown, isEmpty: () => boolean): boolean {
  if (status !== undefined && !(Array.isArray(status) ? status.includes(answered) : status === answered)) return false;
  if (when === undefined) return true;
  if (when === 'no body') return isEmpty();
  if (value === undefined) return false;
  return when.every(({ path, oneOf }) => {
    const found = path.all(value);
    return oneOf === undefined ? found.length > 0 : found.some((one) => oneOf.some((value) => isSame(one, value)));
  });
}

/** Compares a value of a response with one of the section. Numbers are compared as text, because a variable of the section is text. */
function isSame(found: unknown, value: string | number | boolean | null): boolean {
  const scalar = found === null ? null : scalarOf(found);
  if (typeof scalar === 'number' || typeof value === 'number') return String(scalar) === String(value);
  return scalar === value;
}

interface Answered {
  readonly value: unknown;
  readonly answer: HttpResponse;
  readonly context: ClassifyContext<RestQuery>;
}

function ruledVerdict(rule: ErrorRule, stream: Stream, answered: Answered): Verdict<RestPage> {
  const { value, answer, context } = answered;
  const { status, headers } = answer;
  const { service, subject, credential, epochMs, recentlyRefused, query } = context;
  const code = codeOf(rule, value);
  const said = `${status}${code === undefined ? '' : `, ${code}`}`;
  const error = (fallback: SourceErrorCode, message: string): SourceError =>
    new SourceError({ code: ownCode(code) ?? fallback, message, retryable: false, service, subject, credential, status });
  const { wait } = rule;
  const [fixedMs, bodyMs] = typeof wait === 'object' ? [undefined, waitAt(wait.first(value), answer, epochMs)] : [wait, undefined];
  switch (rule.then) {
    case 'retry':
      return {
        kind: 'transient',
        reason: `the service answered ${said}`,
        retryInMs: bodyMs ?? retryAfterMs({ headers, epochMs }) ?? fixedMs,
      };
    case 'wait':
      return {
        kind: 'rate-limited',
        reason: `the rate limit is reached (${said})`,
        retryInMs: bodyMs ?? refusalWaitMs({ answer, epochMs, recentlyRefused }) ?? fixedMs,
      };
    case 'missing':
      return {
        kind: 'not-found',
        error: error('HEADGATE_NOT_FOUND', `${subject}: ${service} doesn't have it (${said}). Check the request.`),
      };
    case 'empty':
      return emptyVerdict(stream, answer, context);
    case 'refused':
      return {
        kind: 'unauthorized',
        error: error('HEADGATE_UNAUTHORIZED', `${credential}: ${service} refuses the credential (${said}). Check its secret.`),
      };
    case 'dead':
      return {
        kind: 'fatal',
        error: error('HEADGATE_BAD_REQUEST', `${subject}: ${service} refuses the request (${said}), and a retry won't change that.`),
      };
    case 'restart': {
      const { cursor } = query;
      const next = againFrom(stream, cursor);
      const ended = `${subject}: ${service} ended the listing`;
      if (next === undefined) {
        const message = `${ended} again (${said}). ${stuckAt(restartTime(stream, cursor))}`;
        return { kind: 'fatal', error: error('HEADGATE_CURSOR_LOOP', message) };
      }
      const notice = `${ended} (${said}). The listing restarts.`;
      return { kind: 'ok', value: { ...noRecords(answer, context, 0), next, notice } };
    }
  }
}

/** Why a listing doesn't restart again, and what to do. `from`: the time at which it restarted, if it is ordered by time. */
function stuckAt(from: Time | undefined): string {
  if (from === undefined) return 'It has restarted three times. Start the crawl again later.';
  const cure = 'write larger pages (size) or a more precise {since}, or split the listing (for)';
  return `Three restarts at ${from} returned no newer record. If one listing can't return all records of that time, ${cure}. Otherwise start the crawl again later.`;
}

/** The error code that a rule sets: its text, or the first 60 characters of the value at its path. */
function codeOf({ code }: ErrorRule, value: unknown): string | undefined {
  if (code === undefined || typeof code === 'string') return code;
  const found = value === undefined ? undefined : scalarOf(code.first(value));
  return found === undefined ? undefined : String(found).slice(0, 60);
}

/** The code in the form of Headgate's own codes: `not found` becomes `HEADGATE_NOT_FOUND`. Undefined if there is none. */
function ownCode(code: string | undefined): `HEADGATE_${string}` | undefined {
  const words = code?.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_');
  return words === undefined || words === ''
    ? undefined
    : words.startsWith('HEADGATE_')
      ? (words as `HEADGATE_${string}`)
      : `HEADGATE_${words}`;
}

/** Judges a 204 or a 304, whose headers can name a next page. */
function bodylessVerdict(stream: Stream, answered: Answered): Verdict<RestPage> {
  const { pages } = stream;
  // A place in the body says nothing without one, so it can't say that more pages follow.
  const isInBody = (place: Said | undefined): boolean => place !== undefined && 'text' in place;
  if ([pages?.while, pages?.until, pages?.last].some(isInBody)) return emptyVerdict(stream, answered.answer, answered.context);
  const next = nextOf(stream, answered, [], []);
  if ('unfit' in next) return { kind: 'schema-mismatch', where: next.unfit };
  return { kind: 'ok', value: listedPage(stream, answered, [], [], 'repeated' in next ? LAST : next) };
}

function emptyVerdict(stream: Stream, answer: HttpResponse, context: ClassifyContext<RestQuery>): Verdict<RestPage> {
  return { kind: 'ok', value: listedPage(stream, { value: undefined, answer, context }, [], [], { at: undefined }) };
}

/** A page without records. `found`: number of records in the response. */
function noRecords({ headers }: HttpResponse, { query, epochMs }: ClassifyContext<RestQuery>, found: number) {
  const { began = epochMs, upTo, since } = query.cursor;
  const { stream } = query;
  return {
    stream,
    records: [],
    older: [],
    digests: [],
    found,
    since,
    upTo: upTo ?? upToOf(began, epochMs, headers['date']),
    isFirst: upTo === undefined,
  };
}

function pageVerdict(stream: Stream, answered: Answered, keyParameters: readonly string[]): Verdict<RestPage> {
  const { value, answer, context } = answered;
  const { query, service, subject } = context;
  const found = recordsOf(stream.records, value);
  if ('missing' in found) return { kind: 'schema-mismatch', where: found.missing };
  const where = disorderOf(stream, query.cursor, found.records);
  if (where !== undefined) return { kind: 'schema-mismatch', where };
  const { since } = stream;
  const digests = since === undefined ? [] : found.records.map((record) => digestOf(record, since.ignore));
  const following = nextOf(stream, answered, found.records, digests);
  if ('unfit' in following) return { kind: 'schema-mismatch', where: following.unfit };
  const { circle, shows } = circleOf(stream, query, found.records);
  const isRepeated = 'repeated' in following || (shows !== undefined && following.at !== undefined);
  if (isRepeated && stream.pages?.repeats !== 'end') {
    const what = shows === 'stale' ? 'returned only records of earlier pages again, for ten pages' : 'returned the same page twice';
    const message = `${subject}: ${service} ${what}. Check pages, or write repeats: end.`;
    const code: RestErrorCode = 'HEADGATE_PAGE_REPEATED';
    return { kind: 'fatal', error: new SourceError({ code, message, retryable: false, service, subject }) };
  }
  if (isRepeated && shows !== 'stale') return emptyVerdict(stream, answer, context);
  const next = isRepeated || 'repeated' in following ? LAST : { ...following, circle };
  // The checkpoint stores the address, so the credential's key is removed from it. The signer adds the key to the next request again.
  const isAddress = (stream.pages?.link ?? stream.pages?.next) !== undefined;
  const at = isAddress && typeof next.at === 'string' ? withoutParameters(next.at, keyParameters) : next.at;
  const page = listedPage(stream, { value, answer, context }, found.records, digests, { ...next, at });
  if ((page.next?.again ?? 0) > MAX_AGAIN || (page.next?.moves ?? 0) > MAX_MOVES) {
    const message = `${subject}: the last records weren't found again on the next page, too often. If some of their values differ in each response, name them in since: { ignore: [$.path] }. Otherwise the list changes too fast: replay the job later.`;
    return { kind: 'fatal', error: new SourceError({ code: 'HEADGATE_CURSOR_LOOP', message, retryable: true, service, subject }) };
  }
  const changed = `${subject}: the section's paging has changed, so the listing restarted. Records of its earlier pages are written again.`;
  const notice = query.isChanged === true ? changed : shortOf(stream, answered, next.at, found.records.length);
  return { kind: 'ok', value: { ...page, ...(notice !== undefined && { notice }) } };
}

/** Whether a page shows that the listing goes in a circle. Streams that omit repeated records don't need it. */
function circleOf(stream: Stream, { cursor, fields }: RestQuery, records: readonly unknown[]): Shown {
  const { key, pages, since } = stream;
  if (since !== undefined || pages === undefined || pages.repeats === 'drop' || records.length === 0) return { circle: cursor.circle };
  const keys = new Set(keyPaths(key).length === 0 ? [] : records.map((record) => keyOf(stream, withFields(stream, record, fields))));
  const isUnique = keys.size > 1 && keys.size === records.length && !keys.has(undefined);
  return circleAfter(cursor.circle, { content: digestOf(records), keys: isUnique ? digestOf([...keys]) : undefined });
}

/** The notice about a listing that ended before the service's own total. Undefined if it is complete. `count`: records on the last page. */
function shortOf(stream: Stream, { value, answer, context }: Answered, at: Cursor['at'] | undefined, count: number): string | undefined {
  const { pages, since } = stream;
  // With `since`, each request is another list, and has its own total.
  if (at !== undefined || since !== undefined || pages?.total === undefined) return undefined;
  const { query, subject } = context;
  const total = countOf(saidAt(pages.total, answer, () => value));
  const listed = (query.cursor.records ?? 0) + count;
  if (total === undefined || listed >= total) return undefined;
  const [all, some] = [total, listed].map((number) => number.toLocaleString('en-US'));
  return `${subject}: the service says that the list has ${all} records, but returned ${some}. Records may be hidden, or missing: check pages.`;
}

/** The reason why a page doesn't have the order that `since` states. Undefined if it has. */
function disorderOf(stream: Stream, { since: from, newest }: Cursor, records: readonly unknown[]): string | undefined {
  const { since } = stream;
  if (since?.order === undefined || since.order === 'fixed') return undefined;
  const roughMs = sinceRoughness(stream);
  const sign = since.order === 'ascending' ? 1 : -1;
  const times = records.flatMap((record) => timeOf(scalarOf(since.from.first(record)), since.zone) ?? []);
  let last = -Infinity;
  for (const ms of times) {
    if (sign * ms < last - roughMs)
      return `since.order: expected records sorted by ${since.from.text}, ${sign > 0 ? 'oldest' : 'newest'} first, got others`;
    last = Math.max(last, sign * ms);
  }
  // A later page is requested by its time. A service that ignored it would return the same records for ever.
  if (newest === undefined || !isByTime(stream) || Math.min(...times) >= (timeOf(from, since.zone) ?? -Infinity) - roughMs)
    return undefined;
  return `{since}: expected no record before it, got an older one: the service ignores the parameter, reads it in another time zone, or rounds it, as {since:date} does`;
}

/** The records of a response. `missing` describes the place that should contain a list. */
function recordsOf(records: Path | undefined, value: unknown): { readonly records: readonly unknown[] } | { readonly missing: string } {
  if (records === undefined) return { records: Array.isArray(value) ? value : value === null ? [] : [value] };
  const selected = records.all(value);
  if (selected.length > 0) return { records: records.isOfList ? selected.flatMap((one) => one ?? []) : selected };
  const { lists, text } = records;
  if (text.includes('?')) return { records: [] };
  // A list that is null or empty means no records. The innermost list that exists decides. If `groups` is empty, `$.groups[*].items[*]` finds no
  // `items` at all, so `groups` decides.
  const found = lists.map((list) => list.all(value)).find((some) => some.length > 0) ?? [];
  if (found.some((list) => list === null || (typeof list === 'object' && Object.keys(list).length === 0))) return { records: [] };
  return { missing: `records: ${text}: expected a list, got ${kindOf(lists[0]?.first(value))}` };
}

type NextAt = Following | { readonly unfit: string } | { readonly repeated: true };

interface Following extends Pick<Cursor, 'overlaps' | 'again' | 'circle'> {
  /** The cursor, address, number or offset of the next page; undefined after the last one. */
  readonly at: Cursor['at'] | undefined;
}

const LAST: Following = { at: undefined };

/** The cursor, address, number or offset of the next page (undefined after the last page), or the reason why it can't be determined. */
function nextOf(stream: Stream, { value, answer, context }: Answered, records: readonly unknown[], digests: readonly string[]): NextAt {
  const { cursor } = context.query;
  const { pages } = stream;
  if (pages === undefined || wayKind(pages) === undefined) return LAST;
  const valueAt = (at: Said | undefined): unknown => at && saidAt(at, answer, () => value);
  if (pages.while !== undefined && !isYes(valueAt(pages.while))) return LAST;
  if (pages.until !== undefined && isYes(valueAt(pages.until))) return LAST;
  if (pages.most !== undefined && (cursor.pages ?? 0) + 1 >= pages.most) return LAST;
  const size = pages.size?.is;
  if (pages.short !== undefined && size !== undefined && records.length < size) return LAST;
  const more = pages.while !== undefined;
  if (pages.link !== undefined) {
    const at = linkTarget(answer.headers['link'] ?? '', pages.link);
    return at === undefined || at === '' ? lastUnless(more, 'the Link header') : followed(at, stream, cursor);
  }
  if (pages.next !== undefined || pages.cursor !== undefined) {
    const from = pages.next ?? pages.cursor;
    const given = valueAt(from);
    const ends: readonly unknown[] = pages.end === undefined ? [] : Array.isArray(pages.end) ? pages.end : [pages.end];
    const sent = cursorAt(given, stream);
    const at = pages.encoded === true && typeof sent === 'string' ? decoded(sent) : sent;
    // An end is compared as text, because a service can write the same cursor both as a number and as text.
    const place = from !== undefined && 'text' in from ? from.text : 'the cursor';
    if (ends.some((end) => String(end) === spelled(at))) return LAST;
    if (isNone(given)) return lastUnless(more, place);
    if (at !== undefined) return followed(pages.base === undefined ? at : addressAfter(pages.base, spelled(at), value), stream, cursor);
    return { unfit: `${place}: expected text or a number, got ${kindOf(given)}` };
  }
  const named = countOf(valueAt(pages.last));
  if (records.length === 0 && (pages.while ?? pages.until ?? named) === undefined) return LAST;
  const again = cursor.again ?? 0;
  const isSame = stream.since !== undefined && records.length > 0 && cursor.before === digestOf(digests);
  const isOverlapped = overlapsPages(stream);
  // In a stream with `since`, the list can have moved by exactly one page. Records that come again are omitted there.
  if (isSame && again >= MAX_AGAIN) return { repeated: true };
  const moved = isSame ? { again: again + 1 } : {};
  const number = Number(cursor.at ?? firstAt(pages));
  const total = countOf(valueAt(pages.total)) ?? Infinity;
  // The records are counted, because a service can return fewer per page than requested.
  if (pages.page !== undefined)
    return { at: number >= (named ?? Infinity) || (cursor.records ?? 0) + records.length >= total ? undefined : number + 1, ...moved };
  if (records.length === 0 && size === undefined)
    return { unfit: 'an empty page, after which more are said to follow: pages.size has to say where they begin' };
  const at = number + (records.length === 0 ? Number(size) : records.length);
  if (at - Number(firstAt(pages)) >= total) return LAST;
  if (isOverlapped && records.length > 1) return { at: at - 1, overlaps: true, ...moved };
  // Only the last record of the previous page came again. Without a count or a flag for more pages, it is the last one.
  if (isOverlapped && freshFrom(cursor, digests) > 0 && (pages.while ?? pages.until) === undefined && total === Infinity) return LAST;
  return { at };
}

/** True for what services write instead of a cursor on the last page. */
function isNone(given: unknown): boolean {
  if (given === undefined || given === null || given === '' || given === false) return true;
  return typeof given === 'object' && !Array.isArray(given) && scalarOf(given) === undefined && Object.keys(given).length === 0;
}

/** The end of a listing, unless `while` says that more pages follow. */
function lastUnless(more: boolean, place: string): NextAt {
  return more ? { unfit: `${place}: expected the next page, because while says that more pages follow, got none` } : LAST;
}

/** The next page, unless it is the same one again and such a page is the end. */
function followed(at: Cursor['at'], { pages }: Stream, cursor: Cursor): Following {
  return pages?.repeats === 'end' && spelled(at) === spelled(cursor.at) ? LAST : { at };
}

/**
 * Minimum number of last records whose digests a cursor keeps, in a stream with `since`. If more records are added before them, or leave the
 * list, between two pages, others can be written again.
 */
const MIN_KEYS = 100;

/** Maximum number of times that a listing goes back for records that moved up. */
const MAX_MOVES = 20;

/** The index after the last record that the pages before had, too. */
function freshFrom({ keys = [] }: Cursor, digests: readonly string[]): number {
  return digests.findLastIndex((digest) => keys.includes(digest)) + 1;
}

/** The next address. If it starts with a slash, it is appended to the address that the response has at `base`. */
function addressAfter(base: Path, next: string, value: unknown): string {
  const before = scalarOf(base.first(value));
  return typeof before === 'string' && next.startsWith('/') ? before.replace(/\/+$/, '') + next : next;
}

/** A cursor that the next request can carry: text or a number, and in a JSON body also a list or an object. Otherwise undefined. */
function cursorAt(given: unknown, { pages, form }: Stream): Cursor['at'] | undefined {
  const at = scalarOf(given);
  if (at !== undefined) return typeof at === 'boolean' ? undefined : at;
  const isCarried = pages?.as?.body !== undefined && form === undefined;
  return isCarried && typeof given === 'object' && given !== null && Object.keys(given).length > 0 ? keptValue(given) : undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** JSON that a checkpoint can store: a number whose text JavaScript would change becomes text. */
function keptValue(given: object): Exclude<Json, boolean> {
  return JSON.parse(JSON.stringify(given, (_, value: unknown) => scalarOf(value) ?? value)) as Exclude<Json, boolean>;
}

/** An address without the named parameters of its query. The other parameters stay exactly as they are. */
function withoutParameters(address: string, names: readonly string[]): string {
  const [path = '', query] = address.split(/\?(.*)/s, 2);
  if (query === undefined || names.length === 0) return address;
  const kept = query.split('&').filter((pair) => ![...new URLSearchParams(pair).keys()].some((name) => names.includes(name)));
  return kept.length === 0 ? path : `${path}?${kept.join('&')}`;
}

function wayKind({ link, next, cursor, page, offset }: Pages): unknown {
  return link ?? next ?? cursor ?? page ?? offset;
}

/** Values that count as false in `pages.while` and `pages.until`, in addition to null, a missing value, and an empty list or object. */
const NO: readonly unknown[] = [false, 0, '', '0', 'false', 'no'];

function isYes(value: unknown): boolean {
  if (value === undefined || value === null || NO.includes(typeof value === 'string' ? value.toLowerCase() : value)) return false;
  return scalarOf(value) !== undefined || Object.keys(value).length > 0;
}

/** A number of pages or records. Undefined for 0 and less, which a service can send if it hasn't counted. */
function countOf(value: unknown): number | undefined {
  const count = numberOf(value);
  return count === undefined || count <= 0 ? undefined : count;
}

/** The page and its next cursor. If the stream's settings ask for it, drops records that were returned before or are older than `{since}`. */
function listedPage(
  stream: Stream,
  { answer, context }: Answered,
  found: readonly unknown[],
  digests: readonly string[],
  following: Following,
): RestPage {
  const { pages } = stream;
  const { cursor, fields } = context.query;
  const page = noRecords(answer, context, found.length);
  const start = cursor.overlaps === true ? freshFrom(cursor, digests) : 0;
  const isLost = cursor.overlaps === true && start === 0 && !(found.length === 0 && following.at !== undefined);
  const { at: now, moves = 0 } = cursor;
  // None of the last records is on this page, so records before it have left the list, and others have moved up. Go back until one is there.
  if (isLost && Number(now) > Number(firstAt(pages))) {
    const step = pages?.size?.is ?? (found.length || cursor.keys?.length) ?? 1;
    const at = Math.max(Number(firstAt(pages)), Number(now) - step);
    return { ...page, next: { ...cursor, upTo: page.upTo, at, before: undefined, moves: moves + 1 } };
  }
  const keys =
    stream.since !== undefined
      ? digests
      : pages?.repeats === 'drop'
        ? found.map((record) => digestOf(keyOf(stream, withFields(stream, record, fields)) ?? record))
        : [];
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
      ? newestOf(stream.since, { records: found, upTo: context.epochMs + MAX_AHEAD_MS }, cursor.newest)
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
  const isTimed = isByTime(stream);
  const step = isTimed && at !== undefined ? stepAfter(stream, since, newest) : undefined;
  const isCounted = (pages?.page ?? pages?.offset) !== undefined;
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
            before: isCounted && stream.since !== undefined ? digest : undefined,
            circle,
            keys: keys.length > 0 ? keys : undefined,
            overlaps,
            last: isTimed && pages?.offset === undefined ? { at: cursor.at, digest } : undefined,
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
    [...placeholders(stream)]
      .map(([, one]) => (one.name === 'since' ? valuesOf({}, { since: time, until: undefined }, zone)(one) : ''))
      .join(' ');
  const isLater = since === undefined || ((timeOf(step, zone) ?? 0) > (timeOf(since, zone) ?? 0) && spelledAs(step) !== spelledAs(since));
  return isLater ? step : undefined;
}

/** The time (epoch ms) before which records are dropped. Without a parameter with `{since}`, the service returns older records again. */
function olderThan(stream: Stream, { since }: Cursor): number {
  if (since === undefined || sendsSince(stream)) return -Infinity;
  return timeOf(since, stream.since?.zone) ?? -Infinity;
}

/** A record's key: the value at its path, or a JSON list of the values at several paths. Undefined if a value is missing. */
export function keyOf({ key }: Pick<Stream, 'key'>, record: unknown): string | undefined {
  const parts = keyPaths(key).map((path) => scalarOf(path.first(record)));
  if (!parts.every(isKeyPart)) return undefined;
  return parts.length > 1 ? JSON.stringify(parts.map(String)) : parts[0]?.toString();
}

export function isKeyPart(value: unknown): value is string | number {
  return typeof value === 'number' || (typeof value === 'string' && value !== '');
}
