import { resolve } from 'node:path';
import { OF_FILE, type Scalar, isScalar, scalar, unreadable } from '@headgate/pipeline/internal';
import { type ParsedNode, type Scalar as ScalarNode, type YAMLMap, isMap, isSeq, isScalar as isScalarNode } from 'yaml';
import type { KeyPath } from './problem.ts';
import { shownVariable, substituteVariables } from './variables.ts';
import { type Range, pairsOf } from './yaml-file.ts';

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

/** An error or a warning about a value. */
export interface Finding {
  readonly origin: Origin;
  readonly message: string;
  /** The part that the problem marks. Default: the value. */
  readonly at?: 'key' | 'value';
}

/** A single value, and its place in the file. */
export interface YamlScalar {
  readonly scalar: Scalar;
  readonly node: ScalarNode.Parsed;
  readonly origin: Origin;
}

/** A section in the form that schemas read. Each value is a `Scalar` (of @headgate/pipeline), which the schemas convert. */
export interface YamlSection {
  readonly value: unknown;
  readonly scalars: readonly YamlScalar[];
  readonly problems: readonly Finding[];
  readonly warnings: readonly Finding[];
}

type Origins = Record<string | number, Origin>;

/** The values of a file, and where each comes from. */
export class YamlValues {
  readonly #whole: Origin;
  /** The sections that were read, by name. The object has no prototype, so that `__proto__` is a key like any other. */
  readonly #values = bare<unknown>();
  /** The origins of the values in a mapping or list. */
  readonly #origins = new Map<unknown, Origins>();
  readonly #lookup: (name: string) => string | undefined;
  readonly #folder: string;
  readonly #readText: (path: string) => Promise<string>;

  /** `lookup` returns a variable's value. `folder`: absolute path that relative paths start from. `readText` reads a file by its absolute path. */
  constructor(
    root: YAMLMap.Parsed,
    lookup: (name: string) => string | undefined,
    folder: string,
    readText: (path: string) => Promise<string>,
  ) {
    this.#lookup = lookup;
    this.#folder = folder;
    this.#readText = readText;
    this.#whole = { path: [], node: root, range: root.range, keyRange: root.range };
    this.#origins.set(this.#values, originsIn(root, this.#whole));
  }

  /** The keys of the file that aren't single words. */
  get problems(): readonly Finding[] {
    return isMap(this.#whole.node) ? unnamedKeys(this.#whole.node, this.#whole) : [];
  }

  /** Reads a section, and inserts its variables and the lines of its lists. */
  async section(name: string): Promise<YamlSection> {
    const reading: Reading = { scalars: [], lists: [], problems: [], warnings: [], linesRead: 0 };
    const origin = this.#origins.get(this.#values)?.[name];
    const value = origin === undefined ? bare() : this.#valueOf(origin, reading);
    this.#values[name] = isMap(origin?.node) ? Object.assign(value as object, { [OF_FILE]: true }) : value;
    for (const { entries, from } of reading.lists) await this.#readList(entries, from, reading);
    return { value, scalars: reading.scalars, problems: reading.problems, warnings: reading.warnings };
  }

  /** The origin of a value. If the value is missing, the place where it belongs. */
  originOf(path: KeyPath): Origin {
    let at = this.#whole;
    let value: unknown = this.#values;
    for (const [i, part] of path.entries()) {
      const next = this.#origins.get(value)?.[part];
      if (next === undefined) return { ...at, path: [...at.path, ...path.slice(i)], node: undefined, range: at.keyRange };
      at = next;
      value = (value as Readonly<Record<string | number, unknown>>)[part];
    }
    return at;
  }

  #valueOf(origin: Origin, reading: Reading): unknown {
    const { node } = origin;
    if (isMap(node)) {
      reading.problems.push(...unnamedKeys(node, origin));
      const own = originsIn(node, origin);
      const mapping = bare<unknown>();
      for (const [key, of] of Object.entries(own)) mapping[key] = this.#valueOf(of, reading);
      this.#origins.set(mapping, own);
      return mapping;
    }
    if (isSeq(node)) {
      const from = node.items.map((item, i): Origin => {
        const range = item?.range ?? origin.range;
        return { path: [...origin.path, i], node: item, range, keyRange: range };
      });
      const entries = from.map((of) => this.#valueOf(of, reading));
      this.#origins.set(entries, from as unknown as Origins);
      if (entries.some((entry) => fileOf(entry) !== undefined)) reading.lists.push({ entries, from });
      return entries;
    }
    if (isScalarNode(node) && node.value !== null) return this.#scalarOf(node, origin, reading);
    if (node == null || isScalarNode(node)) return null;
    return report(reading, origin, "is an alias. Aliases aren't supported here: write the value out.");
  }

  #scalarOf(node: ScalarNode.Parsed, origin: Origin, reading: Reading): Scalar {
    const { source, value } = node;
    const isText = typeof value === 'string';
    const given = { text: source, names: [], unset: [], malformed: false };
    const { text, names, unset, malformed } = isText ? substituteVariables(source, this.#lookup) : given;
    for (const variable of new Set(unset))
      report(reading, origin, `uses ${shownVariable(variable)}, which isn't set. Export it, or put it into .env next to this file.`);
    if (malformed)
      report(reading, origin, 'has a ${ without a variable. Write ${NAME} with letters, digits and _, or $${ for the characters ${.');
    const unbraced = bareVariable(source);
    if (unbraced !== undefined && this.#lookup(unbraced) !== undefined) report(reading, origin, withoutBraces(unbraced));
    const hasVariable = names.length > 0;
    const bareOf = hasVariable ? bareValue(text) : value;
    const isBare = typeof bareOf === 'number' || typeof bareOf === 'boolean';
    const read = scalar({ text, folder: this.#folder, hasVariable, ...(isBare && { bare: bareOf }) });
    reading.scalars.push({ scalar: read, node, origin });
    return read;
  }

  /** Replaces each entry `{ file: list.txt }` of a list with the lines of the file. */
  async #readList(entries: unknown[], from: Origin[], reading: Reading): Promise<void> {
    const before = entries.splice(0);
    for (const [i, origin] of from.splice(0).entries()) {
      const file = fileOf(before[i]);
      const { file: named = origin } = this.#origins.get(before[i]) ?? {};
      if (file === undefined) {
        entries.push(before[i]);
        from.push(origin);
      } else if (named.isReported !== true) {
        for (const { number, text } of await this.#linesOf(file, named, reading)) {
          entries.push(text);
          from.push({ ...named, line: number, text });
        }
      }
    }
  }

  async #linesOf(file: Scalar, origin: Origin, reading: Reading): Promise<readonly ListLine[]> {
    try {
      const text = await this.#readText(resolve(this.#folder, file.text));
      reading.linesRead += newlinesIn(text);
      if (reading.linesRead > MAX_LINES) {
        report(reading, origin, TOO_MANY_LINES);
        return [];
      }
      const lines = listLines(text);
      if (lines.length === 0)
        reading.warnings.push({ origin, message: 'this file has no entries. Write one per line. Comments start with #.' });
      return lines;
    } catch (error) {
      report(reading, origin, unreadable(error));
      return [];
    }
  }
}

/** What is found while a section is read. */
interface Reading {
  readonly scalars: YamlScalar[];
  readonly lists: { readonly entries: unknown[]; readonly from: Origin[] }[];
  readonly problems: Finding[];
  readonly warnings: Finding[];
  /** Lines read from files so far. */
  linesRead: number;
}

function report(reading: Reading, origin: Origin, message: string): undefined {
  origin.isReported = true;
  reading.problems.push({ origin, message });
}

function bare<Value>(): Record<string, Value> {
  return Object.create(null) as Record<string, Value>;
}

function originsIn(node: YAMLMap.Parsed, origin: Origin): Origins {
  const own = bare<Origin>();
  for (const { name, key, value } of pairsOf(node))
    if (name !== undefined)
      own[name] = { path: [...origin.path, name], node: value, range: value?.range ?? key.range, keyRange: key.range };
  return own;
}

function unnamedKeys(node: YAMLMap.Parsed, origin: Origin): readonly Finding[] {
  if (pairsOf(node).every(({ name }) => name !== undefined)) return [];
  origin.isReported = true;
  return [{ origin, message: "has a key that isn't a single word. Write keys as plain words." }];
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
const TOO_MANY_LINES =
  'exceeds the 1,000,000 lines that a section may read from files. Split the file, and add the other parts with enqueue.';

function newlinesIn(text: string): number {
  let count = 0;
  for (const _ of text.matchAll(/\r\n?|\n/g)) count += 1;
  return count;
}
