import * as z from 'zod';

/** The part of JSON Schema that options are described by. */
export interface JsonSchema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  /** A secret. */
  readonly writeOnly?: boolean;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  /** Of a tuple. */
  readonly prefixItems?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  /** A schema that contains itself, or has an `id`. */
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  /** What `$ref` points at; not written out. */
  readonly [TARGET]?: JsonSchema;
}

const TARGET = Symbol('target of $ref');

/** What a schema takes, as JSON Schema. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const root = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      // Left out by zod where a value is transformed: it takes them for values of the output.
      const { examples } = z.globalRegistry.get(zodSchema) ?? {};
      if (Array.isArray(examples)) jsonSchema.examples = examples;
      if (becomesSecret(zodSchema)) jsonSchema.writeOnly = true;
      if (zodSchema._zod.def.type === 'default') jsonSchema.default ??= zodSchema._zod.def.defaultValue as typeof jsonSchema.default;
      // A duration is a union of text and number; a file has it as text.
      if (jsonSchema.type !== undefined) delete jsonSchema.anyOf;
      // Functions can't be written into a file.
      if (jsonSchema.anyOf !== undefined) jsonSchema.anyOf = jsonSchema.anyOf.filter((one) => Object.keys(one).length > 0);
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      delete jsonSchema.propertyNames;
    },
  }) as JsonSchema;
  link(root, root);
  return root;
}

/** Whether a value becomes a secret, however many schemas it goes through before. */
function becomesSecret(schema: z.core.$ZodType): boolean {
  if (z.globalRegistry.get(schema)?.['writeOnly'] === true) return true;
  const { in: before, out: then, innerType } = schema._zod.def as Readonly<Partial<Record<'in' | 'out' | 'innerType', z.core.$ZodType>>>;
  return [before, then, innerType].some((one) => one !== undefined && becomesSecret(one));
}

/** Gives each `$ref` its target. */
function link(node: unknown, root: JsonSchema): void {
  if (typeof node !== 'object' || node === null) return;
  if ('$ref' in node && typeof node.$ref === 'string') {
    const name = /^#\/\$defs\/(.+)$/.exec(node.$ref)?.[1];
    Object.defineProperty(node, TARGET, { value: name === undefined ? root : root.$defs?.[name] });
  }
  for (const one of Object.values(node)) link(one, root);
}

/** The schemas that a value may fit, without the unions around them. */
export function alternatives(schema: JsonSchema | undefined): readonly JsonSchema[] {
  if (schema === undefined) return [];
  const target = schema[TARGET];
  const within = target === undefined ? (schema.anyOf ?? schema.oneOf ?? schema.allOf) : [target];
  if (within === undefined) return [schema];
  const { writeOnly, format } = schema;
  return within
    .flatMap(alternatives)
    .map((one) => ({ ...(writeOnly !== undefined && { writeOnly }), ...(format !== undefined && { format }), ...one }));
}

/** The schema of a mapping with these values: the alternative that has most of its keys, and its constants, and lacks the fewest. */
export function mappingSchema(schema: JsonSchema | undefined, given: (key: string) => unknown): JsonSchema | undefined {
  const rank = ({ properties = {}, required = [] }: JsonSchema): number =>
    Object.entries(properties).reduce(
      (sum, [key, { const: constant, enum: words, default: usual }]) => {
        const value = given(key) ?? usual;
        if (constant !== undefined) return sum + (value === constant ? 100 : -100);
        if (words !== undefined && value !== undefined) return sum + (words.includes(value) ? 100 : 0);
        return sum + (value === undefined ? 0 : 1);
      },
      -required.filter((key) => given(key) === undefined).length,
    );
  const ranked = alternatives(schema)
    .filter(
      ({ type, properties, additionalProperties }) => type === 'object' || properties !== undefined || additionalProperties !== undefined,
    )
    .map((one) => ({ one, rank: rank(one) }))
    .toSorted((a, b) => b.rank - a.rank);
  return ranked[0]?.one;
}

/** The schema of a key of a mapping. */
export function propertySchema(schema: JsonSchema | undefined, key: string): JsonSchema | undefined {
  const { properties = {}, additionalProperties } = schema ?? {};
  if (Object.hasOwn(properties, key)) return properties[key];
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

/** The schema of a list's entry at that place. */
export function itemSchema(schema: JsonSchema | undefined, place: number): JsonSchema | undefined {
  const items = alternatives(schema).flatMap((one) => one.prefixItems?.[place] ?? one.items ?? []);
  return items.length > 1 ? { anyOf: items } : items[0];
}

/** Every key that a schema knows, however deep. */
export function keysOf(schema: JsonSchema): readonly string[] {
  const keys = new Set<string>();
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    if ('properties' in node) for (const key of Object.keys(node.properties as object)) keys.add(key);
    for (const one of Object.values(node)) visit(one);
  };
  // What a `$ref` points at stands in the same tree.
  visit(schema);
  return [...keys];
}

/** Whether lines of a file may stand for entries of a list: where they are texts of any kind. */
export function takesLines(schema: JsonSchema | undefined): boolean {
  if (alternatives(schema).some(({ prefixItems }) => prefixItems !== undefined)) return false;
  return alternatives(itemSchema(schema, 0)).some((one) => one.type === 'string' && one.enum === undefined && one.const === undefined);
}

/** A value as it is written in one line of YAML. */
export function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([key, one]) => `${key}: ${flow(one)}`);
    return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
  }
  if (typeof value !== 'string') return String(value);
  return /^\d{1,3}(\.\d{1,3}){3}(:\d+)?$|^[A-Za-z./][\w./@-]*(?::\/?\/?[\w./@-]+)*$|^\d[\w-]*[A-Za-z]$/.test(value) &&
    !/^(true|false|null|yes|no|on|off)$/i.test(value)
    ? value
    : JSON.stringify(value);
}

/** Mappings in mappings, of one that contains itself. */
const DEEPEST = 5;

/** What may be written, as text; undefined where nothing is known. */
export function exampleOf(schema: JsonSchema | undefined, depth = 0): string | undefined {
  if (schema === undefined || depth > DEEPEST) return undefined;
  const { examples, default: usual, enum: words, const: constant } = schema;
  const value = examples?.[0] ?? words?.[0] ?? constant ?? (isEmpty(usual) ? undefined : usual);
  if (value !== undefined) return flow(value);
  const [first] = alternatives(schema);
  if (first !== schema) return exampleOf(first, depth + 1);
  switch (schema.type) {
    case 'boolean':
      return 'true or false';
    case 'integer':
    case 'number':
      return String(schema.minimum ?? 1);
    case 'array': {
      const item = schema.prefixItems?.map((one) => exampleOf(one, depth + 1) ?? '…').join(', ') ?? exampleOf(schema.items, depth + 1);
      return item === undefined ? undefined : `[${item}]`;
    }
    case 'object': {
      const { properties = {}, required = [] } = schema;
      const shown = Object.keys(properties).filter((key) => required.includes(key));
      const parts = shown.map((key) => `${key}: ${exampleOf(properties[key], depth + 1) ?? '…'}`);
      return parts.length === 0 ? usualOf(schema) : `{ ${parts.join(', ')} }`;
    }
    case undefined:
    default:
      return undefined;
  }
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
}

/** The default, as text: of a mapping that of its keys. Undefined where there is none. */
export function usualOf(schema: JsonSchema): string | undefined {
  if (schema.default === undefined) return undefined;
  if (!isEmpty(schema.default) || Array.isArray(schema.default)) return flow(schema.default);
  const parts = Object.entries(schema.properties ?? {}).flatMap(([key, value]) => {
    const own = usualOf(value);
    return own === undefined ? [] : [`${key}: ${own}`];
  });
  if (parts.length > 0) return `{ ${parts.join(', ')} }`;
  return schema.default === '' ? '""' : flow(schema.default);
}

/** Whether its default shows how it is written: a duration, or a size. */
export function isUnit({ format }: JsonSchema): boolean {
  return format === 'headgate-duration' || format === 'byte-size';
}
