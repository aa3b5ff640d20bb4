import { resolve } from 'node:path';
// Importing the namespace `z.core` would put all of zod, with its locales, into every bundle.
import { type $ZodIssue, type $ZodType, type $ZodTypes, type $ZodUnionDef, globalRegistry, safeParse } from 'zod/v4/core';

/** The symbol is global, because a user's folder can have its own installation of this package. */
const SCALAR: unique symbol = Symbol.for('headgate.scalar');
/** Key that marks a mapping as part of a configuration file. The symbol is global for the same reason as `SCALAR`. */
export const OF_FILE: unique symbol = Symbol.for('headgate.of-file');

/** The fields with which a scalar is created. */
export interface ScalarOptions {
  /** The text, with its variables replaced by their values. */
  readonly text: string;
  /** The value as a number or boolean, if the text is unquoted or comes from a variable. Default: the value can only be text. */
  readonly bare?: number | boolean;
  /** True if a variable supplied part of the text. Default false. */
  readonly hasVariable?: boolean;
  /** Absolute path of the folder that relative paths are resolved against. */
  readonly folder: string;
}

/** A single value of a configuration file. A schema reads it as text, number or boolean, and sets the flags below. */
export interface Scalar extends ScalarOptions {
  /** Identifies a scalar. */
  readonly [SCALAR]: true;
  /** True after a schema has read the scalar as a secret. */
  isSecret: boolean;
  /** True after a schema has read the scalar as a path. */
  isPath: boolean;
}

/** Creates a value of a configuration file. Put it into a mapping that has the key {@link OF_FILE}. */
export function scalar(given: ScalarOptions): Scalar {
  return { [SCALAR]: true, isSecret: false, isPath: false, ...given };
}

/** True for a {@link Scalar}. */
export function isScalar(value: unknown): value is Scalar {
  return typeof value === 'object' && value !== null && SCALAR in value;
}

/** True for values of a configuration file, false for options in code. */
export function isOfFile(given: unknown): boolean {
  return isScalar(given) || (typeof given === 'object' && given !== null && OF_FILE in given);
}

type Trait = 'isSecret' | 'isPath';
type Schema = $ZodType;
type Def = $ZodTypes['_zod']['def'];

/**
 * Returns the value with each scalar as the schema needs it. Text stays as written, so that an unquoted ID loses no digits. Numbers and
 * booleans can come from variables, except where a union also accepts text. A union reads the value by the first of its schemas that then
 * accepts it. Relative paths (`format: 'path'`) are resolved against the scalar's folder.
 */
export function readAs(schema: Schema, value: unknown): unknown {
  return read(schema, value, [], false);
}

/** `above`: traits of the enclosing schemas that pass their value on to this one. `asText`: reads numbers and booleans as text, too. */
function read(schema: Schema, value: unknown, above: readonly Trait[], asText: boolean): unknown {
  if (value !== null && typeof value !== 'object') return value;
  const traits = [...above, ...traitsOf(schema)];
  const same = (one: Schema, of: unknown = value): unknown => read(one, of, traits, asText);
  const { def } = (schema as $ZodTypes)._zod;
  if ('innerType' in def) return same(def.innerType);
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- the others have no schemas within them
  switch (def.type) {
    case 'lazy':
      return same(def.getter());
    case 'intersection':
      return same(def.right, same(def.left));
    case 'union':
      return readUnion(def, value, traits, asText);
    case 'pipe':
      if (def.in._zod.def.type !== 'transform') return same(def.in);
      return isScalar(value) ? same(def.out) : plain(value, traits);
    case 'never':
      return value;
    case 'any':
    case 'unknown':
    case 'custom':
    case 'transform':
      return plain(value, traits);
    default:
      return isScalar(value) ? single(def, value, traits, asText) : several(def, value);
  }
}

function single(def: Def, scalar: Scalar, traits: readonly Trait[], asText: boolean): unknown {
  note(scalar, traits);
  const { text, bare, folder } = scalar;
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- no value of a file becomes one of the others
  switch (def.type) {
    case 'string':
    case 'template_literal':
      return traits.includes('isPath') && text.trim() !== '' && !isPem(text) ? resolve(folder, text) : text;
    case 'number':
    case 'boolean':
      return asText ? text : (bare ?? text);
    case 'enum':
    case 'literal': {
      const words: readonly unknown[] = def.type === 'enum' ? Object.values(def.entries) : def.values;
      return words.includes(bare) ? bare : text;
    }
    default:
      return asWritten(scalar);
  }
}

function several(def: Def, value: unknown): unknown {
  const part = (one: Schema | null | undefined, of: unknown): unknown => (one ? read(one, of, [], false) : of);
  // In YAML, a list whose entries are all commented out is null.
  if (def.type === 'array' && value === null) return [];
  if (def.type === 'array' && Array.isArray(value)) return value.map((one) => part(def.element, one));
  if (def.type === 'tuple' && Array.isArray(value)) return value.map((one, i) => part(def.items[i] ?? def.rest, one));
  if (!isMapping(value) || (def.type !== 'object' && def.type !== 'record')) return value;
  const schemaOf = (key: string) =>
    def.type === 'record' ? def.valueType : Object.hasOwn(def.shape, key) ? (def.shape[key] as Schema) : def.catchall;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, part(schemaOf(key), one)]));
}

/** Reads the value by the first schema that accepts it. If none does, by the one that was probably meant. */
function readUnion(def: $ZodUnionDef, value: unknown, traits: readonly Trait[], asText: boolean): unknown {
  const { discriminator: key } = def as { readonly discriminator?: string };
  const given = key !== undefined && isMapping(value) ? { ...value, [key]: plain(value[key], []) } : value;
  const chosen = def.options.filter((one) => key !== undefined && one._zod.propValues?.[key]?.has(Object(given)[key]) === true);
  const tried: { readonly reading: unknown; readonly issues: readonly $ZodIssue[] }[] = [];
  for (const onlyText of isScalar(given) && isText(given) ? [true, asText] : [asText]) {
    for (const option of chosen.length === 0 ? def.options : chosen) {
      const reading = read(option, given, traits, onlyText);
      const { error } = safeParse(option, reading, { jitless: true });
      if (error === undefined) return reading;
      tried.push({ reading, issues: error.issues });
    }
  }
  return tried.toSorted((one, other) => byFit(one.issues, other.issues))[0]?.reading;
}

/**
 * Puts the issues of the alternative of a union that was probably meant before others: those with the fewest issues of the wrong kind, then
 * the fewest unknown keys, then the fewest issues.
 */
export function byFit(one: readonly $ZodIssue[], other: readonly $ZodIssue[]): number {
  const unknownKeys = (issues: readonly $ZodIssue[]): number =>
    issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? issue.keys : [])).length;
  return (
    one.filter(isOfWrongKind).length - other.filter(isOfWrongKind).length ||
    unknownKeys(one) - unknownKeys(other) ||
    one.length - other.length
  );
}

/** True for an issue of the value itself, rather than of a part of it, that no other value of its kind mends. */
export function isOfWrongKind(issue: $ZodIssue): boolean {
  if (issue.path.length > 0) return false;
  if (issue.code === 'invalid_union') return issue.errors.every((alternative) => alternative.some(isOfWrongKind));
  return issue.code === 'invalid_type' || issue.code === 'invalid_value';
}

/** The value, for a schema that accepts both text and numbers. */
function asWritten(scalar: Scalar): unknown {
  return isText(scalar) ? scalar.text : (scalar.bare ?? scalar.text);
}

/** A number as JSON spells it. YAML also accepts spellings such as 007 and +5, which are more likely IDs. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[-+]?\d+)?$/i;

/** True if the value is text wherever text is accepted. The value of a variable is, because a password or an ID can consist of digits. */
function isText({ text, bare, hasVariable }: Scalar): boolean {
  return hasVariable || (typeof bare === 'number' && !NUMBER.test(text));
}

function note(scalar: Scalar, traits: readonly Trait[]): void {
  for (const trait of traits) scalar[trait] = true;
}

/** Returns the value with each scalar replaced by its plain value, for a schema that accepts anything. */
function plain(value: unknown, traits: readonly Trait[]): unknown {
  if (isScalar(value)) {
    note(value, traits);
    return asWritten(value);
  }
  if (Array.isArray(value)) return value.map((one) => plain(one, traits));
  return isMapping(value) ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one, traits)])) : value;
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && [null, Object.prototype].includes(Object.getPrototypeOf(value) as null);
}

function metaOf(schema: Schema): Readonly<Record<string, unknown>> {
  return globalRegistry.get(schema) ?? {};
}

function traitsOf(schema: Schema): readonly Trait[] {
  const format = metaOf(schema)['format'] ?? (schema._zod.def as { readonly format?: string }).format;
  const traits: readonly Trait[] = becomesSecret(schema) ? ['isSecret'] : [];
  return format === 'path' ? [...traits, 'isPath'] : traits;
}

/** True if the schema's value becomes a secret, even if it passes through several schemas first. */
export function becomesSecret(schema: Schema): boolean {
  if (metaOf(schema)['writeOnly'] === true) return true;
  const { in: before, out: then, innerType } = schema._zod.def as Readonly<Partial<Record<'in' | 'out' | 'innerType', Schema>>>;
  return [before, then, innerType].some((one) => one !== undefined && becomesSecret(one));
}

/** True for PEM text. Options that accept the path of a PEM file also accept the text itself. */
export function isPem(text: string): boolean {
  return text.trimStart().startsWith('-----BEGIN ');
}
