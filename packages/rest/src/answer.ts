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
import { MAX_DIGESTS, carriedOn, crowdedIn } from './carried.ts';
import { type Cursor, againFrom, firstAt, nextWindow, restartTime } from './cursor.ts';
import { type Said, saidAt, waitAt } from './evidence.ts';
import { digestOf, kindOf, numberOf, scalarOf, spelled } from './json-value.ts';
import { type ErrorRule, type Pages, type Stream, keyPaths, placeholders } from './language.ts';
import type { Path } from './path.ts';
import { type RestQuery, withFields } from './request.ts';
import { type Time, timeOf } from './time.ts';

/** Error codes of sections, in addition to those of every source. */
export type RestErrorCode = 'HEADGATE_PAGE_REPEATED';

export interface RestPage {
  readonly stream: string;
  readonly records: readonly unknown[];
  /**
   * Number of records in the response, except those of the previous page that are dropped; at least 1 at the end of a window. Too many pages with
   * 0 in a row end the listing, because the service probably never returns a last page. Old records and windows are never endless.
   */
  readonly found: number;
  /** In a stream with `since`: a digest of each record. Otherwise empty. */
  readonly digests: readonly string[];
  /** Time of the response, epoch ms. */
  readonly receivedMs: number;
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
  const rule = stream.errors?.find((one) => fits(one, status, value));
  if (rule !== undefined) return ruledVerdict(rule, stream, { value, answer, context });
  if (body === undefined) return { kind: 'ok', value: emptyPage(stream, context) };
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

function fits({ status, when }: ErrorRule, answered: number, value: unknown): boolean {
  if (status !== undefined && !(Array.isArray(status) ? status.includes(answered) : status === answered)) return false;
  if (when === undefined) return true;
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
  const { service, subject, credential, epochMs, query } = context;
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
        retryInMs: bodyMs ?? refusalWaitMs({ answer, epochMs }) ?? fixedMs,
      };
    case 'missing':
      return {
        kind: 'not-found',
        error: error('HEADGATE_NOT_FOUND', `${subject}: ${service} doesn't have it (${said}). Check the request.`),
      };
    case 'empty':
      return { kind: 'ok', value: emptyPage(stream, context) };
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
      const isCrowded = stream.since?.order !== undefined && crowdedIn(cursor.edge).overlap;
      const notice = `${ended} (${said}). The listing restarts.${isCrowded ? CROWDED : ''}`;
      return { kind: 'ok', value: { stream: query.stream, records: [], found: 0, digests: [], receivedMs: epochMs, next, notice } };
    }
  }
}

const CROWDED = ` ${MAX_DIGESTS.toLocaleString('en-US')} or more records are as new as its newest one. Some of them may be written again.`;

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

function emptyPage(stream: Stream, { query, epochMs }: ClassifyContext<RestQuery>): RestPage {
  const page = dropRepeated(stream, query, [], { at: undefined, before: undefined, receivedMs: epochMs });
  return { stream: query.stream, receivedMs: epochMs, ...page };
}

function pageVerdict(stream: Stream, { value, answer, context }: Answered, keyParameters: readonly string[]): Verdict<RestPage> {
  const { query } = context;
  const found = recordsOf(stream.records, value);
  if ('missing' in found) return { kind: 'schema-mismatch', where: found.missing };
  const digest = (stream.pages?.page ?? stream.pages?.offset) === undefined ? undefined : digestOf(found.records);
  const next = nextOf(stream, { value, answer, context }, found.records, digest);
  if ('unfit' in next) return { kind: 'schema-mismatch', where: next.unfit };
  if ('repeated' in next) {
    const { service, subject } = context;
    const message = `${subject}: ${service} returned the same page twice. Check the parameter for the page number, or write repeats: end.`;
    const code: RestErrorCode = 'HEADGATE_PAGE_REPEATED';
    return { kind: 'fatal', error: new SourceError({ code, message, retryable: false, service, subject }) };
  }
  // The checkpoint stores the address, so the credential's key is removed from it. The signer adds the key to the next request again.
  const isAddress = (stream.pages?.link ?? stream.pages?.next) !== undefined;
  const at = isAddress && typeof next.at === 'string' ? withoutParameters(next.at, keyParameters) : next.at;
  const { subject, epochMs: receivedMs } = context;
  const page = dropRepeated(stream, query, found.records, { at, before: digest, receivedMs });
  const notice = `${subject}: the section's paging has changed, so the listing restarted. Records of its earlier pages are written again.`;
  return { kind: 'ok', value: { stream: query.stream, receivedMs, ...page, ...(query.isChanged === true && { notice }) } };
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

type NextAt = { readonly at: Cursor['at'] | undefined } | { readonly unfit: string } | { readonly repeated: true };

const LAST: NextAt = { at: undefined };

/** The cursor, address, number or offset of the next page (undefined after the last page), or the reason why it can't be determined. */
function nextOf(stream: Stream, { value, answer, context }: Answered, records: readonly unknown[], digest: string | undefined): NextAt {
  const { cursor } = context.query;
  const { pages } = stream;
  if (pages === undefined || wayKind(pages) === undefined) return LAST;
  const valueAt = (at: Said | undefined): unknown => at && saidAt(at, answer, () => value);
  if (pages.while !== undefined && !isYes(valueAt(pages.while))) return LAST;
  if (pages.until !== undefined && isYes(valueAt(pages.until))) return LAST;
  if (pages.most !== undefined && (cursor.pages ?? 0) + 1 >= pages.most) return LAST;
  const size = pages.size?.is;
  if (pages.short !== undefined && size !== undefined && records.length < size) return LAST;
  if (pages.link !== undefined) return { at: linkTarget(answer.headers['link'] ?? '', pages.link) || undefined };
  if (pages.next !== undefined || pages.cursor !== undefined) {
    const from = pages.next ?? pages.cursor;
    const given = valueAt(from);
    const ends: readonly unknown[] = pages.end === undefined ? [] : Array.isArray(pages.end) ? pages.end : [pages.end];
    const at = cursorAt(given, stream);
    // An end is compared as text, because a service can write the same cursor both as a number and as text.
    if (given === undefined || given === null || given === '' || ends.some((end) => String(end) === spelled(at))) return LAST;
    if (at !== undefined) return { at: pages.base === undefined ? at : addressAfter(pages.base, spelled(at), value) };
    return { unfit: `${from !== undefined && 'text' in from ? from.text : 'the cursor'}: expected text or a number, got ${kindOf(given)}` };
  }
  const named = countOf(valueAt(pages.last));
  if (records.length === 0 && (pages.while ?? pages.until ?? named) === undefined) return LAST;
  if (records.length > 0 && cursor.before === digest) return pages.repeats === 'end' ? LAST : { repeated: true };
  const number = Number(cursor.at ?? firstAt(pages));
  const total = countOf(valueAt(pages.total)) ?? Infinity;
  // The records are counted, because a service can return fewer per page than requested.
  if (pages.page !== undefined)
    return { at: number >= (named ?? Infinity) || (cursor.records ?? 0) + records.length >= total ? undefined : number + 1 };
  if (records.length === 0 && size === undefined)
    return { unfit: 'an empty page, after which more are said to follow: pages.size has to say where they begin' };
  const at = number + (records.length === 0 ? Number(size) : records.length);
  return { at: at - Number(firstAt(pages)) >= total ? undefined : at };
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
function dropRepeated(
  stream: Stream,
  { cursor, fields }: RestQuery,
  found: readonly unknown[],
  {
    at,
    before: digest,
    receivedMs,
  }: { readonly at: Cursor['at'] | undefined; readonly before: string | undefined; readonly receivedMs: number },
) {
  const { pages, since } = stream;
  const isDropping = pages?.repeats === 'drop';
  const keys = isDropping ? found.map((record) => digestOf(keyOf(stream, withFields(stream, record, fields)) ?? record)) : [];
  const from = olderThan(stream, cursor);
  const given = since === undefined ? [] : found.map(digestOf);
  const [before, seen] = [new Set(cursor.keys), new Set(cursor.seen)];
  const count = found.length - keys.filter((key) => before.has(key)).length;
  const isNew = (record: unknown, i: number): boolean =>
    !before.has(keys[i] ?? '') && !seen.has(given[i] ?? '') && (timeOf(scalarOf(since?.from.first(record))) ?? Infinity) >= from;
  const isAllNew = found.every(isNew);
  const records = isAllNew ? found : found.filter(isNew);
  const digests = isAllNew ? given : given.filter((_, i) => isNew(found[i], i));
  const isKept = since?.order !== undefined || since?.window !== undefined;
  const edge = isKept
    ? carriedOn({ ...stream, since: { ...since, overlap: 0 } }, { records, digests, receivedMs }, cursor.edge)
    : undefined;
  if (at === undefined) {
    const window = nextWindow(stream, { ...cursor, edge });
    return { records, found: window === undefined ? count : Math.max(1, count), digests, next: window };
  }
  const next: Cursor = {
    at,
    since: cursor.since,
    until: cursor.until,
    began: cursor.began,
    way: cursor.way,
    pages: pages?.most === undefined ? undefined : (cursor.pages ?? 0) + 1,
    records: pages?.page === undefined || pages.total === undefined ? undefined : (cursor.records ?? 0) + found.length,
    before: digest,
    keys: isDropping ? keys : undefined,
    edge,
    seen: cursor.seen,
    // Only a newer record shows that a restarted listing gets any further. Other records can be the same ones again: all without an order, and
    // with one those that `seen` is too short for.
    again: since?.order === undefined || edge?.newest === cursor.edge?.newest ? cursor.again : undefined,
  };
  return { records, found: count, digests, next };
}

/** The time (epoch ms) before which records are dropped. Without a parameter with `{since}`, the service returns older records again. */
function olderThan(stream: Stream, { since }: Cursor): number {
  if (since === undefined || [...placeholders(stream)].some(([, { name }]) => name === 'since')) return -Infinity;
  return timeOf(since) ?? -Infinity;
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
