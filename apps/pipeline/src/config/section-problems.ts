import type { OptionIssue } from '@headgate/pipeline';
import { type ParsedNode, isScalar } from 'yaml';
import { type JsonSchema, alternatives, exampleOf, itemSchema, mappingSchema, propertySchema } from './json-schema.ts';
import { nearest } from './nearest.ts';
import { type KeyPath, type Problem, formatKey, isShowable, shown, shownPath } from './problem.ts';
import { shownVariable, substituteVariables } from './variables.ts';
import type { YamlFile } from './yaml-file.ts';
import type { YamlValue } from './yaml-values.ts';

export interface SectionProblemsOptions {
  readonly file: YamlFile;
  /** Its key in the file. */
  readonly name: string;
  readonly schema: JsonSchema;
  readonly read: YamlValue;
  /** All keys that messages may show. */
  readonly known: readonly string[];
  /** Whether nothing is wrong, but unwise: such messages are whole sentences. Default false. */
  readonly areWarnings?: boolean;
}

/** Longer messages come from schemas of others, and may have no end. */
const LONGEST = 500;
/** More lines of one file than these are counted. */
const MOST_LINES = 20;

/** What is wrong with a section, or unwise in it, at its place in the file and with what may be written there. */
export function sectionProblems(issues: readonly OptionIssue[], options: SectionProblemsOptions): Problem[] {
  const { file, name, schema, read, known, areWarnings = false } = options;
  const meant = new Set(issues.flatMap((issue) => (issue.code === 'unknown-key' ? meantBy(issue.path, options) : [])));
  const files = new Map<string, { readonly real: KeyPath; lines: number }>();
  const problems: Problem[] = [];
  for (const issue of issues) {
    const { path, code } = issue;
    if (code === 'missing' && meant.has(JSON.stringify(path))) continue;
    const { path: within, line } = read.originOf(path);
    const real = [name, ...within];
    const node = file.nodeAt(real);
    const here = schemaAt(schema, read.value, path);
    const said = { ...issue, message: withoutHidden(issue.message, read.hidden) };
    const isAboutValue = !areWarnings && code !== 'missing';
    const text =
      code === 'unknown-key'
        ? unknownKeyMessage(String(path.at(-1)), siblings(path, options))
        : withSubject(withAdvice(said, here, node), isAboutValue ? subject(node, here, line?.text) : undefined).slice(0, LONGEST);
    if (line === undefined) {
      problems.push({ ...file.placeOf(real, code === 'unknown-key' ? 'key' : 'value'), key: formatKey(real, known), message: text });
      continue;
    }
    const told = files.get(JSON.stringify(real)) ?? { real, lines: 0 };
    files.set(JSON.stringify(real), told);
    told.lines += 1;
    if (told.lines > MOST_LINES) continue;
    problems.push({ ...file.placeOf(real), key: formatKey(real, known), message: `${listName(node)}, line ${line.number}: ${text}` });
  }
  for (const { real, lines } of files.values()) {
    if (lines <= MOST_LINES) continue;
    const message = `${listName(file.nodeAt(real))}: ${lines - MOST_LINES} more lines like these.`;
    problems.push({ ...file.placeOf(real), key: formatKey(real, known), message });
  }
  return problems;
}

function listName(node: ParsedNode | null | undefined): string {
  return isScalar(node) ? shownPath(node.source) : 'the file';
}

/** The same of options that stand in no file: with keys alone. */
export function optionProblems(issues: readonly OptionIssue[], { name, schema, value }: OptionProblemsOptions): Problem[] {
  return issues.map((issue) => {
    const { path, code } = issue;
    const key = [...name, ...path].join('.').replaceAll(/\.(\d+)(?=\.|$)/g, '[$1]');
    const within = { schema, read: { value } };
    return {
      key,
      message:
        code === 'unknown-key'
          ? unknownKeyMessage(String(path.at(-1)), siblings(path, within))
          : withAdvice(issue, schemaAt(schema, value, path), undefined),
    };
  });
}

export interface OptionProblemsOptions {
  /** Before the keys. */
  readonly name: readonly string[];
  readonly schema: JsonSchema;
  readonly value: unknown;
}

/** `unknown key.`, and the known one it is nearest to, where it is near. */
export function unknownKeyMessage(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  if (meant !== undefined) return `unknown key. Did you mean ${meant}?`;
  return known.length === 0 || known.length > 12 ? 'unknown key. Remove it.' : `unknown key. Here stand: ${known.join(', ')}.`;
}

/** The keys that may stand beside a path's last. */
function siblings(
  path: KeyPath,
  { schema, read }: { readonly schema: JsonSchema; readonly read: { readonly value: unknown } },
): readonly string[] {
  const above = path.slice(0, -1);
  const value = valueAt(read.value, above);
  return Object.keys(mappingSchema(schemaAt(schema, read.value, above), (key) => valueAt(value, [key]))?.properties ?? {});
}

/** The path of the key that an unknown one was probably meant to be. */
function meantBy(path: KeyPath, options: SectionProblemsOptions): readonly string[] {
  const key = nearest(String(path.at(-1)), siblings(path, options));
  return key === undefined ? [] : [JSON.stringify([...path.slice(0, -1), key])];
}

/** The schema of a value within another. */
function schemaAt(schema: JsonSchema | undefined, value: unknown, path: KeyPath): JsonSchema | undefined {
  const [part, ...rest] = path;
  if (part === undefined) return schema;
  const inner =
    typeof part === 'number'
      ? itemSchema(schema, part)
      : propertySchema(
          mappingSchema(schema, (key) => valueAt(value, [key])),
          part,
        );
  return schemaAt(inner, valueAt(value, [part]), rest);
}

function valueAt(value: unknown, path: KeyPath): unknown {
  return path.reduce(
    (one, part) => (typeof one === 'object' && one !== null ? (one as Readonly<Record<string | number, unknown>>)[part] : undefined),
    value,
  );
}

/** The value that a message is about, or the variables it takes; undefined where it may hold a secret, or is no single value. */
function subject(node: ParsedNode | null | undefined, schema: JsonSchema | undefined, line: string | undefined): string | undefined {
  const isSecret = alternatives(schema).some(({ writeOnly, format }) => writeOnly === true || format === 'uri');
  if (line !== undefined) return isSecret ? undefined : shown(line);
  if (!isScalar(node) || node.value === null) return undefined;
  const { names } = substituteVariables({ text: node.source, lookup: () => '' });
  if (typeof node.value === 'string' && names.length > 0) return `takes ${[...new Set(names)].map(shownVariable).join(' and ')}, which`;
  return isSecret || !isShowable(node.source) ? undefined : shown(node.source);
}

function withSubject(message: string, before: string | undefined): string {
  if (before === undefined) return message;
  return `${before}${/^\p{Lu}/u.test(message) ? ':' : ''} ${message}`;
}

/** What to write instead, where the message doesn't say it. */
function withAdvice({ message, code }: OptionIssue, schema: JsonSchema | undefined, node: ParsedNode | null | undefined): string {
  const example = exampleOf(schema);
  switch (code) {
    case undefined:
    case 'unknown-key':
      return message;
    case 'no-value':
      return `${message} ${example === undefined ? 'Write one' : `Write ${example}`}, or remove the key.`;
    case 'choice': {
      const words = alternatives(schema).flatMap(({ enum: some, const: one }) => [...(some ?? []), ...(one === undefined ? [] : [one])]);
      const meant = isScalar(node) ? nearest(node.source, words.map(String)) : undefined;
      return meant === undefined ? message : `is not known. Did you mean ${meant}?`;
    }
    case 'scalar-type':
      if (isScalar(node) && (node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE')) return `${message} Write it without quotes.`;
      break;
    case 'missing':
    case 'type':
    case 'empty':
    case 'unfit':
  }
  return example === undefined ? message : `${message} Write ${example}.`;
}

/** A schema of others may repeat the value in its message. */
function withoutHidden(message: string, hidden: readonly string[]): string {
  return hidden.reduce((text, one) => (one.length < 8 ? text : text.replaceAll(one, '(hidden: it may be a secret)')), message);
}
