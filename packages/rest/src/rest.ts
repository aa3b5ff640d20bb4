import {
  type CommonOptions,
  type DefinitionInfo,
  InvalidOptionsError,
  type LookupDeadLetter,
  type PendingRecord,
  type Pipeline,
  type PipelineIo,
  type RecordMakers,
  type TopicDefinition,
  type TopicMap,
  definePipeline,
  lookup,
  parseOptions,
  route,
  topic,
  walk,
} from '@headgate/pipeline';
import { plainHttpWarning, sourceOptions } from '@headgate/pipeline/internal';
import {
  type HttpResponse,
  type Paging,
  type Source,
  type SourceDefinition,
  SourceError,
  type SourceOptions,
  creditPool,
  defineSource,
} from '@headgate/sources';
import type { Clock, Json } from '@headgate/throttle';
import * as z from 'zod';
import { verdictOf } from './answer.ts';
import { type Carried, carriedOn, writtenOf } from './carried.ts';
import { type RestCredential, credentialOf } from './credentials.ts';
import { type Cursor, firstCursor, placeOf } from './cursor.ts';
import { type RestRequest, childJobs, fieldsOf, jobKey, jobSchema, listedJobs, uncheckedChildren } from './jobs.ts';
import { scalarOf } from './json-value.ts';
import { type RestOptions, restOptions } from './language.ts';
import { evidenceOf, limitsOf } from './limits.ts';
import type { RestPage } from './listed-page.ts';
import { recordSchema } from './record-schema.ts';
import { flawOf, keyOf, withFields } from './records.ts';
import { type RestQuery, httpRequest, valuesOf } from './request.ts';
import { type Stream, type Streams, streamsOf } from './streams.ts';
import { type Time, timeOf } from './time.ts';
import { type TriedStream, triedStream } from './try.ts';

export type { RestRequest } from './jobs.ts';

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
  const streams = streamsOf(section);
  const { limit, budgets } = section;
  const definition = sourceDefinition(name, section, streams);
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
    request: jobSchema(streams),
    topics: topicsOf(streams),
    makesRequests: Object.values(streams).some(({ children }) => children.length > 0),
    groups: {
      of: (key) => key.split('/')[0] ?? '',
      makes: Object.fromEntries(Object.entries(streams).map(([of, { children }]) => [of, children.map((child) => child.name)])),
    },
    keyOf: jobKey,
    listed: () => listedJobs(streams),
    every: ({ stream }) => streamIn(streams, stream).every,
    credentials: ({ credentials }) => credentials,
    warnings: () => [...plainHttpWarning(section.baseUrl, ['baseUrl'], section), ...uncheckedChildren(streams)],
    sharesLimit: () => Object.values(limitsOf(section)).some(({ shared }) => shared === true),
    agreed: () => JSON.parse(JSON.stringify({ limit, budgets })) as Json,
    probe(_, io, request = listedJobs(streams)[0]) {
      let answer: HttpResponse | undefined;
      const classify: typeof definition.classify = (given, context) => definition.classify((answer = given), context);
      const api = defineSource({ ...definition, classify })(optionsOf(io));
      const query = async (): Promise<TriedStream | undefined> => {
        if (request === undefined) return undefined;
        const stream = streamIn(streams, request.stream);
        const { batch } = stream;
        const fields = fieldsOf(request);
        const epochMs = io.clock.epochMs();
        const pageAt = async (cursor: Cursor): Promise<TriedStream> => {
          const one: RestQuery = {
            stream: request.stream,
            fields: batch === undefined ? fields : { [batch.of]: [String(fields[batch.of])] },
            cursor,
          };
          // The page's records are never written, so the request needs no capacity downstream.
          const { value: page, credit } = await api.query(one, { credits: creditPool({ max: Infinity }), signal: io.signal });
          credit.release();
          if (answer === undefined) throw new TypeError('a page without a response');
          const { next } = page;
          const tried = triedStream(section, stream, one, answer, page, epochMs);
          return { ...tried, ...(next !== undefined && { following: () => pageAt(next) }) };
        };
        return await pageAt(firstCursor(stream, undefined, epochMs));
      };
      return { source: api, query };
    },
    expect({ stream }, last) {
      const { pages, since } = streamIn(streams, stream);
      return pages === undefined && since?.window === undefined ? 1 : last?.pages;
    },
    open(_, io) {
      const api = defineSource(definition)(optionsOf(io));
      const batches = Object.values(streams).flatMap((stream) =>
        stream.batch === undefined ? [] : [[`batch:${stream.name}`, batchLookup(name, stream, stream.batch, api)] as const],
      );
      const kindOf = ({ stream }: RestRequest): string => (streams[stream]?.batch === undefined ? 'listing' : `batch:${stream}`);
      // Route without batches, too: the kind is in the keys of the state, so listings would start over when a section gets its first batch.
      return route((request: RestRequest) => [kindOf(request), request], {
        listing: listing(name, streams, api, io.clock),
        ...Object.fromEntries(batches),
      });
    },
  });
}

function streamIn(streams: Streams, name: string): Stream {
  const stream = streams[name];
  if (stream === undefined) throw new TypeError(`there is no stream ${name}`);
  return stream;
}

function topicsOf(streams: Streams): TopicMap {
  const all = Object.values(streams);
  const topics = Array.from(
    Map.groupBy(all, (stream) => stream.topic),
    // The schema only describes the values: `flawOf` checks records, in which long numbers are objects.
    ([to, some]) => [to, topic({ value: z.unknown().meta(recordSchema(some)), ...topicSettingsOf(some) })] as const,
  );
  const hasPages = all.some(({ pages }) => pages !== undefined);
  return { ...Object.fromEntries(topics), ...(hasPages && { walks: topic({ value: walkRecord }) }) };
}

/** The settings of a topic, with its schema in the language of its format. Streams of a topic have the same. */
function topicSettingsOf([first]: readonly Stream[]): Pick<TopicDefinition<unknown>, 'format' | 'schema' | 'partitions' | 'compacted'> {
  const { format, schema, partitions, compact: compacted } = first ?? {};
  return {
    ...(format !== undefined && { format }),
    ...(partitions !== undefined && { partitions }),
    ...(compacted !== undefined && { compacted }),
    ...(schema !== undefined && schema.format !== 'json-schema' && { schema: schema.text }),
  };
}

function sourceDefinition(name: string, section: RestOptions, streams: Streams): SourceDefinition<RestQuery, RestPage> {
  const limits = limitsOf(section);
  const keyParameters = section.credentials.flatMap(({ query }) => query ?? []);
  const evidence = evidenceOf(section);
  return {
    service: name,
    budgets: limits,
    toRequest: (query) => httpRequest(section.baseUrl, streamIn(streams, query.stream), query),
    classify: (answer, context) => verdictOf(streamIn(streams, context.query.stream), keyParameters, answer, context),
    subject: ({ stream, fields }) => {
      const keys = Object.values(fields).find((value) => typeof value === 'object');
      return keys === undefined ? jobKey({ ...(fields as Readonly<Record<string, string>>), stream }) : `${keys.length} of ${stream}`;
    },
    items: ({ stream: of, fields }) => {
      const { batch, pages } = streamIn(streams, of);
      return batch === undefined ? (pages?.size?.is ?? DEFAULT_ITEMS) : (fields[batch.of] as readonly string[]).length;
    },
    itemsOf: ({ found }) => found,
    weights: ({ stream }) => {
      const { cost = 1 } = streamIn(streams, stream);
      return Object.fromEntries(Object.keys(limits).map((limit) => [limit, cost]));
    },
    ...(evidence !== undefined && { evidence: (answer, { epochMs }) => evidence(answer, epochMs) }),
  };
}

/** Number of records for which a page of unknown size reserves capacity downstream. */
const DEFAULT_ITEMS = 100;

type Api = Source<RestQuery, RestPage>;

/** Lists the records of a job, page by page. */
function listing(service: string, streams: Streams, source: Api, clock: Clock) {
  return walk({
    source,
    paging({ stream, ...fields }: RestRequest, { carried, held }): Paging<RestQuery, RestPage, Cursor> {
      const first = firstCursor(
        streamIn(streams, stream),
        carried as Carried | undefined,
        clock.epochMs(),
        held as readonly (Time | null)[],
      );
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
    *records({ records, flaws, older, digests, notice, since }, { request, page, carried, carrying, topics, refuse, isHeld, warn }) {
      const stream = streamIn(streams, request.stream);
      if (notice !== undefined) warn(notice);
      const written = new Set([carried, carrying].flatMap((some) => writtenOf(some as Carried | undefined)));
      const isWritten = (i: number): boolean => written.has(digests[i] ?? '');
      const ids = records.map((record, i) => keyOf(stream, withFields(stream, record, fieldsOf(request))) ?? digests[i] ?? '');
      const [first] = flaws;
      // `since` must not pass a page of which nothing is written.
      const isUnfit = flaws.every((flaw, i) => flaw !== undefined && !isWritten(i) && !isHeld(ids[i] ?? ''));
      if (stream.since !== undefined && first !== undefined && isUnfit)
        throw unusable(service, jobKey(request), 'no record of this page can be written', first);
      const unchanged = stream.since?.children === 'all' ? [...older, ...records.filter((_, i) => isWritten(i))] : [];
      for (const record of unchanged) yield* childRecords(stream, record, request, topics);
      for (const [i, record] of records.entries()) {
        if (isWritten(i)) continue;
        const [digest = '', id = '', flaw] = [digests[i], ids[i], flaws[i]];
        if (flaw !== undefined) {
          const error = unusable(service, jobKey(request), "a record can't be written", flaw);
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
        yield* recordsOf(stream, record, request, topics);
      }
    },
    carry(page, now, { key: subject, before, held }) {
      const fits = (_: unknown, i: number): boolean => page.flaws[i] === undefined;
      const fitting = { ...page, records: page.records.filter(fits), digests: page.digests.filter(fits) };
      return carriedOn(streamIn(streams, page.stream), fitting, {
        before: before as Carried | undefined,
        now: now as Carried | undefined,
        held: held as readonly (Time | null)[],
        service,
        subject,
      });
    },
    *lifecycle({ state, pages, items, warnings: notices = [], reason }, { request: { stream }, key, topics }) {
      if (streamIn(streams, stream).pages === undefined) return;
      const value = {
        stream,
        state,
        pages,
        records: items,
        ...(notices.length > 0 && { notices }),
        ...(reason !== undefined && { reason }),
      };
      yield makerOf(topics, 'walks')({ key, value });
    },
  });
}

const walkRecord = z.object({
  stream: z.string(),
  state: z.enum(['started', 'completed', 'failed']),
  pages: z.int(),
  records: z.int(),
  notices: z.array(z.string()).exactOptional(),
  reason: z.object({ code: z.string(), message: z.string(), retryable: z.boolean() }).exactOptional(),
});

/** Requests many jobs of a stream at once: one per value of a field. */
function batchLookup(service: string, stream: Stream, { of: field, most, match }: NonNullable<Stream['batch']>, api: Api) {
  return lookup({
    source: api,
    key: (request: RestRequest) => String(request[field]),
    size: most,
    query: (_, keys, given) => api.query({ stream: stream.name, fields: { [field]: keys }, cursor: { at: null } }, given),
    records({ records }: RestPage, { requested, topics }) {
      const answersOf = (key: string): readonly unknown[] =>
        records.filter((record) => match.some((place) => String(scalarOf(place.first(record)) ?? '') === key));
      const found: { readonly index: number; readonly record: PendingRecord }[] = [];
      const deadLetters: LookupDeadLetter[] = [];
      for (const [index, { key, request }] of requested.entries()) {
        const answers = answersOf(key);
        if (answers.length === 0) deadLetters.push({ index, error: notThere(service, key) });
        for (const [part, record] of answers.entries()) {
          const flaw = flawOf(stream, record, fieldsOf(request));
          if (flaw === undefined) found.push(...recordsOf(stream, record, request, topics).map((one) => ({ index, record: one })));
          else {
            const error = unusable(service, jobKey(request), "a record can't be written", flaw);
            deadLetters.push({ index, error, part: { id: String(part), record } });
          }
        }
      }
      return { records: found, deadLetters };
    },
  });
}

/**
 * The record for the stream's topic, and its child jobs. In a stream with `since`, a record that comes again can have changed, so its child jobs
 * are created again.
 */
function recordsOf(stream: Stream, record: unknown, request: RestRequest, topics: RecordMakers<TopicMap>): PendingRecord[] {
  const value = withFields(stream, record, fieldsOf(request));
  const made = makerOf(topics, stream.topic)({ key: recordKey(stream, value, request), value });
  return [made, ...childRecords(stream, record, request, topics)];
}

function childRecords({ since, children }: Stream, record: unknown, request: RestRequest, topics: RecordMakers<TopicMap>): PendingRecord[] {
  const jobs = children.flatMap((child) => childJobs(child, record, request));
  return jobs.map((job) => topics.requests(job, { once: since === undefined || since.children === 'all' }));
}

function makerOf(topics: RecordMakers<TopicMap>, name: string) {
  const maker = topics[name];
  if (maker === undefined) throw new TypeError(`there is no topic ${name}`);
  return maker;
}

/** The key of a record. If the stream sets no `key`, the key of the job that requested the record. */
function recordKey(stream: Stream, record: unknown, request: RestRequest): string {
  const { keys, keyText } = stream;
  if (keys.length === 0 && keyText === undefined) return jobKey(request);
  const text = keyText === undefined ? keyOf(stream, record) : keyText.render(valuesOf(fieldsOf(request), {}));
  if (text === undefined) throw new TypeError('a record has no text or number at its key');
  return text;
}

function unusable(service: string, subject: string, what: string, flaw: string): SourceError {
  const message = `${subject}: ${what}: ${flaw}. Correct the path or the schema, then replay the dead letter.`;
  return new SourceError({ code: 'HEADGATE_INVALID_RECORD', message, retryable: false, service, subject });
}

function notThere(service: string, key: string): SourceError {
  const message = `${key}: ${service} doesn't have it. Check the key.`;
  return new SourceError({ code: 'HEADGATE_NOT_FOUND', message, retryable: false, service, subject: key });
}
