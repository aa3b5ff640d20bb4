import { resolve } from 'node:path';
import type * as z from 'zod';
// Importing the namespace `z.core` would put all of zod into every bundle, with its locales.
import { type $ZodType, type $ZodTypes, clone, globalRegistry } from 'zod/v4/core';

/** Registered with `Symbol.for`, because a user's folder may have its own installation of this package, with its own symbols. */
const SCALAR: unique symbol = Symbol.for('headgate.scalar');
/** On the mapping of a section whose values are scalars. */
export const OF_FILE: unique symbol = Symbol.for('headgate.of-file');

/** Options of {@link scalar}. */
export interface ScalarOptions {
  /** The text, with its variables substituted. */
  readonly text: string;
  /** The value as a number or boolean, if it is unquoted or comes from a variable. Default: the value is only text. */
  readonly bare?: number | boolean;
  /** True if a variable supplied part of the text. Default false. */
  readonly hasVariable?: boolean;
  /** Absolute path of the folder that relative paths start at. */
  readonly folder: string;
}

/** A single value of a configuration file. Each schema of a pipeline's options reads it in its own way, and records that it has. */
export interface Scalar extends ScalarOptions {
  /** Identifies a scalar. */
  readonly [SCALAR]: true;
  /** True after a schema has read it. */
  isKnown: boolean;
  /** True after a schema has read it as a secret. */
  isSecret: boolean;
  /** True after a schema has read it as a path. */
  isPath: boolean;
  /** True after a schema has read it as an address. */
  isAddress: boolean;
  /** True if the scalar is the `file` of `{ file }` in a list of texts. */
  namesList: boolean;
}

/** A value of a file for the options of a pipeline, in a mapping with the key {@link OF_FILE}. */
export function scalar(given: ScalarOptions): Scalar {
  return { [SCALAR]: true, isKnown: false, isSecret: false, isPath: false, isAddress: false, namesList: false, ...given };
}

/** True for a {@link Scalar}. */
export function isScalar(value: unknown): value is Scalar {
  return typeof value === 'object' && value !== null && SCALAR in value;
}

/** True for a section of a file, false for options in code. */
export function isOfFile(given: unknown): boolean {
  return isScalar(given) || (typeof given === 'object' && given !== null && OF_FILE in given);
}

type Trait = 'isSecret' | 'isPath' | 'isAddress';
type Schema = $ZodType;

/**
 * The same schema for a section of a file. Text is read as written, so that an unquoted ID loses no digits. Numbers and booleans may also
 * come from variables. `format: 'path'` makes a path absolute. Refinements and transforms get the same input as in code.
 */
export function ofFile<Given extends z.ZodType>(schema: Given): Given {
  return copyOf(schema, [], new Map()).schema as Given;
}

interface Copy {
  readonly schema: Schema;
  /** The kinds of single values that the schema accepts. */
  readonly takes: readonly ('text' | 'numbers')[];
}

interface Reading {
  /** What the schema gets for a single value. Default: the value as written. */
  readonly single?: (scalar: Scalar) => unknown;
  /** What it gets for anything else. Default: the same. */
  readonly several?: (value: unknown) => unknown;
  readonly takes?: Copy['takes'];
}

/** `above`: traits of the enclosing schemas that pass their value on. */
function copyOf(schema: Schema, above: readonly Trait[], copies: Map<Schema, Copy>): Copy {
  const found = above.length === 0 ? copies.get(schema) : undefined;
  if (found !== undefined) return found;
  const traits = [...above, ...traitsOf(schema)];
  const same = (one: Schema): Copy => copyOf(one, traits, copies);
  const other = (one: Schema): Schema => copyOf(one, [], copies).schema;
  const { def } = (schema as $ZodTypes)._zod;
  /** For a schema that passes its value on to schemas within it. */
  const handing = (parts: object, takes: Copy['takes']): Copy => {
    const copy = { schema: clone(schema, { ...def, ...parts }), takes };
    if (above.length === 0) copies.set(schema, copy);
    return copy;
  };
  /** For a schema that reads its value. `parts`: copies of the schemas within it. */
  const reading = ({ single = asWritten, several = (value) => value, takes = [] }: Reading, parts: object = {}): Copy => {
    const copy = handing(parts, takes);
    const own = copy.schema._zod;
    const run = own.run.bind(own);
    own.run = (payload, context) => {
      const { value } = payload;
      if (isScalar(value)) note(value, traits);
      payload.value = isScalar(value) ? single(value) : several(value);
      return run(payload, context);
    };
    return copy;
  };

  // A duration: text in a file, whatever else it accepts in code.
  if (metaOf(schema)['type'] === 'string') return reading({ single: ({ text }) => text, takes: ['text'] });
  if ('innerType' in def) {
    const inner = same(def.innerType);
    return handing({ innerType: inner.schema }, inner.takes);
  }
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- no value of a file becomes one of the others
  switch (def.type) {
    case 'string':
    case 'template_literal': {
      const isPath = traits.includes('isPath');
      const single = ({ text, folder }: Scalar): string => (isPath && text.trim() !== '' && !isPem(text) ? resolve(folder, text) : text);
      return reading({ single, takes: ['text'] });
    }
    case 'number':
    case 'boolean':
      return reading({ single: ({ text, bare }) => bare ?? text, takes: ['numbers'] });
    case 'enum':
    case 'literal': {
      const words: readonly unknown[] = def.type === 'enum' ? Object.values(def.entries) : def.values;
      const takes = words.every((word) => typeof word === 'string') ? [] : (['numbers'] as const);
      return reading({ single: ({ text, bare }) => (words.includes(bare) ? bare : text), takes });
    }
    case 'any':
    case 'unknown':
    case 'custom':
      return reading({ several: (value) => plain(value, traits) });
    case 'object': {
      // If a schema contains itself, they are created on demand.
      const lazily = (key: string) => [key, { enumerable: true, get: () => other(def.shape[key] as Schema) }] as const;
      const shape = Object.defineProperties({}, Object.fromEntries(Object.keys(def.shape).map(lazily)));
      return reading({}, { shape, ...(def.catchall !== undefined && { catchall: other(def.catchall) }) });
    }
    case 'record':
      return reading({}, { valueType: other(def.valueType) });
    case 'tuple':
      return reading({}, { items: def.items.map(other), rest: def.rest && other(def.rest) });
    case 'array': {
      const element = copyOf(def.element, [], copies);
      const several = (value: unknown): unknown => {
        if (element.takes.includes('text') && Array.isArray(value))
          for (const one of value) if (isMapping(one) && isScalar(one['file'])) one['file'].namesList = true;
        // A list whose entries are all commented out is empty.
        return value === null ? [] : value;
      };
      return reading({ several }, { element: element.schema });
    }
    case 'union': {
      const options = def.options.map(same);
      const { discriminator: key } = def as { readonly discriminator?: string };
      // A text schema would accept any number.
      if (key === undefined) options.sort((a, b) => Number(b.takes.includes('numbers')) - Number(a.takes.includes('numbers')));
      const parts = { options: options.map((one) => one.schema) };
      if (key !== undefined)
        return reading({ several: (value) => (isMapping(value) ? { ...value, [key]: plain(value[key], []) } : value) }, parts);
      return handing(
        parts,
        options.flatMap(({ takes }) => takes),
      );
    }
    case 'intersection': {
      const [left, right] = [same(def.left), same(def.right)];
      return handing({ left: left.schema, right: right.schema }, [...left.takes, ...right.takes]);
    }
    case 'lazy':
      return handing({ getter: () => same(def.getter()).schema, _cachedInner: undefined }, []);
    case 'pipe': {
      const [before, { takes }] = [same(def.in), same(def.out)];
      if (def.in._zod.def.type !== 'transform') return handing({ in: before.schema }, before.takes);
      const single = ({ text, bare }: Scalar): unknown => (takes.includes('text') ? text : (bare ?? text));
      return reading({ single, several: (value) => plain(value, traits) });
    }
    default:
      return reading({});
  }
}

function asWritten({ text, bare, hasVariable }: Scalar): unknown {
  return hasVariable ? text : (bare ?? text);
}

function note(scalar: Scalar, traits: readonly Trait[]): void {
  scalar.isKnown = true;
  for (const trait of traits) scalar[trait] = true;
}

/** The value with each scalar replaced by its plain value, for a schema that accepts anything. */
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
  return format === 'path' ? [...traits, 'isPath'] : format === 'uri' || format === 'url' ? [...traits, 'isAddress'] : traits;
}

/** True if a value becomes a secret, however many schemas it passes through before. */
export function becomesSecret(schema: z.core.$ZodType): boolean {
  if (metaOf(schema)['writeOnly'] === true) return true;
  const { in: before, out: then, innerType } = schema._zod.def as Readonly<Partial<Record<'in' | 'out' | 'innerType', Schema>>>;
  return [before, then, innerType].some((one) => one !== undefined && becomesSecret(one));
}

/** True for PEM text, which may be written where the path of its file may be. */
export function isPem(text: string): boolean {
  return text.trimStart().startsWith('-----BEGIN ');
}
