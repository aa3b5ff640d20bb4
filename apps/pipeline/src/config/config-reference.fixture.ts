import type { DefinitionInfo } from '@headgate/pipeline';
import { sectionSchemas } from './config-schema.ts';
import { type JsonSchema, alternatives, exampleOf, flow, isUnit, takesLines, usualOf } from './json-schema.ts';

/** A page in Markdown with every setting of a headgate.yaml: its type, default and purpose. */
export function configReference(definitions: readonly DefinitionInfo[]): string {
  const sections = [...sectionSchemas(definitions)].map(([name, schema]) => sectionText(name, schema));
  return [INTRODUCTION, ...sections].join('\n\n') + '\n';
}

const INTRODUCTION = `# Configuration

Every setting of \`headgate.yaml\`. \`headgate schema\` writes a JSON Schema of them and of those of your own pipelines, which editors use for
completion and validation.

- \`"\${NAME}"\` is replaced by an environment variable, or by a line \`NAME=value\` of the file \`.env\` in the configuration's folder. The environment wins.
  To write a literal \`\${\`, use \`$\${\`.
  In \`.env\`, quote a value that contains \`#\`: \`NAME="abc#def"\`. Without quotes, it ends there.
- Paths are relative to the configuration's folder.
- A duration is a whole number with \`ms\`, \`s\`, \`m\`, \`h\` or \`d\`. A size is a whole number with \`B\`, \`KiB\`, \`MiB\` or \`GiB\`.
- A secret is text, preferably from a variable, or \`{ file: ./its-file }\`. Headgate reads the file again when it changes.
- In a list, \`{ file: list.txt }\` inserts the lines of that file. Comments start with \`#\`.
- A section with \`use: ./its-module.ts\` is your own pipeline. The module's default export is the result of \`definePipeline\`. The
  pipeline is named after the section, and the section's other keys are its options. \`use\` is a path relative to
  the file, or the name of a package that is installed next to it (\`use: parcels\`). If the module's own folder doesn't have \`headgate\`,
  \`@headgate/*\`, \`rxjs\` or \`zod\`, it gets those of the running installation.

To configure a run in code instead, call [\`start\`](embed.md).`;

function sectionText(name: string, schema: JsonSchema): string {
  const tables = alternatives(schema).filter(({ properties }) => properties !== undefined);
  const text = tables.map((one) => {
    const driver = one.properties?.['driver']?.const;
    return [
      ...(typeof driver === 'string' ? [`With \`driver: ${driver}\`:\n`] : []),
      '| key | type | default | |',
      '| --- | --- | --- | --- |',
      ...rows(one, ''),
    ].join('\n');
  });
  return [`## \`${name}\``, ...(schema.description === undefined ? [] : [schema.description]), ...text].join('\n\n');
}

/** The table's rows for a mapping. `above` contains the enclosing mappings, so that a recursive mapping isn't listed again. */
function rows(schema: JsonSchema, before: string, above: readonly JsonSchema['properties'][] = []): string[] {
  const { properties = {}, required = [] } = schema;
  const around = [...above, schema.properties];
  return Object.entries(properties).flatMap(([key, value]) => {
    const usual = required.includes(key) ? '**required**' : code(usualOf(value));
    const example =
      usualOf(value) === exampleOf(value) || value.examples === undefined || (isUnit(value) && usualOf(value) !== undefined)
        ? ''
        : ` For example ${code(exampleOf(value))}.`;
    const own = `| \`${before}${key}\` | ${cell(typeWords(value))} | ${usual} | ${cell((value.description ?? '') + example)} |`;
    const deeper = nested(value).filter(([one]) => !around.includes(one.properties));
    return [own, ...deeper.flatMap(([one, suffix]) => rows(one, `${before}${key}${suffix}.`, around))];
  });
}

/** The mappings that a value can be, and those that a list can contain. The latter have the suffix `[]`. */
function nested(schema: JsonSchema): readonly (readonly [JsonSchema, '' | '[]'])[] {
  if (schema.writeOnly === true && schema.format === undefined) return [];
  return alternatives(schema).flatMap((one): (readonly [JsonSchema, '' | '[]'])[] => {
    if (one.items !== undefined)
      return alternatives(one.items).flatMap((item) => (item.properties === undefined ? [] : [[item, '[]'] as const]));
    return one.properties === undefined ? [] : [[one, ''] as const];
  });
}

/** Types below this depth are described as `any`, because a schema can contain itself. */
const DEEPEST = 2;

function typeWords(schema: JsonSchema, depth = 0): string {
  if (depth > DEEPEST) return 'any';
  if (schema.writeOnly === true) return schema.format === 'path' ? 'path' : 'secret';
  const kinds = alternatives(schema).map((one) => {
    if (one.enum !== undefined) return one.enum.map((word) => `\`${String(word)}\``).join(', ');
    if (one.const !== undefined) return `\`${flow(one.const)}\``;
    if (one.format !== undefined) return FORMATS[one.format] ?? 'text';
    switch (one.type) {
      case 'integer':
        return range('whole number', one);
      case 'number':
        return range('number', one);
      case 'boolean':
        return '`true`, `false`';
      case 'array':
        if (one.prefixItems !== undefined) return `list: ${one.prefixItems.map((item) => typeWords(item, depth + 1)).join(', ')}`;
        return `list of ${typeWords(one.items ?? {}, depth + 1)}${takesLines(one) ? ', or `{ file }`' : ''}`;
      case 'object':
        return 'mapping';
      case 'string':
        return 'text';
      case undefined:
      default:
        return 'any';
    }
  });
  return [...new Set(kinds)].join(' or ');
}

const FORMATS: Readonly<Record<string, string>> = { 'headgate-duration': 'duration', 'byte-size': 'size', uri: 'address', path: 'path' };

function range(word: string, { minimum, exclusiveMinimum, maximum }: JsonSchema): string {
  const least = minimum ?? (exclusiveMinimum === undefined ? undefined : exclusiveMinimum + 1);
  if (least === undefined) return maximum === undefined ? word : `${word} up to ${maximum}`;
  return maximum === undefined ? `${word} from ${least}` : `${word}, ${least} to ${maximum}`;
}

function code(text: string | undefined): string {
  return text === undefined ? '' : `\`${text}\``;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
