import {
  type CommonOptions,
  type DefinitionInfo,
  InvalidOptionsError,
  type OptionIssue,
  type Pipeline,
  type LookupDeadLetter,
  type PipelineIo,
  PipelineError,
  type TopicMap,
  type PendingRecord,
  type RecordMakers,
  definePipeline,
  lookup,
  parseOptions,
  route,
  topic,
  walk,
} from '@headgate/pipeline';
import { sourceOptions } from '@headgate/pipeline/internal';
import {
  type Budgets,
  type HttpResponse,
  type Paging,
  type SourceDefinition,
  SourceError,
  type SourceOptions,
  creditPool,
  defineSource,
} from '@headgate/sources';
import type { Json } from '@headgate/throttle';
import * as z from 'zod';
import { verdictOf } from './answer.ts';
import { type RestCredential, credentialOf } from './credentials.ts';
import { type Carried, carriedOn, writtenOf } from './carried.ts';
import { type Cursor, firstCursor, placeOf } from './cursor.ts';
import { evidenceOf } from './evidence.ts';
import { exactNumber, kindOf, scalarOf } from './json-value.ts';
import { isKeyPart, keyOf } from './key.ts';
import { type RestOptions, type Stream, fieldNames, isEach, keyPaths, neededFields, restOptions, wholeStreams } from './language.ts';
import type { RestPage } from './listed-page.ts';
import { recordSchema } from './record-schema.ts';
import { type Fields, type RestQuery, httpRequest, valuesOf, withFields } from './request.ts';
import { type Time, timeFlaw, timeOf } from './time.ts';
import { type TriedStream, triedStream } from './try.ts';

/** A job of a section: the name of the stream, and the job's fields. */
export type RestRequest = { readonly stream: string } & Readonly<Record<string, string | number>>;

/** Returned by {@link rest}. Call it with the section's options to create the pipeline. Each stream writes into a topic. */
export interface RestSection {
  /** Throws an `InvalidOptionsError` (HEADGATE_INVALID_OPTION) if the section is invalid. */
  (section: z.input<typeof restOptions> & CommonOptions): Pipeline<RestRequest>;
  /** The name and options of the section. The rest depends on the streams (`dependsOnOptions`). */
  readonly definition: DefinitionInfo;
}

/** A section with `use: rest`, as code: `rest('github')({ baseUrl, credentials, limit, streams })`. */
export function rest(name: string): RestSection {
  const { definition } = definePipeline({ name, options: restOptions, request: z.unknown(), topics: {}, keyOf: String, open: nothing });
  const configured = (section: z.input<typeof restOptions> & CommonOptions): Pipeline<RestRequest> => {
    const parsed = parseOptions(definition.options, section);
    if (parsed.issues !== undefined) throw new InvalidOptionsError(name, parsed.issues, definition.options);
    return pipelineOf(name, parsed.value as RestOptions)(section);
  };
  return Object.assign(configured, { definition: { ...definition, dependsOnOptions: true } });
}

function nothing(): never {
  throw new TypeError('a section without streams');
}

function pipelineOf(name: string, section: RestOptions) {
  const streams = wholeStreams(section);
  const keyParameters = section.credentials.flatMap(({ query }) => query ?? []);
  const streamOf = (of: string): Stream => {
    const stream = streams[of];
    if (stream === undefined) throw new TypeError(`there is no stream ${of}`);
    return stream;
  };
  const listedRequests = (): RestRequest[] => Object.entries(streams).flatMap(([of, stream]) => listed(of, stream));
  const topicOf = (of: string): string => streams[of]?.to ?? of;
  const children = new Map(
    Object.keys(streams)
      .map((of) => [of, childrenOf(streams, of).map((child) => ({ ...child, fields: neededFields(streams, child.stream) }))] as const)
      .filter(([, some]) => some.length > 0),
  );
  const hasPages = Object.values(streams).some(({ pages }) => pages !== undefined);
  const topics: TopicMap = Object.fromEntries([
    ...Array.from(
      Map.groupBy(Object.entries(streams), ([of]) => topicOf(of)),
      // The schema only describes the values: `flawOf` checks records, in which long numbers are objects.
      ([to, some]) => [to, topic({ value: z.unknown().meta(recordSchema(some)) })] as const,
    ),
    ...(hasPages ? [['walks', topic({ value: walkRecord })] as const] : []),
  ]);
  const evidence = evidenceOf(section);

  const definition: SourceDefinition<RestQuery, RestPage> = {
    service: name,
    budgets: budgetsOf(section),
    toRequest: (query) => httpRequest(section.baseUrl, streamOf(query.stream), query),
    classify: (answer, context) => verdictOf(streamOf(context.query.stream), keyParameters, answer, context),
    subject: subjectOf,
    items: ({ stream, fields }) => itemsOf(streamOf(stream), fields),
    itemsOf: ({ found }) => found,
    weights: ({ stream }) => costOf(section, streamOf(stream)),
    ...(evidence !== undefined && { evidence: (answer, { epochMs }) => evidence(answer, epochMs) }),
  };
  const optionsOf = ({ credentials, ...io }: PipelineIo<RestCredential>): SourceOptions => {
    const { baseUrl, concurrency } = section;
    const common = sourceOptions(baseUrl, section);
    return {
      ...common,
      concurrency,
      ...io,
      credentials: credentials.map((one) => credentialOf(one, { ...common, clock: io.clock, env: io.env })),
    };
  };

  return definePipeline({
    name,
    options: restOptions,
    request: requestSchema(streams),
    topics,
    makesRequests: children.size > 0,
    groups: {
      of: (key) => key.split('/')[0] ?? '',
      makes: Object.fromEntries(Object.keys(streams).map((of) => [of, (children.get(of) ?? []).map(({ stream }) => stream)])),
    },
    keyOf: requestKey,
    listed: listedRequests,
    every: ({ stream }) => streamOf(stream).every,
    credentials: ({ credentials }) => credentials,
    warnings: () => uncheckedChildren(streams),
    sharesLimit: ({ limit, budgets }) => [limit, ...Object.values(budgets ?? {})].some((one) => one?.shared === true),
    agreed: ({ limit, budgets }) => JSON.parse(JSON.stringify({ limit, budgets })) as Json,
    probe(_, io, request = listedRequests()[0]) {
      let answer: HttpResponse | undefined;
      const classify: typeof definition.classify = (given, context) => definition.classify((answer = given), context);
      const api = defineSource({ ...definition, classify })(optionsOf(io));
      const query = async (): Promise<TriedStream | undefined> => {
        if (request === undefined) return undefined;
        const { stream: of, ...fields } = request;
        const stream = streamOf(of);
        const { batch } = stream;
        const epochMs = io.clock.epochMs();
        const one: RestQuery = {
          stream: of,
          fields: batch === undefined ? fields : { [batch.of]: [String(fields[batch.of])] },
          cursor: firstCursor(stream, undefined, epochMs),
        };
        // The page's records are never written, so the request needs no capacity downstream.
        const { value: page, credit } = await api.query(one, { credits: creditPool({ max: Infinity }), signal: io.signal });
        credit.release();
        return answer && triedStream({ section, stream, query: one, answer, page, epochMs });
      };
      return { source: api, query };
    },
    expect({ stream }, last) {
      const { pages, since } = streamOf(stream);
      return pages === undefined && since?.window === undefined ? 1 : last?.pages;
    },
    open(_, io) {
      const api = defineSource(definition)(optionsOf(io));
      const found = new WeakMap<readonly unknown[], readonly (string | undefined)[]>();
      const flawsOf = (records: readonly unknown[], request: RestRequest): readonly (string | undefined)[] => {
        const flaws = found.get(records) ?? records.map((record) => flawOf(streamOf(request.stream), record, fieldsOf(request)));
        found.set(records, flaws);
        return flaws;
      };
      const listing = walk({
        source: api,
        paging({ stream, ...fields }: RestRequest, { carried, held }): Paging<RestQuery, RestPage, Cursor> {
          const first = firstCursor(streamOf(stream), carried as Carried | undefined, io.clock.epochMs(), held as readonly (Time | null)[]);
          return {
            first,
            query: (cursor) =>
              cursor.way === first.way
                ? { stream, fields, cursor }
                : { stream, fields, cursor: { ...first, upTo: cursor.upTo, again: (cursor.again ?? 0) + 1 }, isChanged: true },
            next: ({ next }) => (next === undefined ? 'last' : { cursor: next }),
            place: placeOf,
          };
        },
        *records(
          { stream: of, records, older, digests, notice, since },
          { request, page, carried, carrying, topics: make, refuse, isHeld, warn },
        ) {
          const stream = streamOf(of);
          if (notice !== undefined) warn(notice);
          const flaws = flawsOf(records, request);
          const written = new Set([carried, carrying].flatMap((some) => writtenOf(some as Carried | undefined)));
          const isWritten = (i: number): boolean => written.has(digests[i] ?? '');
          const ids = records.map((record, i) => keyOf(stream, withFields(stream, record, fieldsOf(request))) ?? digests[i] ?? '');
          const [first] = flaws;
          // `since` must not pass a page of which nothing is written.
          const isUnfit = flaws.every((flaw, i) => flaw !== undefined && !isWritten(i) && !isHeld(ids[i] ?? ''));
          if (stream.since !== undefined && first !== undefined && isUnfit)
            throw unusable(name, requestKey(request), 'no record of this page can be written', first);
          const unchanged = stream.since?.children === 'all' ? [...older, ...records.filter((_, i) => isWritten(i))] : [];
          for (const record of unchanged) yield* childJobs(stream, record, request, make);
          for (const [i, record] of records.entries()) {
            if (isWritten(i)) continue;
            const [digest = '', id = '', flaw] = [digests[i], ids[i], flaws[i]];
            if (flaw !== undefined) {
              const error = unusable(name, requestKey(request), "a record can't be written", flaw);
              // The next listing starts at the record's time, or if it has none, where this page began.
              const time = scalarOf(stream.since?.from.first(record));
              refuse(
                stream.since === undefined
                  ? { id: `${page}/${i}`, record, error }
                  : { id, record, error, held: timeOf(time, stream.since.zone) === undefined ? (since ?? null) : (time ?? null) },
              );
              continue;
            }
            if (stream.since !== undefined) written.add(digest);
            yield* recordsOf(stream, record, request, make);
          }
        },
        carry(page, now, { request, key: subject, before, held }) {
          const flaws = flawsOf(page.records, request);
          const fits = (_: unknown, i: number): boolean => flaws[i] === undefined;
          const fitting = { ...page, records: page.records.filter(fits), digests: page.digests.filter(fits) };
          return carriedOn(streamOf(page.stream), fitting, {
            before: before as Carried | undefined,
            now: now as Carried | undefined,
            held: held as readonly (Time | null)[],
            service: name,
            subject,
          });
        },
        *lifecycle({ state, pages, items, warnings: notices = [], reason }, { request, key, topics: make }) {
          const { stream: of } = request;
          if (streamOf(of).pages !== undefined)
            yield (
              make['walks']?.({
                key,
                value: {
                  stream: of,
                  state,
                  pages,
                  records: items,
                  ...(notices.length > 0 && { notices }),
                  ...(reason !== undefined && { reason }),
                },
              }) ?? neverWritten()
            );
        },
      });
      const batches = Object.entries(streams).flatMap(([of, { batch }]) => (batch === undefined ? [] : [[of, batch] as const]));
      const lookups = batches.map(([of, batch]) => [`batch:${of}`, batchWork(of, batch)] as const);
      const kindOf = ({ stream }: RestRequest): string => (streams[stream]?.batch === undefined ? 'listing' : `batch:${stream}`);
      // Route without batches, too: the kind is in the keys of the state, so listings would start over when a section gets its first batch.
      return route((request: RestRequest) => [kindOf(request), request], { listing, ...Object.fromEntries(lookups) });

      function batchWork(of: string, { of: field, most, match }: NonNullable<Stream['batch']>) {
        return lookup({
          source: api,
          key: (request: RestRequest) => String(request[field]),
          size: most,
          query: (_, keys, given) => api.query({ stream: of, fields: { [field]: keys }, cursor: { at: null } }, given),
          records({ records }: RestPage, { requested, topics: make }) {
            const stream = streamOf(of);
            const answersOf = (key: string): readonly unknown[] =>
              records.filter((record) => match.some((place) => String(scalarOf(place.first(record)) ?? '') === key));
            const found: { readonly index: number; readonly record: PendingRecord }[] = [];
            const deadLetters: LookupDeadLetter[] = [];
            for (const [index, { key, request }] of requested.entries()) {
              const answers = answersOf(key);
              if (answers.length === 0) deadLetters.push({ index, error: notThere(name, key) });
              for (const [part, record] of answers.entries()) {
                const flaw = flawOf(stream, record, fieldsOf(request));
                if (flaw === undefined) found.push(...recordsOf(stream, record, request, make).map((one) => ({ index, record: one })));
                else
                  deadLetters.push({
                    index,
                    error: unusable(name, requestKey(request), "a record can't be written", flaw),
                    part: { id: String(part), record },
                  });
              }
            }
            return { records: found, deadLetters };
          },
        });
      }
    },
  });

  /**
   * The record for the stream's topic, and its child jobs. In a stream with `since`, a record that comes again can have changed, so its child jobs
   * are created again.
   */
  function recordsOf(stream: Stream, record: unknown, request: RestRequest, make: RecordMakers<TopicMap>): PendingRecord[] {
    const maker = make[topicOf(request.stream)];
    if (maker === undefined) throw new TypeError(`there is no topic of ${request.stream}`);
    const value = withFields(stream, record, fieldsOf(request));
    return [maker({ key: recordKey(stream, value, request), value }), ...childJobs(stream, record, request, make)];
  }

  function childJobs({ since }: Stream, record: unknown, request: RestRequest, make: RecordMakers<TopicMap>): PendingRecord[] {
    const jobs = (children.get(request.stream) ?? []).flatMap((child) => childRequests(child, record, request));
    return jobs.map((job) => make.requests(job, { once: since === undefined || since.children === 'all' }));
  }
}

/** Says which child streams aren't requested for records that didn't change. */
function uncheckedChildren(streams: Readonly<Record<string, Stream>>): OptionIssue[] {
  return Object.entries(streams).flatMap(([name, { for: of }]) => {
    const parent = of !== undefined && isEach(of) ? of.each : '';
    const { since } = streams[parent] ?? {};
    if (since === undefined || since.children !== undefined) return [];
    const message = `is requested only for records of ${parent} that changed. If ${name} can change without them, write children: all in since of ${parent}, whose listings then read the whole list. Otherwise write children: changed.`;
    return [{ path: ['streams', name, 'for'], message }];
  });
}

type Each = Extract<NonNullable<Stream['for']>, { readonly each: string }>;

function childrenOf(streams: Readonly<Record<string, Stream>>, parent: string): readonly (Each & { readonly stream: string })[] {
  return Object.entries(streams).flatMap(([stream, { for: of }]) =>
    of !== undefined && isEach(of) && of.each === parent ? [{ ...of, stream }] : [],
  );
}

function fieldsOf(request: RestRequest): Fields {
  const { stream: _, ...fields } = request;
  return fields;
}

interface Child extends Each {
  readonly stream: string;
  readonly fields: ReadonlySet<string>;
}

/**
 * A record's child jobs: one per place that `at` selects. Each also inherits the fields of the job that requested the record, except those that
 * the child takes from the record: a record without such a field must not get the value of its parent.
 */
function childRequests({ stream, with: own, at, fields }: Child, record: unknown, above: RestRequest): RestRequest[] {
  const places = at === undefined ? [record] : at.all(record);
  const inherited = Object.entries(above).filter(([name]) => fields.has(name) && !Object.hasOwn(own, name));
  return places.map((place) => {
    const found = Object.entries(own).map(([name, path]) => [name, scalarOf(path.first(place))] as const);
    return { ...Object.fromEntries([...inherited, ...found.filter(([, value]) => value !== undefined)]), stream };
  });
}

/** The reason why a record can't be written; undefined if it can. The reason contains no value of the record. */
function flawOf(stream: Stream, record: unknown, fields: Fields): string | undefined {
  const { key, since, schema } = stream;
  const whole = withFields(stream, record, fields);
  const lacking = keyPaths(key).find((path) => !isKeyPart(scalarOf(path.first(whole))));
  if (lacking !== undefined) return `key: ${lacking.text} is ${kindOf(lacking.first(whole))}, and must be text or a number`;
  const time = since?.from.first(record);
  if (since !== undefined && timeOf(scalarOf(time), since.zone) === undefined) return `since.from: ${since.from.text} ${timeFlaw(time)}`;
  // `parseUntouched` keeps long numbers as objects. The schema needs plain numbers.
  const [issue] = schema?.safeParse(JSON.parse(JSON.stringify(record))).error?.issues ?? [];
  if (issue !== undefined) {
    const expected = issue.code === 'invalid_type' ? `expected ${issue.expected}` : `it doesn't fit (${issue.code})`;
    return `schema: ${['$', ...issue.path.map(String)].join('.')}: ${expected}`;
  }
  return undefined;
}

function neverWritten(): never {
  throw new TypeError('a section whose streams have no pages');
}

const walkRecord = z.object({
  stream: z.string(),
  state: z.enum(['started', 'completed', 'failed']),
  pages: z.int(),
  records: z.int(),
  notices: z.array(z.string()).exactOptional(),
  reason: z.object({ code: z.string(), message: z.string(), retryable: z.boolean() }).exactOptional(),
});

function unusable(service: string, subject: string, what: string, flaw: string): SourceError {
  const message = `${subject}: ${what}: ${flaw}. Correct the path or the schema, then replay the dead letter.`;
  return new SourceError({ code: 'HEADGATE_INVALID_RECORD', message, retryable: false, service, subject });
}

function subjectOf({ stream, fields }: RestQuery): string {
  const values = Object.values(fields);
  const keys = values.find((value) => Array.isArray(value)) as readonly string[] | undefined;
  return keys === undefined ? requestKey({ ...(fields as Readonly<Record<string, string>>), stream }) : `${keys.length} of ${stream}`;
}

function itemsOf({ batch, pages }: Stream, fields: Fields): number {
  return batch === undefined ? (pages?.size?.is ?? DEFAULT_ITEMS) : (fields[batch.of] as readonly string[]).length;
}

function notThere(service: string, key: string): SourceError {
  const message = `${key}: ${service} doesn't have it. Check the key.`;
  return new SourceError({ code: 'HEADGATE_NOT_FOUND', message, retryable: false, service, subject: key });
}

/** Number of records for which a page of unknown size reserves capacity downstream. */
const DEFAULT_ITEMS = 100;

function budgetsOf({ limit, budgets = {} }: RestOptions): Budgets {
  return Object.fromEntries(
    Object.entries(limit === undefined ? budgets : { rate: limit }).map(([name, budget]) => {
      const { requests, shared = false } = budget;
      if ('window' in budget) return [name, { requests, windowMs: budget.window, shared }];
      const { per, resetsAt, resetsOn, zone } = budget;
      return [name, { requests, per, shared, resetsAt, resetsOn, zone }];
    }),
  );
}

function costOf({ limit, budgets = {} }: RestOptions, { cost = 1 }: Stream): Readonly<Record<string, number>> {
  const names = limit === undefined ? Object.keys(budgets) : ['rate'];
  return Object.fromEntries(names.map((name) => [name, cost]));
}

/** The key of a job, such as `issues/nodejs/node`: the stream, and the values of the job's fields in the order of their names. */
function requestKey({ stream, ...fields }: RestRequest): string {
  const values = Object.entries(fields).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return [stream, ...values.map(([, value]) => encodeURIComponent(value))].join('/');
}

function requestSchema(streams: Readonly<Record<string, Stream>>): z.ZodType<RestRequest> {
  const isStep = (text: string): boolean => text === '.' || text === '..';
  const field = z.union([
    z
      .string()
      .min(1)
      .refine((text) => !isStep(text), "changes the path, so it can't be a field.")
      .refine((text) => text.isWellFormed(), "has half a surrogate pair, so it can't be sent."),
    exactNumber(),
  ]);
  const kinds = Object.keys(streams).map((name) =>
    z.strictObject({
      stream: z.literal(name),
      ...Object.fromEntries(Array.from(fieldNames(streams, name), (of) => [of, field.exactOptional()])),
      ...Object.fromEntries(Array.from(neededFields(streams, name), (of) => [of, field])),
    }),
  );
  const [first, ...rest] = kinds;
  if (first === undefined) throw new PipelineError({ code: 'HEADGATE_DEFINITION', message: 'a section without a stream' });
  return z.discriminatedUnion('stream', [first, ...rest]);
}

/**
 * The jobs that the stream itself lists: one for each entry of `for`, or for each combination of its lists. None if another stream's
 * records create its jobs.
 */
function listed(stream: string, { for: of }: Stream): RestRequest[] {
  if (of === undefined) return [{ stream }];
  if (isEach(of)) return [];
  if (Array.isArray(of)) return of.map((fields) => ({ stream, ...fields }));
  let all: Readonly<Record<string, string>>[] = [{}];
  for (const [name, values] of Object.entries(of)) all = all.flatMap((fields) => values.map((value) => ({ ...fields, [name]: value })));
  return all.map((fields) => ({ stream, ...fields }));
}

/** The key of a record. If the stream sets no `key`, the key of the job that requested the record. */
function recordKey(stream: Stream, record: unknown, request: RestRequest): string {
  const { key } = stream;
  if (key === undefined) return requestKey(request);
  const text = 'render' in key ? key.render(valuesOf(fieldsOf(request), {})) : keyOf(stream, record);
  if (text === undefined) throw new TypeError('a record has no text or number at its key');
  return text;
}
