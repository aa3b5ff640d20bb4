import { type ParsedNode, type Scalar, isMap, isScalar, isSeq } from 'yaml';
import { unreadable } from './file-text.ts';
import { type JsonSchema, alternatives, itemSchema, mappingSchema, propertySchema, takesLines } from './json-schema.ts';
import { isPem } from './pem.ts';
import { type KeyPath, isShowable, shownPath } from './problem.ts';
import { shownVariable, substituteVariables } from './variables.ts';
import { pairsOf } from './yaml-file.ts';
import { typographicQuotes } from './yaml-syntax.ts';

export interface YamlValuesOptions {
  /** The value of an environment variable (or of .env), undefined where it is not set. */
  readonly lookup: (name: string) => string | undefined;
  /** Makes a path of the file absolute. */
  readonly resolvePath: (path: string) => string;
  /** Reads a file by its absolute path; rejects with the system's error. */
  readonly readText: (path: string) => Promise<string>;
  /** Told of what can't be read at all: a value that was told of is not to be complained about again. */
  readonly problem: (path: KeyPath, message: string) => void;
  /** Told of what is not wrong but unwise. */
  readonly warning: (path: KeyPath, message: string) => void;
  /** Told of a secret in plain text, and of the variable that its schema names. */
  readonly plainSecret: (path: KeyPath, variable: string | undefined) => void;
}

/** A value of a file as plain data, and where its parts come from. */
export interface YamlValue {
  readonly value: unknown;
  /** Where an entry of a list comes from, by the path of the value. */
  originOf(path: KeyPath): Origin;
  /** Texts of variables and secrets, which no message may hold. */
  readonly hidden: readonly string[];
  /** Offsets in the file's text of single values that a message may hold, and their lengths. */
  readonly open: ReadonlyMap<number, number>;
}

export interface Origin {
  /** In the file. */
  readonly path: KeyPath;
  /** The line of the list's file that it is, 1-based, and its text. */
  readonly line?: { readonly number: number; readonly text: string };
}

/**
 * Reads a node of a file into what its schema takes: variables put in, texts as they are written (an id without quotes loses no digits),
 * paths absolute, and the lines of `{ file: … }` in place of such an entry of a list of texts.
 */
export async function yamlValue(
  root: ParsedNode | null,
  schema: JsonSchema | undefined,
  at: KeyPath,
  { lookup, resolvePath, readText, problem, warning, plainSecret }: YamlValuesOptions,
): Promise<YamlValue> {
  const lists = new Map<string, readonly Origin[]>();
  const hidden: string[] = [];
  const open = new Map<number, number>();
  let linesRead = 0;

  async function valueOf(node: ParsedNode | null, schemaHere: JsonSchema | undefined, path: KeyPath): Promise<unknown> {
    if (isMap(node)) {
      const pairs = pairsOf(node);
      const own = mappingSchema(schemaHere, (key) => {
        const value = pairs.find(({ name }) => name === key)?.value;
        if (!isScalar(value)) return value;
        // The value that the variable holds chooses among alternatives.
        return typeof value.value === 'string' ? substituteVariables({ text: value.source, lookup }).text : value.value;
      });
      // Without a prototype, so that a key such as __proto__ is a key like any other.
      const mapping: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
      for (const { name, value } of pairs) {
        if (name === undefined) problem(path, 'has a key that is not a single word. Write keys as plain words.');
        else mapping[name] = await valueOf(value, propertySchema(own, name), [...path, name]);
      }
      return mapping;
    }
    if (isSeq(node)) return await listOf(node.items, schemaHere, path);
    if (isScalar(node) && node.value !== null) return scalarOf(node, schemaHere, path);
    if (node !== null && !isScalar(node)) problem(path, 'is an alias. Aliases are not read here: write the value out.');
    // A list whose entries are all commented out is empty.
    return alternatives(schemaHere).some(({ type }) => type === 'array') ? [] : null;
  }

  async function listOf(items: readonly (ParsedNode | null)[], schemaHere: JsonSchema | undefined, path: KeyPath): Promise<unknown[]> {
    const isOfTexts = takesLines(schemaHere);
    const values: unknown[] = [];
    const origins: Origin[] = [];
    for (const [i, item] of items.entries()) {
      const own = [...path, i];
      const file =
        isOfTexts && isMap(item) && item.items.length === 1 ? pairsOf(item).find(({ name }) => name === 'file')?.value : undefined;
      if (isScalar(file)) {
        const inFile = [...own, 'file'];
        for (const line of await linesOf(file, inFile)) {
          values.push(line.text);
          origins.push({ path: inFile, line });
        }
      } else {
        values.push(await valueOf(item, itemSchema(schemaHere, i), own));
        origins.push({ path: own });
      }
    }
    lists.set(JSON.stringify(path), origins);
    return values;
  }

  async function linesOf(node: Scalar.Parsed, path: KeyPath): Promise<NonNullable<Origin['line']>[]> {
    const name = textOf(node, path);
    if (name === undefined) return [];
    try {
      const text = await readText(resolvePath(name));
      linesRead += newlinesIn(text);
      if (linesRead > MOST_LINES) {
        const limit = MOST_LINES.toLocaleString('en-US');
        problem(path, `takes this section over ${limit} lines of files. Split the file, and add the other parts with enqueue.`);
        return [];
      }
      const lines = text
        .split(/\r\n|\r|\n/)
        .map((line, i) => ({ number: i + 1, text: line.replace(/(^|\s)#.*$/, '').trim() }))
        .filter((line) => line.text !== '');
      if (lines.length === 0) warning(path, `${shownPath(name)} has no entries. Write one per line; a # begins a comment.`);
      return lines;
    } catch (error) {
      problem(path, unreadable(error));
      return [];
    }
  }

  /** A text with its variables put in; undefined where that was complained about. */
  function textOf({ source, value }: Scalar.Parsed, path: KeyPath): string | undefined {
    if (typeof value !== 'string') return source;
    const { text, names, unset, malformed } = substituteVariables({ text: source, lookup });
    for (const name of new Set(unset)) {
      problem(path, `takes ${shownVariable(name)}, which is not set. Export it, or put it into .env next to this file.`);
    }
    if (malformed) problem(path, 'has a ${ without a variable. Write ${NAME} with letters, digits and _, or $${ for the characters ${.');
    if (names.length > 0) hidden.push(text);
    return malformed || unset.length > 0 ? undefined : text;
  }

  function scalarOf(node: Scalar.Parsed, schemaHere: JsonSchema | undefined, path: KeyPath): unknown {
    const schemas = alternatives(schemaHere);
    const isSecret = schemas.some(({ writeOnly }) => writeOnly === true);
    if (!isSecret && schemas.length > 0 && !schemas.some(({ format }) => format === 'uri') && isShowable(node.source))
      open.set(node.range[0], node.range[1] - node.range[0]);
    const slip = node.type === 'PLAIN' ? typographicQuotes(node.source) : undefined;
    if (slip !== undefined) {
      problem(path, slip);
      return undefined;
    }
    const bare = /^\$([A-Z_][A-Z0-9_]*)$/.exec(node.source)?.[1];
    if (bare !== undefined && (isSecret || lookup(bare) !== undefined)) {
      const name = lookup(bare) === undefined ? 'NAME' : bare;
      problem(path, `has a $ without braces, which takes no variable. Write "\${${name}}".`);
      return undefined;
    }
    const text = textOf(node, path);
    if (text === undefined) return undefined;
    const fromVariable = typeof node.value === 'string' && text !== node.source;
    const takes = (...types: readonly string[]): boolean =>
      schemas.some(({ type, const: constant }) => types.includes(type ?? typeof constant));
    if (isSecret) {
      hidden.push(text);
      if (!fromVariable && text !== '' && !isHarmless(text, schemas)) plainSecret(path, variableOf(schemaHere));
    }
    if (schemas.length === 0 || schemas.some(({ type, enum: words, const: constant }) => (type ?? words ?? constant) === undefined)) {
      return fromVariable || typeof node.value === 'string' ? text : node.value;
    }
    if (typeof node.value === 'number' && takes('integer', 'number')) return node.value;
    if (typeof node.value === 'boolean' && takes('boolean')) return node.value;
    if (fromVariable && takes('integer', 'number') && /^-?\d+(?:\.\d+)?$/.test(text)) return Number(text);
    if (fromVariable && takes('boolean') && (text === 'true' || text === 'false')) return text === 'true';
    if (takes('string'))
      return schemas.some(({ format }) => format === 'path') && !isPem(text) && text.trim() !== '' ? resolvePath(text) : text;
    return typeof node.value === 'string' ? text : node.value;
  }

  const value = await valueOf(root, schema, at);
  return {
    value,
    hidden,
    open,
    originOf(path) {
      const real: (string | number)[] = [];
      for (const part of path) {
        const origin = typeof part === 'number' ? lists.get(JSON.stringify(real))?.[part] : undefined;
        if (origin?.line !== undefined) return origin;
        if (origin === undefined) real.push(part);
        else real.splice(0, Infinity, ...origin.path);
      }
      return { path: real };
    },
  };
}

/** A run keeps about a kilobyte in memory for each entry of a list. */
const MOST_LINES = 1_000_000;

function newlinesIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

function variableOf(schema: JsonSchema | undefined): string | undefined {
  return schema?.examples?.flatMap((example) => /^\$\{(\w+)\}$/.exec(String(example))?.[1] ?? [])[0];
}

/** An address without a password, or a path, that stands where a secret may stand. */
function isHarmless(text: string, schemas: readonly JsonSchema[]): boolean {
  if (schemas.some(({ format }) => format === 'path')) return !isPem(text);
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  return url !== null && url.password === '';
}
