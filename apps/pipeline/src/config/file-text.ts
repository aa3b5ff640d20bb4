import { Complaint } from './complaint.ts';
import { shownPath } from './problem.ts';
import { UnfitFileError } from './read-text-file.ts';
import type { ReadContext } from './read-context.ts';

export interface FileTextOptions {
  readonly context: ReadContext;
  /** As written in the file. */
  readonly path: string;
  /** What a complaint calls it; default `the file`, for one whose path may be a secret that was written in its place. */
  readonly written?: string;
}

/** The text of a file a configuration names, relative to the configuration's own folder. */
export async function fileText({ context, path, written }: FileTextOptions): Promise<string | Complaint> {
  if (path.trim() === '') return new Complaint('names no file. Write a path, relative to this file.');
  try {
    return await context.readText(context.resolvePath(path));
  } catch (error) {
    return new Complaint(`${written === undefined ? 'the file' : shownPath(written)} ${unreadable(error)}`);
  }
}

/** Why a file can't be read, without its path. */
export function unreadable(error: unknown): string {
  if (error instanceof UnfitFileError) return error.message;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'does not exist. Paths are relative to this file.';
  if (code === 'EACCES' || code === 'EPERM') return 'may not be read. Allow this user to read it.';
  if (code === 'EISDIR') return 'is a folder. Name a file.';
  return `can not be read (${typeof code === 'string' ? code : 'unknown error'}). Look at the disk and the path.`;
}
