import type { OptionIssue } from '@headgate/pipeline';
import { nearest } from '@headgate/pipeline/internal';
import { type ParsedNode, isScalar } from 'yaml';
import { type JsonSchema, alternatives, exampleOf, schemasAt } from './json-schema.ts';
import { type KeyPath, type Problem, isShowable, shown, shownPath } from './problem.ts';
import { shownVariable, substituteVariables } from './variables.ts';
import type { Origin } from './yaml-values.ts';

export interface Finding {
  readonly origin: Origin;
  readonly message: string;
  /** The part that the problem marks. Default: the value. */
  readonly at?: 'key' | 'value';
}

export interface SectionProblemsOptions {
  readonly schema: () => JsonSchema;
  readonly originOf: (path: KeyPath) => Origin;
  /** Texts of variables and secrets, to hide in messages. */
  readonly hidden: readonly string[];
  /** Whether the issues are warnings, whose messages are whole sentences. Default: false. */
  readonly areWarnings?: boolean;
}

/** Maximum characters of a message. */
const LONGEST = 500;
/** Maximum problems shown for the lines of one file. Further ones are only counted. */
const MAX_LINES = 20;

/** The errors or warnings of a section, with their places in the file and advice on what to write. */
export function sectionProblems(
  issues: readonly OptionIssue[],
  { schema, originOf, hidden, areWarnings = false }: SectionProblemsOptions,
): Finding[] {
  const meant = new Set(issues.flatMap(meantBy));
  const files = new Map<unknown, { readonly origin: Origin; lines: number }>();
  const findings: Finding[] = [];
  for (const issue of issues) {
    const { path, code } = issue;
    const origin = originOf(path);
    const { node, line, text: entry } = origin;
    if (origin.isReported === true || (code === 'missing' && meant.has(JSON.stringify(path)))) continue;
    const schemas = schemasAt(schema(), path);
    const about = areWarnings || code === 'missing' || code === 'unknown-key' ? undefined : subject(node, schemas, entry);
    const text = withSubject(withAdvice({ ...issue, message: withoutHidden(issue.message, hidden) }, schemas[0], node), about);
    const message = text.slice(0, LONGEST);
    if (line === undefined) {
      findings.push({ origin, message, at: code === 'unknown-key' ? 'key' : 'value' });
      continue;
    }
    const reported = files.get(node) ?? { origin, lines: 0 };
    files.set(node, reported);
    reported.lines += 1;
    if (reported.lines <= MAX_LINES) findings.push({ origin, message: `${listName(node)}, line ${line}: ${message}` });
  }
  for (const { origin, lines } of files.values()) {
    if (lines > MAX_LINES) findings.push({ origin, message: `${listName(origin.node)}: ${lines - MAX_LINES} more lines like these.` });
  }
  return findings;
}

/** The path, as JSON, of the known key that resembles an unknown one. Empty if none does. */
function meantBy({ path, code, known }: OptionIssue): readonly string[] {
  const key = code === 'unknown-key' ? nearest(String(path.at(-1)), known ?? []) : undefined;
  return key === undefined ? [] : [JSON.stringify([...path.slice(0, -1), key])];
}

function listName(node: ParsedNode | null | undefined): string {
  return isScalar(node) ? shownPath(node.source) : 'the file';
}

/** The problems of options that aren't in a YAML file, with keys but without positions. `name` precedes each key. */
export function optionProblems(issues: readonly OptionIssue[], name: readonly string[], schema: JsonSchema = {}): Problem[] {
  return issues.map((issue) => {
    const key = [...name, ...issue.path].join('.').replaceAll(/\.(\d+)(?=\.|$)/g, '[$1]');
    return { key, message: withAdvice(issue, schemasAt(schema, issue.path)[0]) };
  });
}

/** Message for an unknown key. Suggests the known key that resembles it; otherwise lists the known keys, unless there are more than 12. */
export function unknownKeyMessage(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  if (meant !== undefined) return `unknown key. Did you mean ${meant}?`;
  return known.length === 0 || known.length > 12 ? 'unknown key. Remove it.' : `unknown key. Known keys: ${known.join(', ')}.`;
}

/** Describes the value that a message is about, or its variables; undefined if it might contain a secret, or isn't a single value. */
function subject(node: ParsedNode | null | undefined, schemas: readonly JsonSchema[], line: string | undefined): string | undefined {
  const isSecret = schemas.flatMap(alternatives).some(({ writeOnly, format }) => writeOnly === true || format === 'uri');
  if (line !== undefined) return isSecret ? undefined : shown(line);
  if (!isScalar(node) || node.value === null) return undefined;
  const { names } = substituteVariables({ text: node.source, lookup: () => '' });
  if (typeof node.value === 'string' && names.length > 0) return `uses ${[...new Set(names)].map(shownVariable).join(' and ')}, which`;
  return isSecret || !isShowable(node.source) ? undefined : shown(node.source);
}

function withSubject(message: string, before: string | undefined): string {
  if (before === undefined) return message;
  return `${before}${/^\p{Lu}/u.test(message) ? ':' : ''} ${message}`;
}

/** The message, with advice on what to write instead if the issue's code calls for it. */
function withAdvice({ path, message, code, known = [] }: OptionIssue, schema: JsonSchema | undefined, node?: ParsedNode | null): string {
  const example = exampleOf(schema);
  switch (code) {
    case undefined:
      return message;
    case 'unknown-key':
      return unknownKeyMessage(String(path.at(-1)), known);
    case 'no-value':
      return `${message} ${example === undefined ? 'Write one' : `Write ${example}`}, or remove the key.`;
    case 'choice': {
      const meant = isScalar(node) ? nearest(node.source, known) : undefined;
      return meant === undefined ? message : `isn't known. Did you mean ${meant}?`;
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

/**
 * Hides secrets in a message, because a user's schema can quote the value. Texts under 8 characters stay, because they can be ordinary
 * words.
 */
function withoutHidden(message: string, hidden: readonly string[]): string {
  return hidden.reduce((text, one) => (one.length < 8 ? text : text.replaceAll(one, '(hidden: it may be a secret)')), message);
}
