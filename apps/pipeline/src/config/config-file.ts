import { dirname, resolve } from 'node:path';
import { type DefinitionInfo, type OptionIssue, type ParsedOptions, type Pipeline, parseOptions } from '@headgate/pipeline';
import { isPem } from '@headgate/pipeline/internal';
import { type ParsedNode, type YAMLMap, isMap, isScalar } from 'yaml';
import type * as z from 'zod';
import { type AnyPipeline, BUILT_IN, isInvalidOptions } from './built-in.ts';
import { ConfigError } from './config-error.ts';
import { isPublic, readConfigText, readEnvFile } from './config-files.ts';
import { type CommandFor, commandsFor } from './commands-for.ts';
import { DEFAULT_FILE } from './default-file.ts';
import type { Config } from './config.ts';
import { crossFindings } from './cross-findings.ts';
import { inOrder } from './format-problems.ts';
import { type JsonSchema, jsonSchemaOf, schemasAt } from './json-schema.ts';
import { type KeyPath, type Problem, formatKey } from './problem.ts';
import { readTextFile } from './read-text-file.ts';
import { hasValue, sectionProblems, unknownKeyMessage } from './section-problems.ts';
import { type StatusConfig, statusSection, statusWarnings } from './status-section.ts';
import { type TopicsConfig, topicsSection, topicsWarnings } from './topics-section.ts';
import { UsedPipelineError, usedPipeline } from './used-pipeline.ts';
import { type YamlFile, pairsOf, yamlFile } from './yaml-file.ts';
import { type Finding, type YamlScalar, YamlValues, bareVariable, withoutBraces } from './yaml-values.ts';

export interface ConfigFileOptions {
  /** The file as the user named it. Default: headgate.yaml. */
  readonly file?: string;
  /** The folder that a relative `file` starts from. Default: the process's working folder. */
  readonly cwd?: string;
  /** The environment, which overrides `.env` next to the file. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reads a file as UTF-8 by its absolute path. Default: `readTextFile`. */
  readonly readFile?: (path: string) => Promise<string>;
}

/** Reads a configuration file. Throws a `ConfigError` if it is missing, unreadable, not YAML, empty or not a mapping. */
export async function openConfig({
  cwd = process.cwd(),
  file = DEFAULT_FILE,
  env,
  readFile = readTextFile,
}: ConfigFileOptions): Promise<ConfigFile> {
  const path = resolve(cwd, file);
  const commandFor = commandsFor({ env, file });
  const yaml = yamlFile(await readConfigText(file, path, readFile, commandFor));
  const root = mappingOf(yaml, file, commandFor);
  const envPath = resolve(dirname(path), '.env');
  const sources = [env, await readEnvFile(file, envPath, readFile)];
  const lookup = (name: string): string | undefined => sources.find((one) => Object.hasOwn(one, name) && one[name] !== undefined)?.[name];
  const values = new YamlValues(root, lookup, dirname(path), readFile);
  const reader = new SectionReader(values, path, commandFor);
  await reader.readAll(root);
  const warnings = reader.warnings.map((one) => problemOf(one, yaml));
  if (await isPublic(envPath)) warnings.push({ key: '', message: PUBLIC_ENV });
  return new ConfigFile(file, yaml, reader, firstOf(warnings.sort(inOrder)));
}

const PUBLIC_ENV = '.env next to this file can be read by every user of this machine. Restrict it to its owner: chmod 600 .env';

/** A configuration file. An error in a section is thrown when that section is asked for. */
export class ConfigFile {
  /** The file as the user named it. */
  readonly name: string;
  /** The names of the sections that configure a pipeline. */
  readonly pipelineNames: readonly string[];
  /** The pipelines of the sections without errors. */
  readonly pipelines: readonly Pipeline[];
  /** All errors, in the order of the file. */
  readonly problems: readonly Problem[];
  /** Warnings about settings that work but are unwise, such as a secret in plain text. */
  readonly warnings: readonly Problem[];
  readonly #problemsOf: ReadonlyMap<string, readonly Problem[]>;
  readonly #topics: TopicsConfig | undefined;
  readonly #status: false | StatusConfig | undefined;
  /** The definitions that could be loaded, also those of sections with errors. */
  readonly definitions: readonly DefinitionInfo[];

  constructor(name: string, yaml: YamlFile, reader: SectionReader, warnings: readonly Problem[]) {
    const { problems, topics, status, pipelines, definitions, names } = reader;
    const bySection = Map.groupBy(problems, ({ origin: { path } }) => String(path[0] ?? ''));
    const sorted = (findings: readonly Finding[]): Problem[] => findings.map((one) => problemOf(one, yaml)).sort(inOrder);
    this.name = name;
    this.pipelineNames = names;
    this.pipelines = [...pipelines.values()];
    this.problems = firstOf(sorted(problems));
    this.warnings = warnings;
    this.#problemsOf = new Map([...bySection].map(([section, findings]) => [section, firstOf(sorted(findings))]));
    this.#topics = topics;
    this.#status = status;
    this.definitions = [...definitions.values()];
  }

  /** The names of the built-in and the configured pipelines. */
  get knownNames(): readonly string[] {
    return [...new Set([...BUILT_IN.map(({ definition }) => definition.name), ...this.pipelineNames])];
  }

  /** The whole configuration. */
  all(): Config {
    if (this.problems.length > 0 || this.#status === undefined) throw this.#error(this.problems);
    return { topics: this.topics(), status: this.#status, pipelines: this.pipelines };
  }

  /** The section `topics`. */
  topics(): TopicsConfig {
    const problems = this.#problemsOf.get('topics') ?? [];
    if (problems.length > 0 || this.#topics === undefined) throw this.#error(problems);
    return this.#topics;
  }

  /** The pipeline of a section; undefined if there is no such section. */
  pipeline(name: string): Pipeline | undefined {
    const found = this.pipelines.find((one) => one.name === name);
    if (found === undefined && this.pipelineNames.includes(name)) throw this.#error(this.#problemsOf.get(name) ?? []);
    return found;
  }

  /**
   * The definition of a configured or built-in pipeline; undefined if there is none. A section's errors are thrown only if its options decide
   * what its jobs and topics are, or if its module can't be loaded.
   */
  definition(name: string): DefinitionInfo | undefined {
    const problems = this.#problemsOf.get(name) ?? [];
    const found = this.definitions.find((one) => one.name === name);
    if (problems.length > 0 && (found === undefined || found.dependsOnOptions === true)) throw this.#error(problems);
    return found ?? BUILT_IN.find(({ definition }) => definition.name === name)?.definition;
  }

  #error(problems: readonly Problem[]): ConfigError {
    return new ConfigError({ fileName: this.name, problems, warnings: this.warnings });
  }
}

/** Maximum problems that are listed. The rest are only counted. */
const MOST = 50;

function firstOf(problems: readonly Problem[]): readonly Problem[] {
  const rest = problems.length - MOST;
  return rest <= 0 ? problems : [...problems.slice(0, MOST), { key: '', message: `and ${rest} more. Fix these first.` }];
}

function problemOf({ origin, message, at = 'value' }: Finding, yaml: YamlFile): Problem {
  return { ...yaml.placeAt(at === 'key' ? origin.keyRange : origin.range), key: formatKey(origin.path), message };
}

/** The document's mapping of sections. Throws a `ConfigError` if the file has none. */
function mappingOf(yaml: YamlFile, file: string, commandFor: CommandFor): YAMLMap.Parsed {
  const { root, syntax } = yaml;
  const refuse = (problems: readonly Problem[]): never => {
    throw new ConfigError({ fileName: file, problems: firstOf(problems) });
  };
  if (syntax.length > 0) return refuse(syntax.map((problem) => ({ ...problem, key: '' })));
  if (root === undefined)
    return refuse([{ line: 1, column: 1, key: '', message: `the file is empty. Write one with: ${commandFor('init', '--force')}` }]);
  if (!isMap(root))
    return refuse([{ ...yaml.placeAt(root.range), key: '', message: 'must be a mapping with followers: or books: in it.' }]);
  return root;
}

/** Reads the sections of a file, and collects what is wrong with them. */
class SectionReader {
  readonly #values: YamlValues;
  readonly #path: string;
  readonly #commandFor: CommandFor;
  readonly problems: Finding[];
  readonly warnings: Finding[] = [];
  readonly names: string[] = [];
  readonly definitions = new Map<string, DefinitionInfo>();
  readonly pipelines = new Map<string, Pipeline>();
  topics: TopicsConfig | undefined;
  status: false | StatusConfig | undefined;

  constructor(values: YamlValues, path: string, commandFor: CommandFor) {
    this.#values = values;
    this.#path = path;
    this.#commandFor = commandFor;
    this.problems = [...values.problems];
  }

  async readAll(root: YAMLMap.Parsed): Promise<void> {
    const candidates: AnyPipeline[] = [];
    for (const { name, value } of pairsOf(root)) {
      if (name === undefined || name === 'topics' || name === 'status') continue;
      const pipeline = await this.#pipelineOf(name, value);
      if (pipeline !== undefined) candidates.push(pipeline);
    }
    if (pairsOf(root).every(({ name }) => name === 'topics' || name === 'status'))
      this.problems.push({ origin: this.#values.originOf([]), message: noPipeline(this.#commandFor) });

    const topics = await this.#section('topics', topicsSection, (value) => parseOptions(topicsSection, value), topicsWarnings);
    this.status = await this.#section('status', statusSection, (value) => parseOptions(statusSection, value), statusWarnings);
    for (const pipeline of candidates) {
      const { name, options } = pipeline.definition;
      const made = await this.#section(
        name,
        options,
        (value) => configured(pipeline, value),
        ({ warnings }) => warnings,
      );
      this.definitions.set(name, (made ?? pipeline).definition);
      if (made !== undefined) this.pipelines.set(name, made);
    }
    if (topics === undefined) return;
    this.topics = topics.driver === 'sqlite' ? { ...topics, file: resolve(dirname(this.#path), topics.file) } : topics;
    const [pipelines, definitions] = [[...this.pipelines.values()], [...this.definitions.values()]];
    this.problems.push(...crossFindings(topics, pipelines, this.names, definitions, (at) => this.#values.originOf(at)));
  }

  /** The built-in pipeline of a section, or the one that its `use` names. Undefined after a problem. */
  async #pipelineOf(name: string, node: ParsedNode | null): Promise<AnyPipeline | undefined> {
    const use = isMap(node) ? pairsOf(node).find((pair) => pair.name === 'use') : undefined;
    const origin = this.#values.originOf([name]);
    if (use === undefined) {
      const builtIn = BUILT_IN.find(({ definition }) => definition.name === name);
      if (builtIn === undefined) this.problems.push(unknownSection(name, origin));
      else this.names.push(name);
      return builtIn;
    }
    this.names.push(name);
    if (!/^[a-z][a-z0-9-]{0,49}$/.test(name) || name === 'headgate') {
      this.problems.push({ origin, at: 'key', message: BAD_NAME });
      return undefined;
    }
    const range = use.value?.range ?? origin.keyRange;
    const ofUse = { path: [name, 'use'], node: use.value, range, keyRange: range };
    if (!isScalar(use.value) || typeof use.value.value !== 'string' || use.value.value === '') {
      this.problems.push({ origin: ofUse, message: NO_USE });
      return undefined;
    }
    try {
      return await usedPipeline(name, use.value.source, this.#path);
    } catch (error) {
      if (!(error instanceof UsedPipelineError)) throw error;
      this.problems.push({ origin: ofUse, message: error.message });
      return undefined;
    }
  }

  /** Parses a section and reports its problems. Returns undefined if it has errors. */
  async #section<Value>(
    name: string,
    schema: z.ZodType,
    parse: (value: unknown) => ParsedOptions<Value>,
    advise: (value: Value) => Iterable<OptionIssue>,
  ): Promise<Value | undefined> {
    const { value, scalars, problems, warnings } = await this.#values.section(name);
    this.warnings.push(...warnings);
    this.problems.push(...problems);
    const before = this.problems.length - problems.length;
    // The schema of a pipeline doesn't have `use`.
    if (this.names.includes(name)) Reflect.deleteProperty(Object(value) as object, 'use');
    const parsed = parse(value);
    let jsonSchema: JsonSchema | undefined;
    const described = (): JsonSchema => (jsonSchema ??= jsonSchemaOf(schema));
    this.#readSecrets(name, scalars, described);
    const hidden = scalars.flatMap(({ scalar: { isSecret, hasVariable, text } }) => (isSecret || hasVariable === true ? [text] : []));
    const found = (kind: 'error' | 'warning', issues: readonly OptionIssue[]): Finding[] =>
      sectionProblems(kind, issues, described, (at: KeyPath) => this.#values.originOf([name, ...at]), hidden);
    if (parsed.issues !== undefined) {
      this.problems.push(...found('error', parsed.issues));
      return undefined;
    }
    this.warnings.push(...found('warning', [...advise(parsed.value)]));
    return this.problems.length > before ? undefined : parsed.value;
  }

  /** Warns of the values that the schema has read as secrets, if they are in plain text. */
  #readSecrets(name: string, scalars: readonly YamlScalar[], described: () => JsonSchema): void {
    for (const { scalar, node, origin } of scalars) {
      if (!scalar.isSecret || origin.isReported === true || scalar.hasVariable === true || scalar.text === '') continue;
      if (bareVariable(node.source) !== undefined) this.problems.push({ origin, message: withoutBraces('NAME') });
      else if (!isHarmless(scalar)) {
        const variable = usualVariable(name, origin.path, described());
        this.warnings.push({ origin, message: `a secret in plain text. Put it into .env next to this file and write "${variable}" here.` });
      }
    }
  }
}

function noPipeline(commandFor: CommandFor): string {
  return `there is no pipeline. Add followers: or books:, as ${commandFor('init')} writes them, or your own pipeline: use: ./its-module.ts under its name.`;
}

const BAD_NAME =
  "isn't a valid pipeline name. Write up to 50 lowercase letters, digits and hyphens, starting with a letter; headgate is reserved.";
const NO_USE = 'must be text. Write the path of a module, as in ./issues.ts, or the name of an installed package.';

function unknownSection(name: string, origin: Finding['origin']): Finding {
  const known = ['topics', 'status', ...BUILT_IN.map(({ definition }) => definition.name)];
  const message = unknownKeyMessage(name, known);
  if (message.includes('Did you mean')) return { origin, message, at: 'key' };
  // A key without a value may be a secret whose colon is missing.
  const shown = hasValue(origin) ? origin : { ...origin, path: [] };
  return { origin: shown, message: `${message} To add your own pipeline, write use: ./its-module.ts under its name.`, at: 'key' };
}

/** The variable that the documentation names for a secret, or one named after its key. */
function usualVariable(section: string, path: KeyPath, schema: JsonSchema): string {
  const examples = schemasAt(schema, path.slice(1))[0]?.examples ?? [];
  const usual = examples.find((one): one is string => typeof one === 'string' && /^\$\{\w+\}$/.test(one));
  return usual ?? `\${${[section, path.findLast((part) => typeof part === 'string')].join('_').toUpperCase()}}`;
}

/** Whether the value of a secret setting isn't itself a secret: an address without a password, or a path instead of the key's text. */
function isHarmless({ text, isPath }: { readonly text: string; readonly isPath: boolean }): boolean {
  if (isPath) return !isPem(text);
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  return url !== null && url.password === '';
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
