import { resolve } from 'node:path';
import { OF_FILE, type Scalar, isScalar, scalar, unreadable } from '@headgate/pipeline/internal';
import { type ParsedNode, type Scalar as ScalarNode, type YAMLMap, isMap, isSeq, isScalar as isScalarNode } from 'yaml';
import { type KeyPath, shownPath } from './problem.ts';
import { shownVariable, substituteVariables } from './variables.ts';
import { type Range, pairsOf } from './yaml-file.ts';
import { typographicQuotes } from './yaml-syntax.ts';

export interface YamlValuesOptions {
  /** Returns the value of a variable; undefined if it isn't set. */
  readonly lookup: (name: string) => string | undefined;
  /** Absolute path that relative paths start from. */
  readonly folder: string;
  /** Reads a file by its absolute path; rejects with the system's error. */
  readonly readText: (path: string) => Promise<string>;
  /** Called for a value that can't be used. */
  readonly problem: (origin: Origin, message: string) => void;
  /** Called for a value that is valid but unwise. */
  readonly warning: (origin: Origin, message: string) => void;
}

/** Where a value comes from. */
export interface Origin {
  /** Path of the value in the file. */
  readonly path: KeyPath;
  /** Undefined if the file has no such value. */
  readonly node: ParsedNode | null | undefined;
  /** Position of the value; if it is missing, that of its mapping's key. */
  readonly range: Range;
  /** Position of the value's key; for an entry of a list, that of the entry itself. */
  readonly keyRange: Range;
  /** 1-based line in a list's file, if the value comes from one. */
  readonly line?: number;
  /** The entry on that line, trimmed and without its comment. */
  readonly text?: string;
  /** True if a problem of this value was already reported. */
  isReported?: boolean;
}

/** A section in the form that schemas read. */
export interface YamlSection {
  readonly value: unknown;
  readonly scalars: readonly { readonly scalar: Scalar; readonly node: ScalarNode.Parsed; readonly origin: Origin }[];
  /** Texts of variables and secrets, to hide in messages. */
  readonly hidden: string[];
  /** True if a list has an entry such as `{ file: list.txt }`. */
  readonly hasLists: boolean;
  /** Replaces each `{ file }` entry that a schema has recognized with the lines of the file. */
  readLists(): Promise<void>;
}

/** The values of a file, and where each comes from. */
export interface YamlValues {
  section(name: string): YamlSection;
  /** The origin of a value. If the value is missing, the place where it belongs. */
  originOf(path: KeyPath): Origin;
}

type Origins = Record<string | number, Origin>;

/** Reads a file's sections and inserts variables. Each value becomes a `Scalar` (of @headgate/pipeline), which the schemas convert. */
export function yamlValues(root: YAMLMap.Parsed, { lookup, folder, readText, problem, warning }: YamlValuesOptions): YamlValues {
  // The objects have no prototype, so that `__proto__` is a key like any other.
  const bare = <Value>(): Record<string, Value> => Object.create(null) as Record<string, Value>;
  const values = bare<unknown>();
  const origins = new Map<unknown, Origins>();
  const tell = (origin: Origin, message: string): undefined => {
    origin.isReported = true;
    problem(origin, message);
  };
  const pairs = (node: YAMLMap.Parsed, origin: Origin): Origins => {
    const own = bare<Origin>();
    for (const { name, key, value } of pairsOf(node)) {
      if (name === undefined) tell(origin, "has a key that isn't a single word. Write keys as plain words.");
      else own[name] = { path: [...origin.path, name], node: value, range: value?.range ?? key.range, keyRange: key.range };
    }
    return own;
  };
  const whole: Origin = { path: [], node: root, range: root.range, keyRange: root.range };
  origins.set(values, pairs(root, whole));

  function section(name: string): YamlSection {
    const scalars: YamlSection['scalars'][number][] = [];
    const hidden: string[] = [];
    const lists: { readonly entries: unknown[]; readonly from: Origin[] }[] = [];
    let linesRead = 0;

    function valueOf(origin: Origin): unknown {
      const { node } = origin;
      if (isMap(node)) {
        const own = pairs(node, origin);
        const mapping = bare<unknown>();
        for (const [key, of] of Object.entries(own)) mapping[key] = valueOf(of);
        origins.set(mapping, own);
        return mapping;
      }
      if (isSeq(node)) {
        const from = node.items.map((item, i): Origin => {
          const range = item?.range ?? origin.range;
          return { path: [...origin.path, i], node: item, range, keyRange: range };
        });
        const entries = from.map(valueOf);
        origins.set(entries, from as unknown as Origins);
        if (entries.some((entry) => fileOf(entry) !== undefined)) lists.push({ entries, from });
        return entries;
      }
      if (isScalarNode(node) && node.value !== null) return scalarOf(node, origin);
      return node == null || isScalarNode(node) ? null : tell(origin, "is an alias. Aliases aren't supported here: write the value out.");
    }

    function scalarOf(node: ScalarNode.Parsed, origin: Origin): Scalar {
      const { source, value } = node;
      const isText = typeof value === 'string';
      const given = { text: source, names: [], unset: [], malformed: false };
      const { text, names, unset, malformed } = isText ? substituteVariables({ text: source, lookup }) : given;
      const slip = node.type === 'PLAIN' ? typographicQuotes(source) : undefined;
      if (slip !== undefined) tell(origin, slip);
      for (const variable of new Set(unset))
        tell(origin, `uses ${shownVariable(variable)}, which isn't set. Export it, or put it into .env next to this file.`);
      if (malformed) tell(origin, 'has a ${ without a variable. Write ${NAME} with letters, digits and _, or $${ for the characters ${.');
      const unbraced = bareVariable(source);
      if (unbraced !== undefined && lookup(unbraced) !== undefined) tell(origin, withoutBraces(unbraced));
      if (names.length > 0) hidden.push(text);
      const bare = names.length > 0 ? bareValue(text) : value;
      const isBare = typeof bare === 'number' || typeof bare === 'boolean';
      const read = scalar({ text, folder, hasVariable: names.length > 0, ...(isBare && { bare }) });
      scalars.push({ scalar: read, node, origin });
      return read;
    }

    async function readLists(): Promise<void> {
      for (const { entries, from } of lists) {
        const before = entries.splice(0);
        for (const [i, origin] of from.splice(0).entries()) {
          const file = fileOf(before[i]);
          const { file: named = origin } = origins.get(before[i]) ?? {};
          if (file?.namesList !== true) {
            entries.push(before[i]);
            from.push(origin);
          } else if (named.isReported !== true) {
            for (const { number, text } of await linesOf(file, named)) {
              entries.push(text);
              from.push({ ...named, line: number, text });
            }
          }
        }
      }
    }

    async function linesOf(file: Scalar, origin: Origin): Promise<readonly ListLine[]> {
      try {
        const text = await readText(resolve(folder, file.text));
        linesRead += newlinesIn(text);
        if (linesRead > MAX_LINES) {
          const limit = MAX_LINES.toLocaleString('en-US');
          tell(
            origin,
            `${shownPath(file.text)} exceeds the ${limit} lines that a section may read from files. Split the file, and add the other parts with enqueue.`,
          );
          return [];
        }
        const lines = listLines(text);
        if (lines.length === 0) warning(origin, `${shownPath(file.text)} has no entries. Write one per line. Comments start with #.`);
        return lines;
      } catch (error) {
        tell(origin, `${shownPath(file.text)} ${unreadable(error)}`);
        return [];
      }
    }

    const origin = origins.get(values)?.[name];
    const value = origin === undefined ? bare() : valueOf(origin);
    values[name] = isMap(origin?.node) ? Object.assign(value as object, { [OF_FILE]: true }) : value;
    return { value, scalars, hidden, hasLists: lists.length > 0, readLists };
  }

  return {
    section,
    originOf(path) {
      let at = whole;
      let value: unknown = values;
      for (const [i, part] of path.entries()) {
        const next = origins.get(value)?.[part];
        if (next === undefined) return { ...at, path: [...at.path, ...path.slice(i)], node: undefined, range: at.keyRange };
        at = next;
        value = (value as Readonly<Record<string | number, unknown>>)[part];
      }
      return at;
    },
  };
}

function fileOf(entry: unknown): Scalar | undefined {
  const isAlone = typeof entry === 'object' && entry !== null && Object.keys(entry).length === 1 && 'file' in entry;
  return isAlone && isScalar(entry.file) ? entry.file : undefined;
}

/** Returns the name in `$NAME`; undefined for any other text. */
export function bareVariable(source: string): string | undefined {
  return /^\$([A-Z_][A-Z0-9_]*)$/.exec(source)?.[1];
}

export function withoutBraces(name: string): string {
  return `has a $ without braces, so no variable is inserted. Write "\${${name}}".`;
}

/** Parses the text of a variable as a number or boolean; undefined if it is neither. */
function bareValue(text: string): number | boolean | undefined {
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return Number(text);
  return text === 'true' || (text === 'false' ? false : undefined);
}

/** An entry of a list in a file, and its line, 1-based. */
interface ListLine {
  readonly number: number;
  readonly text: string;
}

/** The entries of a list: one per line, without comments and empty lines. */
function listLines(text: string): readonly ListLine[] {
  return text
    .split(/\r\n|\r|\n/)
    .map((line, i) => ({ number: i + 1, text: line.replace(/(^|\s)#.*$/, '').trim() }))
    .filter((line) => line.text !== '');
}

/** Maximum lines that a section may read from files, because a run keeps them in memory. */
const MAX_LINES = 1_000_000;

function newlinesIn(text: string): number {
  let count = 0;
  for (const _ of text.matchAll(/\r\n?|\n/g)) count += 1;
  return count;
}
