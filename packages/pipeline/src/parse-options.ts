import type { z } from 'zod';
import { placeOf } from './thrown.ts';

/** One thing that is wrong with options, or unwise in them. */
export interface OptionIssue {
  /** Keys and indices from the options' root; empty for the options as a whole. */
  readonly path: readonly (string | number)[];
  /** Goes on after the key: `must be 5000 or less.` It holds nothing of the value. */
  readonly message: string;
  /** The last part of the path is a key that the options don't have. */
  readonly unknownKey?: true;
}

/** Either the options, as their schema gives them, or everything that is wrong with them. */
export type ParsedOptions<Options> = { readonly value: Options; readonly issues?: never } | { readonly issues: readonly OptionIssue[] };

/** Checks options against their schema. A schema's own messages are kept; zod's are replaced by ones that complete a sentence about the key. */
export function parseOptions<Schema extends z.ZodType>(schema: Schema, given: unknown): ParsedOptions<z.output<Schema>> {
  let parsed: z.ZodSafeParseResult<z.output<Schema>>;
  try {
    parsed = schema.safeParse(given, { error: optionWords });
  } catch (cause) {
    // Its own words may hold the value.
    const name = cause instanceof Error ? cause.constructor.name : 'a value that is no Error';
    const message = `can't be checked: its schema threw ${name}${placeOf(cause)}. Mend it: refinements and transforms have to answer at once.`;
    return { issues: [{ path: [], message }] };
  }
  return parsed.success ? { value: parsed.data } : { issues: flat(parsed.error.issues, []) };
}

/** `issues.count: must be 5000 or less.`, one a line. */
export function optionsText(name: string, issues: readonly OptionIssue[]): string {
  return issues.map(({ path, message }) => `${[name, ...path].join('.')}: ${message}`).join('\n');
}

const MISSING = 'is missing.';
const NO_VALUE = 'has no value.';

/** Messages that go on after a key, for issues that have none of their schema's own. */
export const optionWords: z.core.$ZodErrorMap = (issue) => {
  const { input } = issue;
  if ('input' in issue) {
    if (input === undefined) return MISSING;
    if (input === null) return NO_VALUE;
  }
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${KINDS[issue.expected] ?? issue.expected}.`;
    case 'too_small':
      if (issue.origin === 'string' || issue.origin === 'array') {
        return issue.minimum === 1 ? 'is empty.' : `must have ${issue.minimum} ${unitOf(issue.origin)} or more.`;
      }
      return issue.inclusive === false ? `must be more than ${issue.minimum}.` : `must be ${issue.minimum} or more.`;
    case 'too_big':
      if (issue.origin === 'string' || issue.origin === 'array') return `must have ${issue.maximum} ${unitOf(issue.origin)} or less.`;
      return issue.inclusive === false ? `must be less than ${issue.maximum}.` : `must be ${issue.maximum} or less.`;
    case 'invalid_value':
      return notOneOf(issue.values);
    case 'invalid_union':
      return issue.discriminator !== undefined && keyIsMissing(input, issue.discriminator) ? MISSING : 'does not fit.';
    case 'invalid_format':
      return FORMATS[issue.format] ?? 'does not fit.';
    case 'not_multiple_of':
    case 'invalid_key':
    case 'invalid_element':
    case 'unrecognized_keys':
    case 'custom':
      return undefined;
  }
};

function keyIsMissing(input: unknown, key: string): boolean {
  return typeof input === 'object' && input !== null && (input as Readonly<Record<string, unknown>>)[key] === undefined;
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping of keys to values',
  record: 'a mapping of keys to values',
};

const FORMATS: Readonly<Record<string, string>> = {
  url: 'is not an address.',
  datetime: 'is not a date with its time, as in 2026-01-31T12:00:00Z.',
  date: 'is not a date, as in 2026-01-31.',
  email: 'is not an email address.',
  uuid: 'is not a UUID.',
};

function unitOf(origin: string): string {
  return origin === 'string' ? 'characters' : 'entries';
}

function notOneOf(values: readonly unknown[]): string {
  const known = values.filter((value) => value !== undefined).map(String);
  return known.length < 2
    ? `is not known. Write ${known.join('')}.`
    : `is not known. Write ${known.slice(0, -1).join(', ')} or ${known.at(-1)}.`;
}

function flat(issues: readonly z.core.$ZodIssue[], before: OptionIssue['path']): OptionIssue[] {
  return issues.flatMap((issue): OptionIssue[] => {
    const path = [...before, ...issue.path.map((part) => (typeof part === 'number' ? part : String(part)))];
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ path: [...path, key], message: 'unknown key.', unknownKey: true }));
    }
    if (issue.code === 'invalid_key') return flat(issue.issues, path).map((one) => ({ ...one, message: `The key ${one.message}` }));
    if (issue.code === 'invalid_element') return flat(issue.issues, path);
    if (issue.code === 'invalid_union' && issue.message !== MISSING && issue.message !== NO_VALUE) {
      if ('options' in issue && Array.isArray(issue.options)) return [{ path, message: notOneOf(issue.options) }];
      return closest(issue.errors, path) ?? [{ path, message: issue.message }];
    }
    return [{ path, message: issue.message }];
  });
}

/** The issues of the alternative that was probably meant: of the right kind, with the fewest unknown keys. Undefined where none is of the right kind. */
function closest(alternatives: readonly (readonly z.core.$ZodIssue[])[], path: OptionIssue['path']): OptionIssue[] | undefined {
  const ranked = alternatives.map((issues) => {
    const wrongKind = issues.filter(
      (issue) => issue.path.length === 0 && (issue.code === 'invalid_type' || issue.code === 'invalid_value'),
    );
    const unknown = issues.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 0), 0);
    return { issues, rank: [wrongKind.length, unknown, issues.length] };
  });
  ranked.sort((a, b) => a.rank.map((own, i) => own - (b.rank[i] ?? 0)).find((difference) => difference !== 0) ?? 0);
  const [best] = ranked;
  if (best === undefined) return undefined;
  if (best.rank[0] === 0) return flat(best.issues, path);
  const kinds = [...new Set(ranked.flatMap(({ issues }) => issues.flatMap(kindsOf)))];
  return kinds.length === 0 ? undefined : [{ path, message: `must be ${kinds.join(' or ')}.` }];
}

function kindsOf(issue: z.core.$ZodIssue): readonly string[] {
  if (issue.code === 'invalid_type') return [KINDS[issue.expected] ?? issue.expected];
  return issue.code === 'invalid_value' ? issue.values.map(String) : [];
}
