import type { DefinitionInfo } from '@headgate/pipeline';
import { type JsonSchema, jsonSchemaOf, takesLines } from './json-schema.ts';
import { statusSection } from './status-section.ts';
import { topicsSection } from './topics-section.ts';

/** The sections of a headgate.yaml with these pipelines, in their order. */
export function sectionSchemas(definitions: readonly DefinitionInfo[]): ReadonlyMap<string, JsonSchema> {
  return new Map([
    ['topics', jsonSchemaOf(topicsSection)],
    ['status', jsonSchemaOf(statusSection)],
    ...definitions.map(({ name, options }) => [name, jsonSchemaOf(options)] as const),
  ]);
}

const USE: JsonSchema = {
  type: 'string',
  description:
    'Module whose default export is the pipeline: a path relative to this file, or the name of an installed package. The pipeline is named after its section.',
};

/** The JSON Schema of a headgate.yaml, for editors. `own`: names of the pipelines that come from modules. */
export function configJsonSchema(definitions: readonly DefinitionInfo[], own: readonly string[] = []): object {
  const sections = [...sectionSchemas(definitions)].map(([name, schema]) => {
    const written = asWritten(schema, `#/properties/${name}`);
    if (!own.includes(name)) return [name, written] as const;
    return [name, { ...written, properties: { use: USE, ...written.properties }, required: ['use', ...(written.required ?? [])] }] as const;
  });
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'headgate.yaml',
    type: 'object',
    properties: Object.fromEntries(sections),
    additionalProperties: { type: 'object', properties: { use: USE }, required: ['use'], description: 'Your own pipeline.' },
  };
}

/** What may stand in a file for a value: `"${NAME}"` for any single one, and `{ file }` in a list of texts. `root`: where the section stands. */
function asWritten(schema: JsonSchema, root: string): JsonSchema {
  const within = (one: JsonSchema): JsonSchema => asWritten(one, root);
  const named = (some: Readonly<Record<string, JsonSchema>>) =>
    Object.fromEntries(Object.entries(some).map(([key, one]) => [key, within(one)]));
  const {
    properties,
    items,
    prefixItems,
    $defs,
    $ref,
    anyOf,
    oneOf,
    additionalProperties,
    $schema: _,
    ...own
  } = schema as JsonSchema & { readonly $schema?: string };
  const deeper = {
    ...own,
    ...(properties !== undefined && {
      properties: named(properties),
    }),
    ...($defs !== undefined && { $defs: named($defs) }),
    ...($ref !== undefined && { $ref: $ref.replace('#', root) }),
    ...(prefixItems !== undefined && { prefixItems: prefixItems.map(within) }),
    ...(items !== undefined && { items: itemsAsWritten(schema, items, root) }),
    ...(anyOf !== undefined && { anyOf: anyOf.map(within) }),
    ...(oneOf !== undefined && { oneOf: oneOf.map(within) }),
    ...(additionalProperties !== undefined && {
      additionalProperties: typeof additionalProperties === 'object' ? within(additionalProperties) : additionalProperties,
    }),
  };
  if (!['integer', 'number', 'boolean'].includes(schema.type ?? '') && schema.enum === undefined && schema.pattern === undefined)
    return deeper;
  const { description, default: usual, examples, ...value } = deeper;
  return {
    ...(description !== undefined && { description }),
    ...(usual !== undefined && { default: usual }),
    ...(examples !== undefined && { examples }),
    anyOf: [value, { type: 'string', pattern: '^\\$\\{\\w+\\}$' }],
  };
}

function itemsAsWritten(list: JsonSchema, items: JsonSchema, root: string): JsonSchema {
  if (!takesLines(list)) return asWritten(items, root);
  const file: JsonSchema = {
    type: 'object',
    description: 'File with one entry per line; comments start with #.',
    properties: { file: { type: 'string' } },
    required: ['file'],
    additionalProperties: false,
  };
  return { anyOf: [...(items.anyOf ?? items.oneOf ?? [items]).map((one) => asWritten(one, root)), file] };
}
