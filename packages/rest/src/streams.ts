import type { SectionSettings, StreamSettings } from './language.ts';
import { type JsonTemplate, type Placeholder, type Template, fieldsOf } from './template.ts';
import { roughness } from './time.ts';

/** A stream with the settings of its section, and what follows from them. */
export interface Stream extends StreamSettings {
  readonly name: string;
  /** Topic of the records. */
  readonly topic: string;
  readonly placeholders: readonly Placeholder[];
  /** The fields that the stream's jobs can have: its own, and those of all its parent streams. */
  readonly fields: ReadonlySet<string>;
  /** The fields that the jobs must have: the stream's own, and each inherited field that it or one of its child streams uses. */
  readonly needed: ReadonlySet<string>;
  /** The streams whose jobs this stream's records create. */
  readonly children: readonly Stream[];
  /** True if the requests have `{since}`. Otherwise, each listing returns all records. */
  readonly sendsSince: boolean;
  /** Maximum ms by which a record that a listing returns can be older than its `{since}`, because of the format of `{since}`. */
  readonly roughMs: number;
  /** True if each page is requested as the first one from the newest time of the previous page on. A service's own cursor needs no such care. */
  readonly isByTime: boolean;
}

export type Streams = Readonly<Record<string, Stream>>;

/**
 * The streams of a section, each with the section's `pages`, `query`, `headers` and `errors`. A stream's own settings take precedence, and a
 * stream with `batch` gets no `pages`. No stream may lead back to itself.
 */
export function streamsOf(section: SectionSettings): Streams {
  const own = new Map(Object.entries(section.streams));
  const built = new Map<string, Stream>();
  const build = (name: string, settings: StreamSettings): Stream => {
    const stream = built.get(name) ?? streamOf(name, settings);
    built.set(name, stream);
    return stream;
  };

  function streamOf(name: string, settings: StreamSettings): Stream {
    const { pages, query, headers, errors = [] } = section;
    const whole = {
      ...(pages !== undefined && settings.batch === undefined && { pages }),
      ...settings,
      query: { ...query, ...settings.query },
      headers: { ...headers, ...settings.headers },
      errors: [...(settings.errors ?? []), ...errors],
    };
    const { since, jobs, to: topic = name } = whole;
    const placeholders = Array.from(placeholdersOf(whole), ([, one]) => one);
    const children = [...own].filter(([, { jobs: of }]) => of.parent === name).map(([child, of]) => build(child, of));
    const used = new Set([
      ...placeholders.map((one) => one.name),
      ...children.flatMap((child) => [...child.needed].filter((field) => !child.jobs.fields.includes(field))),
    ]);
    const fields = fieldNames(section.streams, name);
    const sinces = placeholders.filter((one) => one.name === 'since');
    const sendsSince = since?.children !== 'all' && sinces.length > 0;
    const moves = whole.pages?.style?.moves ?? 'never';
    return {
      ...whole,
      name,
      topic,
      placeholders,
      fields,
      needed: new Set([...fields].filter((field) => used.has(field) || jobs.fields.includes(field))),
      children,
      sendsSince,
      roughMs: Math.max(0, ...sinces.map(({ format }) => roughness(format))),
      isByTime: since?.order === 'ascending' && moves !== 'never' && sendsSince,
    };
  }

  return Object.fromEntries([...own].map(([name, settings]) => [name, build(name, settings)]));
}

/** A stream and its parent streams, the nearest first. Ends before a stream that comes again. */
export function lineage(streams: SectionSettings['streams'], name: string): readonly string[] {
  const names: string[] = [];
  for (let at: string | undefined = name; at !== undefined && !names.includes(at); at = streams[at]?.jobs.parent) names.push(at);
  return names;
}

/** The fields of a stream's jobs: its own, and those of all its parent streams. */
function fieldNames(streams: SectionSettings['streams'], name: string): ReadonlySet<string> {
  return new Set(lineage(streams, name).flatMap((of) => streams[of]?.jobs.fields ?? []));
}

type WithPlaceholders = Pick<SectionSettings, 'query' | 'headers'> &
  Partial<Pick<StreamSettings, 'method' | 'body' | 'form' | 'add'>> & {
    readonly path?: Template | undefined;
    readonly keyText?: Template | undefined;
  };

/** The placeholders of settings, each with the path of the setting that contains it. */
export function* placeholdersOf({
  method,
  path,
  body,
  form,
  query,
  headers,
  add,
  keyText,
}: WithPlaceholders): Generator<readonly [at: readonly string[], placeholder: Placeholder]> {
  const own = (at: readonly string[], given: JsonTemplate | undefined) => fieldsOf(given ?? null).map((field) => [at, field] as const);
  if (method !== undefined) yield* own([method.toLowerCase()], path);
  yield* own(['body'], body);
  for (const [name, map] of Object.entries({ form, query, headers, add }))
    for (const [member, one] of Object.entries(map ?? {})) yield* own([name, member], one);
  yield* own(['key'], keyText);
}
