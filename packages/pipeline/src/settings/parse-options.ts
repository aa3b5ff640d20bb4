import type { z } from 'zod';
import { byFit, isOfFile, isOfWrongKind, readAs } from './scalar.ts';
import { placeOf } from './thrown.ts';

/** One error or warning about options. */
export interface OptionIssue {
  /** Keys and indices from the options' root; empty for the options as a whole. */
  readonly path: readonly (string | number)[];
  /** Usually completes a sentence about the key, such as `must be 5000 or less.` */
  readonly message: string;
  /** The kind of issue. Default: none of the kinds. */
  readonly code?: OptionIssueCode;
  /** The valid keys or words, for `unknown-key` and `choice`. */
  readonly known?: readonly string[];
}

/**
 * The kind of an issue. `missing`: a required key is missing. `no-value`: a key has no value. `unknown-key`: the last part of the path
 * isn't a valid key. `scalar-type`: the value must be a number or boolean. `type`: the value must have another type, such as text or a
 * list. `choice`: the value isn't one of the valid words. `empty`: the text or list is empty. `unfit`: the value has a wrong format, or
 * fits none of several alternatives.
 */
export type OptionIssueCode = 'missing' | 'no-value' | 'unknown-key' | 'type' | 'scalar-type' | 'choice' | 'empty' | 'unfit';

/** Either the output of the options' schema, or the issues that the schema found. */
export type ParsedOptions<Options> = { readonly value: Options; readonly issues?: never } | { readonly issues: readonly OptionIssue[] };

/**
 * Checks options against their schema. Keeps the messages that the schema defines, and replaces most of zod's default messages by messages
 * that complete a sentence about the key.
 */
export function parseOptions<Schema extends z.ZodType>(schema: Schema, given: unknown): ParsedOptions<z.output<Schema>> {
  let parsed: z.ZodSafeParseResult<z.output<Schema>>;
  try {
    const isRead = isOfFile(given);
    parsed = schema.safeParse(isRead ? readAs(schema, given) : given, {
      error: (issue) => keysText(issue) ?? optionWords(issue),
      reportInput: true,
      // A file is read once, so compiling its schema would take more time than it saves.
      jitless: isRead,
    });
  } catch (cause) {
    // Don't quote the error's own message, because it can contain the value, which can be a secret.
    const name = cause instanceof Error ? cause.constructor.name : "a value that isn't an Error";
    const message = `can't be checked: its schema threw ${name}${placeOf(cause)}. Fix it: refinements and transforms must return synchronously.`;
    return { issues: [{ path: [], message }] };
  }
  return parsed.success ? { value: parsed.data } : { issues: flat(parsed.error.issues, []) };
}

/** Returns the issues as text, one per line, such as `issues.count: must be 5000 or less.` */
export function optionsText(name: string, issues: readonly OptionIssue[]): string {
  return issues.map(({ path, message }) => `${[name, ...path].join('.')}: ${message}`).join('\n');
}

type Said = Pick<OptionIssue, 'message' | 'code' | 'known'>;

/** An error map for zod, whose messages complete a sentence about the key. */
export const optionWords: z.core.$ZodErrorMap = (issue) => said(issue)?.message;

function said(issue: z.core.$ZodRawIssue | z.core.$ZodIssue): Said | undefined {
  const { input } = issue;
  if ('input' in issue) {
    if (input === undefined) return { code: 'missing', message: 'is missing.' };
    if (input === null) return { code: 'no-value', message: 'has no value.' };
  }
  switch (issue.code) {
    case 'invalid_type':
      return ofType([issue.expected]);
    case 'too_small':
      if (issue.origin === 'string' || issue.origin === 'array') {
        if (issue.minimum === 1) return { code: 'empty', message: 'is empty.' };
        return { message: `must have ${issue.minimum} ${unitOf(issue.origin)} or more.` };
      }
      return { message: issue.inclusive === false ? `must be more than ${issue.minimum}.` : `must be ${issue.minimum} or more.` };
    case 'too_big':
      if (issue.origin === 'string' || issue.origin === 'array')
        return { message: `must have ${issue.maximum} ${unitOf(issue.origin)} or less.` };
      return { message: issue.inclusive === false ? `must be less than ${issue.maximum}.` : `must be ${issue.maximum} or less.` };
    case 'invalid_value':
      return notOneOf(issue.values);
    case 'invalid_union':
      if (issue.discriminator !== undefined && keyIsMissing(input, issue.discriminator)) return { code: 'missing', message: 'is missing.' };
      if ('options' in issue && Array.isArray(issue.options)) return notOneOf(issue.options);
      return { code: 'unfit', message: "isn't valid." };
    case 'invalid_format': {
      const format = FORMATS[issue.format];
      if (format !== undefined) return { message: format };
      return { code: 'unfit', message: issue.format === 'url' ? "isn't an address." : "isn't valid." };
    }
    case 'not_multiple_of':
    case 'invalid_key':
    case 'invalid_element':
    case 'unrecognized_keys':
    case 'custom':
      return undefined;
  }
}

/** For an unknown key, returns the valid keys, one per line, instead of a message. {@link flat} reads them from the issue. */
function keysText({ code, inst }: z.core.$ZodRawIssue): string | undefined {
  return code === 'unrecognized_keys' ? Object.keys((inst as Partial<z.core.$ZodObject>)?._zod?.def.shape ?? {}).join('\n') : undefined;
}

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

const SCALARS = ['number', 'int', 'boolean'];

function ofType(expected: readonly string[]): Said {
  const kinds = [...new Set(expected.map((kind) => KINDS[kind] ?? kind))];
  const isScalar = SCALARS.includes(expected[0] ?? '');
  return { code: isScalar ? 'scalar-type' : 'type', message: `must be ${kinds.join(' or ')}.` };
}

const FORMATS: Readonly<Record<string, string>> = {
  datetime: "isn't a date and time, such as 2026-01-31T12:00:00Z.",
  date: "isn't a date, such as 2026-01-31.",
  email: "isn't an email address.",
  uuid: "isn't a UUID.",
};

function unitOf(origin: string): string {
  return origin === 'string' ? 'characters' : 'entries';
}

function notOneOf(values: readonly unknown[]): Said {
  const known = values.filter((value) => value !== undefined).map(String);
  const last = known.at(-1) ?? '';
  const message = `isn't known. Write ${known.length === 1 ? last : `${known.slice(0, -1).join(', ')} or ${last}`}.`;
  return { code: 'choice', message, known };
}

function flat(issues: readonly z.core.$ZodIssue[], before: OptionIssue['path']): OptionIssue[] {
  return issues.flatMap((issue): OptionIssue[] => {
    const path = [...before, ...issue.path.map((part) => (typeof part === 'number' ? part : String(part)))];
    if (issue.code === 'unrecognized_keys') {
      const known = issue.message.split('\n');
      return issue.keys.map((key) => ({ path: [...path, key], message: 'unknown key.', code: 'unknown-key', known }));
    }
    if (issue.code === 'invalid_key') return flat(issue.issues, path).map(({ message }) => ({ path, message: `The key ${message}` }));
    if (issue.code === 'invalid_element') return flat(issue.issues, path);
    const words = said(issue);
    const own: Said = words?.message === issue.message ? words : { message: issue.message, ...codeOf(issue) };
    if (issue.code === 'invalid_union' && own.code !== 'missing' && own.code !== 'no-value')
      return closest(issue.errors, path) ?? [{ path, ...own }];
    return [{ path, ...own }];
  });
}

/** The code of an issue with the schema's own message. A refinement that requires a key sets `params: { code: 'missing' }`. */
function codeOf(issue: z.core.$ZodIssue): Pick<OptionIssue, 'code'> {
  return issue.code === 'custom' && issue.params?.['code'] === 'missing' ? { code: 'missing' } : {};
}

/**
 * Returns the issues of the alternative that was probably meant. If each alternative has an issue of the wrong kind, returns one issue that
 * names the expected kinds, or undefined if there are no names.
 */
function closest(alternatives: readonly (readonly z.core.$ZodIssue[])[], path: OptionIssue['path']): OptionIssue[] | undefined {
  const ranked = alternatives.toSorted(byFit);
  const [best] = ranked;
  if (best === undefined) return undefined;
  if (!best.some(isOfWrongKind)) return flat(best, path);
  const kinds = ranked.flatMap((issues) => issues.flatMap(kindsOf));
  return kinds.length === 0 ? undefined : [{ path, ...ofType(kinds) }];
}

function kindsOf(issue: z.core.$ZodIssue): readonly string[] {
  if (issue.code === 'invalid_union') return issue.errors.flat().flatMap(kindsOf);
  if (issue.code === 'invalid_type') return [issue.expected];
  return issue.code === 'invalid_value' ? issue.values.map(String) : [];
}
