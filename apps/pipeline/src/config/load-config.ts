import { dirname, resolve } from 'node:path';
import { withBuiltIn } from './built-in.ts';
import { ConfigError } from './config-error.ts';
import { DEFAULT_FILE, isPublic, readConfigText, readEnvFile } from './config-files.ts';
import type { Config } from './config.ts';
import { inOrder } from './format-problems.ts';
import type { Problem } from './problem.ts';
import { readTextFile } from './read-text-file.ts';
import { crossProblems } from './whole-config.ts';
import { yamlConfig } from './yaml-config.ts';

export interface LoadConfigOptions {
  /** The file as the user named it. Default: headgate.yaml. */
  readonly file?: string;
  /** The folder that a relative `file` starts from. Default: the process's working folder. */
  readonly cwd?: string;
  /** The environment, which overrides `.env` next to the file. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reads a file as UTF-8 by its absolute path. Default: `readTextFile`. */
  readonly readFile?: (path: string) => Promise<string>;
  /** Wraps the loading of a user's module, whose code can block the thread. Default: no wrapper. */
  readonly importing?: Importing;
}

/** Calls the function that loads a module, and resolves to the result of that function: the module's default export. */
export type Importing = (load: () => Promise<unknown>) => Promise<unknown>;

export interface LoadedConfig {
  readonly config: Config;
  /** Warnings about settings that work but are unwise, such as a secret in plain text. */
  readonly warnings: readonly Problem[];
}

/** Reads a configuration. Throws a `ConfigError` if it has problems or can't be read. */
export async function loadConfig({
  cwd = process.cwd(),
  file = DEFAULT_FILE,
  env,
  readFile = readTextFile,
  importing = async (load) => await load(),
}: LoadConfigOptions): Promise<LoadedConfig> {
  const path = resolve(cwd, file);
  const source = await readConfigText({ file, path, readFile });
  const envPath = resolve(dirname(path), '.env');
  const settings = { ...(await readEnvFile({ file, path: envPath, readFile })), ...definedOnly(env) };
  const lookup = (name: string): string | undefined => (Object.hasOwn(settings, name) ? settings[name] : undefined);
  const read = await yamlConfig({ file, path, source, lookup, readText: readFile, importing });
  const definitions = withBuiltIn(read.definitions);

  const warnings = [...read.warnings];
  if (await isPublic(envPath)) {
    const message = '.env next to this file can be read by every user of this machine. Restrict it to its owner: chmod 600 .env';
    warnings.push({ key: '', message });
  }
  warnings.sort(inOrder);
  const found = [...read.problems, ...crossProblems({ ...read, definitions })].sort(inOrder);
  const problems = found.length === 0 ? found : read.withExcerpts(found);
  const { status, pipelines } = read;
  // With the wrong lanes or names, a command would create topics that no run can use.
  const isTopicsWrong = found.some(({ key }) => key.startsWith('topics.'));
  const given = isTopicsWrong ? undefined : read.topics;
  const topics = given?.driver === 'sqlite' ? { ...given, file: resolve(dirname(path), given.file) } : given;
  if (problems.length > 0 || topics === undefined || status === undefined) {
    const valid = {
      pipelines,
      definitions,
      ...(topics !== undefined && { topics }),
      ...(status !== undefined && { status }),
    };
    throw new ConfigError({ fileName: file, problems, warnings, valid });
  }
  return { config: { topics, status, pipelines }, warnings };
}

function definedOnly(env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
}
