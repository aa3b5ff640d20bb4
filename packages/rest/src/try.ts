import { type BudgetEvidence, type HttpResponse, budgetEvidence } from '@headgate/sources';
import type { Cursor } from './cursor.ts';
import { numberOf, scalarOf } from './json-value.ts';
import type { RestOptions } from './language.ts';
import { evidenceOf } from './limits.ts';
import type { RestPage } from './listed-page.ts';
import { keyOf, withFields } from './records.ts';
import { type RestQuery, httpRequest } from './request.ts';
import type { Stream } from './streams.ts';
import { timeFlaw, timeOf } from './time.ts';

/** The result of a trial request for one stream. A trial writes no records. */
export interface TriedStream {
  /** The request without its credential: `GET /items?limit=100`. */
  readonly request: string;
  /** The response. */
  readonly answer: HttpResponse;
  /** Status of the response. */
  readonly status: number;
  /** Path of the records; `$` if the stream sets none. */
  readonly at: string;
  /** Number of records in the response. */
  readonly records: number;
  /** The records, without the members of `add`. Long numbers are objects, so that they keep their digits. */
  readonly values: readonly unknown[];
  /** The first records with their keys, at most two. */
  readonly examples: readonly { readonly key: string | undefined; readonly value: unknown }[];
  /** The request of the next page; undefined if this page is the last one. */
  readonly next: string | undefined;
  /** Requests the next page. Absent if this page is the last one. */
  readonly following?: () => Promise<TriedStream>;
  /** The state of the limit according to the response. */
  readonly left: BudgetEvidence | undefined;
  /** Problems that the response shows. */
  readonly warnings: readonly string[];
}

export function triedStream(
  section: RestOptions,
  stream: Stream,
  query: RestQuery,
  answer: HttpResponse,
  page: RestPage,
  epochMs: number,
): TriedStream {
  const { records, next } = page;
  const keys = records.map((record) => keyOf(stream, withFields(stream, record, query.fields)));
  return {
    request: requestText(section.baseUrl, stream, query),
    answer,
    status: answer.status,
    at: stream.records?.text ?? '$',
    records: records.length,
    values: records,
    examples: records.slice(0, 2).map((value, i) => ({ key: keys[i], value })),
    next: next === undefined ? undefined : requestText(section.baseUrl, stream, { ...query, cursor: next }),
    left: leftOf(section, answer, epochMs),
    warnings: [...warningsOf(stream, records, keys, next)],
  };
}

/** The state of the first budget that the response mentions. */
function leftOf(section: RestOptions, answer: HttpResponse, epochMs: number): BudgetEvidence | undefined {
  const all = evidenceOf(section)?.(answer, epochMs);
  return all === undefined ? budgetEvidence({ head: answer, epochMs }) : Object.values(all).find((one) => one !== undefined);
}

function requestText(baseUrl: string, stream: Stream, query: RestQuery): string {
  const { method = 'GET', url, path = '', query: parameters = {}, body } = httpRequest(baseUrl, stream, query);
  const pairs = Object.entries(parameters).flatMap(([name, value]) => [value ?? []].flat().map((one): [string, string] => [name, one]));
  const text = new URLSearchParams(pairs).toString();
  return `${method} ${url ?? (text === '' ? path : `${path}?${text}`)}${body === undefined ? '' : ` ${body}`}`;
}

function* warningsOf(
  stream: Stream,
  records: readonly unknown[],
  keys: readonly (string | undefined)[],
  next: Cursor | undefined,
): Generator<string> {
  const { keys: paths, pages, since, records: at } = stream;
  if (records.length === 0)
    yield `${at === undefined ? 'the response' : `records: ${at.text}`} has no records. Check the form of the response.`;
  if (paths.length > 0) {
    const text = paths.map((path) => path.text).join(', ');
    const without = keys.filter((one) => one === undefined).length;
    if (without > 0) yield `key: ${text} finds no text or number in ${without} of ${records.length} records.`;
    const distinct = new Set(keys).size;
    if (without === 0 && distinct < keys.length) yield `key: ${text} is not unique: ${keys.length} records have ${distinct} keys.`;
  }
  const size = pages?.size?.is;
  if (size !== undefined && next !== undefined && records.length < size) {
    const isSaid = pages?.style?.isCounted !== true || (pages.last ?? pages.total ?? pages.while ?? pages.until) !== undefined;
    const follows = isSaid
      ? 'more follow. The service may permit no more.'
      : `nothing says whether more follow. The service may permit no more. If it permits ${size}, short: last ends the list here.`;
    yield `pages.size: ${size} records were requested, ${records.length} came, and ${follows}`;
  }
  const count = numberOf(next?.at);
  if (since !== undefined && pages?.cursor !== undefined && count !== undefined && [1, 2, records.length].includes(count))
    yield `pages.cursor: the next cursor is ${count}. If it counts pages or records, write page or offset instead: those lose no record of a list that moves.`;
  const odd =
    since === undefined ? undefined : records.find((record) => timeOf(scalarOf(since.from.first(record)), since.zone) === undefined);
  if (since !== undefined && odd !== undefined) yield `since.from: ${since.from.text} ${timeFlaw(since.from.first(odd))}.`;
}
