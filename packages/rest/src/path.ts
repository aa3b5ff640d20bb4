import { JSONPathError, JSONPathQuery, compile, jsonpath } from 'json-p3';
import * as z from 'zod';

/** A JSONPath (RFC 9535), compiled. */
export interface Path {
  /** The path as it was written; empty for a path in `lists`. */
  readonly text: string;
  /** Every value that the path selects, in the order of the document. */
  all(value: unknown): readonly unknown[];
  /** The first value that the path selects; undefined if it selects nothing. */
  first(value: unknown): unknown;
  /** The place of every selected value: the names and numbers that lead to it, each after a NUL. */
  places(value: unknown): readonly string[];
  /** True if the path ends with a name or number: `$.data` and `$['data']` select a list of records, and `$.data[*]` the records. */
  readonly isOfList: boolean;
  /** Paths of the lists before each `[*]` of this path, innermost first: `$.items` for `$.items[*].data`. */
  readonly lists: readonly Path[];
}

/** The schema for a path. With `singular`, the path must select at most one value, as `$.a.b[0]` does. */
export function path({ singular = false }: PathOptions = {}): z.ZodType<Path, string> {
  return z
    .string()
    .transform((text, context) => readPath(text, context, { singular }))
    .meta({ examples: [singular ? '$.next' : '$.data[*]'] });
}

interface PathOptions {
  readonly singular?: boolean;
}

/** Compiles a path. If the text isn't a valid path, adds an issue with the reason to `context`. */
export function readPath(text: string, context: z.RefinementCtx, { singular = false }: PathOptions = {}): Path {
  try {
    const query = compile(text);
    if (!singular || query.singularQuery()) return compiled(text, query);
    const message = 'selects any number of values, but this setting needs one. Write only names and numbers, such as $.page.next.';
    context.addIssue({ code: 'custom', message });
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const at = error instanceof JSONPathError ? `, character ${error.token.index + 1}` : '';
    const quoted = /selector|expected '\.'/.test(error.message) ? " Quote other names, as in $['@odata.nextLink']." : '';
    const cure = text.startsWith('$') ? quoted : ' A path starts with $, such as $.data[*].';
    context.addIssue({ code: 'custom', message: `isn't a JSONPath: ${reasonOf(error)}${at}.${cure}` });
  }
  return z.NEVER;
}

/** The reason in a message of the JSONPath library, without the path that the library quotes after it. */
function reasonOf({ message }: Error): string {
  const [reason = message] = message.split(" ('");
  return reason === "can't backup beyond start" ? 'it is empty' : reason;
}

/** Most paths are only names, some with `[*]` at the end. Such a path is followed directly, because the library would build a list of nodes. */
function compiled(text: string, query: JSONPathQuery): Path {
  const places = (value: unknown): readonly string[] =>
    query.query(value as never).nodes.map(({ location }) => location.map((one) => `\0${one}`).join(''));
  const { IndexSelector, NameSelector } = jsonpath.selectors;
  const ends = query.segments.at(-1)?.selectors ?? [];
  const isOfList = ends.every((one) => one instanceof NameSelector || one instanceof IndexSelector);
  const plain = /^\$((?:\.[A-Za-z_]\w*)*)(\[\*\])?$/.exec(text);
  if (plain === null) {
    const { environment, segments } = query;
    const before = [...segments.keys()].filter((i) => String(segments[i]) === '[*]').map((i) => segments.slice(0, i));
    return {
      text,
      all: (value) => query.query(value as never).nodes.map((node) => node.value),
      first: (value) => query.match(value as never)?.value,
      places,
      isOfList,
      lists: before.toReversed().map((some) => compiled('', new JSONPathQuery(environment, some))),
    };
  }
  const names = (plain[1] ?? '').split('.').slice(1);
  const follow = (value: unknown): unknown => {
    let at = value;
    for (const name of names) {
      if (typeof at !== 'object' || at === null || Array.isArray(at) || !Object.hasOwn(at, name)) return undefined;
      at = (at as Readonly<Record<string, unknown>>)[name];
    }
    return at;
  };
  const all = (value: unknown): readonly unknown[] => {
    const found = follow(value);
    return found === undefined ? [] : [found];
  };
  if (plain[2] === undefined) return { text, all, first: follow, places, isOfList, lists: [] };
  const entries = (value: unknown): readonly unknown[] => {
    const found = follow(value);
    return Array.isArray(found) ? found : typeof found === 'object' && found !== null ? Object.values(found) : [];
  };
  return {
    text,
    all: entries,
    first: (value) => entries(value)[0],
    places,
    isOfList,
    lists: [{ text: '', all, first: follow, places, isOfList: true, lists: [] }],
  };
}
