import type { BooksOptions } from '../pipelines/books.ts';
import { BUILT_IN } from './built-in.ts';
import { sectionSchemas } from './config-schema.ts';
import { type JsonSchema, alternatives, exampleOf, flow, isUnit, takesLines, usualOf } from './json-schema.ts';

export interface ConfigTemplateOptions {
  /** Address for the followers section. Default: the file has no such section. */
  readonly followers?: { readonly baseUrl: string };
  /** Address and plan for the books section. Default: the file has no such section. */
  readonly books?: { readonly baseUrl: string; readonly plan: BooksOptions['plan'] };
}

/** A headgate.yaml with the settings and their descriptions. Most optional settings are commented out. */
export function configTemplate({ followers, books }: ConfigTemplateOptions): string {
  const schemas = sectionSchemas(BUILT_IN.map(({ definition }) => definition));
  const [embedded, kafka] = alternatives(schemas.get('topics'));
  const [, status] = alternatives(schemas.get('status'));
  const part = (name: string, schema: JsonSchema | undefined, written: Readonly<Record<string, unknown>>): readonly string[] => [
    `${name}:`,
    ...keyLines(schema, written),
  ];
  const parts = [
    HEAD,
    part('topics', embedded, { driver: 'sqlite', file: './headgate.db' }),
    // Kafka instead of the embedded log, as a comment.
    part('topics', kafka, { driver: 'kafka' }).map((line) => `# ${line}`),
    part('status', status, {}).map((line) => `# ${line.replace(/^ {2}# /, '  ')}`),
    ...(followers === undefined ? [] : [part('followers', schemas.get('followers'), followers)]),
    ...(books === undefined ? [] : [part('books', schemas.get('books'), books)]),
    OWN,
  ];
  return `${parts.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

/** The environment variables that the file of `configTemplate` refers to. */
export function templateVariables({ followers, books }: ConfigTemplateOptions): readonly string[] {
  return [...(followers === undefined ? [] : ['FOLLOWERS_BEARER_TOKEN']), ...(books === undefined ? [] : ['BOOKS_KEY'])];
}

const HEAD = [
  '# For completion and validation in your editor, run `headgate schema > headgate.schema.json` and add this first line:',
  '# "# yaml-language-server: $schema=headgate.schema.json"',
  '#',
  '# Configuration of Headgate. To check it, run: headgate check',
  '# "${NAME}" is replaced by an environment variable, or by a line NAME=value of the file .env next to this one.',
  '# Keep secrets there, and keep .env out of version control. Paths are relative to this file.',
  '# A setting after a # shows its default or an example. { file: list.txt } in a list inserts the lines of that file.',
];

const OWN = [
  '# Your own pipeline: the default export of its module is the result of definePipeline of @headgate/pipeline. Add its options here.',
  '# issues: { use: ./issues.ts }',
];

/** Column at which descriptions start, if there is space. */
const COLUMN = 40;

function keyLines(schema: JsonSchema | undefined, given: Readonly<Record<string, unknown>>): string[] {
  const { properties = {}, required = [] } = schema ?? {};
  return Object.entries(properties).map(([key, value]) => {
    const isWritten =
      Object.hasOwn(given, key) ||
      required.includes(key) ||
      (Array.isArray(value.default) && value.default.length === 0 && takesLines(value));
    const usual = usualOf(value);
    const example = exampleOf(value) ?? '…';
    const text = Object.hasOwn(given, key) ? written(given[key]) : (usual ?? example);
    const more = usual !== undefined && example !== text && value.examples !== undefined && !isUnit(value) ? ` For example ${example}` : '';
    return `  ${isWritten ? '' : '# '}${key}: ${text}`.padEnd(COLUMN - 1) + ` # ${value.description ?? ''}${more}`;
  });
}

/** The value in YAML. `$${` is a literal `${`, which would otherwise start a variable. */
function written(value: unknown): string {
  return flow(typeof value === 'string' ? value.replaceAll('${', () => '$${') : value);
}
