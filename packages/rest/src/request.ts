import type { SourceRequest } from '@headgate/sources';
import { type Cursor, firstAt } from './cursor.ts';
import { spelled } from './json-value.ts';
import type { Place } from './places.ts';
import type { Stream } from './streams.ts';
import { type Placeholder, type Template, type ValueOf, isTemplate, jsonOf } from './template.ts';
import { formatTime } from './time.ts';
import { UTC, type Zone } from './zone.ts';

/** The fields of a request, by name. In the request of a batch, the value of the field is the list of keys. */
export type Fields = Readonly<Record<string, string | number | readonly string[]>>;

export interface RestQuery {
  readonly stream: string;
  readonly fields: Fields;
  readonly cursor: Cursor;
  /** True if the stream's path or `pages` changed during the listing. The listing then restarts at its first page. */
  readonly isChanged?: boolean;
}

/** Returns a function that looks up the value of a field, or of `{since}` and `{until}`. */
export function valuesOf(fields: Fields, { since, until }: Pick<Cursor, 'since' | 'until'>, zone?: Zone): ValueOf {
  return ({ name, format, isUtc }: Placeholder) => {
    if (name !== 'since' && name !== 'until') return fields[name];
    const time = name === 'since' ? since : until;
    return time === undefined ? undefined : formatTime(time, format, zone, isUtc ? UTC : zone);
  };
}

/** The HTTP request for a page. Throws a `TypeError` if the path has a field without a value. */
export function httpRequest(baseUrl: string, stream: Stream, { fields, cursor }: RestQuery): SourceRequest {
  const { method, path, pages } = stream;
  const { size, style } = pages ?? {};
  const to = style?.place;
  const own = {
    ...(size?.field !== undefined && { [size.field]: size.is }),
    ...(to?.field !== undefined && typeof cursor.at !== 'object' && { [to.field]: cursor.at }),
  };
  const times = stream.since?.children === 'all' ? {} : cursor;
  const valueOf = valuesOf({ ...fields, ...own }, times, stream.since?.zone);
  const isAlone = pages?.alone === true && cursor.at !== firstAt(pages);
  const query: Record<string, string | readonly string[]> = {};
  const headers: Record<string, string> = { accept: 'application/json', ...lowerCased(stream.headers, valueOf) };
  let body = stream.body === undefined || isAlone ? undefined : jsonOf(stream.body, valueOf);
  const form = stream.form === undefined ? undefined : rendered(isAlone ? {} : stream.form, valueOf);

  const put = ({ query: parameter, header, body: member }: Place, value: NonNullable<Cursor['at']>): void => {
    if (parameter !== undefined) query[parameter] = spelled(value);
    if (header !== undefined) headers[header.toLowerCase()] = spelled(value);
    if (member !== undefined && form !== undefined) form[member.join('.')] = spelled(value);
    else if (member !== undefined) body = withMember(body, member, value);
  };
  const pathOf = (): string => {
    const rendering = path?.render((field) => {
      const value = valueOf(field);
      if (value === undefined || value === '') throw new TypeError(`${path.text}: {${field.name}} is empty`);
      return value;
    }, encodeURIComponent);
    return rendering ?? '/';
  };
  if (cursor.at !== null && style?.address !== undefined) {
    return {
      method,
      url: style.address(spelled(cursor.at), baseUrl, pathOf()),
      headers: withType(headers, body, form),
      ...bodyOf(body, form),
    };
  }
  if (!isAlone) {
    for (const [name, given] of Object.entries(stream.query ?? {})) {
      const value = isTemplate(given) ? given.render(valueOf) : valuesIn(given, valueOf);
      if (value !== undefined) query[name] = value;
    }
    if (size !== undefined) put(size, size.is);
  }
  if (cursor.at !== null && to !== undefined) put(to, cursor.at);
  return { method, path: pathOf(), query, headers: withType(headers, body, form), ...bodyOf(body, form) };
}

/** The values of a repeated parameter. A template that is only a field adds each value of that field. */
function valuesIn(templates: readonly Template[], valueOf: ValueOf): readonly string[] {
  const values = templates.flatMap((one) => one.value(valueOf) as ReturnType<ValueOf> | readonly string[]);
  return values.filter((value) => value !== undefined).map(String);
}

function rendered(templates: NonNullable<Stream['headers']>, valueOf: ValueOf): Record<string, string> {
  const values = Object.entries(templates).map(([name, template]) => [name, template.render(valueOf)] as const);
  return Object.fromEntries(values.filter((pair): pair is readonly [string, string] => pair[1] !== undefined));
}

function lowerCased(headers: NonNullable<Stream['headers']> = {}, valueOf: ValueOf): Record<string, string> {
  return Object.fromEntries(Object.entries(rendered(headers, valueOf)).map(([name, value]) => [name.toLowerCase(), value]));
}

/** A copy of the body with a value at a path of member names. Replaces members on that path that aren't objects with objects. */
function withMember(body: unknown, [name = '', ...rest]: readonly string[], value: unknown): Record<string, unknown> {
  const members = typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as Record<string, unknown>) : {};
  return { ...members, [name]: rest.length === 0 ? value : withMember(members[name], rest, value) };
}

function withType(headers: Record<string, string>, body: unknown, form: Record<string, string> | undefined): Record<string, string> {
  if (form !== undefined) return { 'content-type': 'application/x-www-form-urlencoded', ...headers };
  return body === undefined ? headers : { 'content-type': 'application/json', ...headers };
}

function bodyOf(body: unknown, form: Record<string, string> | undefined): { readonly body?: string } {
  if (form !== undefined) return { body: new URLSearchParams(form).toString() };
  return body === undefined ? {} : { body: JSON.stringify(body) };
}
