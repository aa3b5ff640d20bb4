import {
  type ClassifyContext,
  type HttpResponse,
  SourceError,
  type Verdict,
  jsonBody,
  parseUntouched,
  retryAfterMs,
  statusVerdict,
} from '@headgate/sources';
import * as z from 'zod';
import { type Shown, circleAfter } from './circle.ts';
import { type Cursor, MAX_AGAIN } from './cursor.ts';
import { digestOf, kindOf, scalarOf } from './json-value.ts';
import { type Answered, MAX_MOVES, type RestPage, emptyPage, listedPage } from './listed-page.ts';
import { nextOf, withoutKeys } from './next-page.ts';
import { LAST, countOf } from './pages/index.ts';
import type { Path } from './path.ts';
import { saidAt } from './places.ts';
import { keyOf, withFields } from './records.ts';
import type { RestQuery } from './request.ts';
import { ruleFor, ruledVerdict } from './rules.ts';
import type { Stream } from './streams.ts';
import { timeOf } from './time.ts';

/** Error codes of sections, in addition to those of every source. */
export type RestErrorCode = 'HEADGATE_PAGE_REPEATED' | 'HEADGATE_SINCE_CROWDED';

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
  const answered: Answered = { value, answer, context };
  const rule = ruleFor(stream, answered, body === undefined);
  if (rule !== undefined) return ruledVerdict(rule, stream, answered);
  if (body === undefined) return bodylessVerdict(stream, answered);
  if (status === 202) return { kind: 'transient', reason: 'the service is not ready (202)', retryInMs: retryAfterMs({ headers, epochMs }) };
  if (status < 200 || status >= 300) return statusVerdict(answer, context, z.never());
  if (body.kind === 'broken') return foreignVerdict(answer, context) ?? { kind: 'transient', reason: body.reason };
  return pageVerdict(stream, answered, keyParameters);
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

/** Judges a 204 or a 304, whose headers can name a next page. */
function bodylessVerdict(stream: Stream, answered: Answered): Verdict<RestPage> {
  const { until } = stream.pages ?? {};
  // Without a body, the last page can't be told from others.
  if (until !== undefined && 'text' in until) return { kind: 'ok', value: emptyPage(stream, answered) };
  const next = nextOf(stream, answered, [], []);
  if ('unfit' in next) return { kind: 'schema-mismatch', where: next.unfit };
  return { kind: 'ok', value: listedPage(stream, answered, [], [], 'repeated' in next ? LAST : next) };
}

function pageVerdict(stream: Stream, answered: Answered, keyParameters: readonly string[]): Verdict<RestPage> {
  const { value, context } = answered;
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
    const message = `${subject}: ${service} ${what}. Compare pages with its documentation, because a service ignores a parameter that it doesn't know. If its lists end so, write repeats: end.`;
    const code: RestErrorCode = 'HEADGATE_PAGE_REPEATED';
    return { kind: 'fatal', error: new SourceError({ code, message, retryable: false, service, subject }) };
  }
  if (isRepeated && shows !== 'stale') return { kind: 'ok', value: emptyPage(stream, answered) };
  const next = isRepeated || 'repeated' in following ? LAST : withoutKeys(stream, { ...following, circle }, keyParameters);
  const page = listedPage(stream, answered, found.records, digests, next);
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
  const { keys: paths, pages, since } = stream;
  if (since !== undefined || pages === undefined || pages.repeats === 'drop' || records.length === 0) return { circle: cursor.circle };
  const keys = new Set(paths.length === 0 ? [] : records.map((record) => keyOf(stream, withFields(stream, record, fields))));
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
  const { since, roughMs } = stream;
  if (since?.order === undefined || since.order === 'fixed') return undefined;
  const sign = since.order === 'ascending' ? 1 : -1;
  const times = records.flatMap((record) => timeOf(scalarOf(since.from.first(record)), since.zone) ?? []);
  let last = -Infinity;
  for (const ms of times) {
    if (sign * ms < last - roughMs)
      return `since.order: expected records sorted by ${since.from.text}, ${sign > 0 ? 'oldest' : 'newest'} first, got others`;
    last = Math.max(last, sign * ms);
  }
  // A later page is requested by its time. A service that ignored it would return the same records for ever.
  if (newest === undefined || !stream.isByTime || Math.min(...times) >= (timeOf(from, since.zone) ?? -Infinity) - roughMs) return undefined;
  return `{since}: expected no record before it, got an older one: the service ignores the parameter, reads it in another time zone, or rounds it, as {since:date} does`;
}

/** Maximum members of a response that a message names. */
const NAMED = 10;

/** Describes the members of a response. Leaves out members whose names can be data, such as addresses or IDs. */
function membersOf(value: unknown): string {
  if (kindOf(value) !== kindOf({})) return `the response is ${kindOf(value)}`;
  const all = Object.entries(value as object);
  const named = all.filter(([name]) => /^[a-z_@$][\w.$-]{0,39}$/i.test(name)).slice(0, NAMED);
  const words = named.map(([name, member]) => `${name}: ${kindOf(member)}`).join(', ');
  if (words === '') return all.length === 0 ? 'the response is empty' : `the response has ${all.length} other members`;
  return `the response has ${words}${named.length < all.length ? `, and ${all.length - named.length} more` : ''}`;
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
  return { missing: `records: ${text}: expected a list, got ${kindOf(lists[0]?.first(value))} (${membersOf(value)})` };
}
