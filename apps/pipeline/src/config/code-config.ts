import { dirname, resolve } from 'node:path';
import { type InvalidOptionsError, type Pipeline, parseOptions } from '@headgate/pipeline';
import * as z from 'zod';
import { BUILT_IN, isPipeline } from './built-in.ts';
import { ConfigError } from './config-error.ts';
import { plainFileFlaw } from './file-text.ts';
import { type JsonSchema, alternatives, itemSchema, jsonSchemaOf, mappingSchema, propertySchema } from './json-schema.ts';
import { isPem } from './pem.ts';
import type { Importing } from './load-config.ts';
import type { KeyPath, Problem } from './problem.ts';
import { optionProblems } from './section-problems.ts';
import { statusSection, statusWarnings } from './status-section.ts';
import { isOwnLog, ownLogSection, topicsSection, topicsWarnings } from './topics-section.ts';
import { defaultExportOf, loadingReason, placeInModule } from './user-module.ts';
import type { ReadConfig } from './whole-config.ts';

export interface CodeConfigOptions {
  /** As the user named it. */
  readonly file: string;
  /** Absolute. */
  readonly path: string;
  /** The environment, with `.env` beside the file. */
  readonly settings: Readonly<Record<string, string | undefined>>;
  readonly importing: Importing;
}

const others = {
  status: statusSection,
  pipelines: z
    .array(z.custom<Pipeline>(isPipeline, 'must be what a pipeline gives for its options, as followers({ … }) does.'))
    .min(1, 'is empty. Give one at least, as followers({ … }).'),
};
const whole = z.strictObject({ topics: topicsSection.prefault({}), ...others });
const wholeWithLog = z.strictObject({ topics: ownLogSection, ...others });

/** Loads a headgate.config.ts. `.env` beside it is put into `process.env` first. Throws a `ConfigError` where it can't be loaded. */
export async function codeConfig({ file, path, settings, importing }: CodeConfigOptions): Promise<ReadConfig> {
  for (const [name, value] of Object.entries(settings)) process.env[name] ??= value;
  const refuse = (problems: readonly Problem[]): never => {
    throw new ConfigError({ fileName: file, problems });
  };
  const flaw = plainFileFlaw(path);
  if (flaw !== undefined) return refuse([{ key: '', message: flaw }]);
  let given: unknown;
  try {
    given = await importing(async () => await defaultExportOf(path));
  } catch (error) {
    const place = placeInModule(error, path) ?? {};
    if (!(error instanceof Error && error.name === 'InvalidOptionsError' && 'issues' in error)) {
      return refuse([{ ...place, key: '', message: `can't be loaded: ${loadingReason(error)}` }]);
    }
    const { issues, schema, pipeline = '' } = error as InvalidOptionsError;
    return refuse(
      optionProblems(issues, { name: [pipeline], schema: jsonSchemaOf(schema), value: undefined }).map((one) => ({ ...place, ...one })),
    );
  }
  if (typeof given !== 'object' || given === null) {
    return refuse([{ key: '', message: 'has no configuration as its default export. Write: export default defineConfig({ … });' }]);
  }
  const resolvePath = (relative: string): string => resolve(dirname(path), relative);
  const own = ownLogOf(given);
  const schema = jsonSchemaOf(own === undefined ? whole : wholeWithLog);
  const value = own === undefined ? withPaths(given, schema, resolvePath) : { ...given, topics: own };
  const parsed = own === undefined ? parseOptions(whole, value) : parseOptions(wholeWithLog, value);
  if (parsed.issues !== undefined) return refuse(optionProblems(parsed.issues, { name: [], schema, value }));
  const { topics, status, pipelines } = parsed.value;
  const twice = pipelines.filter(({ name }, i) => pipelines.findIndex((one) => one.name === name) < i);
  const about = (name: string) => ({ name: [name], schema: {}, value: undefined });
  return {
    topics: topics.driver === 'sqlite' ? { ...topics, file: resolvePath(topics.file) } : topics,
    status,
    pipelines,
    definitions: definitionsOf(pipelines),
    problems: twice.map(({ name }) => ({
      key: 'pipelines',
      message: `two pipelines are named ${name}. Keep one, or rename the other.`,
    })),
    warnings: [
      ...optionProblems([...topicsWarnings(topics)], about('topics')),
      ...optionProblems([...statusWarnings(status)], about('status')),
      ...pipelines.flatMap(({ name, warnings }) => optionProblems(warnings, about(name))),
    ],
    problemAt: (at: KeyPath, message: string) => ({ key: at.join('.'), message }),
  };
}

/** The `topics` of a configuration with a log of its own; undefined if it has none. */
function ownLogOf(given: object): object | undefined {
  if (!('topics' in given)) return undefined;
  const { topics } = given;
  if (isOwnLog(topics)) return { log: topics };
  return typeof topics === 'object' && topics !== null && 'log' in topics ? topics : undefined;
}

function definitionsOf(pipelines: readonly Pipeline[]): ReadConfig['definitions'] {
  const own = [...new Map(pipelines.map(({ name, definition }) => [name, definition])).values()];
  return [...BUILT_IN.map(({ definition }) => definition).filter(({ name }) => !own.some((one) => one.name === name)), ...own];
}

/** The same with its paths absolute. */
function withPaths(value: unknown, schema: JsonSchema | undefined, resolvePath: (path: string) => string): unknown {
  if (typeof value === 'string')
    return alternatives(schema).some(({ format }) => format === 'path') && !isPem(value) ? resolvePath(value) : value;
  if (Array.isArray(value)) return value.map((one, i) => withPaths(one, itemSchema(schema, i), resolvePath));
  if (typeof value !== 'object' || value === null || isPipeline(value)) return value;
  const entries = Object.entries(value);
  const own = mappingSchema(schema, (key) => (Object.hasOwn(value, key) ? (value as Readonly<Record<string, unknown>>)[key] : undefined));
  return Object.fromEntries(entries.map(([key, one]) => [key, withPaths(one, propertySchema(own, key), resolvePath)]));
}
