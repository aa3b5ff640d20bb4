import { topicNames } from '@headgate/pipeline';
import { BUILT_IN, withBuiltIn } from '../config/built-in.ts';
import { ConfigError } from '../config/config-error.ts';
import { configJsonSchema } from '../config/config-schema.ts';
import { loadConfig } from '../config/load-config.ts';
import { shown } from '../config/problem.ts';
import { topicSchemas } from '../records/topic-schemas.ts';
import { type CommandContext, type LogConfig, assertKnown, readLogConfig } from './command-context.ts';
import { UsageError } from './usage-error.ts';

/** Writes the JSON Schema of a configuration to stdout. Resolves to the exit code. */
export async function schema(context: CommandContext): Promise<number> {
  const own = (await configuredDefinitions(context)).definitions.filter((one) => !BUILT_IN.some(({ definition }) => definition === one));
  const all = withBuiltIn(own);
  const ownNames = own.map(({ name }) => name);
  context.stdout.write(`${JSON.stringify(configJsonSchema(all, ownNames), undefined, 2)}\n`);
  return 0;
}

/**
 * Writes the JSON Schema of a topic's values to stdout. `requested` is the topic's name in the log, or its name without the prefix. Resolves
 * to the exit code.
 */
export async function schemaOfTopic(requested: string, context: CommandContext): Promise<number> {
  const config = await configuredDefinitions(context);
  const definitions = withBuiltIn(config.definitions);
  const names = topicNames(await readLogConfig(context).then(({ topics }) => topics, noConfig));
  const known = definitions.filter(({ dependsOnOptions }) => dependsOnOptions !== true);
  const all = known.flatMap((definition) => topicSchemas(definition)).filter(({ kind }) => kind !== 'state');
  const found = all.find(({ topic }) => topic === requested || names(topic) === requested);
  if (found === undefined) {
    for (const definition of definitions) assertKnown(config, definition);
    throw new UsageError(`schema: there is no topic ${shown(requested)}. There are: ${all.map(({ topic }) => names(topic)).join(', ')}.`);
  }
  context.stdout.write(`${JSON.stringify({ title: names(found.topic), ...found.value }, undefined, 2)}\n`);
  return 0;
}

/** Returns undefined for a configuration error, so that topics keep their default names. Throws any other error. */
function noConfig(error: unknown): undefined {
  if (error instanceof ConfigError) return undefined;
  throw error;
}

/** Definitions in the configuration, even if other parts have errors; none without a configuration. */
async function configuredDefinitions(context: CommandContext): Promise<Pick<LogConfig, 'definitions' | 'error'>> {
  try {
    return { definitions: (await loadConfig(context)).config.pipelines.map(({ definition }) => definition) };
  } catch (error) {
    if (error instanceof ConfigError) return { definitions: error.valid.definitions ?? [], error };
    throw error;
  }
}
