import { resolve } from 'node:path';
import type * as z from 'zod';
// Importing the namespace `z.core` would put all of zod, with its locales, into every bundle.
import { type $ZodType, type $ZodTypes, clone, globalRegistry } from 'zod/v4/core';

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
  /** True after any schema has read the scalar. */
  isKnown: boolean;
  /** True after a schema has read the scalar as a secret. */
  isSecret: boolean;
  /** True after a schema has read the scalar as a path. */
  isPath: boolean;
  /** True after a schema has read the scalar as a URL. */
  isAddress: boolean;
  /** True if the scalar is the `file` of `{ file }` in a list of texts. */
  namesList: boolean;
}

/** Creates a value of a configuration file. Put it into a mapping that has the key {@link OF_FILE}. */
export function scalar(given: ScalarOptions): Scalar {
  return { [SCALAR]: true, isKnown: false, isSecret: false, isPath: false, isAddress: false, namesList: false, ...given };
}

/** True for a {@link Scalar}. */
export function isScalar(value: unknown): value is Scalar {
  return typeof value === 'object' && value !== null && SCALAR in value;
}

/** True for values of a configuration file, false for options in code. */
export function isOfFile(given: unknown): boolean {
  return isScalar(given) || (typeof given === 'object' && given !== null && OF_FILE in given);
}

type Trait = 'isSecret' | 'isPath' | 'isAddress';
type Schema = $ZodType;

/**
 * Returns a copy of a schema that reads values of a configuration file. It reads text as written, so that an unquoted ID loses no digits.
 * Numbers and booleans can come from variables, except where a union also accepts text. A union tries its schemas in order. Relative paths
 * (`format: 'path'`) are resolved against the scalar's folder. Refinements and transforms get the same input as for options in code.
 */
export function ofFile<Given extends z.ZodType>(schema: Given): Given {
  return copyOf(schema, [], new Map()).schema as Given;
}

interface Copy {
  readonly schema: Schema;
  /** Contains `text` if the schema accepts any text, and `numbers` if it accepts any number or boolean. */
  readonly takes: readonly ('text' | 'numbers')[];
}

interface Reading {
  /** Converts a scalar to the schema's input. Default: the value as written. */
  readonly single?: (scalar: Scalar) => unknown;
  /** Converts any other value to the schema's input. Default: unchanged. */
  readonly several?: (value: unknown) => unknown;
  readonly takes?: Copy['takes'];
}

/** Copies a schema and those within it. `above`: traits of the enclosing schemas that pass their value on to this one. */
function copyOf(schema: Schema, above: readonly Trait[], copies: Map<Schema, Copy>): Copy {
  const found = above.length === 0 ? copies.get(schema) : undefined;
  if (found !== undefined) return found;
  const traits = [...above, ...traitsOf(schema)];
  const same = (one: Schema): Copy => copyOf(one, traits, copies);
  const other = (one: Schema): Schema => copyOf(one, [], copies).schema;
  const { def } = (schema as $ZodTypes)._zod;
  const copied = (parts: object): Schema => clone(schema, { ...def, ...parts });
  /** Copies a schema that passes its value on to the schemas within it. */
  const handing = (parts: object, takes: Copy['takes']): Copy => {
    const copy = { schema: copied(parts), takes };
    if (above.length === 0) copies.set(schema, copy);
    return copy;
  };
  /** Copies a schema that reads its value. `parts`: copies of the schemas within it. */
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

  // A duration or size, which in a file is text with a unit. In code, it can also be a number.
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
      return reading({ single: ({ text, bare }) => (words.includes(bare) ? bare : text) });
    }
    case 'any':
    case 'unknown':
    case 'custom':
      return reading({ several: (value) => plain(value, traits) });
    case 'object': {
      // The properties are copied on demand, because a schema can contain itself.
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
        // In YAML, a list whose entries are all commented out is null.
        return value === null ? [] : value;
      };
      return reading({ several }, { element: element.schema });
    }
    case 'union': {
      const options = def.options.map(same);
      const { discriminator: key } = def as { readonly discriminator?: string };
      const parts = { options: options.map((one) => one.schema) };
      if (key !== undefined)
        return reading({ several: (value) => (isMapping(value) ? { ...value, [key]: plain(value[key], []) } : value) }, parts);
      const copy = handing(
        parts,
        options.flatMap(({ takes }) => takes),
      );
      const texts = options.filter(({ takes }) => takes.includes('text') || takes.length === 0);
      if (copy.takes.includes('text') && texts.length < options.length) {
        const ofText = copied({ options: texts.map((one) => one.schema) })._zod;
        const own = copy.schema._zod;
        const run = own.run.bind(own);
        own.run = (payload, context) =>
          isScalar(payload.value) && isText(payload.value) ? ofText.run(payload, context) : run(payload, context);
      }
      return copy;
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
  scalar.isKnown = true;
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
  return format === 'path' ? [...traits, 'isPath'] : format === 'uri' || format === 'url' ? [...traits, 'isAddress'] : traits;
}

/** True if the schema's value becomes a secret, even if it passes through several schemas first. */
export function becomesSecret(schema: z.core.$ZodType): boolean {
  if (metaOf(schema)['writeOnly'] === true) return true;
  const { in: before, out: then, innerType } = schema._zod.def as Readonly<Partial<Record<'in' | 'out' | 'innerType', Schema>>>;
  return [before, then, innerType].some((one) => one !== undefined && becomesSecret(one));
}

/** True for PEM text. Options that accept the path of a PEM file also accept the text itself. */
export function isPem(text: string): boolean {
  return text.trimStart().startsWith('-----BEGIN ');
}
