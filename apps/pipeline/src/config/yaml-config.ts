import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { InvalidOptionsError, type OptionIssue, type ParsedOptions, type Pipeline, parseOptions } from '@headgate/pipeline';
import { type ParsedNode, isMap, isScalar, isSeq } from 'yaml';
import { type AnyPipeline, BUILT_IN, isDefinedPipeline } from './built-in.ts';
import { ConfigError } from './config-error.ts';
import { withExcerpts } from './excerpt.ts';
import { plainFileFlaw } from './file-text.ts';
import { type JsonSchema, jsonSchemaOf, keysOf } from './json-schema.ts';
import type { Importing } from './load-config.ts';
import { type KeyPath, type Problem, formatKey, isShowable, quoted, shownPath } from './problem.ts';
import { sectionProblems, unknownKeyMessage } from './section-problems.ts';
import { statusSection, statusWarnings } from './status-section.ts';
import { topicsSection, topicsWarnings } from './topics-section.ts';
import { defaultExportOf, loadingReason, placeInModule } from './user-module.ts';
import type { ReadConfig } from './whole-config.ts';
import { pairsOf, yamlFile } from './yaml-file.ts';
import { yamlValue } from './yaml-values.ts';

export interface YamlConfigOptions {
  /** As the user named it. */
  readonly file: string;
  /** Absolute. */
  readonly path: string;
  readonly source: string;
  /** The value of an environment variable (or of .env), undefined where it is not set. */
  readonly lookup: (name: string) => string | undefined;
  readonly readText: (path: string) => Promise<string>;
  readonly importing: Importing;
}

/** Reads the sections of a headgate.yaml. Throws a `ConfigError` for a file that is no mapping. */
export async function yamlConfig({ file, path, source, lookup, readText, importing }: YamlConfigOptions): Promise<ReadConfig> {
  const yaml = yamlFile(source);
  const { root } = yaml;
  const refuse = (problems: readonly Problem[]): never => {
    const keys = [...known, ...BUILT_IN.flatMap(({ definition }) => keysOf(jsonSchemaOf(definition.options)))];
    throw new ConfigError({ fileName: file, problems: withExcerpts(problems, { text: source, known: keys }) });
  };
  const defined = new Map(BUILT_IN.map((one) => [one.definition.name, one]));
  const [topicsSchema, statusSchema] = [jsonSchemaOf(topicsSection), jsonSchemaOf(statusSection)];
  const known = ['topics', 'status', 'use', ...defined.keys(), ...[topicsSchema, statusSchema].flatMap(keysOf)];
  if (yaml.syntax.length > 0) refuse(yaml.syntax.map((problem) => ({ ...problem, key: '' })));
  const ofFile = file === 'headgate.yaml' ? '' : ` --config ${file}`;
  if (root === undefined)
    refuse([{ line: 1, column: 1, key: '', message: `the file is empty. Write one with: headgate init --force${ofFile}` }]);
  if (!isMap(root)) {
    return refuse([{ ...yaml.placeOf([]), key: '', message: 'must be a mapping with followers: or books: in it.' }]);
  }

  const resolvePath = (relative: string): string => resolve(dirname(path), relative);
  const sections = new Map(pairsOf(root).flatMap(({ name, value }) => (name === undefined ? [] : [[name, value] as const])));
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  const open = new Map<number, number>();
  const problemAt: ReadConfig['problemAt'] = (at, message, of = 'value') => ({
    ...yaml.placeOf(at, of),
    key: formatKey(at, known),
    message,
  });
  for (const { name } of pairsOf(root)) {
    if (name === undefined) problems.push(problemAt([], 'has a key that is not a single word. Write keys as plain words.'));
  }

  /** Undefined where something is wrong with it. */
  async function section<Value>(
    name: string,
    schema: JsonSchema,
    parse: (value: unknown) => ParsedOptions<Value>,
    advise: (value: Value) => Iterable<OptionIssue>,
  ): Promise<Value | undefined> {
    const broken: string[] = [];
    const plain: { readonly at: KeyPath; readonly message: string }[] = [];
    const before = problems.length;
    const read = await yamlValue(sections.get(name) ?? null, schema, [], {
      lookup,
      resolvePath,
      readText,
      problem(at, message) {
        broken.push(JSON.stringify(at).slice(0, -1));
        const node = yaml.nodeAt([name, ...at]);
        const subject = at.at(-1) === 'file' && isScalar(node) ? `${shownPath(node.source)} ` : '';
        problems.push(problemAt([name, ...at], subject + message));
      },
      warning: (at, message) => void plain.push({ at, message }),
      plainSecret(at, variable = [name, at.findLast((part) => typeof part === 'string')].join('_').toUpperCase()) {
        plain.push({ at, message: `a secret in plain text. Put it into .env next to this file and write "\${${variable}}" here.` });
      },
    });
    for (const [offset, length] of read.open) open.set(offset, length);
    const parsed = parse(sections.has(name) ? read.value : {});
    const about = { file: yaml, name, schema, read, known };
    if (parsed.issues !== undefined) {
      const fresh = parsed.issues.filter((issue) => {
        const at = `${JSON.stringify(read.originOf(issue.path).path).slice(0, -1)},`;
        return !broken.some((one) => at.startsWith(`${one},`));
      });
      problems.push(...sectionProblems(fresh, about));
      return undefined;
    }
    warnings.push(
      ...plain.map(({ at, message }) => problemAt([name, ...at], message)),
      ...sectionProblems([...advise(parsed.value)], { ...about, areWarnings: true }),
    );
    return problems.length > before ? undefined : parsed.value;
  }

  async function own(name: string, node: ParsedNode | null): Promise<AnyPipeline | undefined> {
    const use = isMap(node) ? pairsOf(node).find((pair) => pair.name === 'use')?.value : undefined;
    const complain = (message: string): undefined => void problems.push(problemAt([name, 'use'], message));
    if (!isScalar(use) || typeof use.value !== 'string' || use.value === '')
      return complain('must be text. Write the path of a module, as in ./issues.ts, or the name of an installed package.');
    const shownUse = shownPath(use.source);
    if (shownUse === quoted(use.source)) open.set(use.range[0], use.range[1] - use.range[0]);
    if (use.source === 'rest') {
      known.push(...namesIn(node));
      return (await import('@headgate/rest')).rest(name);
    }
    const modulePath = resolvePath(use.source);
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
    return complain(
      `${shownUse} defines the pipeline ${found.definition.name}, and the section's name has to be the pipeline's. Write ${found.definition.name}: in place of this key.`,
    );
  }

  const candidates: (readonly [name: string, pipeline: AnyPipeline, schema: JsonSchema, isOwn: boolean])[] = [];
  for (const [name, node] of sections) {
    if (name === 'topics' || name === 'status') continue;
    const isOwn = isMap(node) && node.items.some(({ key }) => isScalar(key) && key.source === 'use');
    if (isOwn && /^[a-z][a-z0-9-]{0,49}$/.test(name)) known.push(name);
    const found = isOwn ? await own(name, node) : defined.get(name);
    if (found === undefined) {
      if (isOwn) continue;
      // Keys stand under it: it is a name, and no secret whose colon was forgotten.
      if (isMap(node) && /^[a-z][a-z0-9-]{0,49}$/.test(name) && isShowable(name)) known.push(name);
      const message = unknownKeyMessage(name, ['topics', 'status', ...defined.keys()]);
      const cure = message.includes('Did you mean') ? '' : ' A pipeline of your own has use: ./its-module.ts under its name.';
      problems.push(problemAt([name], message + cure, 'key'));
      continue;
    }
    const schema = jsonSchemaOf(found.definition.options);
    known.push(...keysOf(schema), ...topicsOf(found));
    candidates.push([name, found, schema, isOwn]);
  }
  if (sections.size === 0 || [...sections.keys()].every((name) => name === 'topics' || name === 'status')) {
    const message =
      'there is no pipeline. Add followers: or books:, as headgate init writes them, or use: ./its-module.ts under the name of your own.';
    problems.push({ ...yaml.placeOf([]), key: '', message });
  }

  const topics = await section('topics', topicsSchema, (value) => parseOptions(topicsSection, value), topicsWarnings);
  const status = await section('status', statusSchema, (value) => parseOptions(statusSection, value), statusWarnings);
  const pipelines: Pipeline[] = [];
  for (const [name, pipeline, schema, isOwn] of candidates) {
    const full = isOwn ? { ...schema, properties: { use: { type: 'string' }, ...schema.properties } } : schema;
    const made = await section(
      name,
      full,
      (value) => configured(pipeline, isOwn ? withoutUse(value) : value),
      ({ warnings: of }) => of,
    );
    if (made !== undefined) pipelines.push(made);
  }
  const made = new Map(pipelines.map(({ name, definition }) => [name, definition]));
  const owned = candidates.flatMap(([name, { definition }, , isOwn]) => (isOwn ? [made.get(name) ?? definition] : []));
  return {
    topics: topics?.driver === 'sqlite' ? { ...topics, file: resolvePath(topics.file) } : topics,
    status,
    pipelines,
    definitions: [...BUILT_IN.map(({ definition }) => definition).filter(({ name }) => !owned.some((one) => one.name === name)), ...owned],
    problems,
    warnings,
    problemAt,
    withExcerpts: (found) => withExcerpts(found, { text: source, known, open }),
  };
}

/** The names that a section gives to its streams and their fields: something stands under each, so none is a secret whose colon was forgotten. */
function namesIn(node: ParsedNode | null): string[] {
  if (!isMap(node)) return [];
  return pairsOf(node).flatMap(({ name = '', value }) =>
    isMap(value) || isSeq(value) ? [...(/^[A-Za-z][\w-]{0,49}$/.test(name) && isShowable(name) ? [name] : []), ...namesIn(value)] : [],
  );
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

/** A user's folder may have an installation of its own, with classes of its own. */
function isInvalidOptions(error: unknown): error is InvalidOptionsError {
  return error instanceof InvalidOptionsError || (error instanceof Error && error.name === 'InvalidOptionsError' && 'issues' in error);
}

function withoutUse(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { use: _, ...options } = value as Readonly<Record<string, unknown>>;
  return options;
}

function topicsOf({ definition: { name, topics } }: AnyPipeline): readonly string[] {
  return [...Object.keys(topics), 'requests', 'dead-letters', 'state'].map((topic) => `${name}.${topic}`);
}

/** True of `parcels`, `@post/parcels` and `parcels/letters`; a path begins with a dot, a slash or a drive. */
function isPackageName(use: string): boolean {
  return /^(?:@[a-z0-9-~][\w.~-]*\/)?[a-z0-9-~][\w.~-]*(?:\/[^\\]+)?$/iu.test(use);
}

/** Of `@post/parcels/letters`, `@post/parcels`. */
function packageOf(use: string): string {
  return use.split('/', use.startsWith('@') ? 2 : 1).join('/');
}

/** True when the package itself isn't there, and not when something isn't that it loads. */
function isMissing(error: unknown, name: string): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    error.code === 'ERR_MODULE_NOT_FOUND' &&
    error.message.startsWith(`Cannot find package '${name}'`)
  );
}
