import { topicNames } from '@headgate/pipeline';
import { BUILT_IN, withBuiltIn } from '../config/built-in.ts';
import { ConfigError, ifValid } from '../config/config-error.ts';
import { type ConfigFile, openConfig } from '../config/config-file.ts';
import { configJsonSchema } from '../config/config-schema.ts';
import { quoted } from '../config/problem.ts';
import { topicSchemas } from '../records/topic-schemas.ts';
import type { CommandContext } from './command-context.ts';
import { UsageError } from './usage-error.ts';

/** Writes the JSON Schema of a configuration to stdout. Resolves to the exit code. */
export async function schema(context: CommandContext): Promise<number> {
  const { definitions = [] } = (await configIfReadable(context)) ?? {};
  const own = definitions.filter((one) => !BUILT_IN.some(({ definition }) => definition === one));
  const ownNames = own.map(({ name }) => name);
  context.stdout.write(`${JSON.stringify(configJsonSchema(withBuiltIn(own), ownNames), undefined, 2)}\n`);
  return 0;
}

/**
 * Writes the JSON Schema of a topic's values to stdout. `requested` is the topic's name in the log, or its name without the prefix. Resolves
 * to the exit code.
 */
export async function schemaOfTopic(requested: string, context: CommandContext): Promise<number> {
  const config = await configIfReadable(context);
  const names = topicNames(config && ifValid(() => config.topics()));
  const known = withBuiltIn(config?.definitions ?? []).filter(({ dependsOnOptions }) => dependsOnOptions !== true);
  const all = known.flatMap((definition) => topicSchemas(definition)).filter(({ kind }) => kind !== 'state');
  const found = all.find(({ topic }) => topic === requested || names(topic) === requested);
  if (found === undefined) {
    // The topic can be one of a section with errors.
    for (const name of config?.pipelineNames ?? []) config?.definition(name);
    throw new UsageError(`schema: there is no topic ${quoted(requested)}. There are: ${all.map(({ topic }) => names(topic)).join(', ')}.`);
  }
  context.stdout.write(`${JSON.stringify({ title: names(found.topic), ...found.value }, undefined, 2)}\n`);
  return 0;
}

/** The configuration; undefined if there is none that can be read. */
async function configIfReadable(context: CommandContext): Promise<ConfigFile | undefined> {
  return await openConfig(context).catch((error: unknown) => {
    if (error instanceof ConfigError) return undefined;
    throw error;
  });
}
