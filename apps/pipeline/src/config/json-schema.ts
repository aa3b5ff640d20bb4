import { becomesSecret } from '@headgate/pipeline/internal';
import * as z from 'zod';

/** The part of JSON Schema that describes options. */
export interface JsonSchema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  /** True for a secret. */
  readonly writeOnly?: boolean;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  /** Entries of a tuple. */
  readonly prefixItems?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  /** Reference to a schema that occurs more than once. */
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  /** The target of `$ref`. JSON.stringify omits it, because its key is a symbol. */
  readonly [TARGET]?: JsonSchema;
}

const TARGET = Symbol('target of $ref');

/** The input of a schema, as JSON Schema. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const root = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      // zod omits the examples of a transformed value, because it takes them for examples of the output.
      const { examples } = z.globalRegistry.get(zodSchema) ?? {};
      if (Array.isArray(examples)) jsonSchema.examples = examples;
      if (becomesSecret(zodSchema)) jsonSchema.writeOnly = true;
      if (zodSchema._zod.def.type === 'default') jsonSchema.default ??= zodSchema._zod.def.defaultValue as typeof jsonSchema.default;
      // The schema of a duration is a union with `type: 'string'`, because a file contains a duration as text.
      if (jsonSchema.type !== undefined) delete jsonSchema.anyOf;
      // A function has an empty schema, and can't be written into a file.
      if (jsonSchema.anyOf !== undefined) jsonSchema.anyOf = jsonSchema.anyOf.filter((one) => Object.keys(one).length > 0);
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      delete jsonSchema.propertyNames;
    },
  }) as JsonSchema;
  link(root, root);
  return root;
}

/** Adds its target to each `$ref`. */
function link(schema: JsonSchema, root: JsonSchema): void {
  const { $ref } = schema;
  if ($ref !== undefined)
    Object.defineProperty(schema, TARGET, { value: $ref === '#' ? root : root.$defs?.[$ref.replace('#/$defs/', '')] });
  for (const one of within(schema)) link(one, root);
}

function within({
  properties = {},
  $defs = {},
  additionalProperties,
  items,
  prefixItems = [],
  ...some
}: JsonSchema): readonly JsonSchema[] {
  const { anyOf = [], oneOf = [], allOf = [] } = some;
  return [properties, $defs, prefixItems, anyOf, oneOf, allOf, { additionalProperties, items }].flatMap((group) =>
    Object.values(group as object).filter((one: unknown): one is JsonSchema => typeof one === 'object'),
  );
}

/** The schemas that a value can match, with unions and references resolved. */
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

/** The schemas that the value at a path can match. */
export function schemasAt(schema: JsonSchema, path: readonly (string | number)[]): readonly JsonSchema[] {
  return path.reduce<readonly JsonSchema[]>(
    (above, part) =>
      above.flatMap(alternatives).flatMap(({ properties = {}, additionalProperties, prefixItems, items }) => {
        if (typeof part === 'number') return prefixItems?.[part] ?? items ?? [];
        if (Object.hasOwn(properties, part)) return properties[part] ?? [];
        return typeof additionalProperties === 'object' ? additionalProperties : [];
      }),
    [schema],
  );
}

const VARIABLE: JsonSchema = { type: 'string', pattern: '^\\$\\{\\w+\\}$' };
const LIST_FILE: JsonSchema = {
  type: 'object',
  description: 'File with one entry per line; comments start with #.',
  properties: { file: { type: 'string' } },
  required: ['file'],
  additionalProperties: false,
};

/** Adds the notations of a YAML file to a schema, in place: `"${NAME}"` for a single value, and `{ file }` in a list of texts. */
export function asInFile(schema: JsonSchema): JsonSchema {
  const hasLines = takesLines(schema);
  for (const one of within(schema)) asInFile(one);
  const { items } = schema;
  if (hasLines && items !== undefined)
    return Object.assign(schema, { items: { anyOf: [...(items.anyOf ?? items.oneOf ?? [items]), LIST_FILE] } });
  if (!['integer', 'number', 'boolean'].includes(schema.type ?? '') && schema.enum === undefined && schema.pattern === undefined)
    return schema;
  const value = Object.entries(schema).filter(([key]) => !['description', 'default', 'examples'].includes(key));
  for (const [key] of value) Reflect.deleteProperty(schema, key);
  return Object.assign(schema, { anyOf: [Object.fromEntries(value), VARIABLE] });
}

/** Whether a list's entries can be text other than fixed choices, so that the lines of a file can replace an entry. */
export function takesLines(schema: JsonSchema): boolean {
  const items = alternatives(schema).flatMap(({ prefixItems, items: every }) => (prefixItems === undefined ? (every ?? []) : []));
  return items.flatMap(alternatives).some((one) => one.type === 'string' && one.enum === undefined && one.const === undefined);
}

/** A value in one line of YAML. */
export function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([key, one]) => `${/^[\w.-]+$/.test(key) ? key : JSON.stringify(key)}: ${flow(one)}`);
    return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
  }
  if (typeof value !== 'string') return String(value);
  return /^\d{1,3}(\.\d{1,3}){3}(:\d+)?$|^[A-Za-z./][\w./@-]*(?::\/?\/?[\w./@-]+)*$|^\d[\w-]*[A-Za-z]$/.test(value) &&
    !/^(true|false|null|yes|no|on|off)$/i.test(value)
    ? value
    : JSON.stringify(value);
}

/** Examples end at this depth, because a schema can contain itself. */
const DEEPEST = 5;

/** An example or a description of the valid values; undefined if there is none. */
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

/** The default as text; for a mapping, the defaults of its keys. Undefined if there is none. */
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

/** Whether the schema is for a duration or a size. */
export function isUnit({ format }: JsonSchema): boolean {
  return format === 'headgate-duration' || format === 'byte-size';
}
