import type { OptionIssue } from '@headgate/pipeline';
import { nearest } from '@headgate/pipeline/internal';
import { type ParsedNode, isScalar } from 'yaml';
import { type JsonSchema, alternatives, exampleOf, schemasAt } from './json-schema.ts';
import { type KeyPath, shownNumber } from './problem.ts';
import { shownVariable, substituteVariables } from './variables.ts';
import type { Finding, Origin } from './yaml-values.ts';

/** Maximum characters of a message. */
const LONGEST = 500;

/**
 * The errors or warnings of a section, with their places in the file and advice on what to write. `described`: returns the section's schema, which
 * takes a while. `hidden`: secrets to hide in messages. A warning's message is a whole sentence.
 */
export function sectionProblems(
  kind: 'error' | 'warning',
  issues: readonly OptionIssue[],
  described: () => JsonSchema,
  originOf: (path: KeyPath) => Origin,
  hidden: readonly string[],
): Finding[] {
  const meant = new Set(issues.flatMap(meantBy));
  const findings: Finding[] = [];
  for (const issue of issues) {
    const { path, code } = issue;
    const origin = originOf(path);
    const { node, line, text: entry } = origin;
    if (origin.isReported === true || (code === 'missing' && meant.has(JSON.stringify(path)))) continue;
    const schemas = (): readonly JsonSchema[] => schemasAt(described(), path);
    const about = kind === 'warning' || code === 'missing' || code === 'unknown-key' ? undefined : subject(node, schemas(), entry);
    const text = withSubject(withAdvice({ ...issue, message: withoutHidden(issue.message, hidden) }, schemas, node), about);
    const message = text.slice(0, LONGEST);
    if (line !== undefined) findings.push({ origin, message: `line ${line} of this file: ${message}` });
    else findings.push({ origin: namedOrigin(origin, issue, described), message, at: code === 'unknown-key' ? 'key' : 'value' });
  }
  return findings;
}

/**
 * The origin as a message may name it. If the user forgets a colon or the space after it, a secret becomes a key without a value. Such a key
 * is named only if the schema has it or one that resembles it.
 */
function namedOrigin(origin: Origin, { path, known = [] }: OptionIssue, described: () => JsonSchema): Origin {
  const key = path.at(-1);
  if (typeof key !== 'string' || hasValue(origin)) return origin;
  const keys = schemasAt(described(), path.slice(0, -1))
    .flatMap(alternatives)
    .flatMap(({ properties = {} }) => Object.keys(properties));
  return nearest(key, [...keys, ...known]) === undefined ? { ...origin, path: origin.path.slice(0, -1) } : origin;
}

export function hasValue({ node }: Origin): boolean {
  return node != null && !(isScalar(node) && node.value === null);
}

/** The path, as JSON, of the known key that resembles an unknown one. Empty if none does. */
function meantBy({ path, code, known }: OptionIssue): readonly string[] {
  const key = code === 'unknown-key' ? nearest(String(path.at(-1)), known ?? []) : undefined;
  return key === undefined ? [] : [JSON.stringify([...path.slice(0, -1), key])];
}

/** Message for an unknown key. Suggests the known key that resembles it; otherwise lists the known keys, unless there are more than 12. */
export function unknownKeyMessage(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  if (meant !== undefined) return `unknown key. Did you mean ${meant}?`;
  return known.length === 0 || known.length > 13 ? 'unknown key. Remove it.' : `unknown key. Known keys: ${known.join(', ')}.`;
}

/** The variables or the number that a message is about; undefined for any other value. */
function subject(node: ParsedNode | null | undefined, schemas: readonly JsonSchema[], line: string | undefined): string | undefined {
  const isSecret = schemas.flatMap(alternatives).some(({ writeOnly }) => writeOnly === true);
  if (line !== undefined) return isSecret ? undefined : shownNumber(line);
  if (!isScalar(node) || node.value === null) return undefined;
  const { names } = substituteVariables(node.source, () => '');
  if (typeof node.value === 'string' && names.length > 0) return `uses ${[...new Set(names)].map(shownVariable).join(' and ')}, which`;
  return isSecret ? undefined : shownNumber(node.source);
}

function withSubject(message: string, before: string | undefined): string {
  if (before === undefined) return message;
  return `${before}${/^\p{Lu}/u.test(message) ? ':' : ''} ${message}`;
}

/** The message, with advice on what to write instead if the issue's code calls for it. */
function withAdvice(
  { path, message, code, known = [] }: OptionIssue,
  schemas: () => readonly JsonSchema[],
  node?: ParsedNode | null,
): string {
  if (code === undefined) return message;
  const example = exampleOf(schemas()[0]);
  switch (code) {
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
