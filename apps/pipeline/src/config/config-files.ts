import { stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { parseEnv } from 'node:util';
import { unreadable } from '@headgate/pipeline/internal';
import { ConfigError } from './config-error.ts';
import type { CommandFor } from './commands-for.ts';
import { UnfitFileError } from './read-text-file.ts';

/** Reads a file by its absolute path. */
type ReadFile = (path: string) => Promise<string>;

/** Maximum characters of a configuration. A parsed value takes hundreds of bytes of memory. */
const MAX_CONFIG = 4 * 2 ** 20;
const TOO_LONG = 'is larger than 4 MiB. Put long lists into separate files, for example users: [{ file: users.txt }].';

/**
 * The text of the configuration at `path`, which the user named `file`. Throws a `ConfigError` if it is missing, unreadable or too large.
 * `commandFor`: creates a command line as the user types it.
 */
export async function readConfigText(file: string, path: string, readFile: ReadFile, commandFor: CommandFor): Promise<string> {
  try {
    const text = await readFile(path);
    if (text.length > MAX_CONFIG) throw new UnfitFileError(TOO_LONG);
    return text;
  } catch (cause) {
    if (!isMissing(cause)) throw new ConfigError({ fileName: file, message: `${file} ${unreadable(cause)}`, cause });
    const folder = dirname(file) === '.' ? 'this folder' : dirname(file);
    throw new ConfigError({
      fileName: file,
      message: `${basename(file)} not found in ${folder}. Create one with: ${commandFor('init')}`,
      cause,
    });
  }
}

/** The variables of a `.env` file; none if it is missing. */
export async function readEnvFile(file: string, path: string, readFile: ReadFile): Promise<NodeJS.Dict<string>> {
  try {
    return parseEnv(await readFile(path));
  } catch (cause) {
    // A folder named `.env` belongs to another program, such as a Python environment.
    if (isMissing(cause) || hasCode(cause, 'EISDIR')) return {};
    throw new ConfigError({ fileName: file, message: `.env next to ${file} ${unreadable(cause)}`, cause });
  }
}

/** Whether the mode of an existing file lets every user read it. Windows has no such file modes. */
export async function isPublic(path: string): Promise<boolean> {
  if (process.platform === 'win32') return false;
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true && (found.mode & 0o004) !== 0;
}

function isMissing(error: unknown): boolean {
  return hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR');
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
