import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type DefinitionInfo, type OptionIssue, type ParsedOptions, type Pipeline, definePipeline, parseOptions } from '@headgate/pipeline';
import { isPem, plainFileFlaw } from '@headgate/pipeline/internal';
import { type ParsedNode, isMap, isScalar, isSeq } from 'yaml';
import * as z from 'zod';
import { type AnyPipeline, BUILT_IN, isDefinedPipeline, isInvalidOptions } from './built-in.ts';
import { ConfigError } from './config-error.ts';
import { withExcerpts } from './excerpt.ts';
import { type JsonSchema, jsonSchemaOf, keysOf, schemasAt } from './json-schema.ts';
import type { Importing } from './load-config.ts';
import { type KeyPath, type Problem, formatKey, isShowable, quoted, shownKeys, shownPath } from './problem.ts';
import { type Finding, sectionProblems, unknownKeyMessage } from './section-problems.ts';
import { statusSection, statusWarnings } from './status-section.ts';
import { topicsSection, topicsWarnings } from './topics-section.ts';
import { defaultExportOf, loadingReason, placeInModule } from './user-module.ts';
import type { ReadConfig } from './whole-config.ts';
import { pairsOf, yamlFile } from './yaml-file.ts';
import { type YamlSection, bareVariable, withoutBraces, yamlValues } from './yaml-values.ts';

const PIPELINE_NAME = /^[a-z][a-z0-9-]{0,49}$/;
const BAD_NAME =
  "isn't a valid pipeline name. Write up to 50 lowercase letters, digits and hyphens, starting with a letter; headgate is reserved.";

export interface YamlConfigOptions {
  /** The file as the user named it. */
  readonly file: string;
  /** Absolute path of the file. */
  readonly path: string;
  readonly source: string;
  /** Returns the value of a variable; undefined if it isn't set. */
  readonly lookup: (name: string) => string | undefined;
  readonly readText: (path: string) => Promise<string>;
  readonly importing: Importing;
}

/** Reads the sections of a headgate.yaml. Throws a `ConfigError` if the file isn't YAML, is empty or isn't a mapping. */
export async function yamlConfig({ file, path, source, lookup, readText, importing }: YamlConfigOptions): Promise<ReadConfig> {
  const yaml = yamlFile(source);
  const { root } = yaml;
  const refuse = (problems: readonly Problem[]): never => {
    throw new ConfigError({
      fileName: file,
      problems: withExcerpts(problems, { text: source, isKeyShown: shownKeys(keysWith(BUILT_IN), new Set()) }),
    });
  };
  if (yaml.syntax.length > 0) refuse(yaml.syntax.map((problem) => ({ ...problem, key: '' })));
  const ofFile = file === 'headgate.yaml' ? '' : ` --config ${file}`;
  if (root === undefined)
    return refuse([{ line: 1, column: 1, key: '', message: `the file is empty. Write one with: headgate init --force${ofFile}` }]);
  if (!isMap(root))
    return refuse([{ ...yaml.placeAt(root.range), key: '', message: 'must be a mapping with followers: or books: in it.' }]);

  const folder = dirname(path);
  const sections = new Map(pairsOf(root).flatMap(({ name, value }) => (name === undefined ? [] : [[name, value] as const])));
  const problems: Finding[] = [];
  const warnings: Finding[] = [];
  /** Names that messages may show in addition to the keys of schemas. */
  const names: string[] = [];
  /** Names of the sections with `use`. The key is removed before parsing, because the pipeline's schema doesn't have it. */
  const uses = new Set<string>();
  const open = new Map<number, number>();
  const values = yamlValues(root, {
    lookup,
    folder,
    readText,
    problem: (origin, message) => void problems.push({ origin, message }),
    warning: (origin, message) => void warnings.push({ origin, message }),
  });

  /** Parses a section and reports its problems. Returns undefined if it has errors. */
  async function section<Value>(
    name: string,
    schema: z.ZodType,
    parse: (value: unknown) => ParsedOptions<Value>,
    advise: (value: Value) => Iterable<OptionIssue>,
  ): Promise<Value | undefined> {
    const before = problems.length;
    const read = values.section(name);
    if (uses.has(name)) Reflect.deleteProperty(Object(read.value) as object, 'use');
    if (read.hasLists) {
      // Only the schema knows which `{ file }` entries stand for the lines of a file. This first parse marks them.
      parseOptions(schema, read.value);
      await read.readLists();
    }
    const parsed = parse(read.value);
    const jsonSchema = lazily(() => jsonSchemaOf(schema));
    readNotes(name, read, jsonSchema);
    const about = { schema: jsonSchema, originOf: (at: KeyPath) => values.originOf([name, ...at]), hidden: read.hidden };
    if (parsed.issues !== undefined) {
      problems.push(...sectionProblems(parsed.issues, about));
      return undefined;
    }
    warnings.push(...sectionProblems([...advise(parsed.value)], { ...about, areWarnings: true }));
    return problems.length > before ? undefined : parsed.value;
  }

  /**
   * Uses the notes that the schema left on each value: hides secrets, warns of secrets in plain text, and lets messages show other values.
   */
  function readNotes(name: string, { scalars, hidden }: YamlSection, schema: () => JsonSchema): void {
    for (const { scalar, node, origin } of scalars) {
      if (!scalar.isSecret) {
        if (scalar.isKnown && !scalar.isAddress && isShowable(node.source)) open.set(node.range[0], node.range[1] - node.range[0]);
        continue;
      }
      hidden.push(scalar.text);
      if (origin.isReported === true || scalar.hasVariable || scalar.text === '') continue;
      if (bareVariable(node.source) !== undefined) problems.push({ origin, message: withoutBraces('NAME') });
      else if (!isHarmless(scalar)) {
        const [variable = `\${${[name, origin.path.findLast((part) => typeof part === 'string')].join('_').toUpperCase()}}`] =
          schemasAt(schema(), origin.path.slice(1))[0]?.examples?.filter((one) => /^\$\{\w+\}$/.test(String(one))) ?? [];
        warnings.push({
          origin,
          message: `a secret in plain text. Put it into .env next to this file and write "${String(variable)}" here.`,
        });
      }
    }
  }

  async function own(name: string, use: ParsedNode | null): Promise<AnyPipeline | undefined> {
    const range = use?.range ?? values.originOf([name]).keyRange;
    const complain = (message: string): undefined =>
      void problems.push({ origin: { path: [name, 'use'], node: use, range, keyRange: range }, message });
    if (!isScalar(use) || typeof use.value !== 'string' || use.value === '')
      return complain('must be text. Write the path of a module, as in ./issues.ts, or the name of an installed package.');
    const shownUse = shownPath(use.source);
    if (shownUse === quoted(use.source)) open.set(use.range[0], use.range[1] - use.range[0]);
    if (use.source === 'rest') {
      if (isPipelineName(name)) return (await import('@headgate/rest')).rest(name);
      problems.push({ origin: values.originOf([name]), at: 'key', message: BAD_NAME });
      return undefined;
    }
    const modulePath = resolve(folder, use.source);
    const isPackage = isPackageName(use.source) && !existsSync(modulePath);
    const flaw = isPackage ? undefined : plainFileFlaw(modulePath);
    if (flaw !== undefined) return complain(`${shownUse} ${flaw}`);
    let found: unknown;
    try {
      found = await importing(async () => (isPackage ? await defaultExportOf(use.source, path) : await defaultExportOf(modulePath)));
    } catch (error) {
      if (isPackage && isMissing(error, packageOf(use.source))) {
        return complain(`${shownUse} is neither a file relative to this one nor an installed package (npm install).`);
      }
      const { line, column } = (isPackage ? undefined : placeInModule(error, modulePath)) ?? {};
      const place = line === undefined ? '' : ` (line ${line}, column ${column})`;
      return complain(`${shownUse} can't be loaded${place}: ${loadingReason(error)}`);
    }
    if (!isDefinedPipeline(found)) {
      return complain(`${shownUse} has no pipeline as its default export. Write: export default definePipeline({ … });`);
    }
    if (found.definition.name === name) return found;
    if (!isPipelineName(name)) {
      problems.push({ origin: values.originOf([name]), at: 'key', message: BAD_NAME });
      return undefined;
    }
    if (found.named !== undefined) return found.named(name);
    return complain(
      `${shownUse} defines the pipeline ${found.definition.name}, and its section must have the same name. Rename this key to ${found.definition.name}.`,
    );
  }

  const candidates = new Map<string, AnyPipeline>();
  const unloaded: DefinitionInfo[] = [];
  const defined = new Map(BUILT_IN.map((one) => [one.definition.name, one]));
  for (const [name, node] of sections) {
    if (name === 'topics' || name === 'status') continue;
    const use = isMap(node) ? pairsOf(node).find((pair) => pair.name === 'use') : undefined;
    if (use !== undefined) {
      uses.add(name);
      if (PIPELINE_NAME.test(name)) names.push(name);
    }
    const pipeline = use === undefined ? defined.get(name) : await own(name, use.value);
    if (pipeline !== undefined) candidates.set(name, pipeline);
    else if (use !== undefined) {
      if (isPipelineName(name)) unloaded.push(unknownDefinition(name));
    } else {
      const message = unknownKeyMessage(name, ['topics', 'status', ...defined.keys()]);
      const cure = message.includes('Did you mean') ? '' : ' To add your own pipeline, write use: ./its-module.ts under its name.';
      problems.push({ origin: values.originOf([name]), message: message + cure, at: 'key' });
    }
  }
  if ([...sections.keys()].every((name) => name === 'topics' || name === 'status')) {
    const message =
      'there is no pipeline. Add followers: or books:, as headgate init writes them, or your own pipeline: use: ./its-module.ts under its name.';
    problems.push({ origin: values.originOf([]), message });
  }

  const topics = await section('topics', topicsSection, (value) => parseOptions(topicsSection, value), topicsWarnings);
  const status = await section('status', statusSection, (value) => parseOptions(statusSection, value), statusWarnings);
  const pipelines: Pipeline[] = [];
  for (const [name, pipeline] of candidates) {
    const made = await section(
      name,
      pipeline.definition.options,
      (value) => configured(pipeline, value),
      ({ warnings: of }) => of,
    );
    if (made !== undefined) pipelines.push(made);
  }
  const isKeyShown = lazily(() => shownKeys([...names, ...keysWith([...candidates.values()])], new Set(keysWithValue(root))));
  const problemOf = ({ origin, message, at = 'value' }: Finding): Problem => ({
    ...yaml.placeAt(at === 'key' ? origin.keyRange : origin.range),
    key: formatKey(origin.path, isKeyShown()),
    message,
  });
  return {
    topics,
    status,
    pipelines,
    definitions: [...unloaded, ...[...candidates.values(), ...pipelines].map(({ definition }) => definition)],
    problems: problems.map(problemOf),
    warnings: warnings.map(problemOf),
    problemAt: (at, message, of = 'value') => problemOf({ origin: values.originOf(at), message, at: of }),
    withExcerpts: (found) => withExcerpts(found, { text: source, isKeyShown: isKeyShown(), open }),
  };
}

function isPipelineName(name: string): boolean {
  return PIPELINE_NAME.test(name) && name !== 'headgate';
}

/** The definition of a pipeline whose module can't be loaded: only its name is known. */
function unknownDefinition(name: string): DefinitionInfo {
  const open = (): never => {
    throw new TypeError(`the module of ${name} isn't loaded`);
  };
  const { definition } = definePipeline({ name, options: z.looseObject({}), request: z.unknown(), topics: {}, keyOf: String, open });
  return { ...definition, dependsOnOptions: true };
}

/** The keys that messages may show in a file with these pipelines. */
function keysWith(pipelines: readonly AnyPipeline[]): readonly string[] {
  const schemas = [topicsSection, statusSection, ...pipelines.map(({ definition }) => definition.options)];
  const names = BUILT_IN.map(({ definition }) => definition.name);
  return ['topics', 'status', 'use', ...names, ...schemas.map(jsonSchemaOf).flatMap(keysOf), ...pipelines.flatMap(topicsOf)];
}

function lazily<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** Whether the value of a secret setting isn't itself a secret: an address without a password, or a path instead of the key's text. */
function isHarmless({ text, isPath }: { readonly text: string; readonly isPath: boolean }): boolean {
  if (isPath) return !isPem(text);
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  return url !== null && url.password === '';
}

/** The keys that have a value. A secret whose colon is missing becomes a key without a value. */
function keysWithValue(node: ParsedNode | null): string[] {
  if (isSeq(node)) return node.items.flatMap(keysWithValue);
  if (!isMap(node)) return [];
  return pairsOf(node).flatMap(({ name, value }) => {
    const hasValue = isMap(value) || isSeq(value) || (isScalar(value) && value.value !== null);
    return [...(hasValue && name !== undefined ? [name] : []), ...keysWithValue(value)];
  });
}

function configured(pipeline: AnyPipeline, value: unknown): ParsedOptions<Pipeline> {
  try {
    return { value: pipeline(value as never) };
  } catch (error) {
    if (isInvalidOptions(error)) return { issues: error.issues };
    if (error instanceof Error && 'code' in error && error.code === 'HEADGATE_USER_FUNCTION') {
      return { issues: [{ path: [], message: error.message }] };
    }
    throw error;
  }
}

function topicsOf({ definition: { name, topics } }: AnyPipeline): readonly string[] {
  return [...Object.keys(topics), 'requests', 'dead-letters', 'state'].map((topic) => `${name}.${topic}`);
}

/** True for `parcels`, `@post/parcels` and `parcels/letters`. A path begins with a dot, a slash or a drive instead. */
function isPackageName(use: string): boolean {
  return /^(?:@[a-z0-9-~][\w.~-]*\/)?[a-z0-9-~][\w.~-]*(?:\/[^\\]+)?$/iu.test(use);
}

/** The package of a module: `@post/parcels` for `@post/parcels/letters`. */
function packageOf(use: string): string {
  return use.split('/', use.startsWith('@') ? 2 : 1).join('/');
}

/** Whether the package itself is missing, rather than a package that it imports. */
function isMissing(error: unknown, name: string): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    error.code === 'ERR_MODULE_NOT_FOUND' &&
    error.message.startsWith(`Cannot find package '${name}'`)
  );
}
