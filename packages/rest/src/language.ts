import { duration, secret } from '@headgate/pipeline';
import {
  type CredentialIdentity,
  distinctCredentials,
  httpOptions,
  nearest,
  plainFileText,
  timeOfDay,
  timeZone,
} from '@headgate/pipeline/internal';
import * as z from 'zod';
import { exactNumber, scalar } from './json-value.ts';
import { pages } from './pages/index.ts';
import { type Path, path, readPath } from './path.ts';
import { fieldName, given, headerName } from './places.ts';
import {
  type JsonTemplate,
  type Placeholder,
  type Template,
  fieldsOf,
  isTemplate,
  jsonTemplate,
  parameter,
  template,
  typedTemplate,
} from './template.ts';
import { isTimeFormat, isTimeOfDay, isTimeOfDayFormat, roughness, timeOf } from './time.ts';
import { UTC, zoneOf } from './zone.ts';

// The schema for a section with `use: rest`. The descriptions of its settings appear in the documentation and in the JSON Schema.

const NAME = /^[A-Za-z][A-Za-z\d-]{0,49}$/;
const OWN_TOPICS = ['requests', 'dead-letters', 'state', 'walks'];
const OWN_FIELDS = ['stream', 'since', 'until'];

/** Returns the keys that are set, and reports an issue if more than one is. */
function keepOne<Key extends string>(
  keys: readonly Key[],
  given: Readonly<Partial<Record<Key, unknown>>>,
  context: z.RefinementCtx,
): readonly Key[] {
  const found = keys.filter((key) => given[key] !== undefined);
  if (found.length > 1) context.addIssue({ code: 'custom', message: `has ${found.join(' and ')}. Keep one of them.` });
  return found;
}

// The first alternative that fits reads a value of a file, so a form has text exactly as written, where `scalar` has unquoted numbers.
const formField = z.union([z.string(), exactNumber(), z.boolean(), z.null()]);

const token = z
  .strictObject({
    url: z
      .string()
      .refine(
        (text) => text.startsWith('/') || isHttp(text),
        'is neither a path nor an address. Write /oauth/token, or for example https://login.example.com/token.',
      )
      .describe('Address that gives the token: a path after `baseUrl`, or a whole address.'),
    grant: z
      .string()
      .min(1)
      .exactOptional()
      .describe('`grant_type` of the request. Default with `id`: client_credentials, or refresh_token if there is one.'),
    id: secret({ encoded: true }).exactOptional().describe('`client_id` of the application.'),
    secret: secret({ encoded: true }).exactOptional().describe('`client_secret` of the application.'),
    in: z.enum(['basic', 'body']).default('basic').describe('Part of the request that carries `id` and `secret`.'),
    refreshToken: secret({ encoded: true })
      .exactOptional()
      .describe('Refresh token, for `grant: refresh_token`. One that changes at each use is not supported.'),
    form: z.record(z.string(), formField).exactOptional().describe('Other fields of the request, such as `scope`.'),
    json: z.record(z.string(), scalar).exactOptional().describe('The same, and the request is sent as JSON.'),
    at: path({ singular: true }).prefault('$.access_token').describe('Path of the token in the response.'),
    expires: path({ singular: true })
      .prefault('$.expires_in')
      .describe('Path of the lifetime of the token in seconds, or of the date at which it expires.'),
    header: headerName.exactOptional().describe('Header that carries the bare token. Default: `Authorization: Bearer`.'),
  })
  .superRefine((given, context) => {
    const refuse = (key: string, message: string): void => context.addIssue({ code: 'custom', path: [key], message });
    if (given.form !== undefined && given.json !== undefined) refuse('json', "can't be combined with form. Keep one of them.");
    if ((given.id === undefined) !== (given.secret === undefined))
      refuse(given.id === undefined ? 'secret' : 'id', `needs ${given.id === undefined ? 'id' : 'secret'} as well.`);
  });

const credential = z
  .strictObject({
    name: z.string().min(1).describe('Name in messages and metrics. Budgets are kept under this name across restarts.'),
    bearer: secret().exactOptional().describe('Token, sent as `Authorization: Bearer`.'),
    basic: z
      .strictObject({
        user: z.string().min(1).describe('User name.'),
        password: secret().exactOptional().describe('Password. Default: empty.'),
      })
      .exactOptional()
      .describe('User name and password for HTTP basic authentication.'),
    key: secret().exactOptional().describe('Key, sent as `Authorization`, or where `header` or `query` says.'),
    header: headerName.exactOptional().describe('Header that carries the key.'),
    query: z.string().min(1).exactOptional().describe('Query parameter that carries the key.'),
    body: z.string().min(1).exactOptional().describe('Member of the JSON body, or field of the form, that carries the key.'),
    oauth1: z
      .strictObject({
        consumerKey: secret({ encoded: true }).describe('Consumer key of the application.'),
        consumerSecret: secret({ encoded: true }).describe('Its secret.'),
        token: secret({ encoded: true }).exactOptional().describe('Access token of the user.'),
        tokenSecret: secret({ encoded: true }).exactOptional().describe('Its secret.'),
      })
      .exactOptional()
      .describe('OAuth 1.0a, signed with HMAC-SHA1.'),
    token: token
      .exactOptional()
      .describe('A token that is requested: OAuth 2, or a login. It is requested again when it is refused or expires.'),
  })
  .superRefine((given, context) => {
    keepOne(['bearer', 'basic', 'key', 'oauth1', 'token'], given, context);
    const places = keepOne(['header', 'query', 'body'], given, context);
    if (places.length > 0 && given.key === undefined)
      context.addIssue({ code: 'custom', path: [places[0] ?? ''], message: 'needs a key. Add key: "${KEY}".' });
  });

/** The same key is the same secret, wherever the request carries it. A client that requests tokens is told from others by its whole request. */
function identityOf({ bearer, basic, key, oauth1, token }: z.output<typeof credential>): CredentialIdentity {
  if (bearer !== undefined) return { setting: 'bearer', values: [bearer] };
  if (basic !== undefined) return { setting: 'basic', values: [() => basic.user, basic.password] };
  if (key !== undefined) return { setting: 'key', values: [key] };
  if (oauth1 !== undefined) return { setting: 'oauth1', values: [oauth1.consumerKey, oauth1.token] };
  if (token === undefined) return { values: [] };
  const { url, id, refreshToken, form, json } = token;
  return { setting: 'token', values: [id, refreshToken, () => JSON.stringify([url, form, json])] };
}

/** Settings of every limit: whether all credentials share it, and the places in a response with its state. */
const everyLimit = {
  shared: z
    .boolean()
    .exactOptional()
    .describe('One limit over all credentials, such as that of an IP address or an application. Needs one lane. Default: false.'),
  left: given.exactOptional().describe('Path of the remaining requests, or `{ header: name }`, if the usual headers are missing.'),
  reset: given
    .exactOptional()
    .describe('Path of the time at which the budget resets: seconds from now, seconds or milliseconds since 1970, or a date.'),
};

const limit = z.strictObject({
  requests: z.int().positive().describe('Maximum requests in any window.'),
  window: duration()
    .describe('Length of the window.')
    .meta({ examples: ['15m'] }),
  ...everyLimit,
});

const quota = z.strictObject({
  requests: z.int().positive().describe('Maximum requests per day or month.'),
  per: z.enum(['day', 'month']).describe('Period between resets.'),
  resetsAt: timeOfDay().exactOptional().describe('Time of day of the reset. Default: 00:00.'),
  resetsOn: z.int().min(1).max(31).exactOptional().describe('Day of the month on which the limit resets.'),
  zone: timeZone().exactOptional().describe('Time zone of the reset. Default: UTC.'),
  ...everyLimit,
});

const budget = z.union([limit, quota]).superRefine(({ left, reset }, context) => {
  if ((left === undefined) === (reset === undefined)) return;
  const [there, missing] = left === undefined ? ['reset', 'left'] : ['left', 'reset'];
  context.addIssue({
    code: 'custom',
    path: [there],
    message: `needs ${missing} as well. Write both, or neither: Headgate reads the usual headers itself.`,
  });
});

const statuses = z.union([z.int().min(100).max(599), z.array(z.int().min(100).max(599)).min(1)]);

/** A condition of an error rule. */
export interface Condition {
  /** Path in the response body; it can select several values. */
  readonly path: Path;
  /** At least one of the selected values must be one of these. Default: any value matches. */
  readonly oneOf?: readonly (string | number | boolean | null)[];
}

const conditions = z
  .union([z.string(), z.record(z.string(), z.union([scalar, z.array(scalar).min(1)]))])
  .transform((given, context): readonly Condition[] | 'no body' => {
    if (given === 'no body') return given;
    if (typeof given === 'string') return [{ path: readPath(given, context) }];
    return Object.entries(given).map(([text, values]) => {
      const read = path().safeParse(text);
      for (const { message } of read.error?.issues ?? []) context.addIssue({ code: 'custom', path: [text], message });
      return read.success ? { path: read.data, oneOf: Array.isArray(values) ? values : [values] } : z.NEVER;
    });
  });

const errorRule = z
  .strictObject({
    status: statuses.exactOptional().describe('Status of the response, or a list of statuses. Default: any.'),
    when: conditions
      .exactOptional()
      .describe('A path that selects something in the body, paths with the values that they must have, or `no body`.'),
    then: z
      .enum(['retry', 'wait', 'missing', 'empty', 'refused', 'dead', 'restart'])
      .describe(
        '`retry`: send the request again. `wait`: wait for the limit. `missing` and `dead`: write a dead letter. `empty`: accept it without records. `refused`: stop using the credential. `restart`: start the crawl again.',
      ),
    code: z
      .string()
      .transform((text, context): Path | string => (text.startsWith('$') ? readPath(text, context, { singular: true }) : text))
      .exactOptional()
      .describe('Error code of the dead letter: text, or a path in the body.'),
    wait: z
      .union([
        z
          .string()
          .startsWith('$')
          .transform((text, context) => readPath(text, context, { singular: true })),
        duration(),
      ])
      .exactOptional()
      .describe('Time to wait if the headers name none, or path in the body of the wait or of the time at which it ends.'),
  })
  .refine(({ status, when }) => status !== undefined || when !== undefined, 'needs status, when, or both.');

const since = z.strictObject({
  from: path({ singular: true }).describe('Path of the time at which a record changed.'),
  first: z
    .union([exactNumber(), z.string()])
    .refine((first) => timeOf(first, UTC) !== undefined, "isn't a time. Write it like 2024-01-01 or 2024-01-01T12:00:00Z.")
    .exactOptional()
    .describe('Start time of the first listing. Default: none is sent.'),
  overlap: duration()
    .exactOptional()
    .describe('Overlap with the previous listing, before its newest record. Records that are already written are omitted.'),
  zone: timeZone()
    .transform(zoneOf)
    .exactOptional()
    .describe(
      'Time zone of times without one, in records and in formats of `{since}` such as `%H:%M`: an IANA name, such as Europe/Berlin.',
    ),
  window: duration().exactOptional().describe('Maximum time range of one listing, from `{since}` to `{until}`.'),
  order: z
    .enum(['ascending', 'descending', 'fixed'])
    .exactOptional()
    .describe(
      'Order in which the service lists records: `ascending`: by this time, oldest first. `descending`: by this time, newest first. `fixed`: by something that changes don’t touch, such as an ID. With the last two, no record may leave the list while it is read.',
    ),
  children: z
    .enum(['changed', 'all'])
    .exactOptional()
    .describe(
      'Records that create the jobs of child streams. `changed`: those that changed. `all`: each listing reads the whole list for its children, and writes only what changed. Default: `changed`, and `check` says what that means.',
    ),
  ignore: z
    .array(path())
    .default([])
    .describe('Paths of values that don’t make a record a new one, such as addresses that are signed anew in each response.'),
});

const listed = z.string().min(1, 'is empty.');
const forEach = z.union([
  z.strictObject({
    each: z.string().describe('Stream whose records each start this one.'),
    with: z
      .record(fieldName, path({ singular: true }))
      .refine((fields) => Object.keys(fields).length > 0, 'has no field. Write one, as in { id: $.id }.')
      .describe('Fields and their paths in the record.'),
    at: path().exactOptional().describe('Paths in the record that each become a job. Default: the record itself.'),
  }),
  z.array(z.record(fieldName, listed)),
  z.record(fieldName, z.array(listed)),
]);

const batch = z.strictObject({
  of: fieldName.describe(
    'Field whose values share a request: the only field that the stream uses. `{field}` alone in JSON becomes a list, and alone in a list of `query` it repeats the parameter; elsewhere it becomes comma-separated text.',
  ),
  most: z.int().positive().describe('Maximum values per request.'),
  match: z
    .array(path({ singular: true }))
    .min(1)
    .describe('Paths in a record of the value that it belongs to.'),
});

const pathOrTemplate = z.string().transform((text, context): Path | Template => {
  if (text.startsWith('$')) return readPath(text, context, { singular: true });
  const read = template().safeParse(text);
  for (const { message } of read.error?.issues ?? []) context.addIssue({ code: 'custom', message });
  if (read.data?.fields.length === 0 && !text.includes('$.'))
    context.addIssue({
      code: 'custom',
      message: 'is the same text for every record. Write a path, such as $.id, or a text with fields of for.',
    });
  if (text.includes('$.'))
    context.addIssue({
      code: 'custom',
      message: 'has a path within a text. Write only the path, such as $.id, or a text with fields of for.',
    });
  return read.success ? read.data : z.NEVER;
});

/** A file with a JSON Schema. It is read when the section is parsed. */
const schemaFile = z
  .string()
  .min(1)
  .transform((file, context): z.ZodType => {
    const refuse = (message: string): z.ZodType => {
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    };
    const text = plainFileText(file);
    if (typeof text !== 'string') return refuse(text.flaw);
    try {
      return z.fromJSONSchema(JSON.parse(text) as z.core.JSONSchema.BaseSchema);
    } catch (error) {
      return refuse(
        error instanceof SyntaxError ? "isn't JSON. Write a JSON Schema into it." : `isn't a supported JSON Schema: ${textOf(error)}`,
      );
    }
  })
  .meta({ format: 'path', examples: ['./issue.schema.json'] });

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A text for a member of `add`. A path is refused, because its own text would be written into each record. */
const added = typedTemplate().refine(
  ({ text }) => !/^\$[.[]/.test(text),
  'is a path, but only fields of the job can be added. Write {field}.',
);

const everyStream = {
  headers: z.record(headerName, template()).exactOptional().describe('Headers of each request.'),
  query: z
    .record(z.string(), parameter())
    .exactOptional()
    .describe('Query parameters. A list repeats its parameter. A parameter without a value is omitted.'),
  pages: pages.exactOptional().describe('Pagination. Default: one page.'),
  errors: z
    .array(errorRule)
    .exactOptional()
    .describe('Rules for responses that mean something other than their status. The first match applies.'),
};

const stream = z
  .strictObject({
    get: template().exactOptional().describe('Path of a GET request.'),
    post: template().exactOptional().describe('Path of a POST request.'),
    body: jsonTemplate().exactOptional().describe('JSON of the body.'),
    form: z.record(z.string(), template()).exactOptional().describe('Form fields, instead of `body`.'),
    for: forEach.exactOptional().describe('Values that each get their own listing. Default: one listing.'),
    records: path().exactOptional().describe('Path of the records. Default: the entries of the response, or the response itself.'),
    key: z
      .union([pathOrTemplate, z.array(path({ singular: true })).min(2)])
      .exactOptional()
      .describe('Key of a record: a path in the record, several paths, or text with fields.'),
    add: z.record(z.string(), added).exactOptional().describe('Members to add to each record, with fields of the request.'),
    since: since.exactOptional().describe('Request only changes since the previous listing.'),
    batch: batch.exactOptional().describe('Request many keys at once; each key gets its own result.'),
    schema: schemaFile
      .exactOptional()
      .describe('File of a JSON Schema. A record that does not fit becomes a dead letter, and the rest of its page is written.'),
    every: duration().exactOptional().describe('Interval after which this stream is requested again. Default: `every` of the section.'),
    cost: z.int().positive().exactOptional().describe('Units that a request uses in each budget.'),
    to: z
      .string()
      .regex(NAME, "isn't a topic name. Write letters, digits and dashes.")
      .exactOptional()
      .describe('Topic of the records. Default: the name of the stream.'),
    ...everyStream,
  })
  .superRefine((given, context) => {
    const refuse = (key: PropertyKey, message: string): void => context.addIssue({ code: 'custom', path: [key], message });
    if ((given.get === undefined) === (given.post === undefined))
      context.addIssue({ code: 'custom', message: 'needs either get or post.' });
    for (const key of ['pages', 'since'] as const)
      if (given.batch !== undefined && given[key] !== undefined) refuse(key, "can't be combined with batch.");
    for (const key of ['body', 'form'] as const)
      if (given[key] !== undefined && given.post === undefined) refuse(key, 'works only with post.');
    if (given.body !== undefined && (given.body === null || isTemplate(given.body)))
      refuse('body', 'is a text or a single value. Write JSON with members, as in { state: open }: other formats are not sent.');
    if (given.body !== undefined && given.form !== undefined) refuse('form', "can't be combined with body. Keep one of them.");
    if (given.every !== undefined && given.for !== undefined && isEach(given.for))
      refuse('every', `has no effect here: records of ${given.for.each} ask for this stream. Write every there, or beside streams.`);
    const { path: address } = requestOf(given);
    const method = given.get === undefined ? 'post' : 'get';
    if (address !== undefined && !address.text.startsWith('/')) refuse(method, 'must begin with a slash.');
    if (address !== undefined && /[?#]/.test(address.text))
      refuse(method, 'has a query. Write its parameters into query: { name: value }.');
  });

type StreamInput = Pick<z.output<typeof stream>, 'get' | 'post' | 'body' | 'form' | 'for' | 'query' | 'headers' | 'add' | 'key'>;

type SectionStreams = Pick<z.output<typeof stream>, 'pages' | 'query' | 'headers' | 'errors'> & {
  readonly streams: Readonly<Record<string, z.output<typeof stream>>>;
};

/**
 * The streams, each with the section's `pages`, `query`, `headers` and `errors`. A stream's own settings take precedence, and a stream with `batch`
 * gets no `pages`.
 */
export function wholeStreams({
  streams,
  pages,
  query,
  headers,
  errors,
}: SectionStreams): Readonly<Record<string, z.output<typeof stream>>> {
  return Object.fromEntries(
    Object.entries(streams).map(([name, own]) => [
      name,
      {
        ...(pages !== undefined && own.batch === undefined && { pages }),
        ...own,
        query: { ...query, ...own.query },
        headers: { ...headers, ...own.headers },
        errors: [...(own.errors ?? []), ...(errors ?? [])],
      },
    ]),
  );
}

export function requestOf({ get, post }: Pick<StreamInput, 'get' | 'post'>): {
  readonly method: 'GET' | 'POST';
  readonly path: Template | undefined;
} {
  return get === undefined ? { method: 'POST', path: post } : { method: 'GET', path: get };
}

type Streams = Readonly<Record<string, Pick<StreamInput, 'for'>>>;

/** The fields of a stream's jobs: its own, and those of all its parent streams. */
export function fieldNames(streams: Streams, name: string): ReadonlySet<string> {
  const names = new Set<string>();
  const seen = new Set<string>();
  for (let at: string | undefined = name; at !== undefined && !seen.has(at);) {
    seen.add(at);
    const of: ForEach | undefined = streams[at]?.for;
    for (const field of ownFields(of)) names.add(field);
    at = of !== undefined && isEach(of) ? of.each : undefined;
  }
  return names;
}

/** The fields that a stream's jobs must have: its own, and each inherited field that the stream or one of its child streams uses. */
export function neededFields(streams: Readonly<Record<string, StreamInput>>, name: string): ReadonlySet<string> {
  const given = streams[name];
  const needed = new Set(given === undefined ? [] : [...placeholders(given)].map(([, field]) => field.name));
  for (const [child, { for: of }] of Object.entries(streams)) {
    if (of === undefined || !isEach(of) || of.each !== name) continue;
    const own = ownFields(of);
    for (const field of neededFields(streams, child)) if (!own.includes(field)) needed.add(field);
  }
  const own = ownFields(given?.for);
  return new Set([...fieldNames(streams, name)].filter((field) => needed.has(field) || own.includes(field)));
}

/** The placeholders that paging fills in: cursor, page number, offset and page size. */
function pageFields(way: z.output<typeof pages> | undefined): readonly string[] {
  return [way?.style?.place, way?.size].flatMap((place) => place?.field ?? []);
}

function ownFields(of: ForEach | undefined): readonly string[] {
  if (of === undefined) return [];
  if (isEach(of)) return Object.keys(of.with);
  return Array.isArray(of) ? of.flatMap((one) => Object.keys(one)) : Object.keys(of);
}

type ForEach = z.output<typeof forEach>;

/** True for the `for` of a stream whose jobs the records of another stream create. */
export function isEach(of: ForEach): of is Extract<ForEach, { readonly each: string }> {
  return 'each' in of && typeof of.each === 'string';
}

/** The paths whose values form a record's key; empty if the stream has no key or its key is a text with placeholders. */
export function keyPaths(key: StreamInput['key']): readonly Path[] {
  return key === undefined || 'render' in key ? [] : 'first' in key ? [key] : key;
}

/** The placeholders of a stream, each with the path of the setting that contains it. */
export function* placeholders({
  get,
  post,
  body,
  form,
  query,
  headers,
  add,
  key,
}: Omit<StreamInput, 'for'>): Generator<readonly [at: readonly string[], placeholder: Placeholder]> {
  const own = (at: readonly string[], given: JsonTemplate | undefined) => fieldsOf(given ?? null).map((field) => [at, field] as const);
  for (const [name, given] of Object.entries({ get, post, body })) yield* own([name], given);
  for (const [name, map] of Object.entries({ form, query, headers, add }))
    for (const [member, one] of Object.entries(map ?? {})) yield* own([name, member], one);
  if (key !== undefined && 'render' in key) yield* own(['key'], key);
}

/** Maximum ms by which a record that a listing returns can be older than its `{since}`, because of the format of `{since}`. */
export function sinceRoughness(stream: Omit<StreamInput, 'for'>): number {
  return Math.max(0, ...[...placeholders(stream)].map(([, { name, format }]) => (name === 'since' ? roughness(format) : 0)));
}

/** True if the requests have `{since}`. Otherwise, each listing returns all records. */
export function sendsSince(stream: Pick<Listing, 'since'> & Omit<StreamInput, 'for'>): boolean {
  return stream.since?.children !== 'all' && [...placeholders(stream)].some(([, { name }]) => name === 'since');
}

type Listing = Pick<z.output<typeof stream>, 'pages' | 'since'>;

/** True if each page is requested as the first one from the newest time of the previous page on. A service's own cursor needs no such care. */
export function isByTime(stream: Listing & Omit<StreamInput, 'for'>): boolean {
  const { pages: { style } = {}, since } = stream;
  return since?.order === 'ascending' && style !== undefined && style.moves !== 'never' && sendsSince(stream);
}

/** True if each page starts at the last record of the previous page, which shows that the list hasn't moved up. */
export function overlapsPages({ pages: of, since }: Listing): boolean {
  return since !== undefined && of?.style?.moves === 'seen';
}

/** The reason why a stream with `since` could lose records of a list that changes while it is read. Undefined if it can't. */
function orderFlaw(stream: Listing & Omit<StreamInput, 'for'>): string | undefined {
  const { pages: { style } = {}, since } = stream;
  if (since === undefined) return undefined;
  if (since.order === 'descending' && since.window !== undefined)
    return "can't combine order: descending with window: a record that changes leaves its window, and another one moves up unseen. Write order: ascending.";
  if (since.children === 'all' && since.window !== undefined)
    return "can't combine children: all with window, because it reads the whole list.";
  if (style?.moves !== 'unseen') return undefined;
  if (since.order === undefined)
    return `needs order, because a record that changes place between two pages (${style.name}) can move another one past them. If the service can sort by this time, oldest first, write order: ascending. Otherwise write descending or fixed.`;
  if (since.order === 'ascending' && !sendsSince(stream))
    return since.children === 'all'
      ? "can't combine order: ascending with children: all, because pages of the whole list can't be requested by their time. Sort the list by something that changes don't touch, and write order: fixed."
      : 'has order: ascending, so each page is requested by its time, but no parameter sends it. Write {since} into a parameter, or list the newest first and write order: descending.';
  return undefined;
}

/** The reason why a stream sends or starts with a time that names no zone. Undefined if there is none. */
function zoneFlaw(stream: Listing & Omit<StreamInput, 'for'>): string | undefined {
  const { since } = stream;
  if (since === undefined) return undefined;
  const { first, zone } = since;
  if (isTimeOfDay(first) && zone === undefined)
    return `has first: ${String(first)}, which names no zone. Add it, as in 2024-01-01T12:00:00Z, or write zone: Europe/Berlin.`;
  for (const [, { name, format, isUtc }] of placeholders(stream)) {
    if (name !== 'since' && name !== 'until') continue;
    if (format === undefined && isUtc && zone !== undefined && zone.name !== 'UTC')
      return `sends {${name}} as a time in UTC, but its zone is ${zone.name}. Write its format, such as {${name}:%Y-%m-%dT%H:%M:%S}Z.`;
    if (format !== undefined && isTimeOfDayFormat(format) && !isUtc && zone === undefined)
      return `sends {${name}:${format}}, a time of day without a zone. Write the zone in which the service reads it, such as zone: Europe/Berlin, or that of the user whose credential it is.`;
  }
  return undefined;
}

function fieldHint(name: string, names: ReadonlySet<string>): string {
  const near = nearest(name, [...names]);
  if (near !== undefined) return ` Did you mean {${near}}?`;
  return names.size === 0 ? ' Add for: { field: [value] }.' : ` Write ${[...names].map((one) => `{${one}}`).join(', ')}.`;
}

function streamHint(name: string, streams: Streams): string {
  const near = nearest(name, Object.keys(streams));
  return near === undefined ? ` Write one of ${Object.keys(streams).join(', ')}.` : ` Did you mean ${near}?`;
}

interface PlaceholderUse {
  readonly field: string;
  readonly format: string | undefined;
  readonly fields: ReadonlySet<string>;
  readonly isSince: boolean;
}

function placeholderFlaw({ field, format, fields, isSince }: PlaceholderUse): string | undefined {
  if (field === 'since' || field === 'until') {
    if (!isSince) return `has {${field}}, but the stream has no since.`;
    if (format === undefined || isTimeFormat(format)) return undefined;
    return `has {${field}:${format}}, which is no format. Write seconds, ms, date, http, or as in %Y-%m-%d.`;
  }
  if (format !== undefined) return `has {${field}:${format}}: only since and until have a format.`;
  const known = isSince ? new Set([...fields, 'since', 'until']) : fields;
  return fields.has(field) ? undefined : `has {${field}}, but for has no such field.${fieldHint(field, known)}`;
}

function isHttp(address: string): boolean {
  return /^https?:$/.test(URL.parse(address)?.protocol ?? '');
}

function addressFlaw(text: string): string | undefined {
  if (/[{}]/.test(text)) return 'takes no fields. Write a section for each address.';
  if (!isHttp(text)) return "isn't an address. Write, for example, https://api.example.com.";
  const url = new URL(text);
  if (url.search !== '' || url.hash !== '') return 'has a query. Write its parameters into query: { name: value }.';
  return url.username !== '' || url.password !== '' ? 'has a user or password. Write them into credentials, as basic.' : undefined;
}

/** The schema for a section with `use: rest`. */
export const restOptions = z
  .strictObject({
    baseUrl: z
      .string()
      .superRefine((text, context) => {
        const flaw = addressFlaw(text);
        if (flaw !== undefined) context.addIssue({ code: 'custom', message: flaw });
      })
      .describe('Address of the service.')
      .meta({ format: 'uri', examples: ['https://api.example.com'] }),
    credentials: z
      .array(credential)
      .min(1)
      .superRefine(distinctCredentials(identityOf))
      .describe('Credentials, each with its own budgets. Lanes split them.'),
    limit: budget
      .exactOptional()
      .describe('Limit of the service for each credential, or for all of them: requests per window, day or month.'),
    budgets: z.record(z.string(), budget).exactOptional().describe('Several limits by name, instead of `limit`.'),
    concurrency: z
      .int()
      .min(1)
      .exactOptional()
      .describe('Maximum number of requests under way at a time for each credential. Default: no maximum.'),
    ...httpOptions,
    ...everyStream,
    streams: z
      .record(z.string().regex(NAME, "isn't a stream name. Write letters, digits and dashes."), stream)
      .describe('Streams by name, each with its own topic.'),
  })
  .superRefine((section, context) => {
    const { limit: one, budgets, credentials, streams, pages: everyPages, query, headers } = section;
    const refuse = (at: PropertyKey[], message: string): void => context.addIssue({ code: 'custom', path: at, message });
    if (one === undefined && budgets === undefined)
      refuse(['limit'], "is missing. Write the service's limit, such as { requests: 15, window: 15m }.");
    if (one !== undefined && budgets !== undefined) refuse(['budgets'], "can't be combined with limit. Keep one of them.");
    if (Object.keys(streams).length === 0) refuse(['streams'], 'has no stream.');
    for (const [i, { body }] of credentials.entries()) {
      const without = Object.entries(streams).find(
        ([, given]) => given.get !== undefined || (given.body ?? given.form ?? (given.pages ?? everyPages)?.size?.body) === undefined,
      );
      if (body !== undefined && without !== undefined)
        refuse(
          ['credentials', i, 'body'],
          `needs a body in every request, and ${without[0]} has none. Write header or query. A post may also have body: {}.`,
        );
    }
    const all = new Set(
      Object.entries(streams).flatMap(([name, of]) => [...fieldNames(streams, name), ...pageFields(of.pages ?? everyPages)]),
    );
    for (const [at, { name: field, format }] of placeholders({
      ...(query !== undefined && { query }),
      ...(headers !== undefined && { headers }),
    })) {
      const flaw = placeholderFlaw({
        field,
        format,
        fields: all,
        isSince: Object.values(streams).some(({ since: of }) => of !== undefined),
      });
      if (flaw !== undefined) refuse([...at], flaw);
    }
    const whole = wholeStreams(section);
    for (const [name, given] of Object.entries(streams)) {
      const { for: of, to = name } = given;
      const moving = orderFlaw(whole[name] ?? given);
      if (moving !== undefined) refuse(['streams', name, 'since'], moving);
      const unzoned = zoneFlaw(whole[name] ?? given);
      if (unzoned !== undefined) refuse(['streams', name, 'since'], unzoned);
      if (OWN_TOPICS.includes(to))
        refuse(
          ['streams', name, ...(given.to === undefined ? [] : ['to'])],
          `would write to ${to}, a topic that every pipeline has. Add to: another name.`,
        );
      for (const field of ownFields(of))
        if (OWN_FIELDS.includes(field)) refuse(['streams', name, 'for'], `has the field ${field}, whose name is reserved. Choose another.`);
      const fields = fieldNames(streams, name);
      const needed = given.batch === undefined || isCircle(streams, name) ? undefined : neededFields(whole, name);
      if (given.batch !== undefined && needed !== undefined && (needed.size !== 1 || !needed.has(given.batch.of)))
        refuse(
          ['streams', name, 'batch', 'of'],
          `must be the only field that this stream or one below it uses. Used: ${[...needed].join(', ') || 'none'}.`,
        );
      const ways = pageFields(given.pages ?? everyPages);
      const available = new Set([...fields, ...ways]);
      const used = new Set([...placeholders(whole[name] ?? given)].map(([, one]) => one.name));
      if (given.since?.window !== undefined && !used.has('until'))
        refuse(['streams', name, 'since'], 'has a window, but no parameter sends its end. Write {until} into a parameter.');
      for (const [at, { name: field, format }] of placeholders(given)) {
        const isOfRecord = at[0] === 'key' || at[0] === 'add';
        const flaw = placeholderFlaw({ field, format, fields: isOfRecord ? fields : available, isSince: given.since !== undefined });
        if (flaw !== undefined) refuse(['streams', name, ...at], flaw);
      }
      for (const field of ways) {
        const at = given.pages === undefined ? ['pages'] : ['streams', name, 'pages'];
        if (fields.has(field) || OWN_FIELDS.includes(field)) refuse(at, `has the field ${field}, whose name is reserved. Choose another.`);
        else if (!used.has(field))
          refuse(at, `has the field ${field}, and no request of ${name} has {${field}}. Write it into the path, query or body.`);
      }
      if (given.batch === undefined && Array.isArray(of) && fields.size === 1 && fields.has('file'))
        refuse(
          ['streams', name, 'for'],
          'has mappings of the field file. Lines of a file go into the list of a field: { id: [{ file: ids.txt }] }.',
        );
      for (const [key, setting] of Object.entries(given.pages ?? everyPages ?? {})) {
        if (given.get === undefined || Object(setting).body === undefined) continue;
        refuse(
          given.pages === undefined ? ['pages', key] : ['streams', name, 'pages', key],
          `has a place in the body, and ${name} is a get, which has none. Write query.`,
        );
      }
      if (of === undefined || !isEach(of)) continue;
      if (!Object.hasOwn(streams, of.each)) refuse(['streams', name, 'for', 'each'], `names no stream.${streamHint(of.each, streams)}`);
      else if (isCircle(streams, name))
        refuse(['streams', name, 'for', 'each'], 'leads back to this stream, which would create its own jobs without end.');
    }
  });

function isCircle(streams: Streams, name: string): boolean {
  const seen = new Set<string>();
  let at: string | undefined = name;
  while (at !== undefined && !seen.has(at)) {
    seen.add(at);
    const of: ForEach | undefined = streams[at]?.for;
    at = of !== undefined && isEach(of) ? of.each : undefined;
  }
  return at === name;
}

/** The options of a section after its schema has parsed them. */
export type RestOptions = z.output<typeof restOptions>;
export type Stream = RestOptions['streams'][string];
export type Pages = NonNullable<Stream['pages']>;
export type ErrorRule = NonNullable<Stream['errors']>[number];
export type Since = NonNullable<Stream['since']>;
