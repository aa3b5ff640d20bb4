import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unreadable } from '@headgate/pipeline/internal';
import { readTextFile } from './read-text-file.ts';

/** An entry of a list in a file, and its line, 1-based. */
export interface ListLine {
  readonly number: number;
  readonly text: string;
}

/** The entries of a list: one per line, without comments and empty lines. */
export function listLines(text: string): readonly ListLine[] {
  return text
    .split(/\r\n|\r|\n/)
    .map((line, i) => ({ number: i + 1, text: line.replace(/(^|\s)#.*$/, '').trim() }))
    .filter((line) => line.text !== '');
}

/**
 * Reads a list for a configuration in code, as `{ file: list.txt }` does in YAML: one entry per line, and comments start with `#`.
 *
 * `users: await readList(new URL('users.txt', import.meta.url))`. A path is relative to the working folder. Rejects if the file can't be read.
 */
export async function readList(file: string | URL): Promise<string[]> {
  const path = resolve(typeof file === 'string' ? file : fileURLToPath(file));
  try {
    return listLines(await readTextFile(path)).map(({ text }) => text);
  } catch (cause) {
    throw new Error(`readList: ${path} ${unreadable(cause, 'Paths are relative to the working folder.')}`, { cause });
  }
}
