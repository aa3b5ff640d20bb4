import type { DefinitionInfo } from '@headgate/pipeline';
import { BUILT_IN } from '../config/built-in.ts';
import { ConfigError } from '../config/config-error.ts';
import { configReference } from '../config/config-reference.ts';
import { configJsonSchema } from '../config/config-schema.ts';
import { loadConfig } from '../config/load-config.ts';
import type { CommandContext } from './command-context.ts';

/** Writes the keys of a configuration to stdout: as JSON Schema, or as a page in Markdown. Resolves to the exit code. */
export async function schema({ reference }: { readonly reference: boolean }, context: CommandContext): Promise<number> {
  const builtIn = BUILT_IN.map(({ definition }) => definition);
  const own = (await configuredDefinitions(context)).filter((one) => !builtIn.includes(one));
  const all = [...builtIn.filter(({ name }) => !own.some((one) => one.name === name)), ...own];
  const ownNames = own.map(({ name }) => name);
  context.stdout.write(reference ? configReference(all) : `${JSON.stringify(configJsonSchema(all, ownNames), undefined, 2)}\n`);
  return 0;
}

/** Of the configuration, whatever else is wrong with it; none where there is none. */
async function configuredDefinitions({ file, cwd, env }: CommandContext): Promise<readonly DefinitionInfo[]> {
  try {
    return (await loadConfig({ file, cwd, env })).config.pipelines.map(({ definition }) => definition);
  } catch (error) {
    if (error instanceof ConfigError) return error.sound.definitions ?? [];
    throw error;
  }
}
