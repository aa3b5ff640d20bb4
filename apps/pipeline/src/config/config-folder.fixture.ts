import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ConfigError } from './config-error.ts';
import { type ConfigFileOptions, openConfig } from './config-file.ts';
import type { Config } from './config.ts';
import type { Problem } from './problem.ts';

/** A real folder with these files, removed when the test ends. */
export async function configFolder(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-config-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

export interface LoadedConfig {
  readonly config: Config;
  readonly warnings: readonly Problem[];
}

/** Reads a whole configuration. */
export async function loadConfig(options: ConfigFileOptions): Promise<LoadedConfig> {
  const file = await openConfig(options);
  return { config: file.all(), warnings: file.warnings };
}

export interface LoadOptions {
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
}

export async function load(yaml: string, { files = {}, env = {} }: LoadOptions = {}): Promise<LoadedConfig> {
  const cwd = await configFolder({ 'headgate.yaml': yaml, ...files });
  return loadConfig({ cwd, env });
}

/** Loads a configuration that must be invalid. Resolves to its error. */
export async function refusal(yaml: string, options: LoadOptions = {}): Promise<ConfigError> {
  try {
    await load(yaml, options);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('The configuration was taken.');
}

/** The problems of a configuration's text as `12:14 key: message`. */
export async function problemsOf(yaml: string, options: LoadOptions = {}): Promise<readonly string[]> {
  const { problems } = await refusal(yaml, options);
  return problems.map(({ line, column, key, message }) => `${line}:${column} ${key}: ${message}`);
}

/** Variables that the configurations below use. */
export const ENV: Readonly<Record<string, string>> = { TOKEN: 'token-value-1', OTHER_TOKEN: 'token-value-3', KEY: 'key-value-2' };

/** A valid followers section of five lines. Tests append further settings to it. */
export const FOLLOWERS = `followers:
  baseUrl: https://api.example.com
  credentials:
    - { name: app, bearer: "\${TOKEN}" }
    - { name: user, bearer: "\${OTHER_TOKEN}" }
`;

/** A valid books section of three lines. */
export const BOOKS = `books:
  baseUrl: https://books.example.com
  key: "\${KEY}"
`;
