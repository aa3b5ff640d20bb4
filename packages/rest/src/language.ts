import { type TopicFormat, duration } from '@headgate/pipeline';
import { TOPIC_FORMATS, distinctCredentials, httpOptions, nearest } from '@headgate/pipeline/internal';
import * as z from 'zod';
import { credential, identityOf } from './credentials.ts';
import { ONE_JOB, jobs } from './jobs.ts';
import { limitSettings } from './limits.ts';
import { pages } from './pages/index.ts';
import { type Path, path, readPath } from './path.ts';
import { fieldName, headerName, isHttp } from './places.ts';
import { schemaFile } from './record-schema.ts';
import { errorRule } from './rules.ts';
import { orderFlaw, since, zoneFlaw } from './since.ts';
import { type Stream, lineage, placeholdersOf, streamsOf } from './streams.ts';
import { type Placeholder, type Template, isTemplate, jsonTemplate, parameter, template, typedTemplate } from './template.ts';
import { isTimeFormat } from './time.ts';

// The schema for a section with `use: rest`. The descriptions of its settings appear in the documentation and in the JSON Schema.

const NAME = /^[A-Za-z][A-Za-z\d-]{0,49}$/;
const OWN_TOPICS = ['requests', 'dead-letters', 'state', 'walks'];
const OWN_FIELDS = ['stream', 'since', 'until'];

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

const keyPathOrText = z.string().transform((text, context): readonly Path[] | Template => {
  if (text.startsWith('$')) return [readPath(text, context, { singular: true })];
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

const settings = z.strictObject({
  get: template().exactOptional().describe('Path of a GET request.'),
  post: template().exactOptional().describe('Path of a POST request.'),
  body: jsonTemplate().exactOptional().describe('JSON of the body.'),
  form: z.record(z.string(), template()).exactOptional().describe('Form fields, instead of `body`.'),
  for: jobs.exactOptional().describe('Values that each get their own listing. Default: one listing.'),
  records: path().exactOptional().describe('Path of the records. Default: the entries of the response, or the response itself.'),
  key: z
    .union([keyPathOrText, z.array(path({ singular: true })).min(2)])
    .exactOptional()
    .describe('Key of a record: a path in the record, several paths, or text with fields.'),
  add: z.record(z.string(), added).exactOptional().describe('Members to add to each record, with fields of the request.'),
  since: since.exactOptional().describe('Request only changes since the previous listing.'),
  batch: batch.exactOptional().describe('Request many keys at once; each key gets its own result.'),
  schema: schemaFile
    .exactOptional()
    .describe(
      'File of a JSON Schema, an Avro schema (.avsc) or a message (.proto). A record that does not fit becomes a dead letter, and the rest of its page is written.',
    ),
  format: z
    .enum(TOPIC_FORMATS)
    .exactOptional()
    .describe('Format of the records. `avro` needs an .avsc in `schema`, `protobuf` a .proto. Default: `format` of the section.'),
  every: duration().exactOptional().describe('Interval after which this stream is requested again. Default: `every` of the section.'),
  compact: z
    .boolean()
    .exactOptional()
    .describe("Keep only the newest record of each key. Needs `key`; the topic's number of partitions can't change. Default: false."),
  partitions: z
    .int()
    .min(1)
    .max(1_024)
    .exactOptional()
    .describe("Number of partitions, of which a record's key selects one. Default: one per lane; 1 with `compact`."),
  cost: z.int().positive().exactOptional().describe('Units that a request uses in each budget.'),
  to: z
    .string()
    .regex(NAME, "isn't a topic name. Write letters, digits and dashes.")
    .exactOptional()
    .describe('Topic of the records. Default: the name of the stream.'),
  ...everyStream,
});

const stream = settings.transform((given, context) => {
  const { get, post, key, for: of = ONE_JOB, ...rest } = given;
  for (const [at, message] of streamFlaws(given)) context.addIssue({ code: 'custom', path: [...at], message });
  const isText = key !== undefined && 'render' in key;
  return {
    ...rest,
    method: get === undefined ? ('POST' as const) : ('GET' as const),
    path: get ?? post,
    /** The paths whose values form a record's key. Empty if it has none, or is a text with placeholders. */
    keys: key === undefined || isText ? [] : key,
    keyText: isText ? key : undefined,
    jobs: of,
  };
});

type Flaw = readonly [at: readonly (string | number)[], message: string];

/** Settings of a stream that don't fit together. */
function* streamFlaws(given: z.output<typeof settings>): Generator<Flaw> {
  const { get, post, body, form, batch: of, every, for: by } = given;
  if ((get === undefined) === (post === undefined)) yield [[], 'needs either get or post.'];
  for (const key of ['pages', 'since'] as const)
    if (of !== undefined && given[key] !== undefined) yield [[key], "can't be combined with batch."];
  for (const key of ['body', 'form'] as const) if (given[key] !== undefined && post === undefined) yield [[key], 'works only with post.'];
  if (body !== undefined && (body === null || isTemplate(body)))
    yield [['body'], 'is a text or a single value. Write JSON with members, as in { state: open }: other formats are not sent.'];
  if (body !== undefined && form !== undefined) yield [['form'], "can't be combined with body. Keep one of them."];
  if (given.compact === true && given.key === undefined)
    yield [['compact'], 'keeps the newest record of each key, and these have none. Write key, such as $.id.'];
  if (every !== undefined && by?.parent !== undefined)
    yield [['every'], `has no effect here: records of ${by.parent} ask for this stream. Write every there, or beside streams.`];
  for (const [method, address] of Object.entries({ get, post })) {
    if (address === undefined) continue;
    if (!address.text.startsWith('/')) yield [[method], 'must begin with a slash.'];
    if (/[?#]/.test(address.text)) yield [[method], 'has a query. Write its parameters into query: { name: value }.'];
  }
}

/** The settings of a stream. */
export type StreamSettings = z.output<typeof stream>;
/** The settings of a section that concern its streams. */
export type SectionSettings = z.output<z.ZodObject<typeof everyStream>> & { readonly streams: Readonly<Record<string, StreamSettings>> };

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
    ...limitSettings,
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
    // A stream with an issue isn't complete.
    if (context.issues.length > 0) return;
    for (const [path, message] of sectionFlaws(section)) context.addIssue({ code: 'custom', path: [...path], message });
  });

/** The options of a section after its schema has parsed them. */
export type RestOptions = z.output<typeof restOptions>;

type Checked = SectionSettings & Pick<RestOptions, 'limit' | 'budgets' | 'credentials'>;

/** Settings of a section that don't fit together. */
function* sectionFlaws(section: Checked): Generator<Flaw> {
  const { limit, budgets, credentials, streams: own, query, headers } = section;
  if (limit === undefined && budgets === undefined)
    yield [['limit'], "is missing. Write the service's limit, such as { requests: 15, window: 15m }."];
  if (limit !== undefined && budgets !== undefined) yield [['budgets'], "can't be combined with limit. Keep one of them."];
  if (Object.keys(own).length === 0) yield [['streams'], 'has no stream.'];
  const strayed = Object.keys(own).flatMap((name) => parentFlaw(own, name) ?? []);
  yield* strayed.map(({ name, message }): Flaw => [['streams', name, 'for', 'each'], message]);
  if (strayed.length > 0) return;
  const streams = Object.values(streamsOf(section));
  for (const [name, message] of formatFlaws(streams, section)) yield [['streams', name, 'format'], message];
  for (const { name, topic, compact = false, partitions } of streams) {
    const other = streams.find((one) => one.topic === topic && ((one.compact ?? false) !== compact || one.partitions !== partitions));
    if (other !== undefined)
      yield [['streams', name, 'to'], `names the topic of ${other.name}. Write the same compact and partitions in both streams.`];
  }
  const bodyless = streams.find(({ method, body, form, pages }) => method === 'GET' || (body ?? form ?? pages?.size?.body) === undefined);
  for (const [i, { body }] of credentials.entries())
    if (body !== undefined && bodyless !== undefined)
      yield [
        ['credentials', i, 'body'],
        `needs a body in every request, and ${bodyless.name} has none. Write header or query. A post may also have body: {}.`,
      ];
  const all = new Set(streams.flatMap((stream) => [...stream.fields, ...pageFields(stream)]));
  const isSince = streams.some((stream) => stream.since !== undefined);
  for (const [at, placeholder] of placeholdersOf({ ...(query && { query }), ...(headers && { headers }) })) {
    const flaw = placeholderFlaw(placeholder, all, isSince);
    if (flaw !== undefined) yield [at, flaw];
  }
  for (const stream of streams)
    for (const [at, message] of wholeFlaws(stream, own[stream.name] ?? stream))
      yield [at[0] === 'pages' && own[stream.name]?.pages === undefined ? at : ['streams', stream.name, ...at], message];
}

/** Streams whose records can't have their format. */
function* formatFlaws(streams: readonly Stream[], section: Checked): Generator<readonly [name: string, message: string]> {
  // `format` isn't in this schema, because it is a common option of all pipelines.
  const { format: ofAll = 'json' } = section as { readonly format?: TopicFormat };
  const extensions = { avro: 'avsc', protobuf: 'proto', 'json-schema': 'schema.json' };
  for (const { name, topic, format = ofAll, schema } of streams) {
    if (format === 'json') continue;
    if (schema?.format !== format && (format !== 'json-schema' || schema !== undefined))
      yield [name, `is ${format}, which needs a schema of that kind. Write schema: ./${name}.${extensions[format]}`];
    const other = streams.find((one) => one.topic === topic && ((one.format ?? ofAll) !== format || one.schema?.text !== schema?.text));
    if (other !== undefined) yield [name, `and schema must be those of ${other.name}, which writes to the same topic.`];
  }
}

/** The reason why a stream can't get its jobs from the records of the stream that it names. */
function parentFlaw(streams: SectionSettings['streams'], name: string): { readonly name: string; readonly message: string } | undefined {
  const parent = streams[name]?.jobs.parent;
  if (parent === undefined) return undefined;
  if (!Object.hasOwn(streams, parent)) return { name, message: `names no stream.${streamHint(parent, Object.keys(streams))}` };
  const oldest = lineage(streams, name).at(-1) ?? name;
  if (streams[oldest]?.jobs.parent !== name) return undefined;
  return { name, message: 'leads back to this stream, which would create its own jobs without end.' };
}

/** Settings of a stream that don't fit together, or those of its section. `own`: the stream without its section's. */
function* wholeFlaws(stream: Stream, own: StreamSettings): Generator<Flaw> {
  const { name, topic, jobs: of, fields, needed, batch: lookup, method, pages: paging = {}, placeholders } = stream;
  for (const message of [orderFlaw(stream), zoneFlaw(stream)]) if (message !== undefined) yield [['since'], message];
  if (OWN_TOPICS.includes(topic))
    yield [own.to === undefined ? [] : ['to'], `would write to ${topic}, a topic that every pipeline has. Add to: another name.`];
  for (const field of of.fields)
    if (OWN_FIELDS.includes(field)) yield [['for'], `has the field ${field}, whose name is reserved. Choose another.`];
  if (lookup !== undefined && (needed.size !== 1 || !needed.has(lookup.of)))
    yield [['batch', 'of'], `must be the only field that this stream or one below it uses. Used: ${[...needed].join(', ') || 'none'}.`];
  const used = new Set(placeholders.map((one) => one.name));
  if (stream.since?.window !== undefined && !used.has('until'))
    yield [['since'], 'has a window, but no parameter sends its end. Write {until} into a parameter.'];
  const ways = pageFields(stream);
  const available = new Set([...fields, ...ways]);
  for (const [at, placeholder] of placeholdersOf(own)) {
    const isOfRecord = at[0] === 'key' || at[0] === 'add';
    const flaw = placeholderFlaw(placeholder, isOfRecord ? fields : available, stream.since !== undefined);
    if (flaw !== undefined) yield [at, flaw];
  }
  for (const field of ways) {
    if (fields.has(field) || OWN_FIELDS.includes(field))
      yield [['pages'], `has the field ${field}, whose name is reserved. Choose another.`];
    else if (!used.has(field))
      yield [['pages'], `has the field ${field}, and no request of ${name} has {${field}}. Write it into the path, query or body.`];
  }
  for (const [key, setting] of Object.entries(paging))
    if (method === 'GET' && Object(setting).body !== undefined)
      yield [['pages', key], `has a place in the body, and ${name} is a get, which has none. Write query.`];
}

/** The placeholders that paging fills in: cursor, page number, offset and page size. */
function pageFields({ pages: of }: Pick<Stream, 'pages'>): readonly string[] {
  return [of?.style?.place, of?.size].flatMap((place) => place?.field ?? []);
}

function fieldHint(name: string, names: ReadonlySet<string>): string {
  const near = nearest(name, [...names]);
  if (near !== undefined) return ` Did you mean {${near}}?`;
  return names.size === 0 ? ' Add for: { field: [value] }.' : ` Write ${[...names].map((one) => `{${one}}`).join(', ')}.`;
}

function streamHint(name: string, names: readonly string[]): string {
  const near = nearest(name, names);
  return near === undefined ? ` Write one of ${names.join(', ')}.` : ` Did you mean ${near}?`;
}

/** The reason why a placeholder can't be filled in by these fields. `isSince`: whether it can be a time of `since`, too. */
function placeholderFlaw({ name, format }: Placeholder, fields: ReadonlySet<string>, isSince: boolean): string | undefined {
  if (name === 'since' || name === 'until') {
    if (!isSince) return `has {${name}}, but the stream has no since.`;
    if (format === undefined || isTimeFormat(format)) return undefined;
    return `has {${name}:${format}}, which is no format. Write seconds, ms, date, http, or as in %Y-%m-%d.`;
  }
  if (format !== undefined) return `has {${name}:${format}}: only since and until have a format.`;
  const known = isSince ? new Set([...fields, 'since', 'until']) : fields;
  return fields.has(name) ? undefined : `has {${name}}, but for has no such field.${fieldHint(name, known)}`;
}

function addressFlaw(text: string): string | undefined {
  if (/[{}]/.test(text)) return 'takes no fields. Write a section for each address.';
  if (!isHttp(text)) return "isn't an address. Write, for example, https://api.example.com.";
  const url = new URL(text);
  if (url.search !== '' || url.hash !== '') return 'has a query. Write its parameters into query: { name: value }.';
  return url.username !== '' || url.password !== '' ? 'has a user or password. Write them into credentials, as basic.' : undefined;
}
