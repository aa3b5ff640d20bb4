import type { DefinitionInfo } from '@headgate/pipeline';
import { type JsonSchema, alternatives, jsonSchemaOf, takesLines } from './json-schema.ts';
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
  description: "Module whose default export is the pipeline, relative to this file: its section's name is the pipeline's.",
};

/** The JSON Schema of a headgate.yaml, for editors. `own`: names of the pipelines that come from modules. */
export function configJsonSchema(definitions: readonly DefinitionInfo[], own: readonly string[] = []): object {
  const sections = [...sectionSchemas(definitions)].map(([name, schema]) => {
    const written = asWritten(schema);
    if (!own.includes(name)) return [name, written] as const;
    return [name, { ...written, properties: { use: USE, ...written.properties }, required: ['use', ...(written.required ?? [])] }] as const;
  });
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'headgate.yaml',
    type: 'object',
    properties: Object.fromEntries(sections),
    additionalProperties: { type: 'object', properties: { use: USE }, required: ['use'], description: 'A pipeline of your own.' },
  };
}

/** What may stand in a file for a value: `"${NAME}"` for any single one, and `{ file }` in a list of texts. */
function asWritten(schema: JsonSchema): JsonSchema {
  const {
    properties,
    items,
    anyOf,
    oneOf,
    additionalProperties,
    $schema: _,
    ...own
  } = schema as JsonSchema & { readonly $schema?: string };
  const deeper = {
    ...own,
    ...(properties !== undefined && {
      properties: Object.fromEntries(Object.entries(properties).map(([key, one]) => [key, asWritten(one)])),
    }),
    ...(items !== undefined && { items: itemsAsWritten(schema, items) }),
    ...(anyOf !== undefined && { anyOf: anyOf.map(asWritten) }),
    ...(oneOf !== undefined && { oneOf: oneOf.map(asWritten) }),
    ...(additionalProperties !== undefined && {
      additionalProperties: typeof additionalProperties === 'object' ? asWritten(additionalProperties) : additionalProperties,
    }),
  };
  if (!['integer', 'number', 'boolean'].includes(schema.type ?? '') && schema.enum === undefined) return deeper;
  const { description, default: usual, examples, ...value } = deeper;
  return {
    ...(description !== undefined && { description }),
    ...(usual !== undefined && { default: usual }),
    ...(examples !== undefined && { examples }),
    anyOf: [value, { type: 'string', pattern: '^\\$\\{\\w+\\}$' }],
  } as JsonSchema;
}

function itemsAsWritten(list: JsonSchema, items: JsonSchema): JsonSchema {
  if (!takesLines(list)) return asWritten(items);
  const file: JsonSchema = {
    type: 'object',
    description: 'A file with an entry a line; what follows a # is a comment.',
    properties: { file: { type: 'string' } },
    required: ['file'],
    additionalProperties: false,
  };
  return { anyOf: [...alternatives(items).map(asWritten), file] };
}
