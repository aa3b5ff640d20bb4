import { readFileSync, statSync } from 'node:fs';

/** Maximum size of a file, in bytes. Certificates and tokens are smaller. */
const LARGEST_BYTES = 16 * 2 ** 20;

/** Reads a small file that an option names. Returns the text, or why the file can't be read, without quoting the path. */
export function plainFileText(path: string): string | { readonly flaw: string } {
  const flaw = plainFileFlaw(path);
  if (flaw !== undefined) return { flaw };
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return { flaw: unreadable(error) };
  }
}

/**
 * Describes why a path doesn't name a small plain file, without quoting the path. Devices and pipes are refused, because reading one might
 * never end.
 */
export function plainFileFlaw(path: string): string | undefined {
  if (path.trim() === '') return "doesn't name a file. Write a path, relative to this file.";
  try {
    const found = statSync(path);
    if (found.isDirectory()) return 'is a folder. Name a file.';
    return found.isFile() && found.size <= LARGEST_BYTES ? undefined : "isn't a plain file of at most 16 MiB. Name another file.";
  } catch (error) {
    return unreadable(error);
  }
}

/** Describes why a file can't be read, without quoting its path. `relative`: a sentence about the folder that relative paths start at. */
export function unreadable(error: unknown, relative = 'Paths are relative to this file.'): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'HEADGATE_UNFIT_FILE') return (error as Error).message;
  if (code === 'ENOENT') return `doesn't exist. ${relative}`;
  if (code === 'EACCES' || code === 'EPERM') return "can't be read by this user. Grant read permission.";
  if (code === 'EISDIR') return 'is a folder. Name a file.';
  if (code === 'ERR_INVALID_ARG_VALUE') return "has a NUL character, which a path can't contain. Remove it.";
  return `can't be read (${typeof code === 'string' ? code : 'unknown error'}). Check the disk and the path.`;
}
