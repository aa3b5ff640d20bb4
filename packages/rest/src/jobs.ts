import { type OptionIssue, PipelineError } from '@headgate/pipeline';
import * as z from 'zod';
import { exactNumber, scalarOf } from './json-value.ts';
import { type Path, path } from './path.ts';
import { fieldName } from './places.ts';
import type { Fields } from './request.ts';
import type { Stream, Streams } from './streams.ts';

/** A job of a section: the name of the stream, and the job's fields. */
export type RestRequest = { readonly stream: string } & Readonly<Record<string, string | number>>;

/** The jobs of a stream: those that its section lists, or those that the records of a parent stream create. */
export interface Jobs {
  /** The stream whose records create the jobs. Undefined if the section lists them. */
  readonly parent?: string;
  /** Fields that a record of the parent gives, and their paths in it. */
  readonly with: Readonly<Record<string, Path>>;
  /** Paths in the record that each become a job. Default: the record itself. */
  readonly at?: Path | undefined;
  /** The fields that the jobs don't inherit. */
  readonly fields: readonly string[];
  /** The fields of each listed job. */
  readonly listed: () => readonly Readonly<Record<string, string>>[];
}

/** The jobs of a stream without `for`. */
export const ONE_JOB: Jobs = { with: {}, fields: [], listed: () => [{}] };

const listed = z.string().min(1, 'is empty.');

/** The setting `for` of a stream. */
export const jobs = z.union([
  z
    .strictObject({
      each: z.string().describe('Stream whose records each start this one.'),
      with: z
        .record(fieldName, path({ singular: true }))
        .refine((fields) => Object.keys(fields).length > 0, 'has no field. Write one, as in { id: $.id }.')
        .describe('Fields and their paths in the record.'),
      at: path().exactOptional().describe('Paths in the record that each become a job. Default: the record itself.'),
    })
    .transform((given): Jobs => ({
      parent: given.each,
      with: given.with,
      at: given.at,
      fields: Object.keys(given.with),
      listed: () => [],
    })),
  z.array(z.record(fieldName, listed)).transform((all, context): Jobs => {
    const fields = [...new Set(all.flatMap((one) => Object.keys(one)))];
    const message = 'has mappings of the field file. Lines of a file go into the list of a field: { id: [{ file: ids.txt }] }.';
    if (fields.length === 1 && fields[0] === 'file') context.addIssue({ code: 'custom', message });
    return { ...ONE_JOB, fields, listed: () => all };
  }),
  z
    .record(fieldName, z.array(listed))
    .transform((lists): Jobs => ({ ...ONE_JOB, fields: Object.keys(lists), listed: () => combinations(lists) })),
]);

function combinations(lists: Readonly<Record<string, readonly string[]>>): readonly Readonly<Record<string, string>>[] {
  let all: readonly Readonly<Record<string, string>>[] = [{}];
  for (const [name, values] of Object.entries(lists)) all = all.flatMap((fields) => values.map((value) => ({ ...fields, [name]: value })));
  return all;
}

/** The jobs that a section lists. */
export function listedJobs(streams: Streams): readonly RestRequest[] {
  return Object.entries(streams).flatMap(([stream, { jobs: of }]) => of.listed().map((fields) => ({ stream, ...fields })));
}

/**
 * A record's jobs of a child stream: one per place that `at` selects. Each also inherits the fields of the job that requested the record, except
 * those that the child takes from the record: a record without such a field must not get the value of its parent.
 */
export function childJobs({ name: stream, jobs: { with: own, at }, needed }: Stream, record: unknown, above: RestRequest): RestRequest[] {
  const places = at === undefined ? [record] : at.all(record);
  const inherited = Object.entries(above).filter(([name]) => needed.has(name) && !Object.hasOwn(own, name));
  return places.map((place) => {
    const found = Object.entries(own).map(([name, of]) => [name, scalarOf(of.first(place))] as const);
    return { ...Object.fromEntries([...inherited, ...found.filter(([, value]) => value !== undefined)]), stream };
  });
}

/** Says which child streams aren't requested for records that didn't change. */
export function uncheckedChildren(streams: Streams): OptionIssue[] {
  return Object.entries(streams).flatMap(
    ([
      name,
      {
        jobs: { parent = '' },
      },
    ]) => {
      const { since } = streams[parent] ?? {};
      if (since === undefined || since.children !== undefined) return [];
      const message = `is requested only for records of ${parent} that changed. If ${name} can change without them, write children: all in since of ${parent}, whose listings then read the whole list. Otherwise write children: changed.`;
      return [{ path: ['streams', name, 'for'], message }];
    },
  );
}

export function fieldsOf(request: RestRequest): Fields {
  const { stream: _, ...fields } = request;
  return fields;
}

/** The key of a job, such as `issues/nodejs/node`: the stream, and the values of the job's fields in the order of their names. */
export function jobKey({ stream, ...fields }: RestRequest): string {
  const values = Object.entries(fields).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return [stream, ...values.map(([, value]) => encodeURIComponent(value))].join('/');
}

export function jobSchema(streams: Streams): z.ZodType<RestRequest> {
  const isStep = (text: string): boolean => text === '.' || text === '..';
  const field = z.union([
    z
      .string()
      .min(1)
      .refine((text) => !isStep(text), "changes the path, so it can't be a field.")
      .refine((text) => text.isWellFormed(), "has half a surrogate pair, so it can't be sent."),
    exactNumber(),
  ]);
  const kinds = Object.entries(streams).map(([name, { fields, needed }]) =>
    z.strictObject({
      stream: z.literal(name),
      ...Object.fromEntries(Array.from(fields, (of) => [of, needed.has(of) ? field : field.exactOptional()])),
    }),
  );
  const [first, ...rest] = kinds;
  if (first === undefined) throw new PipelineError({ code: 'HEADGATE_DEFINITION', message: 'a section without a stream' });
  return z.discriminatedUnion('stream', [first, ...rest]);
}
