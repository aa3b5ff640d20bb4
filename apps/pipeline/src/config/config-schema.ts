import type { DefinitionInfo } from '@headgate/pipeline';
import * as z from 'zod';
import { type JsonSchema, asInFile, jsonSchemaOf } from './json-schema.ts';
import { statusSection } from './status-section.ts';
import { topicsSection } from './topics-section.ts';

function sections(definitions: readonly DefinitionInfo[]): readonly (readonly [name: string, schema: z.ZodType])[] {
  return [['topics', topicsSection], ['status', statusSection], ...definitions.map(({ name, options }) => [name, options] as const)];
}

/** The schemas of the sections of a headgate.yaml with these pipelines, by name. */
export function sectionSchemas(definitions: readonly DefinitionInfo[]): ReadonlyMap<string, JsonSchema> {
  return new Map(sections(definitions).map(([name, schema]) => [name, jsonSchemaOf(schema)]));
}

const USE: JsonSchema = {
  type: 'string',
  description:
    'Module whose default export is the pipeline: a path relative to this file, or the name of an installed package. The pipeline is named after its section.',
};

/** The JSON Schema of a headgate.yaml, for editors. `own`: names of the pipelines that come from modules. */
export function configJsonSchema(definitions: readonly DefinitionInfo[], own: readonly string[] = []): object {
  const file = z.object(Object.fromEntries(sections(definitions).map(([name, schema]) => [name, schema.optional()])));
  const { $defs, properties = {} } = asInFile(jsonSchemaOf(file));
  const withUse = Object.entries(properties).map(([name, section]) => {
    if (!own.includes(name)) return [name, section] as const;
    return [name, { ...section, properties: { use: USE, ...section.properties }, required: ['use', ...(section.required ?? [])] }] as const;
  });
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'headgate.yaml',
    type: 'object',
    ...($defs !== undefined && { $defs }),
    properties: Object.fromEntries(withUse),
    additionalProperties: { type: 'object', properties: { use: USE }, required: ['use'], description: 'Your own pipeline.' },
  };
}
