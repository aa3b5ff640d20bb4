import { type HttpResponse, jsonBody, parseUntouched } from '@headgate/sources';
import { scalarOf } from './json-value.ts';

/** A setting that one response suggests. */
export interface Guess<Value> {
  /** The setting, as a section has it. */
  readonly value: Value;
  /** The reason, for a comment. Contains names of members and parameters, and no values. */
  readonly why: string;
}

/** The settings of a stream that one response suggests. A setting is absent if nothing suggests it. */
export interface GuessedStream {
  /** Path of the records. Absent if the response is the list, or a single record. */
  readonly records?: Guess<string>;
  /** Path of a member that has another text or number in each record. */
  readonly key?: Guess<string>;
  /** The setting `pages`. Absent if the response doesn't tell how to get more pages. */
  readonly pages?: Guess<Readonly<Record<string, unknown>>>;
  /** Number of records in the response. */
  readonly count: number;
  /** The parameters of the request that `pages` sends from now on. */
  readonly paged: readonly string[];
}

/** Guesses the settings of a stream from the response to its first request. `query`: parameters of that request. */
export function guessStream(answer: HttpResponse, query: Readonly<Record<string, unknown>>): GuessedStream {
  const read = jsonBody(answer, parseUntouched);
  const body = read.kind === 'json' ? read.value : undefined;
  const members = [...membersOf(body)];
  const list = Array.isArray(body)
    ? { path: [], value: body }
    : members.filter((member) => canBeRecords(member, isObject(body) && Object.hasOwn(body, 'id'))).toSorted(byLikelihood)[0];
  const found = list === undefined ? [body] : (list.value as readonly unknown[]);
  const records = list === undefined || Array.isArray(body) ? undefined : `${pathOf(list.path)}[*]`;
  const way = list === undefined ? undefined : wayOf(members, answer.headers, query, pathOf(list.path), found);
  const asked = Object.keys(query);
  const size = asked.find((name) => SIZE.test(name) && /^[1-9]\d*$/.test(String(query[name])));
  const value = way && { ...way.value, ...(size !== undefined && { size: { query: size, is: Number(query[size]) } }) };
  const key = keyOf(found);
  return {
    ...(records !== undefined && { records: { value: records, why: `the list of ${found.length} entries` } }),
    ...(key !== undefined && { key }),
    ...(way !== undefined && value !== undefined && { pages: { value, why: way.why } }),
    count: found.length,
    paged: value === undefined ? [] : asked.filter((name) => name === size || isSentBy(value, name)),
  };
}

interface Member {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** Members are searched up to this depth. */
const DEEPEST = 4;

/** The members of an object, and those of the objects in it, the outer ones first. */
function* membersOf(value: unknown, above: readonly string[] = []): Generator<Member> {
  if (!isObject(value) || above.length >= DEEPEST) return;
  const own = Object.entries(value).map(([name, one]) => ({ path: [...above, name], value: one }));
  yield* own;
  for (const { path, value: one } of own) yield* membersOf(one, path);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && scalarOf(value) === undefined;
}

function nameOf({ path }: Member): string {
  return path.at(-1) ?? '';
}

const LISTS = /^(?:data|items?|results?|records?|entry|entries|list|values?|rows|objects|hits|elements|content|docs|edges|nodes)$/i;
const OTHER_LISTS = /^(?:links?|errors?|warnings?|included|facets|fields|columns)$/i;

/** True for a list that can have the records: one of objects or lists, or with a usual name. `isRecord`: the response is a record itself. */
function canBeRecords(member: Member, isRecord: boolean): boolean {
  const { value } = member;
  if (!Array.isArray(value) || OTHER_LISTS.test(nameOf(member))) return false;
  return LISTS.test(nameOf(member)) || (!isRecord && value.some((one) => isObject(one) || Array.isArray(one)));
}

function byLikelihood(one: Member, other: Member): number {
  const ranks = (member: Member): readonly number[] => {
    const entries = member.value as readonly unknown[];
    return [Number(!entries.some(isObject)) - Number(LISTS.test(nameOf(member))), member.path.length, -entries.length];
  };
  const others = ranks(other);
  return (
    ranks(one)
      .map((rank, i) => rank - (others[i] ?? 0))
      .find((difference) => difference !== 0) ?? 0
  );
}

/** Names of members that identify a record, the likeliest first. */
const KEYS = [
  /^_?id$/i,
  /^(?:uuid|guid)$/i,
  /^key$/i,
  /^(?:sku|isbn|code|slug)$/i,
  /(?:_id|Id|ID)$/,
  /id$/i,
  /^(?:number|name|title|url)$/i,
];

/** A member of the records that has another text or number in each of them. */
function keyOf(records: readonly unknown[]): Guess<string> | undefined {
  const [first] = records;
  if (!isObject(first)) return undefined;
  const own = Object.keys(first);
  const nested = own.flatMap((name) => Object.keys(isObject(first[name]) ? first[name] : {}).map((inner) => [name, inner]));
  const paths = [
    ...KEYS.flatMap((names) => own.filter((name) => names.test(name))).map((name) => [name]),
    ...nested.filter(([, inner = '']) => /^_?id$/i.test(inner)),
  ];
  const path = paths.find((names) => {
    const keys = records.map((record) => scalarOf(names.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), record)));
    return keys.every((one) => typeof one === 'number' || (typeof one === 'string' && one !== '')) && new Set(keys).size === keys.length;
  });
  if (path === undefined) return undefined;
  return { value: pathOf(path), why: records.length === 1 ? 'by its name, from one record' : `different in all ${records.length} records` };
}

type Way = Guess<Readonly<Record<string, unknown>>>;

const SIZE = /^(?:per[-_]?page|page[-_]?size|page\[size\]|limit|_limit|\$?top|size|count|rows|max[-_]?results|results[-_]?per[-_]?page)$/i;
const PAGE = /^_?(?:page|p|page[-_]?(?:number|no|index|num)|current[-_]?page|page\[number\])$/i;
const OFFSET = /^(?:\$?skip|_?start|offset|start[-_]?(?:at|index)|from|page\[offset\])$/i;
const TOTAL = /^(?:total|total[-_]?(?:count|results|items|records|elements|hits)|count|@odata\.count|num[-_]?found)$/i;
const LAST = /^(?:last[-_]?page|(?:total|num|max)[-_]?(?:of[-_]?)?pages|pages?[-_]?(?:count|total)|pages|nb[-_]?pages)$/i;
const MORE = /^(?:has[-_]?(?:more|next|next[-_]?page)|more|is[-_]?truncated|more[-_]?(?:records|results|data|items.*))$/i;
const CURSOR =
  /^(?:next[-_]?)?(?:page[-_]?token|cursor|continuation[-_]?token|continuation|starting[-_]?after|after|marker|scroll[-_]?id|page[-_]?info)$|^(?:end[-_]?cursor|next[-_]?(?:token|id|key)|offset)$/i;
const NEXT = /^(?:@odata\.next_?link|next[-_]?(?:page)?[-_]?(?:url|uri|link|href|page)?)$/i;

/** How to get the next page, by the first sign of it. `list`: path of the list of records. */
function wayOf(
  members: readonly Member[],
  headers: HttpResponse['headers'],
  query: Readonly<Record<string, unknown>>,
  list: string,
  found: readonly unknown[],
): Way | undefined {
  const asked = Object.keys(query);
  const one = (names: RegExp, isFitting: (value: unknown) => boolean): Member | undefined =>
    members.find((member) => names.test(nameOf(member)) && isFitting(member.value));
  const sent = (names: RegExp, usual: string): { readonly query: string } => ({ query: asked.find((name) => names.test(name)) ?? usual });
  const more = one(MORE, (value) => typeof value === 'boolean');
  const last = one(LAST, isCount);
  // Some services name the number of records on the page like this. As a total, it would end the listing too early.
  const total = one(TOTAL, (value) => isCount(value) && Number(value) > found.length);
  const page = one(PAGE, isCount);
  const ends = more === undefined ? {} : { while: pathOf(more.path) };

  if (/rel="?(?:next|prev|first|last)\b/i.test(headers['link'] ?? '')) return { value: { link: 'next' }, why: 'the Link header' };
  const address = members.find((member) => isNextAddress(member));
  if (address !== undefined) {
    const base = members.find(({ path, value }) => pathOf(path) === pathOf([...address.path.slice(0, -1), 'base']) && isAddress(value));
    return { value: { next: pathOf(address.path), ...(base !== undefined && { base: pathOf(base.path) }) }, why: 'an address' };
  }
  const links = members.find(({ value }) => relationOf(value) !== undefined);
  if (links !== undefined)
    return { value: { next: `${pathOf(links.path)}${relationOf(links.value)}` }, why: 'an address with the relation next' };
  if (headers['x-next-page'] !== undefined)
    return { value: { cursor: { header: 'x-next-page' }, as: sent(PAGE, 'page') }, why: 'the header x-next-page' };
  const number = members.find((member) => /^next[-_]?(?:page|offset|start)?$/i.test(nameOf(member)) && isCount(member.value));
  if (number !== undefined) {
    const as = /offset|start/i.test(nameOf(number)) ? sent(OFFSET, parameterOf(nameOf(number))) : sent(PAGE, 'page');
    return { value: { cursor: pathOf(number.path), as, ...ends }, why: `a number; the parameter ${as.query} is assumed` };
  }
  const cursor = one(CURSOR, (value) => typeof value === 'string' && value !== '' && Number.isNaN(Number(value)) && !isAddress(value));
  if (cursor !== undefined) {
    const as = sent(CURSOR, parameterOf(nameOf(cursor)));
    return { value: { cursor: pathOf(cursor.path), as, ...ends }, why: `a cursor; the parameter ${as.query} is assumed` };
  }
  if (members.some((member) => nameOf(member) === 'object' && member.value === 'list') && more !== undefined)
    return {
      value: { cursor: `${list}[-1].id`, as: sent(/^starting_after$/, 'starting_after'), ...ends },
      why: 'the id of the last record',
    };
  const offset = one(OFFSET, isCount);
  if ((offset !== undefined && page === undefined) || asked.some((name) => OFFSET.test(name) && Number.isInteger(Number(query[name])))) {
    const at = sent(OFFSET, offset === undefined ? 'offset' : nameOf(offset));
    const end = total === undefined ? ends : { total: pathOf(total.path) };
    return { value: { offset: at, ...end }, why: `an offset; the parameter ${at.query} is assumed` };
  }
  const pagesHeader = ['x-total-pages', 'x-wp-totalpages', 'x-pagination-page-count'].find((name) => headers[name] !== undefined);
  const totalHeader = ['x-total-count', 'x-total'].find((name) => headers[name] !== undefined);
  const isMore = Number(total?.value ?? headers[totalHeader ?? '']) > found.length;
  if (
    last === undefined &&
    pagesHeader === undefined &&
    page === undefined &&
    more === undefined &&
    !isMore &&
    !asked.some((name) => PAGE.test(name))
  )
    return nullNext(members);
  const end =
    last !== undefined
      ? { last: pathOf(last.path) }
      : pagesHeader !== undefined
        ? { last: { header: pagesHeader } }
        : more !== undefined
          ? ends
          : total !== undefined
            ? { total: pathOf(total.path) }
            : totalHeader === undefined
              ? {}
              : { total: { header: totalHeader } };
  const at = sent(PAGE, 'page');
  const from = Number(page?.value ?? query[at.query]) === 0 ? { first: 0 } : {};
  return { value: { page: at, ...from, ...end }, why: `page numbers; the parameter ${at.query} is assumed` };
}

/** A member that probably has the next address on other pages, and is empty on this one. */
function nullNext(members: readonly Member[]): Way | undefined {
  const member = members.find((one) => NEXT.test(nameOf(one)) && one.value === null);
  return member && { value: { next: pathOf(member.path) }, why: 'null here; assumed to be an address on other pages' };
}

function isNextAddress({ path, value }: Member): boolean {
  const [parent = '', name = ''] = ['', ...path].slice(-2);
  return isAddress(value) && (NEXT.test(name) || (NEXT.test(parent) && /^(?:href|url|uri|link)$/i.test(name)));
}

function isAddress(value: unknown): boolean {
  return typeof value === 'string' && /^(?:https?:\/\/|[/?])/i.test(value);
}

/** The path of the entry of a list of links whose relation is `next`. */
function relationOf(value: unknown): string | undefined {
  for (const link of Array.isArray(value) ? value : []) {
    const [relation] = ['rel', 'relation'].filter((name) => isObject(link) && link[name] === 'next');
    const [address] = ['href', 'url'].filter((name) => isObject(link) && isAddress(link[name]));
    if (relation !== undefined && address !== undefined) return `[?@.${relation}=='next'].${address}`;
  }
  return undefined;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** `pageToken` for `nextPageToken`, `cursor` for `next_cursor`, `after` for `endCursor`. */
function parameterOf(name: string): string {
  if (/^end[-_]?cursor$/i.test(name)) return 'after';
  if (/^next[-_]?(?:token|id|key)$/i.test(name)) return name;
  const own = name.replace(/^next[-_]?/i, '');
  return own.charAt(0).toLowerCase() + own.slice(1);
}

function isSentBy(way: Readonly<Record<string, unknown>>, name: string): boolean {
  return ['as', 'page', 'offset'].some((place) => Object(way[place]).query === name);
}

function pathOf(names: readonly string[]): string {
  return [
    '$',
    ...names.map((name) => (/^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `['${name.replaceAll(/['\\]/g, String.raw`\$&`)}']`)),
  ].join('');
}
