import { dirname } from 'node:path';
import { type Pipeline, parseOptions } from '@headgate/pipeline';
import { OF_FILE, isScalar, plainFileFlaw, scalar } from '@headgate/pipeline/internal';
import * as z from 'zod';
import { isInvalidOptions, isPipeline } from './built-in.ts';
import { ConfigError } from './config-error.ts';
import { jsonSchemaOf } from './json-schema.ts';
import type { Importing } from './load-config.ts';
import type { KeyPath, Problem } from './problem.ts';
import { optionProblems } from './section-problems.ts';
import { statusSection, statusWarnings } from './status-section.ts';
import { isOwnLog, ownLogSection, topicsSection, topicsWarnings } from './topics-section.ts';
import { defaultExportOf, loadingReason, placeInModule } from './user-module.ts';
import type { ReadConfig } from './whole-config.ts';

export interface CodeConfigOptions {
  /** The file as the user named it. */
  readonly file: string;
  /** Absolute path of the file. */
  readonly path: string;
  /** The environment, including `.env` next to the file. */
  readonly settings: Readonly<Record<string, string | undefined>>;
  readonly importing: Importing;
}

const whole = z.strictObject({
  topics: z.unknown().optional(),
  status: statusSection,
  pipelines: z
    .array(z.custom<Pipeline>(isPipeline, 'must be a pipeline called with its options, such as followers({ … }).'))
    .min(1, 'is empty. Add at least one, such as followers({ … }).'),
});

/**
 * Loads a configuration module, after adding missing variables from `settings` to `process.env`. Throws a `ConfigError` if the module can't
 * be loaded or is invalid.
 */
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
    if (!isInvalidOptions(error)) return refuse([{ ...place, key: '', message: `can't be loaded: ${loadingReason(error)}` }]);
    const { issues, schema, pipeline = '' } = error;
    return refuse(optionProblems(issues, [pipeline], jsonSchemaOf(schema)).map((one) => ({ ...place, ...one })));
  }
  if (typeof given !== 'object' || given === null) {
    return refuse([{ key: '', message: 'has no configuration as its default export. Write: export default defineConfig({ … });' }]);
  }
  const own = ownLogOf(given);
  const topicsSchema = own === undefined ? topicsSection : ownLogSection;
  const topics = parseOptions<typeof topicsSection | typeof ownLogSection>(topicsSchema, own ?? topicsOf(given, dirname(path)));
  const others = parseOptions(whole, given);
  if (topics.issues !== undefined || others.issues !== undefined)
    return refuse([
      ...optionProblems(topics.issues ?? [], ['topics'], jsonSchemaOf(topicsSchema)),
      ...optionProblems(others.issues ?? [], [], jsonSchemaOf(whole)),
    ]);
  const { status, pipelines } = others.value;
  const twice = pipelines.filter(({ name }, i) => pipelines.findIndex((one) => one.name === name) < i);
  return {
    topics: topics.value,
    status,
    pipelines,
    definitions: pipelines.map(({ definition }) => definition),
    problems: twice.map(({ name }) => ({
      key: 'pipelines',
      message: `two pipelines are named ${name}. Keep one, or rename the other.`,
    })),
    warnings: [
      ...optionProblems([...topicsWarnings(topics.value)], ['topics']),
      ...optionProblems([...statusWarnings(status)], ['status']),
      ...pipelines.flatMap(({ name, warnings }) => optionProblems(warnings, [name])),
    ],
    problemAt: (at: KeyPath, message: string) => ({ key: at.join('.'), message }),
  };
}

function ownLogOf(given: object): object | undefined {
  if (!('topics' in given)) return undefined;
  const { topics } = given;
  if (isOwnLog(topics)) return { log: topics };
  return typeof topics === 'object' && topics !== null && 'log' in topics ? topics : undefined;
}

/** The `topics` as if read from a file, so that their paths are relative to the configuration's folder. */
function topicsOf(given: object, folder: string): unknown {
  const topics = withScalars(('topics' in given ? given.topics : undefined) ?? {}, folder);
  return isScalar(topics) ? topics : { ...(topics as object), [OF_FILE]: true };
}

function withScalars(value: unknown, folder: string): unknown {
  if (typeof value === 'string') return scalar({ text: value, folder });
  if (Array.isArray(value)) return value.map((one) => withScalars(one, folder));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withScalars(one, folder)]));
}
