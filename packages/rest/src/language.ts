import { duration, secret } from '@headgate/pipeline';
import { closest, distance } from 'fastest-levenshtein';
import * as z from 'zod';
import { type Path, path, readPath } from './path.ts';
import { type Template, fieldsOf, jsonTemplate, template } from './template.ts';
import { isTimeFormat } from './time.ts';

/** The language of a section with `use: rest`, as one schema: its descriptions are the reference. */

const NAME = /^[A-Za-z][\w-]{0,49}$/;
const OWN_TOPICS = ['requests', 'dead-letters', 'state'];
const OWN_FIELDS = ['stream', 'since', 'until'];

const fieldName = z.string().regex(/^[A-Za-z_]\w*$/, 'is no name of a field. Write letters, digits and underscores.');
const headerName = z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, 'is no name of a header.');

/** Names of members, one below the other: `$.page.cursor`. */
const member = z
  .string()
  .regex(
    /^(?:\$\.)?[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*$/,
    'is no place in a body. Write names with dots between them, as in $.page.cursor.',
  )
  .transform((text): readonly string[] => text.replace(/^\$\./, '').split('.'));

/** A place in the request. */
const place = {
  query: z.string().min(1).exactOptional().describe('Name of the parameter of the query.'),
  header: headerName.exactOptional().describe('Name of the header.'),
  body: member.exactOptional().describe('Place in the JSON body.'),
};
const placeSchema = z.strictObject(place).refine((given) => Object.keys(given).length === 1, 'needs one place: query, header or body.');

const credential = z
  .strictObject({
    name: z.string().min(1).describe('Name in messages and counts; budgets are kept under it over restarts.'),
    bearer: secret().exactOptional().describe('Token, sent as `Authorization: Bearer`.'),
    basic: z
      .strictObject({
        user: z.string().min(1).describe('User name.'),
        password: secret().exactOptional().describe('Password; without it an empty one.'),
      })
      .exactOptional()
      .describe('User and password of HTTP basic authentication.'),
    key: secret().exactOptional().describe('Key, sent as `Authorization`, or where `header` or `query` says.'),
    header: headerName.exactOptional().describe('Header that carries the key.'),
    query: z.string().min(1).exactOptional().describe('Parameter of the query that carries the key.'),
    oauth1: z
      .strictObject({
        consumerKey: secret().describe('Key of the application.'),
        consumerSecret: secret().describe('Its secret.'),
        token: secret().exactOptional().describe('Token of the user.'),
        tokenSecret: secret().exactOptional().describe('Its secret.'),
      })
      .exactOptional()
      .describe('OAuth 1.0a, signed with HMAC-SHA1.'),
    token: z
      .strictObject({
        url: z.string().min(1).describe('Address of the token, relative to `baseUrl` or absolute.'),
        grant: z.string().min(1).default('client_credentials').describe('`grant_type` of the request.'),
        id: secret().describe('`client_id` of the application.'),
        secret: secret().describe('`client_secret` of the application.'),
        in: z.enum(['basic', 'body']).default('basic').describe('Where `id` and `secret` are sent.'),
        refreshToken: secret()
          .exactOptional()
          .describe('Refresh token, for `grant: refresh_token`. One that changes at each use is not supported.'),
        form: z.record(z.string(), z.string()).default({}).describe('Other fields of the request, such as `scope`.'),
        at: path({ singular: true }).prefault('$.access_token').describe('Place of the token in the answer.'),
      })
      .exactOptional()
      .describe('OAuth 2: a token that is requested, and requested again when it is refused or expires.'),
  })
  .superRefine((given, context) => {
    const kinds = (['bearer', 'basic', 'key', 'oauth1', 'token'] as const).filter((kind) => given[kind] !== undefined);
    if (kinds.length > 1) context.addIssue({ code: 'custom', message: `has ${kinds.join(' and ')}. Keep one of them.` });
    const places = (['header', 'query'] as const).filter((one) => given[one] !== undefined);
    if (places.length > 0 && given.key === undefined)
      context.addIssue({ code: 'custom', path: [places[0] ?? ''], message: 'has no key beside it. Add key: "${KEY}".' });
    if (places.length > 1) context.addIssue({ code: 'custom', message: 'has header and query. Keep one of them.' });
  });

const limit = z.strictObject({
  requests: z.int().positive().describe('Most requests in any window.'),
  window: duration()
    .describe('Length of the window.')
    .meta({ examples: ['15m'] }),
});

const quota = z.strictObject({
  requests: z.int().positive().describe('Most requests of a day or month.'),
  per: z.enum(['day', 'month']).describe('From one reset to the next.'),
  resetsAt: z
    .string()
    .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'is no time of day. Write hours and minutes, as in "00:00".')
    .exactOptional(),
  resetsOn: z.int().min(1).max(31).exactOptional().describe("Day of a month's reset."),
  zone: z.string().exactOptional().describe('Time zone of the reset; without it UTC.'),
});

const statuses = z.union([z.int().min(100).max(599), z.array(z.int().min(100).max(599)).min(1)]);
const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);

/** A path, and the values of which it must select one; without them anything. */
export interface Condition {
  readonly path: Path;
  readonly oneOf?: readonly z.output<typeof scalar>[];
}

const conditions = z
  .union([z.string(), z.record(z.string(), z.union([scalar, z.array(scalar).min(1)]))])
  .transform((given, context): readonly Condition[] => {
    if (typeof given === 'string') return [{ path: readPath(given, context) }];
    return Object.entries(given).map(([text, values]) => {
      const read = path().safeParse(text);
      for (const { message } of read.error?.issues ?? []) context.addIssue({ code: 'custom', path: [text], message });
      return read.success ? { path: read.data, oneOf: Array.isArray(values) ? values : [values] } : z.NEVER;
    });
  });

const errorRule = z
  .strictObject({
    status: statuses.exactOptional().describe('Status of the answer, or a list of them. Without it: any.'),
    when: conditions.exactOptional().describe('A path that selects something in the body, or paths with the values that they must have.'),
    then: z
      .enum(['retry', 'wait', 'missing', 'empty', 'refused', 'dead', 'restart'])
      .describe(
        '`retry`; `wait` for the limit; `missing`: a dead letter; `empty`: no records; `refused`: the credential leaves; `dead`: a dead letter; `restart`: the walk begins again.',
      ),
    code: z
      .string()
      .transform((text, context): Path | string => (text.startsWith('$') ? readPath(text, context, { singular: true }) : text))
      .exactOptional()
      .describe('Code of the dead letter: a text, or a path into the body.'),
    wait: duration().exactOptional().describe('Wait where the answer names none.'),
  })
  .refine(({ status, when }) => status !== undefined || when !== undefined, 'needs status, when, or both.');

const pages = z
  .strictObject({
    link: z.string().exactOptional().describe('Relation in the Link header that has the next address: `next`.'),
    next: path({ singular: true }).exactOptional().describe('Place of the next address in the body.'),
    cursor: z
      .union([path({ singular: true }), z.strictObject({ header: headerName })])
      .exactOptional()
      .describe('Place of the next cursor: in the body, or `{ header: name }`.'),
    as: placeSchema.exactOptional().describe('Where the cursor goes in the next request.'),
    page: placeSchema.exactOptional().describe('Where the number of the page goes.'),
    offset: placeSchema.exactOptional().describe('Where the number of records before the page goes.'),
    first: z
      .union([z.string(), z.number()])
      .exactOptional()
      .describe('First cursor, number or offset. Default: no cursor, page 1, offset 0.'),
    end: z
      .union([scalar, z.array(scalar)])
      .exactOptional()
      .describe('Cursor that means the end, beside none, null and an empty text.'),
    last: path({ singular: true }).exactOptional().describe('Place of the number of pages.'),
    total: path({ singular: true }).exactOptional().describe('Place of the number of records in all.'),
    while: path({ singular: true }).exactOptional().describe('Place of a value that is true while pages follow.'),
    until: path({ singular: true }).exactOptional().describe('Place of a value that is true on the last page.'),
    alone: z.boolean().default(false).describe('Later requests carry the cursor and no other parameter.'),
    most: z.int().positive().exactOptional().describe('Most pages that the service gives of one listing.'),
    short: z.literal('last').exactOptional().describe('A page that is shorter than its size is the last one.'),
    repeats: z
      .enum(['drop', 'end'])
      .exactOptional()
      .describe('`drop`: leave out records that the page before had; `end`: a page like the one before ends the listing.'),
    size: z
      .strictObject({ ...place, is: z.int().positive().describe('Records of a page.') })
      .refine((given) => Object.keys(given).length === 2, 'needs one place: query, header or body.')
      .exactOptional()
      .describe('Size of a page that is asked for.'),
  })
  .superRefine((given, context) => {
    const kinds = (['link', 'next', 'cursor', 'page', 'offset'] as const).filter((kind) => given[kind] !== undefined);
    if (kinds.length > 1) context.addIssue({ code: 'custom', message: `has ${kinds.join(' and ')}. Keep one of them.` });
    if (kinds.length === 0 && Object.keys(given).some((key) => !['size', 'alone'].includes(key)))
      context.addIssue({ code: 'custom', message: 'names no way to the next page. Add link, next, cursor, page or offset.' });
    const only = (key: 'last' | 'total' | 'short' | 'as', ...of: (typeof kinds)[number][]): void => {
      if (given[key] === undefined || kinds.some((kind) => of.includes(kind))) return;
      context.addIssue({ code: 'custom', path: [key], message: `belongs to ${of.join(' or ')}.` });
    };
    only('as', 'cursor');
    only('last', 'page');
    only('total', 'offset', 'page');
    only('short', 'offset', 'page');
    if (given.cursor !== undefined && given.as === undefined)
      context.addIssue({ code: 'custom', path: ['cursor'], message: 'has no place in the next request. Add as: { query: cursor }.' });
    if (given.short !== undefined && given.size === undefined)
      context.addIssue({ code: 'custom', path: ['short'], message: 'needs the size of a page. Add size: { query: limit, is: 100 }.' });
  });

const since = z.strictObject({
  from: path({ singular: true }).describe("Place of a record's time of change."),
  first: z.union([z.string(), z.number()]).exactOptional().describe('Time at which the first listing begins. Default: no time is sent.'),
  overlap: duration().exactOptional().describe('So much earlier than the newest record; what was already written is left out.'),
  window: duration().exactOptional().describe('Longest time that one listing covers, for `{since}` to `{until}`.'),
  order: z.literal('ascending').exactOptional().describe('The listing is ordered by this time.'),
});

const listed = z.string().min(1, 'is empty.');
const forEach = z.union([
  z.strictObject({
    each: z.string().describe('Stream whose records ask for this one.'),
    with: z.record(fieldName, path({ singular: true })).describe('Fields and their places in the record.'),
    at: path().exactOptional().describe('Places in the record that are each a request; without it the record itself.'),
  }),
  z.array(z.record(fieldName, listed)),
  z.record(fieldName, z.array(listed)),
]);

const batch = z.strictObject({
  of: fieldName.describe(
    'Field whose values share a request: the only one of the stream. As `{field}` alone in JSON it is a list, else a text with commas.',
  ),
  most: z.int().positive().describe('Most values of a request.'),
  match: z
    .array(path({ singular: true }))
    .min(1)
    .describe('Places in a record of the value that it answers.'),
});

/** A path where it begins with $, else a text with placeholders. */
const pathOrTemplate = z.string().transform((text, context): Path | Template => {
  if (text.startsWith('$')) return readPath(text, context, { singular: true });
  const read = template().safeParse(text);
  for (const { message } of read.error?.issues ?? []) context.addIssue({ code: 'custom', message });
  return read.success ? read.data : z.NEVER;
});

const everyStream = {
  headers: z.record(headerName, z.string()).exactOptional().describe('Headers of each request.'),
  query: z.record(z.string(), template()).exactOptional().describe('Parameters of the query; one without a value is left out.'),
  pages: pages.exactOptional().describe('The way to the next page. Without it there is one page.'),
  errors: z
    .array(errorRule)
    .exactOptional()
    .describe('Answers that mean something else than their status says; the first that fits counts.'),
};

const stream = z
  .strictObject({
    get: template().exactOptional().describe('Path of a GET request.'),
    post: template().exactOptional().describe('Path of a POST request.'),
    body: jsonTemplate().exactOptional().describe('JSON of the body.'),
    form: z.record(z.string(), template()).exactOptional().describe('Fields of a form, in place of `body`.'),
    for: forEach.exactOptional().describe('One listing for each of these; without it there is one.'),
    records: path().exactOptional().describe("Place of the records. Without it: the answer's entries, or the answer."),
    key: pathOrTemplate.exactOptional().describe('Key of a record: its place in it, or a text with fields.'),
    add: z.record(z.string(), template()).exactOptional().describe("Members that are added to each record: the request's fields."),
    since: since.exactOptional().describe('Ask for what has changed since the last listing.'),
    batch: batch.exactOptional().describe('Ask for many keys in one request, and give each its own answer.'),
    cost: z.int().positive().exactOptional().describe('Cost of a request in each budget.'),
    to: z
      .string()
      .regex(NAME, 'is no name of a topic.')
      .exactOptional()
      .describe('Topic of the records; without it one of the name of the stream.'),
    ...everyStream,
  })
  .superRefine((given, context) => {
    const refuse = (key: PropertyKey, message: string): void => context.addIssue({ code: 'custom', path: [key], message });
    if ((given.get === undefined) === (given.post === undefined))
      context.addIssue({ code: 'custom', message: 'needs get or post, one of them.' });
    for (const key of ['pages', 'since'] as const)
      if (given.batch !== undefined && given[key] !== undefined) refuse(key, 'does not go with batch.');
    for (const key of ['body', 'form'] as const) if (given[key] !== undefined && given.post === undefined) refuse(key, 'belongs to post.');
    if (given.body !== undefined && given.form !== undefined) refuse('form', 'stands beside body. Keep one of them.');
    const { path: address } = requestOf(given);
    if (address !== undefined && !address.text.startsWith('/'))
      refuse(given.get === undefined ? 'post' : 'get', 'must begin with a slash.');
  });

type StreamInput = Pick<z.output<typeof stream>, 'get' | 'post' | 'body' | 'form' | 'for' | 'query' | 'add' | 'key'>;

/** Where the stream's request goes. */
export function requestOf({ get, post }: Pick<StreamInput, 'get' | 'post'>): {
  readonly method: 'GET' | 'POST';
  readonly path: Template | undefined;
} {
  return get === undefined ? { method: 'POST', path: post } : { method: 'GET', path: get };
}

type Streams = Readonly<Record<string, Pick<StreamInput, 'for'>>>;

/** The fields of a stream's requests: its own, and those of the streams whose records ask for it. */
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

function ownFields(of: ForEach | undefined): readonly string[] {
  if (of === undefined) return [];
  if (isEach(of)) return Object.keys(of.with);
  return Array.isArray(of) ? of.flatMap((one) => Object.keys(one)) : Object.keys(of);
}

type ForEach = z.output<typeof forEach>;

/** True for a stream that another one's records ask for. */
export function isEach(of: ForEach): of is Extract<ForEach, { readonly each: string }> {
  return 'each' in of && typeof of.each === 'string';
}

export function isPath(given: Path | Template): given is Path {
  return 'first' in given;
}

function* placeholders({ get, post, body, form, query, add, key }: StreamInput) {
  const own = (name: string, given: Template | undefined) => (given?.fields ?? []).map((field) => [name, field] as const);
  yield* own('get', get);
  yield* own('post', post);
  yield* fieldsOf(body ?? null).map((field) => ['body', field] as const);
  for (const [name, map] of Object.entries({ form, query, add })) for (const one of Object.values(map ?? {})) yield* own(name, one);
  if (key !== undefined && !isPath(key)) yield* own('key', key);
}

/** `Did you mean …?` where a name is only misspelled. */
function nearest(name: string, names: ReadonlySet<string>): string {
  if (names.size === 0) return '';
  const near = closest(name, [...names]);
  return distance(name, near) <= 2 ? ` Did you mean {${near}}?` : '';
}

/** A section with `use: rest`. */
export const restOptions = z
  .strictObject({
    baseUrl: z
      .url({ protocol: /^https?$/ })
      .describe('Address of the service.')
      .meta({ examples: ['https://api.example.com'] }),
    credentials: z.array(credential).min(1).describe('Each has budgets of its own; lanes split them.'),
    limit: limit.exactOptional().describe('Requests of each credential in any window.'),
    budgets: z
      .record(z.string(), z.union([limit, quota]))
      .exactOptional()
      .describe('Several limits by name, in place of `limit`.'),
    retryFor: duration({ zero: true }).prefault('10m').describe('How long a request is tried again before it becomes a dead letter.'),
    timeout: duration().prefault('30s').describe('Longest an attempt may take, all in all.'),
    ...everyStream,
    streams: z
      .record(z.string().regex(NAME, 'is no name of a stream. Write letters, digits and dashes.'), stream)
      .describe('Streams by name: a topic each.'),
  })
  .superRefine(({ limit: one, budgets, streams }, context) => {
    const refuse = (at: PropertyKey[], message: string): void => context.addIssue({ code: 'custom', path: at, message });
    if (one === undefined && budgets === undefined)
      refuse(['limit'], 'is missing. Write what the service permits, as in { requests: 15, window: 15m }.');
    if (one !== undefined && budgets !== undefined) refuse(['budgets'], 'stands beside limit. Keep one of them.');
    if (Object.keys(streams).length === 0) refuse(['streams'], 'has no stream.');
    for (const [name, given] of Object.entries(streams)) {
      const { for: of, to = name } = given;
      if (OWN_TOPICS.includes(to))
        refuse(['streams', name], `would write to ${to}, a topic that every pipeline has. Add to: another name.`);
      for (const field of ownFields(of))
        if (OWN_FIELDS.includes(field)) refuse(['streams', name, 'for'], `has the field ${field}, whose name is taken. Choose another.`);
      const fields = fieldNames(streams, name);
      if (given.batch !== undefined && (fields.size !== 1 || !fields.has(given.batch.of)))
        refuse(['streams', name, 'batch', 'of'], `must be the only field of the stream, and for has ${[...fields].join(', ') || 'none'}.`);
      for (const [key, { name: field, format }] of placeholders(given)) {
        const refuseHere = (message: string): void => refuse(['streams', name, key], message);
        if (field === 'since' || field === 'until') {
          if (given.since === undefined) refuseHere(`has {${field}}, and the stream has no since.`);
          if (format !== undefined && !isTimeFormat(format))
            refuseHere(`has {${field}:${format}}, which is no format. Write seconds, ms, date, or as in %Y-%m-%d.`);
        } else if (format !== undefined) refuseHere(`has {${field}:${format}}: only since and until have a format.`);
        else if (!fields.has(field)) refuseHere(`has {${field}}, and for has no such field.${nearest(field, fields)}`);
      }
      if (of === undefined || !isEach(of)) continue;
      if (!Object.hasOwn(streams, of.each))
        refuse(['streams', name, 'for', 'each'], `names no stream: ${Object.keys(streams).join(', ')} are there.`);
      else if (isCircle(streams, name))
        refuse(['streams', name, 'for', 'each'], 'leads back to this stream: it would ask for itself without end.');
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

/** A section, read. */
export type RestOptions = z.output<typeof restOptions>;
/** A stream of a section, read. */
export type Stream = RestOptions['streams'][string];
/** The way from page to page, read. */
export type Pages = NonNullable<Stream['pages']>;
export type ErrorRule = NonNullable<Stream['errors']>[number];
export type Since = NonNullable<Stream['since']>;
