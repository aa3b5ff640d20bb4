import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { BUILT_IN } from './built-in.ts';
import { configReference } from './config-reference.fixture.ts';
import { configJsonSchema, sectionSchemas } from './config-schema.ts';
import { type JsonSchema, alternatives } from './json-schema.ts';

const DEFINITIONS = BUILT_IN.map(({ definition }) => definition);

test('docs/configuration.md has every setting; `vitest run config-reference -u` rewrites it', async () => {
  const page = fileURLToPath(new URL('../../../../docs/configuration.md', import.meta.url));
  await expect(configReference(DEFINITIONS)).toMatchFileSnapshot(page);
});

test('every key is described', () => {
  const undescribed = (schema: JsonSchema, path: string): string[] =>
    alternatives(schema).flatMap((one) => [
      ...Object.entries(one.properties ?? {}).flatMap(([key, value]) => [
        ...((value.description ?? '') === '' ? [`${path}.${key}`] : []),
        ...(value.writeOnly === true ? [] : undescribed(value, `${path}.${key}`)),
      ]),
      ...(one.items === undefined ? [] : undescribed(one.items, `${path}[]`)),
    ]);
  expect([...sectionSchemas(DEFINITIONS)].flatMap(([name, schema]) => undescribed(schema, name))).toEqual([]);
});

test('the JSON Schema for editors has variables, files of lists, secrets by file, and pipelines of a user’s own', () => {
  const schema = configJsonSchema(DEFINITIONS, []) as {
    properties: Record<string, { properties: Record<string, unknown>; required: string[] }>;
    additionalProperties: unknown;
  };
  const { followers, books } = schema.properties;
  expect(followers?.required).toEqual(['baseUrl', 'credentials']);
  expect(followers?.properties['count']).toEqual({
    description: 'Maximum IDs per page.',
    default: 5_000,
    anyOf: [
      { type: 'integer', minimum: 1, maximum: 5_000 },
      { type: 'string', pattern: String.raw`^\$\{\w+\}$` },
    ],
  });
  expect(followers?.properties['timeout']).toMatchObject({
    default: '30s',
    anyOf: [{ type: 'string', format: 'headgate-duration' }, { pattern: '^\\$\\{\\w+\\}$' }],
  });
  expect(JSON.stringify(followers?.properties['users'])).toContain('"file"');
  expect(books?.properties['key']).toMatchObject({ writeOnly: true, anyOf: [{ type: 'string' }, { type: 'object', required: ['file'] }] });
  expect(schema.additionalProperties).toMatchObject({ required: ['use'] });
});
