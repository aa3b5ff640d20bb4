import { existsSync } from 'node:fs';
import { join } from 'node:path';

export const DEFAULT_FILE = 'headgate.yaml';
const CODE_FILES = ['headgate.config.ts', 'headgate.config.mjs', 'headgate.config.js'] as const;

/** The configuration of a folder if the command line names none: headgate.yaml, or the first of headgate.config.ts, .mjs and .js. */
export function defaultConfigFile(cwd: string): string {
  return [DEFAULT_FILE, ...CODE_FILES].find((file) => existsSync(join(cwd, file))) ?? DEFAULT_FILE;
}

/** Whether a configuration is a module, by its extension. */
export function isCode(file: string): boolean {
  return /\.[cm]?[jt]s$/.test(file);
}
